//! Steps and waits in any order become a plan.
//!
//! A large plan is mostly waits, and what they cost is the memory that they go through. So they are kept as numbers in
//! one list, and no step has an allocation of its own.

use std::num::{NonZeroU8, NonZeroU32};

use windlass_model::State;
use windlass_model::links::Links;

use crate::circle::{self, PlanError};
use crate::order::Order;
use crate::plan::{Cause, Noted, Plan, Why, length};
use crate::step::{Read, Reason, WaitKind, Work};

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

    /// Returns the step that is added `count` steps later.
    #[must_use]
    pub fn later(self, count: u8) -> Self {
        Self(self.0.saturating_add(u32::from(count)))
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
    pub(crate) cause: Cause,
}

/// A step that waits for another, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dependent {
    pub(crate) step: u32,
    pub(crate) cause: Cause,
}

/// The waits of a draft, gates left out.
#[derive(Debug)]
pub(crate) struct Dependents {
    /// For each step who waits for it, but for the next step.
    pub(crate) links: Links<Dependent>,
    /// For each step how many waits it has.
    pub(crate) waits: Vec<u32>,
}

/// A barrier between what is before it and what is behind it, each told once a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate(NonZeroU8);

impl Gate {
    /// The most gates that a plan can have.
    pub const MOST: usize = 255;

    pub(crate) fn place(self) -> u32 {
        u32::from(self.0.get()) - 1
    }
}

/// A gate as it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Between {
    pub(crate) barrier: u32,
    pub(crate) cause: Cause,
}

/// The waits of a step that are told in a byte each: most of a plan's are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sides {
    /// The gate that waits for it.
    pub(crate) before: Option<Gate>,
    /// The gate that it waits for.
    pub(crate) behind: Option<Gate>,
    /// The state that its element is in first: it needs the step that was added just before it.
    pub(crate) first: Option<State>,
}

/// Collects steps and waits.
#[derive(Debug, Default)]
#[must_use]
pub struct PlanBuilder {
    pub(crate) works: Vec<Work>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) reasons: Vec<Noted>,
    /// The places of the barriers.
    pub(crate) barriers: Vec<u32>,
    pub(crate) gates: Vec<Between>,
    /// For each step its gates, and whether it needs the step before it.
    pub(crate) sides: Vec<Sides>,
    /// Who waits for whom, once that has been asked for and until a wait is added.
    dependents: Option<Dependents>,
}

impl PlanBuilder {
    /// Makes an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for steps and for waits with a reason each, where it is known about how many there will be.
    pub fn with_capacity(steps: usize, waits: usize) -> Self {
        let (works, sides) = (Vec::with_capacity(steps), Vec::with_capacity(steps));
        let (edges, reasons) = (Vec::with_capacity(waits), Vec::with_capacity(waits));
        Self { works, edges, reasons, sides, ..Self::default() }
    }

    /// Adds a step. Where waits leave a choice, steps keep the order in which they were added.
    pub fn step(&mut self, work: Work) -> Draft {
        let place = length(&self.works);
        if work.is_barrier() {
            self.barriers.push(place);
        }
        self.works.push(work);
        self.sides.push(Sides::default());
        Draft::at(place)
    }

    /// Adds a step that needs the last one, because its element is in `state` first: a byte instead of a wait. Nothing comes
    /// before the first step.
    pub fn next_step(&mut self, work: Work, state: State) -> Draft {
        let step = self.step(work);
        self.dependents = None;
        self.sides[step.place()].first = (step.place() > 0).then_some(state);
        step
    }

    /// Adds a barrier.
    pub fn barrier(&mut self, label: impl Into<String>) -> Draft {
        self.step(Work::Barrier { label: label.into() })
    }

    /// Adds a barrier that much of a plan is on one of the two sides of: two bytes a step instead of two waits. Nothing
    /// when there are [`Gate::MOST`].
    pub fn gate(&mut self, label: impl Into<String>, kind: WaitKind, why: Why) -> Option<Gate> {
        let number = u8::try_from(self.gates.len() + 1).ok().and_then(NonZeroU8::new)?;
        let barrier = self.barrier(label).number();
        self.gates.push(Between { barrier, cause: Cause::new(kind, why) });
        Some(Gate(number))
    }

