//! The waits between the batches of a rolling change.
//!
//! One barrier stands behind each batch, so the waits of two batches cost their sum. The waits are soft: nodes
//! that must go down together do so, and a pair that cannot be created before a later batch delays none.

use windlass_model::ElementName;
use windlass_model::work::{Batch, Reason, Work};
use windlass_plan::{Draft, WaitKind, Why};

use crate::changes::{Part, Role, RollingGroup, RollingNode};
use crate::constraints::{Constraints, Priority, phase};
use crate::rank;

/// Makes the first steps of each batch wait for the batch before.
pub(crate) fn add(constraints: &mut Constraints<'_>) {
    let Constraints { rolling, parts, graph, begins, completes, .. } = constraints;
    if rolling.groups.is_empty() {
        return;
    }
    let turns: usize = rolling.groups.iter().map(|group| group.batches.len()).sum();
    let mut begins_of: Vec<Vec<Draft>> = vec![Vec::new(); turns + 1];
    for (turn, step) in begins.drain(..) {
        begins_of[turn as usize].push(step);
    }
    // The pairs of turn 0 count for the first batch of their group.
    let mut completes_of: Vec<Vec<Draft>> = vec![Vec::new(); turns + 1];
    let mut early: Vec<Vec<Draft>> = vec![Vec::new(); rolling.groups.len() + 1];
    for (group, turn, step) in completes.drain(..) {
        let of = if turn == 0 { &mut early[group as usize] } else { &mut completes_of[turn as usize] };
        of.push(step);
    }
    for (group, early) in rolling.groups.iter().zip(early.into_iter().skip(1)) {
        let count = u32::try_from(group.batches.len()).unwrap_or(u32::MAX);
        let mut waiting = Gate { needs: Vec::new(), pairs: early, reason: ready(&group.name) };
        let surge = RollingGroup::parts(&group.surge).collect::<Vec<_>>();
        waiting.needs.extend(group.others.iter().chain(&surge).filter_map(|at| last(&parts.list[*at])));
        for ((number, turn), nodes) in (1..).zip(group.first_turn as usize..).zip(&group.batches) {
            let batch = Batch { group: group.name.clone(), number, count };
            let is_down = |node: &RollingNode| node.role == Role::Down;
            let mut next =
                Gate { needs: Vec::new(), pairs: Vec::new(), reason: Reason::Batch(batch.clone()) };
            if nodes.iter().all(is_down) {
                // Nothing delays a repair. The next batch waits for the pairs of all nodes.
                next.pairs.append(&mut waiting.pairs);
                next.needs.append(&mut waiting.needs);
            }
            // A batch with nodes that were down is followed by a pause.
            let begins = number == 1 && (nodes.iter().any(is_down) || !group.surge.is_empty());
            let pause = group.pause.filter(|_| !begins);
            let mut before = waiting.build(graph);
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
            let first = first.chain(begins_of[turn].iter().copied());
            for (step, (gate, why)) in first.filter_map(|step| Some((step, before?))) {
                graph.constrain(step, gate, WaitKind::Needs, Priority::Strong, why);
            }
            next.needs.extend(RollingGroup::parts(nodes).filter_map(|at| last(&parts.list[at])));
            next.pairs.append(&mut completes_of[turn]);
            waiting = next;
        }
        // No step waits for the last batch. Its barrier tells when the batch is Active.
        waiting.build(graph);
    }
}

/// A point that the next batch waits for.
struct Gate {
    needs: Vec<Draft>,
    pairs: Vec<Draft>,
    reason: Reason,
}

impl Gate {
    /// Adds the barrier; none if there is nothing to wait for.
    fn build(self, graph: &mut crate::constraints::Graph) -> Option<(Draft, Why)> {
        if self.needs.is_empty() && self.pairs.is_empty() {
            return None;
        }
        let label = self.reason.to_string();
        let why = graph.note(self.reason);
        let gate = graph.barrier(label);
        for step in self.needs {
            graph.need(gate, step, why);
        }
        for step in self.pairs {
            graph.constrain(gate, step, WaitKind::Needs, Priority::Weak, why);
        }
        Some((gate, why))
    }
}

/// Returns the condition that holds before the first batch.
fn ready(group: &ElementName) -> Reason {
    Reason::Phase { label: format!("no other node of {} is down", group.local()) }
}

/// Returns the condition that holds before the first batch after an interrupted pause.
fn interrupted(group: &ElementName) -> Reason {
    Reason::Phase { label: format!("the interrupted pause of {} is over", group.local()) }
}

/// Returns the first step of a part.
fn first(part: &Part<'_>) -> Option<Draft> {
    part.steps.leave(rank::ACTIVE).or(part.steps.reconfigure()).or(part.steps.up_to(rank::ABSENT))
}

/// Returns the step that makes a part Active, or gives it its new values.
fn last(part: &Part<'_>) -> Option<Draft> {
    part.steps.enter(rank::ACTIVE).or(part.steps.reconfigure())
}
