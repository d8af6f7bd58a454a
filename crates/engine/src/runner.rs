//! Decides which steps of a plan may start. This module uses no clock and no I/O.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use windlass_lifecycle::Plan;
use windlass_model::StepId;
use windlass_model::links::Links;
use windlass_model::work::{Reason, Work};
use windlass_plan::{Step, StepNumber, Task, WaitKind};

/// The progress of a plan: the steps that may start now, the steps that still wait, and the skipped steps.
///
/// If several steps may start, the step with the lowest number starts first. A step may wait for another step in
/// two ways:
///
/// - If a step *needs* another step, the waiting step starts only if the other step succeeds. If the other step
///   fails, the waiting step is skipped.
/// - If a step *comes after* another step, it may start even if the other step fails.
///
/// A skipped step is reported at once. But it counts as ended only when all steps for which it waits have ended.
/// Until then, the steps that come after the skipped step also wait.
#[derive(Debug)]
pub(crate) struct Runner {
    plan: Plan,
    /// For each step, the steps that wait for it, with the kind of each wait.
    dependents: Links<(StepId, WaitKind)>,
    /// For each step, the number of other steps that must still end before the step may start.
    open: Vec<usize>,
    /// For each step, whether the step is skipped.
    doomed: Vec<bool>,
    ready: BinaryHeap<Reverse<StepId>>,
    skipped: Vec<Skipped>,
}

/// A step that will never start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) step: StepId,
    /// The reason, which names the failed step that the skipped step needs directly or indirectly.
    pub(crate) because: String,
}

impl Runner {
    pub(crate) fn new(plan: Plan) -> Self {
        let count = plan.steps().len();
        let waits = plan.steps().flat_map(|step| step.waits().map(move |wait| (id(step), wait)));
        let dependents = Links::group(count, waits.map(|(step, wait)| (wait.on.0 - 1, (step, wait.kind))));
        let open: Vec<usize> = plan.steps().map(|step| step.waits().len()).collect();
        let mut runner = Self {
            dependents,
            doomed: vec![false; count],
            ready: BinaryHeap::new(),
            skipped: Vec::new(),
            plan,
            open,
        };
        let is_free = |step: &StepId| runner.open[place(*step)] == 0;
        let free: Vec<StepId> = runner.plan.steps().map(id).filter(is_free).collect();
        for step in free {
            runner.release(step);
        }
        runner
    }

    fn task(&self, step: StepId) -> &Task<Work> {
        self.plan.step(StepNumber(step.0)).expect("it is a step of this plan").task
    }

    /// Returns the work of a step. The step must be either a step that [`next`](Self::next) has returned, or a skipped
    /// step.
    pub(crate) fn work(&self, step: StepId) -> &Work {
        self.task(step).work().expect("barriers are neither started nor skipped")
    }

    /// Returns the next step that may start.
    pub(crate) fn next(&mut self) -> Option<StepId> {
        self.ready.pop().map(|Reverse(step)| step)
    }

    /// Tells whether no step is left that may start.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.ready.is_empty()
    }

    /// Returns the skipped steps that this method has not returned before.
    pub(crate) fn take_skipped(&mut self) -> Vec<Skipped> {
        std::mem::take(&mut self.skipped)
    }

    /// Records the end of a step. `well` tells whether the step has succeeded. If `well` is `false`, the method skips
    /// all steps that need the step, directly or indirectly. The steps that now wait for no other step may start:
    /// [`next`](Self::next) returns them.
    ///
    /// The method uses a list and no recursion, so that a long chain of skipped steps can't overflow the stack.
    pub(crate) fn ended(&mut self, step: StepId, well: bool) {
        if !well {
            self.doom_who_needs(step);
        }
        let mut ended = vec![step];
        while let Some(step) = ended.pop() {
            for (dependent, _) in self.dependents.of(number(step)) {
                let at = place(*dependent);
                self.open[at] -= 1;
                if self.open[at] > 0 {
                    continue;
                }
                if self.task(*dependent).is_barrier() || self.doomed[at] {
                    ended.push(*dependent);
                } else {
                    self.ready.push(Reverse(*dependent));
                }
            }
        }
    }

    /// Skips all steps that need a failed step, directly or indirectly.
    fn doom_who_needs(&mut self, failed: StepId) {
        let because = format!("{} did not succeed", self.task(failed));
        let mut doomed = vec![failed];
        while let Some(step) = doomed.pop() {
            for (dependent, kind) in self.dependents.of(number(step)) {
                let is_new =
                    *kind == WaitKind::Needs && !std::mem::replace(&mut self.doomed[place(*dependent)], true);
                if !is_new {
                    continue;
                }
                if !self.task(*dependent).is_barrier() {
                    self.skipped.push(Skipped { step: *dependent, because: because.clone() });
                }
                doomed.push(*dependent);
            }
        }
    }

    fn release(&mut self, step: StepId) {
        if self.task(step).is_barrier() {
            self.ended(step, true);
        } else {
            self.ready.push(Reverse(step));
        }
    }
}