    /// Lets a gate wait for a step, instead of the one that did so before.
    pub fn before(&mut self, step: Draft, gate: Gate) {
        self.sides[step.place()].before = Some(gate);
    }

    /// Lets a step wait for a gate, instead of the one for which it did so before.
    pub fn behind(&mut self, step: Draft, gate: Gate) {
        self.sides[step.place()].behind = Some(gate);
    }

    /// Notes a reason that several waits share.
    pub fn note(&mut self, reason: Reason) -> Why {
        self.keep(Noted::Whole(Box::new(reason)))
    }

    /// Notes the reason of a wait between elements of which one reads what the other publishes.
    pub fn note_read(&mut self, read: Read) -> Why {
        self.keep(Noted::Read(read))
    }

    fn keep(&mut self, noted: Noted) -> Why {
        self.reasons.push(noted);
        Why::noted(self.reasons.len() - 1)
    }

    /// Lets `step` wait for `on`.
    pub fn wait(&mut self, step: Draft, on: Draft, kind: WaitKind, reason: Reason) {
        let why = self.note(reason);
        self.wait_because(step, on, kind, why);
    }

    /// Lets `step` wait for `on` for a reason that this builder knows.
    pub fn wait_because(&mut self, step: Draft, on: Draft, kind: WaitKind, why: Why) {
        self.edges.push(Edge { step: step.number(), on: on.number(), cause: Cause::new(kind, why) });
        self.dependents = None;
    }

    /// Returns all steps so far, in the order in which they were added.
    pub fn drafts(&self) -> impl ExactSizeIterator<Item = (Draft, &Work)> {
        let draft = |place| Draft::at(u32::try_from(place).unwrap_or(u32::MAX));
        self.works.iter().enumerate().map(move |(place, work)| (draft(place), work))
    }

    /// Returns all waits so far but those at gates: who waits for whom.
    pub fn waits(&self) -> impl Iterator<Item = (Draft, Draft)> + Clone {
        self.edges().map(|edge| (Draft::at(edge.step), Draft::at(edge.on)))
    }

    /// Returns all waits but those at gates, those for the step before first.
    fn edges(&self) -> impl Iterator<Item = Edge> + Clone {
        let steps = (0..length(&self.works)).filter_map(|on| {
            let Dependent { step, cause } = self.next(on)?;
            Some(Edge { step, on, cause })
        });
        steps.chain(self.edges.iter().copied())
    }

    /// Returns the next step, if that needs this one.
    fn next(&self, place: u32) -> Option<Dependent> {
        let state = self.sides.get(place as usize + 1)?.first?;
        Some(Dependent { step: place + 1, cause: Cause::new(WaitKind::Needs, Why::order(state)) })
    }

    /// Calls `tell` with who waits for a step, gates left out.
    pub(crate) fn for_each_dependent(
        &self,
        links: &Links<Dependent>,
        place: u32,
        mut tell: impl FnMut(Dependent),
    ) {
        self.next(place).into_iter().for_each(&mut tell);
        links.of(place).iter().copied().for_each(tell);
    }

    /// Returns what a step does.
    pub fn work(&self, step: Draft) -> &Work {
        &self.works[step.place()]
    }

