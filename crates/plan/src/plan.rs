//! A plan, its steps and their waits.
//!
//! One list of the plan contains the waits of all steps, and another list contains the reasons. Several waits can share
//! one reason. [`Step`] and [`Wait`] are views into these lists.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A complete, acyclic order of steps.
///
/// `W` is the work of a step, `R` the reason of a wait. Steps with work have the lowest numbers, and barriers
/// follow. If a step with work waits for another step with work, the number of the waiting step is higher,
/// except in a plan of [`PlanBuilder::build_listed`].
///
/// [`PlanBuilder::build_listed`]: crate::PlanBuilder::build_listed
#[derive(Debug, Clone)]
#[must_use]
pub struct Plan<W, R> {
    /// The steps in the order of their numbers.
    pub(crate) steps: Vec<Entry<W>>,
    /// The waits of all steps.
    pub(crate) links: Vec<Link>,
    pub(crate) reasons: Vec<R>,
    /// A topological order of all steps, barriers included.
    pub(crate) order: Vec<StepNumber>,
}

/// A step as the plan stores it.
#[derive(Debug, Clone)]
pub(crate) struct Entry<W> {
    pub(crate) task: Task<W>,
    /// The range of the step's waits in [`Plan::links`].
    pub(crate) waits: Range<u32>,
}

/// A stored wait: a step waits for the step `on`. The waiting step is the [`Entry`] whose range contains this link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) on: StepNumber,
    pub(crate) kind: WaitKind,
    /// The index of the wait's reason in [`Plan::reasons`].
    pub(crate) reason: u32,
}

/// The number of a step in its plan, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepNumber(pub u32);

impl StepNumber {
    /// Converts an index in the list of steps to a step number. Indices begin at 0, and step numbers begin at 1.
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index + 1).expect("a plan has less than 2^32 steps"))
    }

    /// Returns the index of the step in the list of steps. Returns `None` for the number 0, because the numbers of
    /// steps begin at 1.
    pub(crate) fn index(self) -> Option<usize> {
        usize::try_from(self.0.checked_sub(1)?).ok()
    }
}

impl fmt::Display for StepNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// The task of a step: work, or nothing if the step is a barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task<W> {
    /// No work. A barrier reduces the number of waits: N steps wait for one barrier, and the barrier waits for M
    /// steps. Without the barrier, each of the N steps would wait for all M steps. The label states the condition
    /// that holds after the barrier, such as `all parts are installed`.
    Barrier(String),
    /// Work that the executor of the plan does.
    Work(W),
}

impl<W> Task<W> {
    /// Tells whether the task is a barrier.
    pub fn is_barrier(&self) -> bool {
        matches!(self, Self::Barrier(_))
    }

    /// Returns the work; none for a barrier.
    pub fn work(&self) -> Option<&W> {
        match self {
            Self::Barrier(_) => None,
            Self::Work(work) => Some(work),
        }
    }
}

impl<W: fmt::Display> fmt::Display for Task<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Barrier(label) => f.write_str(label),
            Self::Work(work) => work.fmt(f),
        }
    }
}

/// The kind of a wait: whether the awaited step must succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitKind {
    /// The waiting step starts after the awaited step has ended, with or without success.
    After,
    /// The waiting step starts only if the awaited step succeeds.
    Needs,
}

/// A step of a plan.
#[derive(Debug)]
pub struct Step<'p, W, R> {
    /// The number of the step.
    pub number: StepNumber,
    /// The task of the step.
    pub task: &'p Task<W>,
    links: &'p [Link],
    reasons: &'p [R],
}

/// A wait of a step for another step.
#[derive(Debug)]
pub struct Wait<'p, R> {
    /// The number of the awaited step.
    pub on: StepNumber,
    /// Whether the awaited step must succeed.
    pub kind: WaitKind,
    /// The reason of the wait.
    pub reason: &'p R,
}

impl<W, R> Plan<W, R> {
    /// Returns all steps, in the order of their numbers.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_, W, R>> + DoubleEndedIterator + Clone {
        self.steps.iter().enumerate().map(|(index, entry)| self.view(index, entry))
    }

    /// Returns the step with a given number.
    pub fn step(&self, number: StepNumber) -> Option<Step<'_, W, R>> {
        let index = number.index()?;
        Some(self.view(index, self.steps.get(index)?))
    }

    /// Returns the work of each step that is not a barrier, in the order of the steps' numbers.
    pub fn work(&self) -> impl Iterator<Item = (StepNumber, &W)> {
        self.steps().map_while(|step| Some((step.number, step.task.work()?)))
    }

    /// Tells whether no step has work.
    pub fn is_empty(&self) -> bool {
        self.work().next().is_none()
    }

    fn view<'p>(&'p self, index: usize, entry: &'p Entry<W>) -> Step<'p, W, R> {
        let Range { start, end } = entry.waits;
        let links = &self.links[start as usize..end as usize];
        Step { number: StepNumber::at(index), task: &entry.task, links, reasons: &self.reasons }
    }
}

impl<'p, W, R> Step<'p, W, R> {
    /// Returns the waits of the step, sorted by the number of the awaited step.
    pub fn waits(self) -> impl ExactSizeIterator<Item = Wait<'p, R>> + DoubleEndedIterator + Clone {
        let reasons = self.reasons;
        self.links.iter().map(move |link| {
            let Link { on, kind, reason } = *link;
            Wait { on, kind, reason: &reasons[reason as usize] }
        })
    }
}

// Views can be copied for any `W` and `R`. Derived impls would require `W: Copy`.
impl<W, R> Clone for Step<'_, W, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, R> Copy for Step<'_, W, R> {}

impl<R> Clone for Wait<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Wait<'_, R> {}

impl<W: PartialEq, R: PartialEq> PartialEq for Plan<W, R> {
    fn eq(&self, other: &Self) -> bool {
        self.steps().eq(other.steps())
    }
}

impl<W: Eq, R: Eq> Eq for Plan<W, R> {}

impl<W: PartialEq, R: PartialEq> PartialEq for Step<'_, W, R> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number && self.task == other.task && self.waits().eq(other.waits())
    }
}

impl<W: Eq, R: Eq> Eq for Step<'_, W, R> {}

impl<R: PartialEq> PartialEq for Wait<'_, R> {
    fn eq(&self, other: &Self) -> bool {
        self.on == other.on && self.kind == other.kind && self.reason == other.reason
    }
}

impl<R: Eq> Eq for Wait<'_, R> {}
