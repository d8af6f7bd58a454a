//! The critical path and the maximum parallelism of a plan.

use std::cmp::Reverse;

use crate::plan::{Plan, StepNumber};

impl<W, R> Plan<W, R> {
    /// Returns the longest chain of steps that must run one after the other. Each step of the chain waits for the
    /// previous step, directly or through barriers. The result leaves out these barriers.
    pub fn critical_path(&self) -> Vec<StepNumber> {
        let depths = self.depths();
        let depth = |step: StepNumber| (depths[index(step)], Reverse(step));
        let mut next = self.work().map(|(step, _)| step).max_by_key(|step| depth(*step));
        let mut path = Vec::new();
        while let Some(step) = next.and_then(|number| self.step(number)) {
            if !step.task.is_barrier() {
                path.push(step.number);
            }
            next = step.waits().map(|wait| wait.on).max_by_key(|on| depth(*on));
        }
        path.reverse();
        path
    }

    /// Returns the maximum number of steps that can run at once, if all steps take equally long.
    pub fn widest(&self) -> usize {
        let depths = self.depths();
        let mut width = vec![0_usize; self.steps().len() + 1];
        for (step, _) in self.work() {
            width[depths[index(step)]] += 1;
        }
        width.into_iter().max().unwrap_or(0)
    }

    /// Returns the depth of each step, in the order of the steps' numbers. The depth is the maximum number of steps in
    /// a chain of waits that ends with the step. The step itself counts, and barriers do not count.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.steps().len()];
        for step in self.order.iter().filter_map(|number| self.step(*number)) {
            let before = step.waits().map(|wait| depths[index(wait.on)]).max().unwrap_or(0);
            depths[index(step.number)] = before + usize::from(!step.task.is_barrier());
        }
        depths
    }
}

fn index(step: StepNumber) -> usize {
    step.index().expect("steps of a plan are numbered from 1")
}
