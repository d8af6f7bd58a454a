//! Why a step waits: its waits with their reasons, and those of what it waits for.

use std::collections::HashSet;

use windlass_model::StepId;

use crate::plan::{Plan, Step, Wait};

/// One wait of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Because<'a> {
    /// How far it is from the step that was asked about: 1 for its own waits.
    pub depth: usize,
    /// The step that waits.
    pub step: Step<'a>,
    /// What it waits for, how, and why.
    pub wait: Wait<'a>,
    /// The step that is waited for.
    pub on: Step<'a>,
    /// Whether the waits of that step were told before.
    pub told: bool,
}

impl Plan {
    /// Explains a step: its waits, each followed by the waits of what it waits for, down to `depth`. Every step is
    /// explained once. Waits on barriers don't count as a level, so that what is behind them is seen.
    ///
    /// Nothing for an id that the plan doesn't have.
    pub fn why(&self, id: StepId, depth: usize) -> Option<Vec<Because<'_>>> {
        let mut told = HashSet::from([id]);
        let mut all = Vec::new();
        let mut open: Vec<(usize, Step<'_>, Wait<'_>)> = Vec::new();
        let push = |open: &mut Vec<_>, level, step| open.extend(waits(step, level));
        push(&mut open, 1, self.step(id)?);
        while let Some((level, step, wait)) = open.pop() {
            let Some(on) = self.step(wait.on) else { continue };
            let first = told.insert(on.id);
            all.push(Because { depth: level, step, wait, on, told: !first && on.waits().len() > 0 });
            let next = level + usize::from(!on.work.is_barrier());
            if first && next <= depth {
                push(&mut open, next, on);
            }
        }
        Some(all)
    }
}

/// Returns the waits of a step, the last first, so that a stack gives them in order.
fn waits(step: Step<'_>, level: usize) -> impl Iterator<Item = (usize, Step<'_>, Wait<'_>)> {
    step.waits().rev().map(move |wait| (level, step, wait))
}
