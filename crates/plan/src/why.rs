//! Explanations of a step: its waits with their reasons, and the waits of the awaited steps.

use std::collections::HashSet;

use crate::plan::{Plan, Step, StepNumber, Wait};

/// A wait in the explanation of a step, which [`Plan::why`] returns. The waiting step is the explained step itself, or
/// a step for which the explained step waits, directly or through further steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Because<'a, W, R> {
    /// The level of the wait. The waits of the explained step have the level 1, and the waits of an awaited step have
    /// the next level. Barriers add no level; see [`Plan::why`].
    pub depth: usize,
    /// The step that waits.
    pub step: Step<'a, W, R>,
    /// The wait that is explained.
    pub wait: Wait<'a, R>,
    /// The step that is awaited.
    pub on: Step<'a, W, R>,
    /// True if the list already contains the waits of `on` at an earlier place. The list then does not repeat them
    /// after this entry. False if `on` has no waits.
    pub is_repeated: bool,
}

impl<W, R> Plan<W, R> {
    /// Explains a step by a list of waits. The waits of the step itself have the level 1. In the list, each wait
    /// is followed by the waits of the awaited step, which have the next level. Waits with a level greater than
    /// `depth` are left out.
    ///
    /// The waits of a step are listed only once, even if several steps wait for it. Otherwise, the explanation could
    /// grow exponentially. Returns `None` if the plan has no step with this number.
    ///
    /// A barrier is a step without work, so it adds no level. For example, a step waits for a barrier, and the barrier
    /// waits for a second step. Then both waits have the level 1.
    pub fn why(&self, number: StepNumber, depth: usize) -> Option<Vec<Because<'_, W, R>>> {
        let mut explained = HashSet::from([number]);
        let mut all = Vec::new();
        let mut open: Vec<(usize, Step<'_, W, R>, Wait<'_, R>)> = Vec::new();
        open.extend(waits(self.step(number)?, 1));
        while let Some((level, step, wait)) = open.pop() {
            let Some(on) = self.step(wait.on) else { continue };
            let next = level + usize::from(!on.task.is_barrier());
            let is_first = !explained.contains(&on.number);
            all.push(Because {
                depth: level,
                step,
                wait,
                on,
                is_repeated: !is_first && on.waits().len() > 0,
            });
            // If the level of the step's waits would be greater than `depth`, the step does not count as
            // explained. A later wait for the same step may have a lower level.
            if is_first && next <= depth {
                explained.insert(on.number);
                open.extend(waits(on, next));
            }
        }
        Some(all)
    }
}

/// Returns the waits of a step in reverse order, because the caller pushes them on a stack.
fn waits<W, R>(
    step: Step<'_, W, R>,
    level: usize,
) -> impl Iterator<Item = (usize, Step<'_, W, R>, Wait<'_, R>)> {
    step.waits().rev().map(move |wait| (level, step, wait))
}
