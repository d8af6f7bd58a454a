//! Steps and waits in any order become a plan.
//!
//! A large plan is mostly waits, and what they cost is the memory that they go through. So they are kept as numbers in one list,
//! and put in order by counting: first by the step that is waited for, then by the one that waits. Nothing is sorted,
//! and no step has an allocation of its own. (A graph of petgraph has both edges of each node linked through one list, in
//! which a walk jumps about; where no order exists, it is still what finds the circle.)

use std::num::NonZeroU32;

use windlass_model::StepId;
use windlass_model::links::Links;

use crate::circle::{self, PlanError};
use crate::earliest::Earliest;
use crate::plan::{Link, Node, Plan, Why, length};
use crate::step::{Reason, WaitKind, Work};

/// A step that has been added and has no number yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Draft(NonZeroU32);

impl Draft {
    /// Returns the draft that is added after `place` others.
    fn at(place: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(place))
    }

    /// Returns all drafts that there can be, in the order in which they are added.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..u32::MAX).map(Self::at)
    }

    /// Returns how many were added before it.
    pub fn place(self) -> usize {
        self.0.get() as usize - 1
    }

    fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// A wait between two places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) step: u32,
    pub(crate) on: u32,
    pub(crate) why: Why,
    pub(crate) kind: WaitKind,
}

/// Collects steps and waits.
#[derive(Debug, Default)]
#[must_use]
pub struct PlanBuilder {
    pub(crate) works: Vec<Work>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) reasons: Vec<Reason>,
}

impl PlanBuilder {
    /// Makes an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for steps and waits, where it is known about how many there will be.
    pub fn with_capacity(steps: usize, waits: usize) -> Self {
        Self { works: Vec::with_capacity(steps), edges: Vec::with_capacity(waits), reasons: Vec::new() }
    }

    /// Adds a step. Where waits leave a choice, steps keep the order in which they were added.
    pub fn step(&mut self, work: Work) -> Draft {
        let draft = Draft::at(length(&self.works));
        self.works.push(work);
        draft
    }

    /// Adds a barrier.
    pub fn barrier(&mut self, label: impl Into<String>) -> Draft {
        self.step(Work::Barrier { label: label.into() })
    }

    /// Notes a reason that several waits share.
    pub fn note(&mut self, reason: Reason) -> Why {
        self.reasons.push(reason);
        Why::noted(self.reasons.len() - 1)
    }

    /// Lets `step` wait for `on`.
    pub fn wait(&mut self, step: Draft, on: Draft, kind: WaitKind, reason: Reason) {
        let why = self.note(reason);
        self.wait_because(step, on, kind, why);
    }

    /// Lets `step` wait for `on` for a reason that this builder knows.
    pub fn wait_because(&mut self, step: Draft, on: Draft, kind: WaitKind, why: Why) {
        self.edges.push(Edge { step: step.number(), on: on.number(), why, kind });
    }

    /// Returns all steps so far, in the order in which they were added.
    pub fn drafts(&self) -> impl ExactSizeIterator<Item = (Draft, &Work)> {
        let draft = |place| Draft::at(u32::try_from(place).unwrap_or(u32::MAX));
        self.works.iter().enumerate().map(move |(place, work)| (draft(place), work))
    }

    /// Returns all waits so far: who waits for whom.
    pub fn waits(&self) -> impl Iterator<Item = (Draft, Draft)> + Clone {
        self.edges.iter().map(|edge| (Draft::at(edge.step), Draft::at(edge.on)))
    }

    /// Returns what a step does.
    pub fn work(&self, step: Draft) -> &Work {
        &self.works[step.place()]
    }

