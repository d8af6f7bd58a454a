//! The critical path and the widest place of a plan.

use windlass_model::StepId;

use crate::plan::{Plan, Step};

impl Plan {
    /// Returns the longest chain of steps that do something and wait for each other: no run is shorter.
    pub fn critical_path(&self) -> Vec<StepId> {
        let depths = self.depths();
        let last = self.work().max_by_key(|step| (depths[place(step.id)], std::cmp::Reverse(step.id)));
        let mut path = Vec::new();
        let mut next = last.map(|step| step.id);
        while let Some(step) = next.and_then(|id| self.step(id)) {
            if !step.work.is_barrier() {
                path.push(step.id);
            }
            next = step
                .waits()
                .max_by_key(|wait| (depths[place(wait.on)], std::cmp::Reverse(wait.on)))
                .map(|wait| wait.on);
        }
        path.reverse();
        path
    }

    /// Returns how many steps could run at once at the widest place, when each takes equally long.
    pub fn widest(&self) -> usize {
        let depths = self.depths();
        let mut width = vec![0_usize; self.steps().len() + 1];
        for step in self.work() {
            width[depths[place(step.id)]] += 1;
        }
        width.into_iter().max().unwrap_or(0)
    }

    /// Returns for each step how many working steps the longest chain up to and with it has.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![None; self.steps().len()];
        let mut stack: Vec<Step<'_>> = self.steps().rev().collect();
        while let Some(&step) = stack.last() {
            if depths[place(step.id)].is_some() {
                stack.pop();
                continue;
            }
            let known = stack.len();
            let open = step.waits().filter(|wait| depths[place(wait.on)].is_none());
            stack.extend(open.filter_map(|wait| self.step(wait.on)));
            if stack.len() == known {
                depths[place(step.id)] = Some(depth(step, &depths));
                stack.pop();
            }
        }
        depths.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// Returns the depth of a step whose waits all have theirs.
fn depth(step: Step<'_>, depths: &[Option<usize>]) -> usize {
    let before = step.waits().filter_map(|wait| depths[place(wait.on)]).max().unwrap_or(0);
    before + usize::from(!step.work.is_barrier())
}

/// Returns the place of a step in the plan's list.
fn place(id: StepId) -> usize {
    usize::try_from(id.0).unwrap_or(usize::MAX).saturating_sub(1)
}
