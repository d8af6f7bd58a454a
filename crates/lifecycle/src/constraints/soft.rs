//! Chooses which soft constraints a plan keeps. The choice is only necessary if all of them together would form a
//! cycle.
//!
//! The waits of a plan must form an acyclic graph. *Soft constraints* are additional waits that may be dropped.
//! Dropping as few of them as possible is the feedback arc set problem, which is NP-hard. So the algorithm drops few
//! constraints in one pass, perhaps not the fewest.
//!
//! Several soft constraints may form a *whole*: a set of constraints of which the planner must keep at least one. The
//! name refers to an assembly as a whole. For example, all parts of an assembly should wait for the creation of a
//! relationship. If no part waited, the assembly as a whole could be Active before the relationship exists. The wait of
//! one part is sufficient. If no part can wait without a cycle, planning fails.
//!
//! 1. The function [`order`] sorts the steps so that at least one constraint of each whole is satisfied. The function
//!    uses Kahn's algorithm, but begins with the last step of the order.
//! 2. [`Sort`] takes one step after the other by Kahn's algorithm. It treats soft constraints as waits. If each
//!    remaining step waits for another one, some steps wait only because of soft constraints. [`Sort`] takes the one
//!    of them that comes first in the result of [`order`]. It drops the soft constraints that still delay this step.

use std::collections::{BTreeSet, BinaryHeap, HashSet};

use windlass_model::links::Links;
use windlass_model::work::{Reason, Work};
use windlass_plan::{Draft, PlanBuilder, WaitKind, Why};

/// The priority of a wait. It determines whether the planner may drop the wait.
///
/// The variants `Strong` and `Weak` are the two priorities of soft constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// A hard constraint, which is never dropped.
    Required,
    /// The wait is dropped if it would close a cycle of waits.
    Strong,
    /// The wait is dropped if it would close a cycle of waits. If a cycle contains strong and weak waits, the
    /// planner drops a weak wait, not a strong one.
    Weak,
}

/// A wait that may be dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SoftConstraint {
    pub(crate) step: Draft,
    pub(crate) on: Draft,
    pub(crate) kind: WaitKind,
    pub(crate) why: Why,
    /// The identifier of the *whole* to which the constraint belongs; `None` if it belongs to no whole.
    ///
    /// A whole is a set of constraints of which the planner must keep at least one.
    pub(crate) whole: Option<u32>,
}

/// Tells whether all waits and all soft constraints together have no cycle.
pub(crate) fn are_acyclic(
    builder: &PlanBuilder<Work, Reason>,
    strong: &[SoftConstraint],
    weak: &[SoftConstraint],
) -> bool {
    let count = builder.drafts().len();
    let soft = strong.iter().chain(weak).map(|constraint| (constraint.step, constraint.on));
    let waits = builder.waits().chain(soft);
    let mut open = vec![0_u32; count];
    waits.clone().for_each(|(step, _)| open[step.place()] += 1);
    let dependents = Links::group(count, waits.map(|(step, on)| (number(on), number(step))));
    let mut free: Vec<u32> = (0..).zip(&open).filter(|(_, open)| **open == 0).map(|(at, _)| at).collect();
    let mut taken = 0;
    while let Some(at) = free.pop() {
        taken += 1;
        for step in dependents.of(at) {
            let open = &mut open[*step as usize];
            *open -= 1;
            if *open == 0 {
                free.push(*step);
            }
        }
    }
    taken == count
}

/// Chooses the soft constraints that the planner keeps, so that no cycle of waits remains.
///
/// Returns for each constraint in `soft` whether the planner keeps the constraint. The waits of `builder` alone must
/// not form a cycle. The run time is O(n log n) for n steps, waits and constraints.
pub(crate) fn kept(builder: &PlanBuilder<Work, Reason>, soft: &[SoftConstraint]) -> Vec<bool> {
    if soft.is_empty() {
        return Vec::new();
    }
    let places = order(builder, soft).unwrap_or_else(|| (0..).take(builder.drafts().len()).collect());
    Sort::new(builder, soft, places).kept()
}

/// Orders the steps, and returns the position of each step.
///
/// The order satisfies all hard constraints, and at least one constraint of each *whole* (see the [module](self)).
/// It may contradict all other soft constraints. Returns `None` if no such order exists. All constraints of one whole
/// have the same awaited step.
///
/// The algorithm builds the order from its end: it chooses the last step first, and the first step last. A step can
/// be chosen on two conditions:
///
/// - All steps that must wait for this step have been chosen.
/// - For each whole that has this step as its awaited step, at least one of the waiting steps has been chosen.
///
/// If a step meets these conditions, it still meets them after other steps have been chosen. So the algorithm
/// finds an order if there is one.
fn order(builder: &PlanBuilder<Work, Reason>, soft: &[SoftConstraint]) -> Option<Vec<u32>> {
    let count = builder.drafts().len();
    let waits = Links::group(count, builder.waits().map(|(step, on)| (number(step), number(on))));
    let mut keep = vec![0_u32; count];
    builder.waits().for_each(|(_, on)| keep[on.place()] += 1);
    let wholes = || soft.iter().filter_map(|constraint| Some((constraint.whole?, constraint)));
    let mut open: HashSet<u32> = HashSet::new();
    for (whole, constraint) in wholes() {
        keep[constraint.on.place()] += u32::from(open.insert(whole));
    }
    let by_step =
        wholes().map(|(whole, constraint)| (number(constraint.step), (whole, number(constraint.on))));
    let wholes_of = Links::group(count, by_step);

    // The heap returns the step with the highest position first, so the order stays close to the original
    // order of the steps.
    let mut free: BinaryHeap<u32> =
        (0..).zip(&keep).filter(|(_, keep)| **keep == 0).map(|(at, _)| at).collect();
    let mut places = vec![0; count];
    let mut left = u32::try_from(count).ok()?;
    while let Some(at) = free.pop() {
        left -= 1;
        places[at as usize] = left;
        let held = wholes_of.of(at).iter().filter(|(whole, _)| open.remove(whole)).map(|(_, on)| *on);
        for on in waits.of(at).iter().copied().chain(held) {
            let keep = &mut keep[on as usize];
            *keep -= 1;
            if *keep == 0 {
                free.push(on);
            }
        }
    }
    (left == 0).then_some(places)
}

