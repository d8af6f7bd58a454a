//! The services that a manifest needs, and the pins that its application offers to other services.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::pins::{PinId, PinType};

use crate::builtin;
use crate::check::Checked;
use crate::document::{ComponentType, Leaf};
use crate::name::ComponentPath;

/// A component of the type `reference.Service`: a placeholder for a service of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceReference {
    /// The path of the component.
    pub component: ComponentPath,
    /// The pins that the service must have.
    pub pins: BTreeMap<PinId, PinType>,
}

/// A pin that publishes a signal. The manifest's scripted component consumes this signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path of the component that publishes the signal.
    pub component: ComponentPath,
    /// The pin that publishes the signal.
    pub pin: PinId,
}

/// The services that a manifest needs, and the pins that its application offers to other services.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Services {
    /// The pins that the application exposes, by the ids under which it exposes them.
    pub exposed: BTreeMap<PinId, PinType>,
    /// The ids under which the application exposes the signal `factory.instances`.
    pub instances: BTreeSet<PinId>,
    /// The components of the type `reference.Service`.
    pub references: Vec<ServiceReference>,
    /// The pins of the type `consume-signal` that the manifest's scripted component declares. In the manifest of a
    /// factory, such a pin is called a mapping: it receives the instances of another factory. The value is the
    /// signal that the manifest binds to the pin; `None` if the manifest binds no signal to the pin.
    pub mappings: BTreeMap<PinId, Option<Source>>,
    /// The pins among `mappings` that must be bound, because the manifest lists their interfaces as `required`.
    pub required: BTreeSet<PinId>,
}

impl Services {
    /// Returns the services that a checked manifest needs, and the pins that its application offers.
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

    /// Records the signals that the manifest's scripted component (its `scripted.Component` or
    /// `scripted.ComponentFactory`) consumes.
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

    /// Returns the component of the type `reference.Service` at a path.
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
