//! A plan, and its steps and waits as they are looked at.
//!
//! A plan of a hundred thousand parts has three hundred thousand steps and seven hundred thousand waits. They lie in a few long
//! lists, without an allocation for each; [`Step`] and [`Wait`] are made while one looks, and are as cheap as references.

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;
use windlass_model::{State, StepId};

use crate::step::{Read, Reason, WaitKind, Work};

/// An order of steps to take, complete and without circles.
///
/// Steps that do something come first, in an order in which they could be taken one by one; barriers follow.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Saved")]
#[must_use]
pub struct Plan {
    pub(crate) version: u32,
    /// What steps do, in the order in which they were added.
    pub(crate) works: Vec<Work>,
    /// The steps, in the order of their numbers.
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    pub(crate) reasons: Vec<Noted>,
}

/// A step as it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// The place of what it does.
    pub(crate) work: u32,
    /// Where its waits begin and end.
    pub(crate) waits: (u32, u32),
}

/// A wait as it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) on: StepId,
    pub(crate) cause: Cause,
}

/// Why a step waits and what it asks, in one number: there are millions of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause(u32);

impl Cause {
    const NEEDS: u32 = 1 << 31;

    pub(crate) fn new(kind: WaitKind, Why(why): Why) -> Self {
        Self(if kind == WaitKind::Needs { why | Self::NEEDS } else { why })
    }

    pub(crate) fn kind(self) -> WaitKind {
        if self.0 & Self::NEEDS == 0 { WaitKind::After } else { WaitKind::Needs }
    }

    pub(crate) fn why(self) -> Why {
        Why(self.0 & !Self::NEEDS)
    }
}

/// A reason that a plan or its builder knows: a number, so that a copy costs nothing.
///
/// The first numbers stand for [`Reason::Order`] of the waiting step's own element, by its state: most parts have two of
/// these, and nothing else has to be kept of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Why(u32);

impl Why {
    const STATES: u32 = 7;

    /// The reason that the waiting step's element is in a state first.
    pub fn order(state: State) -> Self {
        Self(state as u32)
    }

    /// The reason at a place in the list of those that were noted.
    pub(crate) fn noted(place: usize) -> Self {
        let number = u32::try_from(place).ok().and_then(|place| place.checked_add(Self::STATES));
        Self(number.filter(|number| *number < Cause::NEEDS).expect("there are less than 2^31 reasons"))
    }

    /// Returns the reason why a step that does `work` waits for one that does `on`.
    pub(crate) fn reason<'p>(self, work: &Work, on: &Work, reasons: &'p [Noted]) -> Cow<'p, Reason> {
        let reason = match self.0.checked_sub(Self::STATES) {
            None => ordered(work, State::ALL[self.0 as usize]),
            Some(place) => match &reasons[place as usize] {
                Noted::Whole(reason) => return Cow::Borrowed(reason),
                Noted::Read(read) => read.reason(work, on),
            },
        };
        Cow::Owned(reason)
    }
}

fn ordered(work: &Work, state: State) -> Reason {
    match work.element() {
        Some(element) => Reason::Order { element: element.clone(), state },
        None => Reason::Phase { label: format!("{state} is first") },
    }
}

/// A reason as it is kept. There is a read for each reference in a large assembly, and whose it is, the two steps say.
#[derive(Debug, Clone)]
pub(crate) enum Noted {
    /// The element of the waiting step reads what that of the other publishes.
    Read(Read),
    /// Anything else.
    Whole(Box<Reason>),
}

/// A step of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Step<'p> {
    /// Its number, from 1.
    pub id: StepId,
    /// What it does.
    pub work: &'p Work,
    links: &'p [Link],
    plan: &'p Plan,
}

/// Something that a step waits for.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'p> {
    /// The step that is waited for.
    pub on: StepId,
    /// Whether it has to succeed.
    pub kind: WaitKind,
    why: Why,
    work: &'p Work,
    plan: &'p Plan,
}

impl Plan {
    /// Returns all steps, by their numbers.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_>> + DoubleEndedIterator + Clone {
        self.nodes.iter().enumerate().map(|(place, node)| self.at(place, node))
    }

    /// Returns the step with this id.
    pub fn step(&self, id: StepId) -> Option<Step<'_>> {
        let place = place(id)?;
        Some(self.at(place, self.nodes.get(place)?))
    }

    /// Returns the steps that do something, without barriers.
    pub fn work(&self) -> impl Iterator<Item = Step<'_>> {
        self.steps().take_while(|step| !step.work.is_barrier())
    }

    /// Tells whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.work().next().is_none()
    }

    fn at(&self, place: usize, node: &Node) -> Step<'_> {
        let id = StepId(u32::try_from(place + 1).unwrap_or(u32::MAX));
        let (start, end) = node.waits;
        let links = &self.links[start as usize..end as usize];
        Step { id, work: &self.works[node.work as usize], links, plan: self }
    }
}

