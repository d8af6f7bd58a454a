//! The present state of an assembly, as input of the planner.

use windlass_lifecycle::{Current, ElementNow, HalfMade};
use windlass_model::State;
use windlass_model::record::{FailureKind, InstanceRecord, PairRecord};

use crate::applied_inputs::outdated_pairs;
use crate::world::World;

/// Returns the present state of an assembly, for the planner.
pub(crate) fn current(world: &World) -> Current {
    let mut current = Current::default();
    for record in world.elements.values() {
        // A launch whose end is unknown may have left an instance with an unknown natural id.
        let is_lost = record.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Lost);
        let present = is_lost || world.instances.get(&record.name).is_some_and(InstanceRecord::has_natural);
        let mut now = ElementNow::new(record.state, present);
        if let Some(made) = &record.made {
            now.package = Some(made.package.clone());
            now.installed_by = made.installed_by.0;
            now.configured_by = made.configured_by.0;
            let unchanged = world.instances.unchanged_outputs(&record.name);
            now.unchanged_outputs = unchanged.map(|(name, since)| (name.clone(), since.0)).collect();
        }
        now.attempted = record.attempted;
        now.values_in_doubt = record.values_in_doubt;
        let is_gone = record.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Gone);
        now.gone = record.state == State::Failed && is_gone && !present && record.attempted.is_none();
        now.outdated.clone_from(&record.outdated);
        current.element(record.name.clone(), now);
    }
    for pair in world.pairs.there() {
        let key = pair.key.clone();
        match pair {
            PairRecord { created: false, in_doubt, .. } => {
                let begun = world.begun(&key);
                let last = begun.last().filter(|_| *in_doubt);
                let in_doubt = last.map_or(0, |last| last.undo.len());
                let undo = begun.into_iter().rev().flat_map(|begun| begun.undo).collect();
                current.half_made(key, HalfMade { undo, in_doubt });
            }
            pair if pair.is_half_ended() => current.half_ended(key),
            _ => current.pair(key),
        }
    }
    for (pair, values) in outdated_pairs(world) {
        current.outdated(pair, values);
    }
    current
}
