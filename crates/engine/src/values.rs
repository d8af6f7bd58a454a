//! The values of an assembly: properties of elements, inputs of calls, and outputs. They are resolved from the
//! topology and the published outputs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_driver::{Input, Placement, location};
use windlass_model::record::{Failure, FailureKind, PairKey};
use windlass_model::resolve::{Answer, Awaited, Lookup, Missing, Output, ResolveError, Resolved, Resolver};
use windlass_model::template::{End, InstanceField};
use windlass_model::{
    Action, Element, ElementName, InstanceId, Part, PropertyName, Side, Template, Topology,
};
use windlass_secret::{SecretRef, Sensitive};

use crate::world::World;

/// The treatment of a call that needs an unknown value, such as an output that is not published yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The engine does not make the call, and reports a failure that names the unknown value.
    Refused,
    /// The engine makes the call without the unknown value.
    LeftOut,
}

impl Unknown {
    /// Returns the treatment of unknown values in a call of `action`. `side` is the version of the assembly from which
    /// the call takes its values.
    ///
    /// A removal or a health check takes its values from the installed version. An unknown value must not prevent such
    /// a call, so the call omits the value. Any other call that needs an unknown value is refused. This includes
    /// commands, which also take their values from the installed version.
    pub(crate) fn of(action: &Action, side: Side) -> Self {
        match (action, side) {
            (Action::Transition(_) | Action::Operation(_), Side::Installed) => Self::LeftOut,
            _ => Self::Refused,
        }
    }
}

/// Returns the placement of an element: the location and the resource manager that it names in the version `side`, and
/// the recorded location of its instance. An empty or unknown name is `None`.
pub(crate) fn placement(world: &World, element: &Element, side: Side) -> Placement {
    let mut resolver = Resolver::new(world.version(side), world);
    let mut value = |name: &str| {
        let name: PropertyName = name.parse().ok()?;
        match resolver.property(&element.name, &name) {
            Ok(Answer::Known(Resolved { value: Value::String(text), .. })) if !text.is_empty() => Some(text),
            _ => None,
        }
    };
    let made = world.elements.get(&element.name).and_then(|record| record.made.as_ref());
    Placement {
        location: value(location::DEPLOYMENT_LOCATION),
        manager: value(location::RESOURCE_MANAGER),
        recorded: made.and_then(|made| made.location.clone()),
    }
}

/// Resolves the properties of an element for a call. The result omits an output property that the driver of the element
/// has not published yet. `unknown` decides whether any other unknown property is omitted or causes a failure.
pub(crate) fn properties(
    world: &World,
    element: &Element,
    side: Side,
    unknown: Unknown,
) -> Result<BTreeMap<PropertyName, Input>, Failure> {
    let opening = Opening::of(world);
    let mut resolver = Resolver::new(world.version(side), &opening);
    let mut properties = BTreeMap::new();
    for (name, property) in &element.properties {
        let answer = resolver.property(&element.name, name);
        match answer {
            Ok(_) if opening.has_failed() => match unknown {
                Unknown::Refused => return Err(opening.refused(name)),
                Unknown::LeftOut => resolver = opening.resolver(world.version(side)),
            },
            Ok(Answer::Known(value)) => {
                properties.insert(name.clone(), value);
            }
            // The property is an output of the element that is not published yet, or the call omits unknown
            // values.
            _ if property.value.is_none() || unknown == Unknown::LeftOut => {}
            Ok(Answer::Waiting(missing)) => return Err(not_known(name, &missing)),
            Err(error) => {
                return Err(Failure::new(FailureKind::Refused, format!("its property `{name}`: {error}")));
            }
        }
    }
    Ok(properties)
}

/// Resolves the properties of a relationship for one pair: for one of its sources and one of its targets.
pub(crate) fn arguments(
    world: &World,
    pair: &PairKey,
    side: Side,
    unknown: Unknown,
) -> Result<BTreeMap<PropertyName, Input>, Failure> {
    let topology = world.version(side);
    let Some(relationship) = topology.relationship(&pair.assembly, pair.relationship.as_str()) else {
        return Ok(BTreeMap::new());
    };
    let opening = Opening::of(world);
    let mut resolver = Resolver::new(topology, &opening);
    let mut arguments = BTreeMap::new();
    for (name, property) in &relationship.properties {
        let Some(template) = &property.value else { continue };
        match argument(&mut resolver, topology, pair, template) {
            Ok(_) if opening.has_failed() => match unknown {
                Unknown::Refused => return Err(opening.refused(name)),
                Unknown::LeftOut => resolver = opening.resolver(topology),
            },
            Ok(Answer::Known(mut value)) => {
                value.sensitive |= property.sensitive;
                arguments.insert(name.clone(), value);
            }
            _ if unknown == Unknown::LeftOut => {}
            Ok(Answer::Waiting(missing)) => return Err(not_known(name, &missing)),
            Err(error) => {
                return Err(Failure::new(FailureKind::Refused, format!("its property `{name}`: {error}")));
            }
        }
    }
    Ok(arguments)
}

