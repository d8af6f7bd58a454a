//! Outdated inputs of elements. An input of an element is a property whose value comes from an output of another
//! element. For example, a web server was created with the address of its database. If the database then publishes
//! another address, this input of the web server is outdated.
//!
//! A plan is made before its calls, so the plan can't know that a Reconfigure or a Start will publish another value.
//! When a call changes an output, the module records the outdated inputs of the elements that read the output. The next
//! plan passes the new values to these elements.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_driver::Call;
use windlass_model::record::{ElementRecord, PairKey};
use windlass_model::resolve::{Answer, Lookup, Output, ResolveError, Resolver};
use windlass_model::{Action, ElementName, InstanceId, PropertyName, Side, Transition};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Change};

use crate::applied_inputs::outdated_pairs;
use crate::values::{self, Unknown};
use crate::world::{Reader, World};

/// The elements and pairs with outdated inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutdatedInputs {
    /// The elements that read changed values.
    pub parts: Vec<ElementName>,
    /// The pairs that were created with former values.
    pub pairs: Vec<PairKey>,
}

impl OutdatedInputs {
    /// Tells whether all inputs are current.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.pairs.is_empty()
    }
}

/// The outputs of an element at one time. [`note_readers`] compares the outputs from before a call with the present
/// outputs.
pub(crate) struct Published {
    element: ElementName,
    pub(crate) outputs: BTreeMap<PropertyName, Output>,
}

impl Published {
    /// Returns the present outputs of an element.
    pub(crate) fn of(world: &World, element: &ElementName) -> Self {
        let names = world.instances.outputs(element);
        let outputs = names.map(|name| (name.clone(), world.output(element, &name))).collect();
        Self { element: element.clone(), outputs }
    }
}

/// Updates the recorded outdated inputs after a call on an element. `before` contains the outputs of this element
/// before the call. If the call has changed an output, the input of each element that reads this output becomes
/// outdated. The function records this input for the reading element, with the value that the input had before the
/// call.
///
/// An input may already be outdated. If it now has the recorded value again, the function removes the input from
/// the record.
pub(crate) fn note_readers(world: &mut World, action: &Action, before: &Published, batch: &mut Batch) {
    // If the element was newly created, the plan already passes the outputs of the element to the elements that
    // read these outputs.
    let makes = [Transition::Create, Transition::Install, Transition::Adopt].map(Action::Transition);
    if before.outputs.is_empty() && makes.contains(action) {
        return;
    }
    let now = Published::of(world, &before.element);
    let names: BTreeSet<&PropertyName> = before.outputs.keys().chain(now.outputs.keys()).collect();
    let is_changed = |name: &&PropertyName| before.outputs.get(*name) != now.outputs.get(*name);
    let changed: Vec<PropertyName> = names.into_iter().filter(is_changed).cloned().collect();
    if changed.is_empty() {
        return;
    }
    // A re-created element may publish the value of its former instance only when it starts, and another value before.
    // The readers that were configured before the re-creation still have the value of the former instance.
    let unchanged: BTreeSet<&PropertyName> =
        world.instances.unchanged_outputs(&before.element).map(|(name, _)| name).collect();
    let new: Vec<PropertyName> = changed.iter().filter(|name| !unchanged.contains(name)).cloned().collect();
    let installed_by =
        world.elements.get(&before.element).and_then(|record| Some(record.made.as_ref()?.installed_by));
    let is_older = |record: &ElementRecord| {
        record.made.as_ref().is_some_and(|made| Some(made.configured_by) < installed_by)
    };
    let mut outdated = reread(world, before, &changed);
    outdated.retain(|(reader, ..)| world.elements.get(reader).is_some_and(|record| !is_older(record)));
    let mut of_older = reread(world, before, &new);
    of_older.retain(|(reader, ..)| world.elements.get(reader).is_some_and(is_older));
    outdated.append(&mut of_older);
    for (reader, property, was, is) in outdated {
        let Some(record) = world.elements.get_mut(&reader) else { continue };
        match record.outdated.get(&property) {
            Some(first) if first.is_some() && *first == is => drop(record.outdated.remove(&property)),
            Some(_) => continue,
            None => drop(record.outdated.insert(property, was)),
        }
        batch.push(Change::PutElement(Box::new(record.clone())));
    }
}