/// A topological sort of the steps, which drops soft constraints that would close a cycle.
struct Sort<'s> {
    soft: &'s [SoftConstraint],
    /// For each step, its position in the order that the function [`order`] has found.
    ///
    /// If [`order`] has found no order, the steps are in the order in which the planner has added them.
    places: Vec<u32>,
    /// For each step, the soft constraints that delay this step, as positions in the list `soft`.
    soft_of: Links<u32>,
    /// For each step, the steps that wait for it, and whether the wait is a soft constraint.
    dependents: Links<(Draft, bool)>,
    /// For each step, the number of hard constraints that still delay this step.
    ///
    /// A constraint delays the step until the sorted order contains the awaited step.
    waits: Vec<u32>,
    /// For each step, the number of soft constraints that still delay this step.
    soft_waits: Vec<u32>,
    /// For each step, whether the sorted order already contains this step.
    taken: Vec<bool>,
}

impl<'s> Sort<'s> {
    fn new(builder: &PlanBuilder<Work, Reason>, soft: &'s [SoftConstraint], places: Vec<u32>) -> Self {
        let count = builder.drafts().len();
        let by_step = (0..).zip(soft).map(|(place, constraint)| (number(constraint.step), place));
        let waits = builder.waits().map(|(step, on)| (number(on), (step, false)));
        let soft_waits = soft.iter().map(|constraint| (number(constraint.on), (constraint.step, true)));
        let mut new = Self {
            soft,
            places,
            soft_of: Links::group(count, by_step),
            dependents: Links::group(count, waits.chain(soft_waits)),
            waits: vec![0; count],
            soft_waits: vec![0; count],
            taken: vec![false; count],
        };
        builder.waits().for_each(|(step, _)| new.waits[step.place()] += 1);
        for constraint in soft {
            new.soft_waits[constraint.step.place()] += 1;
        }
        new
    }

    /// Sorts all steps, so that each step follows the steps for which it waits.
    ///
    /// If each of the remaining steps waits for another remaining step, none of them can be the next step. The
    /// function then drops the soft constraints that still delay one of the remaining steps.
    ///
    /// Returns for each soft constraint whether it was kept.
    fn kept(mut self) -> Vec<bool> {
        let mut kept = vec![true; self.soft.len()];
        let is_free = |at: &Draft| self.waits[at.place()] + self.soft_waits[at.place()] == 0;
        let steps = Draft::all().take(self.taken.len());
        let mut free: Vec<Draft> = steps.clone().filter(is_free).collect();
        // The steps that wait only because of soft constraints, sorted by their positions in `places`.
        let is_kept_back = |at: &Draft| self.waits[at.place()] == 0 && self.soft_waits[at.place()] > 0;
        let mut kept_back: BTreeSet<(u32, Draft)> =
            steps.filter(is_kept_back).map(|at| (self.places[at.place()], at)).collect();
        loop {
            let Some(at) = free.pop() else {
                let Some((_, at)) = kept_back.pop_first() else { break };
                for constraint in self.soft_of.of(number(at)) {
                    kept[*constraint as usize] = self.taken[self.soft[*constraint as usize].on.place()];
                }
                self.soft_waits[at.place()] = 0;
                free.push(at);
                continue;
            };
            if std::mem::replace(&mut self.taken[at.place()], true) {
                continue;
            }
            for (dependent, is_soft) in self.dependents.of(number(at)) {
                let place = dependent.place();
                let open = if *is_soft { &mut self.soft_waits } else { &mut self.waits };
                open[place] = open[place].saturating_sub(1);
                if self.waits[place] == 0 && !self.taken[place] {
                    let own = (self.places[place], *dependent);
                    if self.soft_waits[place] == 0 {
                        kept_back.remove(&own);
                        free.push(*dependent);
                    } else {
                        kept_back.insert(own);
                    }
                }
            }
        }
        kept
    }
}

/// Returns the position of a step in the list of all steps, as a `u32`.
fn number(at: Draft) -> u32 {
    u32::try_from(at.place()).expect("places of steps are as small")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_keeps_one_soft_constraint_if_another_whole_can_drop_one() {
        let mut builder = PlanBuilder::<Work, Reason>::default();
        let steps = ["a is made", "a runs", "a serves", "b serves", "first tie", "second tie"];
        let [made, runs, serves, other, first, second] = steps.map(|label| builder.barrier(label));
        let why = builder.note(Reason::Phase { label: "it is a test".to_owned() });
        for (step, on) in [(runs, made), (serves, runs), (first, other), (second, runs)] {
            builder.wait_because(step, on, WaitKind::Needs, why);
        }
        let soft =
            |step, on, whole| SoftConstraint { step, on, kind: WaitKind::Needs, why, whole: Some(whole) };
        // If the sort chose steps in their original order, it would begin with `made`. Then it would drop the only
        // soft constraint of the whole with the number 0.
        let constraints = [soft(made, first, 0), soft(other, second, 1), soft(serves, second, 1)];
        assert_eq!(kept(&builder, &constraints), [true, false, true]);
    }
}