/// Returns the known output properties of the assembly.
pub(crate) fn outputs(world: &World) -> BTreeMap<PropertyName, Resolved> {
    let Some(root) = world.topology().root() else { return BTreeMap::new() };
    let mut resolver = Resolver::new(world.topology(), world);
    let read_only = root.properties.iter().filter(|(_, property)| property.read_only);
    let known = read_only.filter_map(|(name, _)| match resolver.property(&root.name, name) {
        Ok(Answer::Known(value)) => Some((name.clone(), value)),
        _ => None,
    });
    known.collect()
}

/// Returns the known public properties of the assembly, which other assemblies may read.
pub(crate) fn offered(world: &World) -> BTreeMap<PropertyName, Resolved> {
    let Some(root) = world.topology().root() else { return BTreeMap::new() };
    let mut resolver = Resolver::new(world.topology(), world);
    let public = root.properties.iter().filter(|(_, property)| !property.private);
    let known = public.filter_map(|(name, _)| match resolver.property(&root.name, name) {
        Ok(Answer::Known(value)) if !value.value.is_null() => Some((name.clone(), value)),
        _ => None,
    });
    known.collect()
}

pub(crate) fn sensitive(element: &Element) -> BTreeSet<PropertyName> {
    let sensitive = element.properties.iter().filter(|(_, property)| property.sensitive);
    sensitive.map(|(name, _)| name.clone()).collect()
}

/// Resolves a template of a relationship for one pair.
pub(crate) fn argument(
    resolver: &mut Resolver<'_>,
    topology: &Topology,
    pair: &PairKey,
    template: &Template,
) -> Result<Answer, ResolveError> {
    resolver.template(&template.bind_ends(&|end, property| bind_end(topology, pair, end, property)))
}

/// Returns a property that a value of a relationship reads from one node of the pair. For example, the value
/// contains `${source.address}`. Then `end` is the source, and `property` is `address`. The result names the
/// property `address` of the pair's source.
///
/// The words `name`, `id` and `index` mean the fields of the instance, unless the node declares a property with the
/// same name.
fn bind_end(topology: &Topology, pair: &PairKey, end: End, property: &PropertyName) -> Part {
    let element = match end {
        End::Source => &pair.source,
        End::Target => &pair.target,
    };
    let declared = topology.get(element).is_some_and(|e| e.properties.contains_key(property));
    match InstanceField::from_word(property.as_str()) {
        Some(field) if !declared => Part::Instance { element: element.clone(), field },
        _ => Part::Property { element: element.clone(), property: property.clone() },
    }
}

fn not_known(name: &PropertyName, missing: &Awaited) -> Failure {
    let what: Vec<String> = missing
        .iter()
        .map(|missing| match missing {
            Missing::Output { element, property, .. } => {
                format!("`{property}` of `{}`", element.local())
            }
            Missing::InstanceId(element) => {
                format!("the id of `{}`", element.local())
            }
            _ => "a value".to_owned(),
        })
        .collect();
    Failure::new(
        FailureKind::Refused,
        format!("its property `{name}` needs {}, which is unknown", what.join(" and ")),
    )
}

/// A view of the world for one call. If a value needs a secret that the store does not have, the view records the name
/// of the secret. The value is then omitted, or the call is refused. So the driver never gets `***` in place of a
/// secret.
struct Opening<'w> {
    world: &'w World,
    missing: RefCell<BTreeSet<SecretRef>>,
}

impl<'w> Opening<'w> {
    fn of(world: &'w World) -> Self {
        Self { world, missing: RefCell::default() }
    }

    fn has_failed(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// Clears `missing`, and returns a new resolver for the next value. The previous resolver has cached its results.
    /// So it might not report the same missing secret a second time.
    fn resolver<'a>(&'a self, topology: &'a Topology) -> Resolver<'a> {
        self.missing.borrow_mut().clear();
        Resolver::new(topology, self)
    }

    fn refused(&self, name: &PropertyName) -> Failure {
        let missing: Vec<String> = self.missing.borrow().iter().map(|secret| format!("`{secret}`")).collect();
        secret_gone(name, &missing.join(" and "))
    }
}

/// Returns the failure of a call for which the store lacks a secret. `name` is the property that needs the secret.
pub(crate) fn secret_gone(name: &PropertyName, secret: &str) -> Failure {
    let message = format!(
        "its property `{name}` needs the secret {secret}, which the store does not have; pass the value again to `windlass up`"
    );
    Failure::new(FailureKind::Refused, message)
}

impl Lookup for Opening<'_> {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        let published = self.world.instances.output(element, property);
        if let Some(secret) = published.and_then(SecretRef::from_value) {
            // This call adds the secret to `missing` if the store does not have it.
            let _ = self.secret(&secret);
        }
        self.world.output(element, property)
    }

    fn instance_id(&self, element: &ElementName) -> Option<InstanceId> {
        self.world.instance_id(element)
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        let found = self.world.secret(secret);
        if found.is_none() {
            self.missing.borrow_mut().insert(secret.clone());
        }
        found
    }
}
