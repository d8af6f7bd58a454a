//! Elements that a health check has found gone or broken, although they are recorded Active.

use std::collections::{BTreeMap, BTreeSet};

use windlass_driver::Observation;
use windlass_model::assembly::OperationCall;
use windlass_model::record::{ElementRecord, Failure, FailureKind, InstanceRecord, PairKey, PairRecord};
use windlass_model::{ElementName, Side, State, Timestamp, Transition};
use windlass_store::{Batch, Change};

use super::condition::Condition;
use super::look::Seen;
use crate::world::World;

impl Seen {
    /// Returns the way in which the element differs from its record. `None` means that the element matches its
    /// record, or that the check gave no clear answer.
    pub fn condition(&self) -> Option<Condition> {
        match &self.sight {
            Ok(Observation::Absent) => Some(Condition::Gone),
            Ok(Observation::Differs(_)) => Some(Condition::Broken),
            _ => None,
        }
    }
}

/// Returns the elements that differ from their records, each with its condition.
pub fn conditions(seen: &[Seen]) -> BTreeMap<ElementName, Condition> {
    seen.iter().filter_map(|seen| Some((seen.element.clone(), seen.condition()?))).collect()
}

/// Returns the elements whose condition in `expected` differs from their condition in `found`. `expected` contains the
/// conditions that the request demands. `found` contains the conditions that health checks have found. Each map
/// contains only elements that are gone or broken. The result includes the elements that are in only one of the maps.
pub(super) fn differences(
    expected: &BTreeMap<ElementName, Condition>,
    found: &BTreeMap<ElementName, Condition>,
) -> Vec<ElementName> {
    let names: BTreeSet<&ElementName> = expected.keys().chain(found.keys()).collect();
    names.into_iter().filter(|name| expected.get(*name) != found.get(*name)).cloned().collect()
}

/// The changes of an assembly's records that follow from health checks.
#[derive(Default)]
pub(super) struct Found {
    /// The elements whose state changes, each with the recorded and the new state.
    pub(super) states: Vec<(ElementName, State, State)>,
    /// The broken elements that only a new installation can repair.
    pub(super) replace: BTreeSet<ElementName>,
    /// The batch with the changed records.
    pub(super) batch: Batch,
}

/// Changes the records of the elements that a health check has found gone or broken.
///
/// A gone element gets the state Failed, and the record of its instance is dropped. An element also counts as gone if
/// an earlier process has found no instance of it. No operation can be called on a gone element. When the relationship
/// between a gone element and another element is removed, operations are called only on the other element.
///
/// A broken element that can be restarted gets the state Broken, and the plan restarts it. An element that declares
/// neither Start nor Stop can't be restarted, so the plan replaces it. Its record keeps the state Active, so that its
/// replacement requires the user's consent, like the replacement of a healthy element. If the descriptor protects a
/// broken element from replacement, the element gets the state Broken even if it can't be restarted.
pub(super) fn note(world: &mut World, seen: &[Seen], now: Timestamp) -> Found {
    let mut found = Found::default();
    let mut gone: BTreeSet<ElementName> = world
        .elements
        .values()
        .filter(|record| is_recorded_gone(record))
        .map(|record| record.name.clone())
        .collect();
    for name in &gone {
        let failure = world.elements.get(name).and_then(|record| record.failure.clone());
        found.change(world, name, State::Failed, failure, now);
        found.drop_instance(world, name);
    }
    for seen in seen {
        let Some(condition) = seen.condition() else { continue };
        let name = &seen.element;
        if world.elements.get(name).is_none_or(|record| record.state != State::Active) {
            continue;
        }
        let (state, kind) = match condition {
            Condition::Gone => (State::Failed, FailureKind::Gone),
            Condition::Broken if is_only_installed(world, name) => {
                found.replace.insert(name.clone());
                continue;
            }
            Condition::Broken => (State::Broken, FailureKind::Failed),
        };
        let failure = Failure::new(kind, format!("its health check: {}", in_words(&seen.sight)));
        found.change(world, name, state, Some(failure), now);
        if condition == Condition::Gone {
            gone.insert(name.clone());
            found.drop_instance(world, name);
        }
    }
    for key in pairs_with(world, &gone) {
        spare(world, key, &gone, &mut found.batch);
    }
    found
}

