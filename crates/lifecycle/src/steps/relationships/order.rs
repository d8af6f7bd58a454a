//! The waits of relationships without operations, such as `depends-on`.
//!
//! Such a relationship creates nothing. It only determines whether its sources or its targets reach their states first.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use windlass_model::assembly::Endpoint;
use windlass_model::{ElementName, Modifier, Relationship, State, Topology};
use windlass_plan::{Draft, WaitKind, Why};

use super::relation::Relation;
use crate::constraints::{Arrival, Constraints, Priority};
use crate::rank;

/// Adds the waits of relationships without operations.
///
/// For N sources and M targets, N + M waits are sufficient. For example, a barrier waits for the N sources, and the
/// M targets wait for the barrier.
///
/// A part may have no step that could wait. For example, `a` depends on `b`, `b` depends on `c`, and the plan does not
/// change `b`. Then the steps of `a` wait for the steps of `c`; see [`Constraints::passed`]. Such a wait only sets the
/// order: the steps of `a` begin even if a step of `c` has failed. The reason is that `a` directly depends only on `b`,
/// which the plan does not change. The function `passed` knows only the waits that exist already. So `order` handles
/// the relationships in the order of [`in_order`]. For steps to lower states, `order` uses the reverse order.
///
/// The function also adds waits to steps that create relationships with operations. For example, such a step requires
/// that `b` from the example above is Active. Then the step waits for the steps of `c`. [`Constraints::arrivals`] lists
/// the states that the steps require. The range `arrivals[i]` contains the positions of the entries for `relations[i]`
/// in this list.
pub(super) fn order(
    constraints: &mut Constraints<'_>,
    relations: &[Relation<'_>],
    arrivals: &[Range<usize>],
) {
    let has_order = |relation: &Relation<'_>| {
        let mut versions = relation.new.into_iter().chain(relation.old);
        versions.any(Relationship::is_order_only)
    };
    if constraints.arrivals.is_empty() && !relations.iter().any(has_order) {
        return;
    }
    let order = in_order(constraints, relations);
    for place in &order {
        if let Some(new) = relations[*place].new.filter(|new| new.is_order_only()) {
            for (first, then) in ordered(new) {
                order_up(constraints, new, first, then);
            }
        }
        for at in arrivals[*place].clone() {
            let Arrival { step, ref end, rank, why } = constraints.arrivals[at];
            let end = end.clone();
            for passed in constraints.passed(&end, rank) {
                constraints.graph.constrain(step, passed, WaitKind::After, Priority::Weak, why);
            }
        }
    }
    for old in order.iter().rev().filter_map(|place| relations[*place].old) {
        if !old.is_order_only() {
            continue;
        }
        for (first, then) in ordered(old) {
            order_down(constraints, old, then, first);
        }
        if old.is_dependency() {
            // A dependency also orders the Stop steps, even if the dependent element stays installed.
            let active = |ends| Stage { ends, rank: rank::ACTIVE, least: rank::ACTIVE };
            order_down(constraints, old, active(&old.targets), active(&old.sources));
        }
    }
}

/// Returns the positions of relationships in a topological order. For example, the component `web` waits for the
/// relationship A, and the relationship B waits for `web`. Then A precedes B. Within a cycle, the order is arbitrary.
fn in_order(constraints: &Constraints<'_>, relations: &[Relation<'_>]) -> Vec<usize> {
    if !constraints.passes_on() {
        return (0..relations.len()).collect();
    }
    // The nodes of the graph are the relationships, followed by the resources at their ends.
    let mut resources: HashMap<&ElementName, usize> = HashMap::new();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (place, relation) in relations.iter().enumerate() {
        let versions = [(relation.new, constraints.desired()), (relation.old, constraints.installed())];
        for (version, topology) in versions {
            let (Some(version), Some(topology)) = (version, topology) else { continue };
            for (first, then) in ordered(version) {
                for (stage, is_first) in [(first, true), (then, false)] {
                    for leaf in stage.ends.iter().flat_map(|end| topology.leaves(&end.element)) {
                        let next = relations.len() + resources.len();
                        let resource = *resources.entry(&leaf.name).or_insert(next);
                        edges.push(if is_first { (resource, place) } else { (place, resource) });
                    }
                }
            }
        }
    }
    let mut graph: DiGraph<(), (), usize> = DiGraph::from_edges(edges);
    while graph.node_count() < relations.len() {
        graph.add_node(());
    }
    // The algorithm returns the last components first.
    let sorted = kosaraju_scc(&graph).into_iter().rev().flatten().map(NodeIndex::index);
    sorted.filter(|place| *place < relations.len()).collect()
}