fn id(step: Step<'_, Work, Reason>) -> StepId {
    StepId(step.number.0)
}

/// Returns the number of a step, counted from 0. A [`StepId`] counts from 1.
fn number(step: StepId) -> u32 {
    step.0.saturating_sub(1)
}

/// Returns the index of a step in `Runner::open` and `Runner::doomed`.
fn place(step: StepId) -> usize {
    number(step) as usize
}

#[cfg(test)]
mod tests {
    use windlass_plan::Draft;

    use super::*;

    type PlanBuilder = windlass_plan::PlanBuilder<Work, Reason>;

    fn step(builder: &mut PlanBuilder, name: &str) -> Draft {
        builder.step(Work::Transition {
            element: format!("t__{name}").parse().unwrap(),
            from: windlass_model::State::Absent,
            to: windlass_model::State::Installed,
            calls: [windlass_model::Transition::Install].into(),
            side: windlass_model::Side::Desired,
        })
    }

    fn because() -> Reason {
        Reason::Phase { label: "all parts are Installed".into() }
    }

    fn names(runner: &mut Runner) -> Vec<String> {
        std::iter::from_fn(|| runner.next().map(|id| runner.work(id).to_string())).collect()
    }

    impl Runner {
        fn id(&self, name: &str) -> StepId {
            let wanted = format!("{name} Install");
            let (number, _) = self.plan.work().find(|(_, work)| work.to_string() == wanted).unwrap();
            StepId(number.0)
        }
    }

    #[test]
    fn a_failure_skips_who_needs_it_and_passes_who_only_comes_after() {
        let mut builder = PlanBuilder::new();
        let [a, b, needs, needs_too, after] =
            ["a", "b", "needs", "needs-too", "after"].map(|name| step(&mut builder, name));
        let barrier = builder.barrier("all parts are Installed");
        for member in [a, b] {
            builder.wait(barrier, member, WaitKind::After, because());
        }
        builder.wait(needs, a, WaitKind::Needs, because());
        builder.wait(needs_too, needs, WaitKind::Needs, because());
        builder.wait(after, barrier, WaitKind::After, because());
        let mut runner = Runner::new(builder.build().unwrap());

        assert_eq!(names(&mut runner), ["a Install", "b Install"]);
        runner.ended(runner.id("a"), false);
        let skipped = runner.take_skipped();
        assert_eq!(skipped.len(), 2);
        assert!(skipped.iter().all(|s| s.because == "a Install did not succeed"), "{skipped:?}");
        assert_eq!(names(&mut runner), [""; 0]);
        runner.ended(runner.id("b"), true);
        assert_eq!(names(&mut runner), ["after Install"]);
    }

    #[test]
    fn a_barrier_that_needs_what_failed_fails_too() {
        let mut builder = PlanBuilder::new();
        let [a, b] = ["a", "b"].map(|name| step(&mut builder, name));
        let gate = builder.barrier("a is ready");
        builder.wait(gate, a, WaitKind::Needs, because());
        builder.wait(b, gate, WaitKind::Needs, because());
        let mut runner = Runner::new(builder.build().unwrap());
        assert_eq!(names(&mut runner), ["a Install"]);
        runner.ended(runner.id("a"), false);
        assert_eq!(runner.take_skipped().len(), 1);
    }

    #[test]
    fn steps_after_a_skipped_step_wait_for_its_dependencies() {
        let mut builder = PlanBuilder::new();
        let [a, b, skipped, after] = ["a", "b", "skipped", "after"].map(|name| step(&mut builder, name));
        let gate = builder.barrier("a and b are done");
        for member in [a, b] {
            builder.wait(gate, member, WaitKind::Needs, because());
        }
        builder.wait(skipped, gate, WaitKind::Needs, because());
        builder.wait(after, skipped, WaitKind::After, because());
        let mut runner = Runner::new(builder.build().unwrap());
        assert_eq!(names(&mut runner), ["a Install", "b Install"]);
        runner.ended(runner.id("a"), false);
        assert_eq!((names(&mut runner), runner.take_skipped().len()), (vec![], 1));
        runner.ended(runner.id("b"), true);
        assert_eq!((names(&mut runner), runner.take_skipped().len()), (vec!["after Install".to_owned()], 0));
    }
}