impl Found {
    /// Records the new state of an element in `world` and in the batch. Also records the `failure` that explains the
    /// state.
    fn change(
        &mut self,
        world: &mut World,
        name: &ElementName,
        state: State,
        failure: Option<Failure>,
        now: Timestamp,
    ) {
        let Some(record) = world.elements.get_mut(name) else { return };
        self.states.push((name.clone(), record.state, state));
        record.enter(state, now);
        record.attempted = None;
        record.note_failure(failure);
        self.batch.push(Change::PutElement(Box::new(record.clone())));
    }

    /// Records that the instance of an element no longer exists.
    fn drop_instance(&mut self, world: &mut World, name: &ElementName) {
        let instance = InstanceRecord { natural: None, sealed_natural: None, ..world.instances.of(name) };
        world.instances.put(instance, &mut self.batch);
    }
}

/// Tells whether a record contradicts itself. In such a record, the state (Installed, Inactive or Broken) means that
/// the element has an instance. But the failure ([`FailureKind::Gone`]) means that the instance no longer exists.
fn is_recorded_gone(record: &ElementRecord) -> bool {
    let is_gone = record.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Gone);
    is_gone && matches!(record.state, State::Installed | State::Inactive | State::Broken)
}

/// Describes the difference between an element and its record, for a message. The caller passes only the two
/// observations [`Observation::Absent`] and [`Observation::Differs`].
fn in_words(sight: &Result<Observation, Failure>) -> String {
    match sight {
        Ok(Observation::Differs(how)) => how.clone(),
        _ => "it no longer exists".to_owned(),
    }
}

/// Tells whether a broken element must be replaced instead of restarted.
///
/// This is the case if the element declares no transition Start and no transition Stop. A protected element is never
/// replaced.
fn is_only_installed(world: &World, name: &ElementName) -> bool {
    let declares = |transition| world.element(name, Side::Installed).is_some_and(|e| e.declares(transition));
    let is_protected = world.topology().protector(name).is_some();
    !is_protected && !declares(Transition::Start) && !declares(Transition::Stop)
}

/// Returns the pairs whose operations may be called on an element in `gone`. A pair is one source and one target of a
/// relationship. If `gone` is empty, there are no such pairs. Otherwise, the result contains all existing pairs of the
/// assembly, because each of them may have an operation on an element in `gone`.
fn pairs_with(world: &World, gone: &BTreeSet<ElementName>) -> Vec<PairKey> {
    if gone.is_empty() {
        return Vec::new();
    }
    world.pairs.there().map(|pair| pair.key.clone()).collect()
}

/// Updates the record of a pair (one source and one target of a relationship) after the elements in `gone` were found
/// missing. The record lists the operations that will remove the pair, or undo its incomplete creation. No operation
/// can run on a missing element, so the function deletes the operations of missing elements from the list.
///
/// If the list is then empty, the pair is recorded as not existing.
fn spare(world: &mut World, key: PairKey, gone: &BTreeSet<ElementName>, batch: &mut Batch) {
    let Some(pair) = world.pairs.get(&key).cloned() else { return };
    let is_spared = |call: &OperationCall| {
        world.operation(&key, call, Side::Installed).is_ok_and(|(element, _)| gone.contains(&element))
    };
    if pair.created {
        let described = || {
            let topology = world.version(Side::Installed);
            topology.relationship(&key.assembly, key.relationship.as_str()).map(|found| found.cease.clone())
        };
        let cease = pair.cease.clone().or_else(described).unwrap_or_default();
        let done = usize::try_from(pair.progress).unwrap_or(0);
        let rest: Vec<OperationCall> =
            cease.iter().skip(done).filter(|call| !is_spared(call)).cloned().collect();
        if rest.len() == cease.len() {
            return;
        }
        if !rest.is_empty() {
            return world.pairs.put(PairRecord { cease: Some(rest), progress: 0, ..pair }, batch);
        }
    } else {
        let mut begun = world.begun(&key);
        let before: usize = begun.iter().map(|begun| begun.undo.len()).sum();
        for begun in &mut begun {
            begun.undo.retain(|call| !is_spared(call));
        }
        let after: usize = begun.iter().map(|begun| begun.undo.len()).sum();
        if after == before {
            return;
        }
        if after > 0 {
            return world.pairs.put(PairRecord { begun, ..pair }, batch);
        }
    }
    world.pairs.forget_inputs(&key, &mut world.secrets, batch);
    let since = pair.since;
    world.pairs.put(PairRecord::new(key, since), batch);
}