/// Returns the place of a step among the nodes.
fn place(id: StepId) -> Option<usize> {
    usize::try_from(id.0.checked_sub(1)?).ok()
}

impl<'p> Step<'p> {
    /// Returns what it waits for, the lowest number first.
    pub fn waits(self) -> impl ExactSizeIterator<Item = Wait<'p>> + DoubleEndedIterator + Clone {
        let Self { work, plan, .. } = self;
        let wait = move |link: &Link| {
            let Link { on, cause } = *link;
            Wait { on, kind: cause.kind(), why: cause.why(), work, plan }
        };
        self.links.iter().map(wait)
    }
}

impl<'p> Wait<'p> {
    /// Returns why.
    pub fn reason(self) -> Cow<'p, Reason> {
        // Steps count from 1.
        let on = self.plan.nodes[self.on.0 as usize - 1].work;
        self.why.reason(self.work, &self.plan.works[on as usize], &self.plan.reasons)
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version && self.steps().eq(other.steps())
    }
}

impl Eq for Plan {}

impl PartialEq for Step<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.work == other.work && self.waits().eq(other.waits())
    }
}

impl Eq for Step<'_> {}

impl PartialEq for Wait<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.on == other.on && self.kind == other.kind && self.reason() == other.reason()
    }
}

impl Eq for Wait<'_> {}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut plan = serializer.serialize_struct("Plan", 2)?;
        plan.serialize_field("version", &self.version)?;
        plan.serialize_field("steps", &List(self.steps()))?;
        plan.end()
    }
}

impl Serialize for Step<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut step = serializer.serialize_struct("Step", 3)?;
        step.serialize_field("id", &self.id)?;
        step.serialize_field("work", self.work)?;
        step.serialize_field("waits", &List(self.waits()))?;
        step.end()
    }
}

impl Serialize for Wait<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wait = serializer.serialize_struct("Wait", 3)?;
        wait.serialize_field("on", &self.on)?;
        wait.serialize_field("kind", &self.kind)?;
        wait.serialize_field("reason", &*self.reason())?;
        wait.end()
    }
}

/// What an iterator gives, written as a list.
struct List<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// A plan as it was written down.
#[derive(Deserialize)]
struct Saved {
    version: u32,
    steps: Vec<SavedStep>,
}

#[derive(Deserialize)]
struct SavedStep {
    id: StepId,
    work: Work,
    waits: Vec<SavedWait>,
}

#[derive(Deserialize)]
struct SavedWait {
    on: StepId,
    kind: WaitKind,
    reason: Reason,
}

/// A plan that nobody has written down so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum SavedError {
    /// Numbers have holes.
    #[error("the step at place {place} of a plan has the number {id}")]
    Number { place: usize, id: StepId },
    /// A wait leads nowhere.
    #[error("step {step} of a plan waits for {on}, which is not there")]
    Wait { step: StepId, on: StepId },
}

impl TryFrom<Saved> for Plan {
    type Error = SavedError;

    fn try_from(saved: Saved) -> Result<Self, SavedError> {
        let mut plan = Self {
            version: saved.version,
            works: Vec::with_capacity(saved.steps.len()),
            nodes: Vec::with_capacity(saved.steps.len()),
            links: Vec::new(),
            reasons: Vec::new(),
        };
        let count = saved.steps.len();
        for (at, SavedStep { id, work, waits }) in saved.steps.into_iter().enumerate() {
            if place(id) != Some(at) {
                return Err(SavedError::Number { place: at + 1, id });
            }
            let start = length(&plan.links);
            for SavedWait { on, kind, reason } in waits {
                if place(on).is_none_or(|on| on >= count) {
                    return Err(SavedError::Wait { step: id, on });
                }
                plan.reasons.push(Noted::Whole(Box::new(reason)));
                let why = Why::noted(plan.reasons.len() - 1);
                plan.links.push(Link { on, cause: Cause::new(kind, why) });
            }
            plan.nodes.push(Node { work: length(&plan.works), waits: (start, length(&plan.links)) });
            plan.works.push(work);
        }
        Ok(plan)
    }
}

/// Returns how long a list is, which has a number for each step or wait.
pub(crate) fn length<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("there are less than 2^32 steps and waits")
}
