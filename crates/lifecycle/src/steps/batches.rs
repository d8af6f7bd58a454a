//! The waits between the batches of a rolling change.
//!
//! One barrier stands behind each batch, so the waits of two batches cost their sum. The waits are soft: nodes
//! that must go down together do so, and a pair that cannot be created before a later batch delays none.

use windlass_model::ElementName;
use windlass_model::work::Reason;
use windlass_plan::{Draft, WaitKind, Why};

use crate::changes::{Part, RollingGroup};
use crate::constraints::{Constraints, Priority};
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
        let mut waiting = Gate { needs: Vec::new(), pairs: early, label: ready(&group.name) };
        waiting.needs.extend(group.others.iter().filter_map(|at| last(&parts.list[*at])));
        for ((number, turn), batch) in (1..).zip(group.first_turn as usize..).zip(&group.batches) {
            let before = waiting.build(graph);
            let members = || RollingGroup::parts(batch).map(|at| &parts.list[at]);
            let first = members().filter_map(first).chain(begins_of[turn].iter().copied());
            for (step, (gate, why)) in first.filter_map(|step| Some((step, before?))) {
                graph.constrain(step, gate, WaitKind::Needs, Priority::Strong, why);
            }
            waiting = Gate {
                needs: members().filter_map(last).collect(),
                pairs: std::mem::take(&mut completes_of[turn]),
                label: label(&group.name, number, group.batches.len()),
            };
        }
    }
}

/// A point that the next batch waits for.
struct Gate {
    needs: Vec<Draft>,
    pairs: Vec<Draft>,
    label: String,
}

impl Gate {
    /// Adds the barrier; none if there is nothing to wait for.
    fn build(self, graph: &mut crate::constraints::Graph) -> Option<(Draft, Why)> {
        if self.needs.is_empty() && self.pairs.is_empty() {
            return None;
        }
        let why = graph.note(Reason::Phase { label: self.label.clone() });
        let gate = graph.barrier(self.label);
        for step in self.needs {
            graph.need(gate, step, why);
        }
        for step in self.pairs {
            graph.constrain(gate, step, WaitKind::Needs, Priority::Weak, why);
        }
        Some((gate, why))
    }
}

/// Returns the condition that holds after a batch.
fn label(group: &ElementName, number: usize, count: usize) -> String {
    format!("batch {number} of {count} of {} is Active", group.local())
}

/// Returns the condition that holds before the first batch.
fn ready(group: &ElementName) -> String {
    format!("no other node of {} is down", group.local())
}

/// Returns the first step of a part.
fn first(part: &Part<'_>) -> Option<Draft> {
    part.steps.leave(rank::ACTIVE).or(part.steps.reconfigure()).or(part.steps.up_to(rank::ABSENT))
}

/// Returns the step that makes a part Active, or gives it its new values.
fn last(part: &Part<'_>) -> Option<Draft> {
    part.steps.enter(rank::ACTIVE).or(part.steps.reconfigure())
}
