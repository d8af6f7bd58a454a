//! The services that a manifest needs, and the pins that its application offers as a service.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::pins::{PinId, PinType};

use crate::builtin;
use crate::check::Checked;
use crate::document::{ComponentType, Leaf};
use crate::name::ComponentPath;

/// A component `reference.Service`: a placeholder for a service of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceReference {
    /// The component.
    pub component: ComponentPath,
    /// The pins that the service must have.
    pub pins: BTreeMap<PinId, PinType>,
}

/// A signal that a component consumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The component that publishes it.
    pub component: ComponentPath,
    /// The pin of that component.
    pub pin: PinId,
}

/// The services that a manifest needs, and the pins that its application offers as a service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Services {
    /// The pins that the application exposes, by their outer ids.
    pub exposed: BTreeMap<PinId, PinType>,
    /// The outer ids of `factory.instances`.
    pub instances: BTreeSet<PinId>,
    /// Its components `reference.Service`.
    pub references: Vec<ServiceReference>,
    /// The mappings of a factory, each with the signal that is bound to it.
    pub mappings: BTreeMap<PinId, Option<Source>>,
    /// The mappings of required interfaces.
    pub required: BTreeSet<PinId>,
}

impl Services {
    /// Returns the services of a checked manifest.
    pub fn of(checked: &Checked<'_>) -> Self {
        let mut services = Self::default();
        for (id, pin) in checked.visible.pins() {
            let is_instances =
                pin.targets.iter().any(|target| target.pin.is(builtin::FACTORY, builtin::INSTANCES));
            if is_instances {
                services.instances.insert(id.clone());
            }
            services.exposed.extend(pin.kind.clone().map(|kind| (id, kind)));
        }
        let scripted = checked.role.as_ref().map(|role| role.component().clone());
        checked.manifest.for_each_leaf(&mut |path, leaf| {
            if leaf.kind.value == ComponentType::Service {
                services.references.push(ServiceReference { component: path.clone(), pins: pins(leaf) });
            } else if Some(path) == scripted.as_ref() {
                services.consumes(checked, path, leaf);
            }
        });
        services
    }

    /// Notes the signals that the scripted component consumes.
    fn consumes(&mut self, checked: &Checked<'_>, path: &ComponentPath, leaf: &Leaf) {
        let required: BTreeSet<&str> = leaf.required.iter().map(|name| name.value.as_str()).collect();
        for (id, kind) in pins(leaf) {
            if !matches!(kind, PinType::ConsumeSignal(_)) {
                continue;
            }
            let mut joined = checked.connections.iter();
            let from = joined.find(|joined| *joined.to.component == *path && joined.to.pin == id);
            let source = from.map(|joined| &joined.from);
            let source =
                source.map(|from| Source { component: (*from.component).clone(), pin: from.pin.clone() });
            if required.contains(id.interface.as_str()) {
                self.required.insert(id.clone());
            }
            self.mappings.insert(id, source);
        }
    }

    /// Returns a component `reference.Service`.
    pub fn reference(&self, component: &ComponentPath) -> Option<&ServiceReference> {
        self.references.iter().find(|reference| reference.component == *component)
    }
}

/// Returns the declared pins of a component.
fn pins(leaf: &Leaf) -> BTreeMap<PinId, PinType> {
    let pins = leaf.interfaces.iter().flat_map(|(interface, of)| {
        of.pins.iter().map(|(name, pin)| {
            (PinId { interface: interface.clone(), pin: name.clone() }, pin.kind.value.clone())
        })
    });
    pins.collect()
}