    /// Drops all steps but some, with their waits. The others move up: what drafts were before is void. Gates stay.
    pub fn retain(&mut self, keep: impl Fn(Draft) -> bool) {
        self.dependents = None;
        let mut keeps: Vec<bool> = (0..length(&self.works)).map(|place| keep(Draft::at(place))).collect();
        self.gates.iter().for_each(|gate| keeps[gate.barrier as usize] = true);
        let mut next = 0;
        let place = |keep: &bool| {
            next += u32::from(*keep);
            keep.then(|| next - 1)
        };
        let places: Vec<Option<u32>> = keeps.iter().map(place).collect();
        let moved = |place: u32| places[place as usize];
        retain(&mut self.works, &keeps);
        for (sides, is_kept) in self.sides.iter_mut().skip(1).zip(&keeps) {
            sides.first = sides.first.filter(|_| *is_kept);
        }
        retain(&mut self.sides, &keeps);
        self.barriers = self.barriers.iter().filter_map(|place| moved(*place)).collect();
        for gate in &mut self.gates {
            gate.barrier = moved(gate.barrier).unwrap_or_default();
        }
        self.edges.retain_mut(|edge| {
            let (Some(step), Some(on)) = (moved(edge.step), moved(edge.on)) else { return false };
            (edge.step, edge.on) = (step, on);
            true
        });
    }

    /// Returns for each step the least of its own number and those of all steps that wait for it, gates left out.
    /// Nothing when steps wait for each other.
    ///
    /// Each wait is looked at once on the way to an order, and once on the way back.
    pub fn least_of_dependents(&mut self, mut numbers: Vec<u8>) -> Option<Vec<u8>> {
        let dependents = self.take_dependents();
        let mut open = dependents.waits.clone();
        let mut order = Vec::with_capacity(open.len());
        order.extend((0..).zip(&open).filter(|(_, open)| **open == 0).map(|(step, _): (u32, _)| step));
        let mut seen = 0;
        while let Some(step) = order.get(seen) {
            let step = *step;
            seen += 1;
            self.for_each_dependent(&dependents.links, step, |Dependent { step, .. }| {
                open[step as usize] -= 1;
                if open[step as usize] == 0 {
                    order.push(step);
                }
            });
        }
        for step in order.iter().rev() {
            let mut least = numbers[*step as usize];
            self.for_each_dependent(&dependents.links, *step, |dependent| {
                least = least.min(numbers[dependent.step as usize]);
            });
            numbers[*step as usize] = least;
        }
        self.dependents = Some(dependents);
        (seen == numbers.len()).then_some(numbers)
    }

    /// Takes what is known of who waits for whom. There may be steps behind its end: barriers for which only gates wait.
    fn take_dependents(&mut self) -> Dependents {
        self.dependents.take().unwrap_or_else(|| {
            let dependent = |edge: &Edge| (edge.on, Dependent { step: edge.step, cause: edge.cause });
            let links = Links::group(self.works.len(), self.edges.iter().map(dependent));
            let mut waits: Vec<u32> =
                self.sides.iter().map(|sides| u32::from(sides.first.is_some())).collect();
            for edge in &self.edges {
                waits[edge.step as usize] += 1;
            }
            Dependents { links, waits }
        })
    }

    /// Puts the steps in order.
    ///
    /// # Errors
    ///
    /// [`PlanError::Cycle`] with a shortest circle when steps wait for each other.
    pub fn build(mut self) -> Result<Plan, PlanError> {
        let dependents = self.take_dependents();
        let order = Order::of(&self, dependents);
        let Some(steps) = order.steps() else { return Err(PlanError::Cycle(circle::find(&self))) };
        let (nodes, links) = order.number(steps);
        Ok(Plan { version: 1, works: self.works, nodes, links, reasons: self.reasons })
    }

    /// Returns all waits, those at gates last.
    pub(crate) fn all_edges(&self) -> impl Iterator<Item = Edge> {
        let between = |gate: Gate| self.gates[gate.place() as usize];
        let sides = || (0..).zip(&self.sides);
        let before = sides().filter_map(move |(on, sides)| {
            let Between { barrier, cause } = between(sides.before?);
            Some(Edge { step: barrier, on, cause })
        });
        let behind = sides().filter_map(move |(step, sides)| {
            let Between { barrier, cause } = between(sides.behind?);
            Some(Edge { step, on: barrier, cause })
        });
        self.edges().chain(before).chain(behind)
    }
}

fn retain<T>(list: &mut Vec<T>, keeps: &[bool]) {
    let mut keeps = keeps.iter();
    list.retain(|_| keeps.next().copied().unwrap_or_default());
}
