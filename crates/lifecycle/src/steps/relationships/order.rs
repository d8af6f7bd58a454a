//! Relationships without operations, which only order their ends.

use windlass_model::assembly::Endpoint;
use windlass_model::{Modifier, Relationship, State, Topology};
use windlass_plan::{Draft, Why};

use super::relation::{Relation, is_order_only};
use crate::constraints::{Constraints, Priority};
use crate::rank;

/// Adds the waits of a relationship without operations: N sources and M targets cost N + M waits.
pub(super) fn order(constraints: &mut Constraints<'_>, relation: Relation<'_>) {
    if let Some(new) = relation.new.filter(|new| is_order_only(new)) {
        for (first, then) in ordered(new) {
            order_up(constraints, new, first, then);
        }
    }
    if let Some(old) = relation.old.filter(|old| is_order_only(old)) {
        for (first, then) in ordered(old) {
            order_down(constraints, old, then, first);
        }
        if old.is_dependency() {
            // Also where the dependent is stopped and stays installed.
            let active = |ends| Stage { ends, rank: rank::ACTIVE, least: rank::ACTIVE };
            order_down(constraints, old, active(&old.targets), active(&old.sources));
        }
    }
}

fn order_up(constraints: &mut Constraints<'_>, new: &Relationship, first: Stage<'_>, then: Stage<'_>) {
    // Where the goal is lower, a dependency has to reach that.
    let lowest = if new.is_dependency() { rank::INSTALLED } else { first.least };
    let mut waits: Vec<Draft> = Vec::new();
    for end in first.ends {
        // Most nodes of a rolling group are Active at any time.
        if !rolls(constraints, constraints.desired(), end) {
            let ready = (lowest..=first.least).rev().find_map(|rank| constraints.reached(&end.element, rank));
            waits.extend(ready);
        }
    }
    let rule = format!("{} must be {}", first.names(), rank::state(first.least));
    let why = constraints.graph.because(new, rule);
    let Some(gate) = gate(constraints, new, waits, why, "is ready") else { return };
    for end in then.ends {
        constraints.hold(&end.element, then.rank, gate, why);
    }
}

fn order_down(constraints: &mut Constraints<'_>, old: &Relationship, first: Stage<'_>, then: Stage<'_>) {
    let mut both = first.ends.iter().chain(then.ends);
    if both.any(|end| rolls(constraints, constraints.installed(), end)) {
        return;
    }
    let waits: Vec<Draft> =
        first.ends.iter().filter_map(|end| constraints.left(&end.element, first.rank)).collect();
    let rule = format!("{} must leave {} first", first.names(), rank::state(first.rank));
    let why = constraints.graph.because(old, rule);
    let Some(gate) = gate(constraints, old, waits, why, "is no longer needed") else { return };
    // One step leaves both Inactive and Installed. So an order on the path up may be a cycle on the path
    // down.
    for end in then.ends {
        constraints.hold_leaving(&end.element, then.least, gate, Priority::Strong, why);
    }
}

/// Tells whether nodes of an endpoint change in batches.
fn rolls(constraints: &Constraints<'_>, topology: Option<&Topology>, end: &Endpoint) -> bool {
    if constraints.rolling.groups.is_empty() {
        return false;
    }
    let leaves = topology.map(|topology| topology.leaves(&end.element)).unwrap_or_default();
    let parts = leaves.into_iter().filter_map(|leaf| constraints.parts.get(&leaf.name));
    parts.into_iter().any(|part| part.rolls.turn > 0)
}

/// Returns a barrier behind several steps, or the only step.
fn gate(
    constraints: &mut Constraints<'_>,
    relationship: &Relationship,
    waits: Vec<Draft>,
    why: Why,
    what: &str,
) -> Option<Draft> {
    if waits.len() < 2 {
        return waits.into_iter().next();
    }
    let gate = constraints.graph.barrier(format!("{} {what}", relationship.name));
    for wait in waits {
        constraints.graph.need(gate, wait, why);
    }
    Some(gate)
}

/// One side of an order: its ends, the rank that the relationship names, and the rank that the other side
/// requires.
#[derive(Clone, Copy)]
struct Stage<'r> {
    ends: &'r [Endpoint],
    rank: u8,
    least: u8,
}

impl Stage<'_> {
    fn names(&self) -> String {
        self.ends.iter().map(|end| end.element.local()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the stages of a relationship as pairs of the earlier and the later one, by its modifiers.
fn ordered(relationship: &Relationship) -> impl Iterator<Item = (Stage<'_>, Stage<'_>)> {
    let Relationship { sources, source_state, source_modifier, .. } = relationship;
    let Relationship { targets, target_state, target_modifier, .. } = relationship;
    let stage = |ends, state: State, modifier| Stage {
        ends,
        rank: rank::of(state),
        least: rank::least(state, modifier),
    };
    let source = stage(sources, *source_state, *source_modifier);
    let target = stage(targets, *target_state, *target_modifier);
    let source_first = (*target_modifier == Modifier::Pre).then_some((source, target));
    let target_first = (*source_modifier == Modifier::Pre).then_some((target, source));
    source_first.into_iter().chain(target_first)
}
