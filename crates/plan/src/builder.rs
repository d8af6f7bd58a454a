//! The builder of plans. A caller adds the steps and their waits in any order.

use petgraph::visit::EdgeRef;

use crate::circle::{self, Cycle};
use crate::order;
use crate::plan::{Plan, Task, WaitKind};
use crate::steps::{Edge, Steps};

pub use crate::steps::{Draft, Why};

/// Builds a [`Plan`] from steps and waits. A *wait* states that one step starts after another step has ended.
#[derive(Debug)]
#[must_use]
pub struct PlanBuilder<W, R> {
    steps: Steps<W>,
    reasons: Vec<R>,
}

impl<W, R> Default for PlanBuilder<W, R> {
    fn default() -> Self {
        Self { steps: Steps::default(), reasons: Vec::new() }
    }
}

impl<W, R> PlanBuilder<W, R> {
    /// Creates an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty builder with capacity for a number of steps and waits.
    pub fn with_capacity(steps: usize, waits: usize) -> Self {
        Self { steps: Steps::with_capacity(steps, waits), reasons: Vec::with_capacity(waits) }
    }

    /// Adds a step with work. If several steps can be the next step of the plan, the step that was added first is
    /// next.
    pub fn step(&mut self, work: W) -> Draft {
        self.steps.add_node(Task::Work(work)).into()
    }

    /// Adds a barrier. The label states the condition that holds after the barrier.
    pub fn barrier(&mut self, label: impl Into<String>) -> Draft {
        self.steps.add_node(Task::Barrier(label.into())).into()
    }

    /// Adds a reason that several waits can share. The caller passes the returned handle to
    /// [`wait_because`](Self::wait_because) for each of these waits.
    pub fn note(&mut self, reason: R) -> Why {
        self.reasons.push(reason);
        Why::last_of(&self.reasons)
    }

    /// Adds a wait: `step` starts only after `on` has ended. `kind` tells whether `on` must also have succeeded.
    ///
    /// Do not pass a [`Draft`] from another builder. In this builder, the same `Draft` may refer to a different step.
    ///
    /// # Panics
    /// If a step does not exist in this builder.
    pub fn wait(&mut self, step: Draft, on: Draft, kind: WaitKind, reason: R) {
        let why = self.note(reason);
        self.wait_because(step, on, kind, why);
    }

    /// Adds a wait like [`wait`](Self::wait), with a reason that several waits share. The argument `why` comes from
    /// [`note`](Self::note).
    pub fn wait_because(&mut self, step: Draft, on: Draft, kind: WaitKind, why: Why) {
        self.steps.add_edge(on.node(), step.node(), Edge { kind, why });
    }

    /// Returns all steps and barriers, in the order in which they were added.
    pub fn drafts(&self) -> impl ExactSizeIterator<Item = (Draft, &Task<W>)> {
        self.steps.node_indices().map(|node| (node.into(), &self.steps[node]))
    }

    /// Returns all added waits, each as the waiting step and the awaited step.
    pub fn waits(&self) -> impl Iterator<Item = (Draft, Draft)> + Clone {
        self.steps.edge_references().map(|edge| (edge.target().into(), edge.source().into()))
    }

    /// Returns the task of a step.
    ///
    /// # Panics
    ///
    /// If the step belongs to another builder, the result is wrong, or the function panics because this builder has
    /// fewer steps.
    pub fn task(&self, step: Draft) -> &Task<W> {
        &self.steps[step.node()]
    }

    /// Returns a number for each step: the least of its own number and the numbers of its dependents. The
    /// dependents of a step are all steps that wait for the step, directly or through other steps.
    ///
    /// `numbers` contains one number for each step, for example the number of its phase. In `numbers` and in the
    /// result, the steps are in the order in which they were added. Returns `None` if the waits form a cycle.
    ///
    /// # Panics
    ///
    /// If `numbers` is too short. A barrier counts as a step.
    pub fn least_of_dependents(&self, mut numbers: Vec<u8>) -> Option<Vec<u8>> {
        let order = order::of(&self.steps)?;
        for step in order.into_iter().rev() {
            let dependents = self.steps.neighbors(step).map(|dependent| numbers[dependent.index()]);
            let least = dependents.min().unwrap_or(u8::MAX);
            numbers[step.index()] = numbers[step.index()].min(least);
        }
        Some(numbers)
    }

    /// Builds the plan. The order of the steps determines their numbers.
    ///
    /// # Errors
    ///
    /// A shortest [`Cycle`] if steps wait for each other.
    pub fn build(self) -> Result<Plan<W, R>, Cycle<W, R>>
    where
        W: Clone,
        R: Clone,
    {
        self.build_listed(|_| true)
    }

    /// Builds the plan like [`build`](Self::build), but with other numbers. A step is listed if `is_listed` returns
    /// true for its work. The listed steps get the lowest numbers, without gaps: `windlass plan` lists s1, s2, s3 and
    /// so on. The other steps with work follow, and then the barriers. So a listed step may wait for an unlisted step
    /// with work, although the unlisted step has a higher number.
    ///
    /// # Errors
    ///
    /// A shortest [`Cycle`] if steps wait for each other.
    pub fn build_listed(self, is_listed: impl Fn(&W) -> bool) -> Result<Plan<W, R>, Cycle<W, R>>
    where
        W: Clone,
        R: Clone,
    {
        match order::of(&self.steps) {
            Some(order) => Ok(order::plan(self.steps, self.reasons, &order, is_listed)),
            None => Err(circle::find(&self.steps, &self.reasons)),
        }
    }
}