/// Returns the changed properties of existing elements, each with its old and its new value. An unknown or secret
/// value is `None`.
fn reread(
    world: &mut World,
    before: &Published,
    changed: &[PropertyName],
) -> Vec<(ElementName, PropertyName, Option<Value>, Option<Value>)> {
    let World { readers, assembly, installed, .. } = &mut *world;
    let found: Vec<Reader> = readers.of(&assembly.topology, installed.as_ref(), &before.element, changed);
    let world = &*world;
    let there = |name: &ElementName| world.elements.get(name).is_some_and(|record| record.made.is_some());
    let previous = PreviousState { world, before };
    let mut reread = Vec::new();
    for side in [Side::Desired, Side::Installed] {
        let mut old = Resolver::new(world.version(side), &previous);
        let mut new = Resolver::new(world.version(side), world);
        for (reader, property, _) in found.iter().filter(|(reader, _, of)| *of == side && there(reader)) {
            let (was, is) = (old.property(reader, property), new.property(reader, property));
            if was != is {
                reread.push((reader.clone(), property.clone(), open(&was), open(&is)));
            }
        }
    }
    reread
}

/// Updates the recorded outdated inputs of an element after a successful transition. Returns `true` if at least one
/// input was outdated, and is no longer outdated.
///
/// An input is no longer outdated if `call` has passed the input's present value to the driver. If the transition needs
/// no driver, `call` is `None`. The inputs are then no longer outdated either, because no driver needs their values.
///
/// Reconfigure applies only volatile properties. All other inputs stay outdated, even if the call has passed their
/// present values, because only a new instance gets them.
pub(crate) fn record_inputs(
    world: &mut World,
    element: &ElementName,
    action: &Action,
    side: Side,
    call: Option<&Call>,
) -> bool {
    // The array `gives` does not contain Configure. If an element was installed with old values, it keeps the
    // effects of these values even after a Configure with new values.
    use Transition::{Adopt, Create, Install, Reconfigure};
    let gives = [Create, Install, Reconfigure, Adopt].map(Action::Transition);
    let is_stale = world.elements.get(element).is_some_and(|record| !record.outdated.is_empty());
    if side != Side::Desired || !is_stale || !gives.contains(action) {
        return false;
    }
    let described = world.element(element, side);
    let now = described.and_then(|found| values::properties(world, found, side, Unknown::LeftOut).ok());
    let is_reconfigured = *action == Action::Transition(Reconfigure);
    let applies = |name: &PropertyName| {
        let property = described.and_then(|found| found.properties.get(name));
        !is_reconfigured || property.is_none_or(|property| property.volatile)
    };
    let is_given = |name: &PropertyName| match (call, &now) {
        (Some(call), Some(now)) => applies(name) && call.properties.get(name) == now.get(name),
        _ => applies(name),
    };
    let taken: Vec<PropertyName> =
        world.elements[element].outdated.keys().filter(|name| is_given(name)).cloned().collect();
    if let Some(record) = world.elements.get_mut(element) {
        record.outdated.retain(|name, _| !taken.contains(name));
    }
    !taken.is_empty()
}

/// Returns all elements and pairs with [outdated inputs](self). A pair is a relationship between two nodes. The
/// function ignores an outdated input of an element if this input has no value in the desired version.
pub(crate) fn outdated_inputs(world: &World) -> OutdatedInputs {
    let reads = |name: &ElementName, property: &PropertyName| {
        let property = world.topology().get(name).and_then(|element| element.properties.get(property));
        property.is_some_and(|property| property.value.is_some())
    };
    let records = world.elements.values();
    let outdated = records.filter(|record| record.outdated.keys().any(|name| reads(&record.name, name)));
    OutdatedInputs {
        parts: outdated.map(|record| record.name.clone()).collect(),
        pairs: outdated_pairs(world).into_iter().map(|(pair, _)| pair).collect(),
    }
}

/// Returns the value in `answer` if the value is known and not secret, and otherwise `None`.
fn open(answer: &Result<Answer, ResolveError>) -> Option<Value> {
    match answer {
        Ok(Answer::Known(value)) if !value.sensitive => Some(value.value.clone()),
        _ => None,
    }
}

/// A view of the world in which one element has its former outputs.
struct PreviousState<'a> {
    world: &'a World,
    before: &'a Published,
}

impl Lookup for PreviousState<'_> {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        if *element != self.before.element {
            return self.world.output(element, property);
        }
        self.before.outputs.get(property).cloned().unwrap_or(Output::Nothing)
    }

    fn instance_id(&self, element: &ElementName) -> Option<InstanceId> {
        self.world.instance_id(element)
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        self.world.secret(secret)
    }
}
