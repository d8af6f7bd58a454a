//! Waits that may be dropped: which of them are kept where all at once would be a circle.
//!
//! The waits of a plan make a graph without circles, or there is no plan. *Wishes* are more edges of that graph, which we would
//! like to have and can do without. To drop as few as possible is the problem of the feedback arc set; a fair answer in one
//! pass is enough, with one demand: wishes may belong to a *whole*, an assembly whose parts all wish to wait for the same
//! step, and a whole must keep one of its wishes, so that it does wait.
//!
//! 1. [`order`] finds an order of the steps in which each whole can keep a wish: Kahn's algorithm, backwards.
//! 2. [`Sort`] takes the steps by Kahn's algorithm, with wishes as if they were waits. Where none is free, the earliest in
//!    that order of those that only wishes hold back gives up what it still wishes, and is taken.

use std::collections::{BTreeSet, BinaryHeap, HashSet};

use windlass_model::links::Links;
use windlass_plan::{Draft, WaitKind, Why};

use crate::graph::{At, number};
use crate::plan::PlanBuilder;

/// A wait that may be dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) step: At,
    pub(crate) on: At,
    pub(crate) kind: WaitKind,
    pub(crate) why: Why,
    /// The whole that wishes it: of those with the same number, not all may be dropped.
    pub(crate) whole: Option<u32>,
}

/// Tells of each wish whether it is kept. Each wait and wish is looked at twice.
pub(crate) fn kept(builder: &PlanBuilder, wishes: &[Wish]) -> Vec<bool> {
    if wishes.is_empty() {
        return Vec::new();
    }
    let places = order(builder, wishes).unwrap_or_else(|| (0..).take(builder.drafts().len()).collect());
    Sort::new(builder, wishes, places).kept()
}

/// Returns the place of each step in an order in which some step of each whole comes after what that whole wishes to wait
/// for; all other wishes are left out of account. None where there is no such order.
///
/// The order is made from its end. A step may be the last of those that are left when none of these waits for it, and each
/// whole that wishes to wait for it already has a step behind it. Taking a step never keeps another from being taken, so
/// this gets to the beginning if there is such an order at all.
fn order(builder: &PlanBuilder, wishes: &[Wish]) -> Option<Vec<u32>> {
    let count = builder.drafts().len();
    let waits = Links::group(count, builder.waits().map(|(step, on)| (number(step), number(on))));
    let mut keep = vec![0_u32; count];
    builder.waits().for_each(|(_, on)| keep[on.place()] += 1);
    let wholes = || wishes.iter().filter_map(|wish| Some((wish.whole?, wish)));
    let mut open: HashSet<u32> = HashSet::new();
    for (whole, wish) in wholes() {
        keep[wish.on.place()] += u32::from(open.insert(whole));
    }
    let by_step = wholes().map(|(whole, wish)| (number(wish.step), (whole, number(wish.on))));
    let wholes_of = Links::group(count, by_step);

    // The last first, so that it is the order of the steps themselves as far as that is possible.
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

/// A topological sort in which some edges may be dropped.
struct Sort<'w> {
    open_wishes: &'w [Wish],
    /// The place of each step in the order in which wishes are given up.
    places: Vec<u32>,
    /// For each step the wishes that it has.
    wishes_of: Links<u32>,
    /// For each step those that wait for it, and whether that is a wish.
    dependents: Links<(At, bool)>,
    /// For each step how many waits and how many wishes are still open.
    waits: Vec<u32>,
    wishes: Vec<u32>,
    /// Whether each step has been taken.
    taken: Vec<bool>,
}

impl<'w> Sort<'w> {
    fn new(builder: &PlanBuilder, open_wishes: &'w [Wish], places: Vec<u32>) -> Self {
        let count = builder.drafts().len();
        let by_step = (0..).zip(open_wishes).map(|(place, wish)| (number(wish.step), place));
        let waits = builder.waits().map(|(step, on)| (number(on), (step, false)));
        let wishes = open_wishes.iter().map(|wish| (number(wish.on), (wish.step, true)));
        let mut sort = Self {
            open_wishes,
            places,
            wishes_of: Links::group(count, by_step),
            dependents: Links::group(count, waits.chain(wishes)),
            waits: vec![0; count],
            wishes: vec![0; count],
            taken: vec![false; count],
        };
        builder.waits().for_each(|(step, _)| sort.waits[step.place()] += 1);
        for wish in open_wishes {
            sort.wishes[wish.step.place()] += 1;
        }
        sort
    }

    /// Takes all steps in order, and has wishes given up where there is none. Tells of each wish whether it was kept.
    fn kept(mut self) -> Vec<bool> {
        let mut kept = vec![true; self.open_wishes.len()];
        let is_free = |at: &At| self.waits[at.place()] + self.wishes[at.place()] == 0;
        let steps = Draft::all().take(self.taken.len());
        let mut free: Vec<At> = steps.clone().filter(is_free).collect();
        // Steps that only wishes keep back, first one first.
        let is_kept_back = |at: &At| self.waits[at.place()] == 0 && self.wishes[at.place()] > 0;
        let mut kept_back: BTreeSet<(u32, At)> =
            steps.filter(is_kept_back).map(|at| (self.places[at.place()], at)).collect();
        loop {
            let Some(at) = free.pop() else {
                let Some((_, at)) = kept_back.pop_first() else { break };
                for wish in self.wishes_of.of(number(at)) {
                    kept[*wish as usize] = self.taken[self.open_wishes[*wish as usize].on.place()];
                }
                self.wishes[at.place()] = 0;
                free.push(at);
                continue;
            };
            if std::mem::replace(&mut self.taken[at.place()], true) {
                continue;
            }
            for (dependent, wish) in self.dependents.of(number(at)) {
                let place = dependent.place();
                let open = if *wish { &mut self.wishes } else { &mut self.waits };
                open[place] = open[place].saturating_sub(1);
                if self.waits[place] == 0 && !self.taken[place] {
                    let own = (self.places[place], *dependent);
                    if self.wishes[place] == 0 {
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

#[cfg(test)]
mod tests {
    use windlass_model::work::Reason;

    use super::*;

    #[test]
    fn no_whole_loses_all_of_its_wishes_where_another_has_one_to_spare() {
        let mut builder = PlanBuilder::default();
        let steps = ["a is made", "a runs", "a serves", "b serves", "first tie", "second tie"];
        let [made, runs, serves, other, first, second] = steps.map(|label| builder.barrier(label));
        let why = builder.note(Reason::Phase { label: "it is a test".to_owned() });
        for (step, on) in [(runs, made), (serves, runs), (first, other), (second, runs)] {
            builder.wait_because(step, on, WaitKind::Needs, why);
        }
        let wish = |step, on, whole| Wish { step, on, kind: WaitKind::Needs, why, whole: Some(whole) };
        // The first step of all would have to give up the only wish of its whole.
        let wishes = [wish(made, first, 0), wish(other, second, 1), wish(serves, second, 1)];
        assert_eq!(kept(&builder, &wishes), [true, false, true]);
    }
}