    /// Drops all steps but some, with their waits. The others move up: what drafts were before is void.
    pub fn retain(&mut self, keep: impl Fn(Draft) -> bool) {
        let keep: Vec<bool> = (0..length(&self.works)).map(|place| keep(Draft::at(place))).collect();
        let mut kept = 0;
        let places: Vec<Option<u32>> = keep
            .iter()
            .map(|keep| {
                kept += u32::from(*keep);
                keep.then(|| kept - 1)
            })
            .collect();
        let mut keep = keep.into_iter();
        self.works.retain(|_| keep.next().unwrap_or_default());
        self.edges.retain_mut(|edge| {
            let (Some(step), Some(on)) = (places[edge.step as usize], places[edge.on as usize]) else {
                return false;
            };
            (edge.step, edge.on) = (step, on);
            true
        });
    }

    /// Puts the steps in order.
    ///
    /// # Errors
    ///
    /// [`PlanError::Cycle`] with a shortest circle when steps wait for each other.
    pub fn build(self) -> Result<Plan, PlanError> {
        let by_on = (0..).zip(&self.edges).map(|(at, edge): (u32, _)| (edge.on, at));
        let dependents = Links::group(self.works.len(), by_on);
        let order = self.order(&dependents);
        if order.len() < self.works.len() {
            return Err(PlanError::Cycle(circle::find(&self)));
        }
        let (nodes, links) = self.number(order, &dependents);
        Ok(Plan { version: 1, works: self.works, nodes, links, reasons: self.reasons })
    }

    /// Kahn's order, the earliest added of the free steps first. Steps in a circle, and what waits for them, are left
    /// out.
    fn order(&self, dependents: &Links<u32>) -> Vec<u32> {
        let mut open = self.wait_counts();
        let mut free = Earliest::below(self.works.len());
        open.iter().enumerate().filter(|(_, open)| **open == 0).for_each(|(place, _)| free.insert(place));
        let mut order = Vec::with_capacity(open.len());
        while let Some(place) = free.pop() {
            let place = u32::try_from(place).expect("places of steps are as small");
            order.push(place);
            for edge in dependents.of(place) {
                let step = self.edges[*edge as usize].step as usize;
                open[step] -= 1;
                if open[step] == 0 {
                    free.insert(step);
                }
            }
        }
        order
    }

    /// Returns for each step how many waits it has.
    fn wait_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.works.len()];
        self.edges.iter().for_each(|edge| counts[edge.step as usize] += 1);
        counts
    }

    /// Gives the steps their numbers, barriers the last ones, and gathers the waits of each.
    ///
    /// What is waited for is gone through by number, so each step gets its waits by number. Of several on one step, the
    /// strongest is kept, with the reason that was added first.
    fn number(&self, order: Vec<u32>, dependents: &Links<u32>) -> (Vec<Node>, Vec<Link>) {
        let counts = self.wait_counts();
        let is_barrier = |place: &u32| self.works[*place as usize].is_barrier();
        let barriers: Vec<u32> = order.iter().copied().filter(is_barrier).collect();
        let mut numbered = order;
        numbered.retain(|place| !is_barrier(place));
        numbered.extend(barriers);

        let mut end = 0;
        let mut numbers = vec![0_u32; numbered.len()];
        let mut nodes = Vec::with_capacity(numbered.len());
        for (number, place) in (0..).zip(&numbered) {
            numbers[*place as usize] = number;
            nodes.push(Node { work: *place, waits: (end, end) });
            end += counts[*place as usize];
        }
        // For each step, what it was last seen to wait for.
        let mut last = counts;
        last.fill(0);
        let nothing = Link { on: StepId(0), why: Why::noted(0), kind: WaitKind::After };
        let mut links = vec![nothing; self.edges.len()];
        for (on, place) in (1..).zip(&numbered) {
            for edge in dependents.of(*place).iter().map(|edge| self.edges[*edge as usize]) {
                let link = Link { on: StepId(on), why: edge.why, kind: edge.kind };
                let end = &mut nodes[numbers[edge.step as usize] as usize].waits.1;
                if std::mem::replace(&mut last[edge.step as usize], on) != on {
                    links[*end as usize] = link;
                    *end += 1;
                } else if links[*end as usize - 1].kind < link.kind {
                    links[*end as usize - 1] = link;
                }
            }
        }
        (nodes, links)
    }
}
