//! The waits between the batches of a rolling change.
//!
//! A barrier follows each batch. The steps of the next batch wait for the barrier, and not for each step of the
//! previous batch. This keeps the number of waits small.
//!
//! The waits are soft constraints: the planner drops the waits that contradict other waits. For example, a node of
//! batch 1 may have to wait until a node of batch 2 is down. The node of batch 2 then can't wait for batch 1, so the
//! planner drops this wait. Therefore both nodes are down at the same time.
//!
//! The barrier after a batch also waits for the pairs that are created in this batch. A pair is one source and one
//! target of a relationship. If the source and the target of a new pair change in different batches, the plan creates
//! the pair in the later batch.

use std::fmt::Write as _;

use windlass_model::ElementName;
use windlass_model::links::Links;
use windlass_model::work::{Batch, Reason, Work};
use windlass_plan::{Draft, WaitKind, Why};

use crate::changes::{Part, Role, RollingGroup, RollingNode};
use crate::constraints::{Constraints, Graph, Priority, phase};
use crate::rank;

/// Makes the first steps of each batch wait for the previous batch.
pub(crate) fn add(constraints: &mut Constraints<'_>) {
    let Constraints { rolling, parts, graph, begins, completes, .. } = constraints;
    if rolling.groups.is_empty() {
        return;
    }
    completes.sort_unstable();
    completes.dedup();
    let turns: usize = rolling.groups.iter().map(|group| group.batches.nodes()).sum();
    let begins_of = Links::group(turns + 1, begins.iter().copied());
    let completes_of = Links::group(turns + 1, completes.iter().map(|(_, turn, step)| (*turn, *step)));
    // Pairs that are created outside of batches (turn 0) count as pairs of the first batch of their group.
    let early = completes.iter().filter(|(_, turn, _)| *turn == 0).map(|(group, _, step)| (*group, *step));
    let early = Links::group(rolling.groups.len() + 1, early);
    let last_of = |place: usize| last(&parts.list[place]);
    for (group, early) in rolling.groups.iter().zip((1..).map(|group| early.of(group))) {
        let count = u32::try_from(group.batches.nodes()).unwrap_or(u32::MAX);
        let is_down = |node: &RollingNode| node.role == Role::Down;
        // If the first batch only repairs nodes, it waits for nothing. In this case, the second batch waits for
        // the nodes of the group that are in no batch, and for the creation of their relationships.
        let is_repair = group.batches.iter().next().is_some_and(|nodes| nodes.iter().all(is_down));
        let others = || group.others.iter().copied().chain(RollingGroup::parts(&group.surge));
        let mut before = if is_repair {
            None
        } else {
            barrier(graph, ready(&group.name), others().filter_map(last_of), early)
        };
        for ((number, turn), nodes) in (1..).zip(group.first_turn..).zip(group.batches.iter()) {
            let batch = Batch { group: group.name.clone(), number, count };
            let reason = Reason::Batch(batch.clone());
            // No pause precedes a first batch that repairs nodes, or that follows the creation of additional
            // nodes.
            let begins = number == 1 && (nodes.iter().any(is_down) || !group.surge.is_empty());
            let pause = group.pause.filter(|_| !begins);
            let again = number == 1 && group.paused;
            if let Some(pause) = pause.filter(|_| before.is_some() || again) {
                let why = before.map_or_else(|| graph.note(interrupted(&group.name)), |(_, why)| why);
                let pause = graph.step(phase::ROLL, Work::Pause { before: batch, pause });
                if let Some((gate, why)) = before {
                    graph.need(pause, gate, why);
                }
                before = Some((pause, why));
            }
            let first = RollingGroup::waiting_parts(nodes).filter_map(|at| first(&parts.list[at]));
            let first = first.chain(begins_of.of(turn).iter().copied());
            for (step, (gate, why)) in first.filter_map(|step| Some((step, before?))) {
                graph.constrain(step, gate, WaitKind::Needs, Priority::Strong, why);
            }
            // The barrier after the last batch delays no step. It only shows when the last batch is Active.
            let lasts = RollingGroup::parts(nodes).filter_map(last_of);
            let pairs = completes_of.of(turn);
            before = if is_repair && number == 1 {
                let lasts = others().filter_map(last_of).chain(lasts);
                barrier(graph, reason, lasts, early.iter().chain(pairs))
            } else {
                barrier(graph, reason, lasts, pairs)
            };
        }
    }
}

/// Adds a barrier that waits for the last steps of some parts and for the creation of their pairs. If there
/// are no such steps, adds no barrier.
fn barrier<'d>(
    graph: &mut Graph,
    reason: Reason,
    lasts: impl Iterator<Item = Draft>,
    pairs: impl IntoIterator<Item = &'d Draft>,
) -> Option<(Draft, Why)> {
    let (mut lasts, mut pairs) = (lasts.peekable(), pairs.into_iter().peekable());
    if lasts.peek().is_none() && pairs.peek().is_none() {
        return None;
    }
    // This capacity is sufficient for most labels.
    let mut label = String::with_capacity(48);
    let _ = write!(label, "{reason}");
    let why = graph.note(reason);
    let barrier = graph.barrier(label);
    for step in lasts {
        graph.need(barrier, step, why);
    }
    for step in pairs {
        graph.constrain(barrier, *step, WaitKind::Needs, Priority::Weak, why);
    }
    Some((barrier, why))
}

/// Returns the reason why the first batch of a group waits: all other nodes of the group must be up first.
fn ready(group: &ElementName) -> Reason {
    Reason::Phase { label: format!("no other node of {} is down", group.local()) }
}

/// Returns the reason why a plan pauses before the first batch of a group. An earlier change of the group was
/// interrupted during a pause, so this plan repeats the pause.
fn interrupted(group: &ElementName) -> Reason {
    Reason::Phase { label: format!("the interrupted pause of {} is over", group.local()) }
}

/// Returns the first step of a part in its batch. [`add`] makes this step wait for the previous batch.
///
/// The step takes the part out of Active, gives it new values, or raises it to a higher state.
fn first(part: &Part<'_>) -> Option<Draft> {
    part.steps.leave(rank::ACTIVE).or(part.steps.reconfigure()).or(part.steps.up_to(rank::ABSENT))
}

/// Returns the last step of a part in its batch: the step that makes the part Active, or that gives the part new
/// values.
fn last(part: &Part<'_>) -> Option<Draft> {
    part.steps.enter(rank::ACTIVE).or(part.steps.reconfigure())
}