fn order_up(constraints: &mut Constraints<'_>, new: &Relationship, first: Stage<'_>, then: Stage<'_>) {
    // The plan may bring parts only to Installed or Inactive. If this state is lower than the state that a
    // dependency requires, it is sufficient for the dependency.
    let lowest = if new.is_dependency() { rank::INSTALLED } else { first.least };
    let mut waits: Vec<Draft> = Vec::new();
    let mut passed: BTreeSet<Draft> = BTreeSet::new();
    for end in first.ends {
        // Most nodes of a group that changes in batches are Active at any time. So nothing needs to wait until
        // all nodes of such a group are ready.
        if !rolls(constraints, constraints.desired(), end) {
            let ready = (lowest..=first.least).rev().find_map(|rank| constraints.reached(&end.element, rank));
            waits.extend(ready);
            passed.extend(constraints.passed(&end.element, first.least));
        }
    }
    let rule = format!("{} must be {}", first.names(), rank::state(first.least));
    let why = constraints.graph.because(new, rule);
    let Some(gate) = gate(constraints, new, (waits, passed), why, "is ready") else { return };
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
    let passed = first.ends.iter().flat_map(|end| constraints.passed_leaving(&end.element, first.rank));
    let passed: BTreeSet<Draft> = passed.collect();
    let rule = format!("{} must leave {} first", first.names(), rank::state(first.rank));
    let why = constraints.graph.because(old, rule);
    let Some(gate) = gate(constraints, old, (waits, passed), why, "is no longer needed") else { return };
    // One step may leave several states at once, for example Inactive and Installed, although separate steps
    // reach these states. So an order of steps to higher states may be possible, while the reverse order of the
    // steps to lower states is a cycle. The waits may therefore be dropped.
    for end in then.ends {
        constraints.hold_leaving(&end.element, then.least, gate, Priority::Strong, why);
    }
}

/// Tells whether an endpoint has nodes that change in batches.
fn rolls(constraints: &Constraints<'_>, topology: Option<&Topology>, end: &Endpoint) -> bool {
    if constraints.rolling.groups.is_empty() {
        return false;
    }
    let leaves = topology.map(|topology| topology.leaves(&end.element)).unwrap_or_default();
    let parts = leaves.into_iter().filter_map(|leaf| constraints.parts.get(&leaf.name));
    parts.into_iter().any(|part| part.rolls.moves_in_turn())
}

/// Tells whether a relationship has sources or targets that change in batches.
pub(super) fn rolls_at_an_end(constraints: &Constraints<'_>, of: &Relationship) -> bool {
    let mut ends = of.sources.iter().chain(&of.targets);
    ends.any(|end| rolls(constraints, constraints.desired(), end))
}

/// Returns a barrier that waits for the steps in `waits` and in `passed`; `None` if both are empty.
///
/// The barrier needs the success of the steps in `waits`. It waits for the end of the steps in `passed`, even if they
/// fail. The steps in `passed` come from [`Constraints::passed`] or [`Constraints::passed_leaving`].
///
/// If there is only a single step, and it is in `waits`, the function returns this step and adds no barrier.
fn gate(
    constraints: &mut Constraints<'_>,
    relationship: &Relationship,
    (waits, passed): (Vec<Draft>, BTreeSet<Draft>),
    why: Why,
    what: &str,
) -> Option<Draft> {
    if waits.len() < 2 && passed.is_empty() {
        return waits.into_iter().next();
    }
    let gate = constraints.graph.barrier(format!("{} {what}", relationship.name));
    for wait in waits {
        constraints.graph.need(gate, wait, why);
    }
    for passed in passed {
        constraints.graph.constrain(gate, passed, WaitKind::After, Priority::Weak, why);
    }
    Some(gate)
}

/// The sources or the targets of a relationship, with the [ranks](crate::rank) that the relationship requires of
/// them.
#[derive(Clone, Copy)]
struct Stage<'r> {
    ends: &'r [Endpoint],
    /// The rank of the state that the relationship declares for the elements of `ends`.
    rank: u8,
    /// The minimum rank that the elements of `ends` must have before the elements on the other side of the relationship
    /// may reach their declared state. The targets are on the other side of the sources, and vice versa.
    least: u8,
}

impl Stage<'_> {
    fn names(&self) -> String {
        self.ends.iter().map(|end| end.element.local()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns pairs of stages. In each pair, the elements of the first stage must reach their state before the
/// elements of the second stage reach their state. A stage is all sources or all targets of the relationship.
///
/// The order follows from the modifiers (`pre` or `post`) that the relationship declares for its sources and
/// targets.
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
