//! The queues of steps that wait for their next call. Three limits make a step wait:
//!
//! - The machine has a maximum number of concurrent calls.
//! - A location may declare `max-jobs`, the maximum number of its concurrent jobs.
//! - An element has at most one running call.
//!
//! A step whose element has a running call is *parked*: it waits in the queue of that element. The end of the
//! call wakes only the first step of that queue, so N steps on one element cost N wake-ups.
//!
//! A step whose location has a limit is parked in the queue of that location, and the machine requests a slot.
//! When the slot is free, the first step of that queue gets the slot. A parked step holds neither an element
//! nor a slot, so parked steps cannot block each other. A machine requests one slot of a location at a time, so
//! that several machines take turns.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use windlass_model::{ElementName, ProcessId, StepId};

use crate::slots::LimitedLocation;

/// The key of a step. The number of a step is unique only within its process.
pub(crate) type StepKey = (ProcessId, StepId);

/// The running calls, and the *parked* steps. A parked step waits until its element or its location is free.
pub(super) struct Queues {
    /// The maximum number of concurrent calls.
    slots: usize,
    running: usize,
    elements: HashMap<ElementName, Queue>,
    /// The elements that have become free and have waiting steps. [`wake`](Self::wake) returns the next waiting step of
    /// the first element in this list. If the first element has a new running call, or no waiting steps any more,
    /// `wake` removes the element from the list.
    left: VecDeque<ElementName>,
    /// For each location, the steps that wait for a slot there. A slot is the right to run jobs at a location.
    locations: HashMap<LimitedLocation, VecDeque<StepKey>>,
    /// The locations for which the machine must still request a slot. At each of these locations, steps wait.
    unrequested: Vec<LimitedLocation>,
}

#[derive(Default)]
struct Queue {
    running: usize,
    parked: VecDeque<StepKey>,
}

impl Queues {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            running: 0,
            elements: HashMap::new(),
            left: VecDeque::new(),
            locations: HashMap::new(),
            unrequested: Vec::new(),
        }
    }

    /// Tells whether one more call may run.
    pub(super) fn has_slot(&self) -> bool {
        self.running < self.slots
    }

    /// Tells whether a call runs on an element.
    pub(super) fn is_in_use(&self, element: &ElementName) -> bool {
        self.elements.get(element).is_some_and(|queue| queue.running > 0)
    }

    /// Records that a call starts on an element.
    pub(super) fn enter(&mut self, element: &ElementName) {
        self.running += 1;
        self.elements.entry(element.clone()).or_default().running += 1;
    }

    /// Records that a call on an element has ended.
    pub(super) fn leave(&mut self, element: &ElementName) {
        let Some(queue) = self.elements.get_mut(element).filter(|queue| queue.running > 0) else { return };
        self.running -= 1;
        queue.running -= 1;
        if queue.running > 0 {
            return;
        }
        if queue.parked.is_empty() {
            self.elements.remove(element);
        } else {
            self.left.push_back(element.clone());
        }
    }

    /// Adds a step to the end of the queue of an element.
    pub(super) fn park(&mut self, element: &ElementName, step: StepKey) {
        self.elements.entry(element.clone()).or_default().parked.push_back(step);
    }

    /// Returns the next parked step whose element has no running call, if one more call may run.
    ///
    /// The step is removed from its queue. The caller may start a call on the element, or leave the element free. If
    /// the element stays free, `wake` then returns the next step of the same queue.
    pub(super) fn wake(&mut self) -> Option<StepKey> {
        while self.has_slot() {
            let element = self.left.front()?;
            let queue = self.elements.get_mut(element).filter(|queue| queue.running == 0);
            let is_free = queue.is_some();
            if let Some(step) = queue.and_then(|queue| queue.parked.pop_front()) {
                return Some(step);
            }
            if is_free {
                self.elements.remove(element);
            }
            self.left.pop_front();
        }
        None
    }

    /// Adds a step to the end of the queue of a location.
    pub(super) fn park_at(&mut self, location: LimitedLocation, step: StepKey) {
        match self.locations.entry(location) {
            Entry::Occupied(queue) => queue.into_mut().push_back(step),
            Entry::Vacant(queue) => {
                self.unrequested.push(queue.key().clone());
                queue.insert(VecDeque::from([step]));
            }
        }
    }

    /// Returns the locations at which a slot must be requested now. While no further call may run, the list is
    /// empty, because a requested slot would stay unused.
    pub(super) fn take_requests(&mut self) -> Vec<LimitedLocation> {
        if self.has_slot() { std::mem::take(&mut self.unrequested) } else { Vec::new() }
    }

    /// Returns the step that gets a free slot of a location, and removes the step from the queue of the location.
    /// Returns `None` if the maximum number of calls is already running, or if no step waits at the location.
    pub(super) fn admit(&mut self, location: &LimitedLocation) -> Option<StepKey> {
        let has_slot = self.has_slot();
        let queue = self.locations.get_mut(location)?;
        let step = if has_slot { queue.pop_front() } else { None };
        if queue.is_empty() {
            self.locations.remove(location);
        } else {
            self.unrequested.push(location.clone());
        }
        step
    }

    /// Removes all parked steps, and returns them in the order of the plan.
    pub(super) fn drain(&mut self) -> Vec<StepKey> {
        self.left.clear();
        self.unrequested.clear();
        let at_elements = self.elements.values_mut().map(|queue| std::mem::take(&mut queue.parked));
        let at_locations = std::mem::take(&mut self.locations).into_values();
        let mut parked: Vec<StepKey> = at_elements.chain(at_locations).flatten().collect();
        self.elements.retain(|_, queue| queue.running > 0);
        parked.sort_unstable();
        parked
    }
}

#[cfg(test)]
mod tests {
    use windlass_driver::Location;
    use windlass_model::{ProcessId, StepId};

    use super::*;

    fn element(name: &str) -> ElementName {
        name.parse().unwrap()
    }

    fn step(number: u32) -> StepKey {
        (ProcessId(1), StepId(number))
    }

    #[test]
    fn the_end_of_a_call_wakes_one_step_in_the_order_of_parking() {
        let mut queues = Queues::new(8);
        let hub = element("t__hub");
        queues.enter(&hub);
        (1..=3).for_each(|number| queues.park(&hub, step(number)));
        assert_eq!(queues.wake(), None);

        for number in 1..=3 {
            queues.leave(&hub);
            assert_eq!(queues.wake(), Some(step(number)));
            queues.enter(&hub);
            assert_eq!(queues.wake(), None);
        }
    }

    #[test]
    fn a_step_that_does_not_enter_leaves_the_element_to_the_next() {
        let mut queues = Queues::new(8);
        let hub = element("t__hub");
        queues.enter(&hub);
        (1..=3).for_each(|number| queues.park(&hub, step(number)));
        queues.leave(&hub);
        assert_eq!(
            [queues.wake(), queues.wake(), queues.wake(), queues.wake()],
            [Some(step(1)), Some(step(2)), Some(step(3)), None]
        );
        assert!(!queues.is_in_use(&hub));
    }

    #[test]
    fn an_element_that_is_in_use_again_wakes_nobody_before_its_next_end() {
        let mut queues = Queues::new(8);
        let (hub, other) = (element("t__hub"), element("t__other"));
        for element in [&hub, &other] {
            queues.enter(element);
        }
        queues.park(&hub, step(1));
        queues.park(&other, step(2));
        queues.leave(&hub);
        queues.enter(&hub);
        queues.leave(&other);
        assert_eq!([queues.wake(), queues.wake()], [Some(step(2)), None]);
        queues.leave(&hub);
        assert_eq!(queues.wake(), Some(step(1)));
    }

    #[test]
    fn nobody_is_woken_without_a_slot() {
        let mut queues = Queues::new(1);
        let (hub, other) = (element("t__hub"), element("t__other"));
        queues.enter(&hub);
        queues.park(&hub, step(1));
        queues.leave(&hub);
        queues.enter(&other);
        assert_eq!((queues.has_slot(), queues.wake()), (false, None));
        queues.leave(&other);
        assert_eq!(queues.wake(), Some(step(1)));
    }

    fn location(name: &str) -> LimitedLocation {
        let max_jobs = 1.try_into().ok();
        LimitedLocation::of(&Location { max_jobs, ..Location::local(name) }).unwrap()
    }

    #[test]
    fn a_slot_admits_the_first_step_of_its_location() {
        let mut queues = Queues::new(8);
        let (lab, office) = (location("lab"), location("office"));
        (1..=2).for_each(|number| queues.park_at(lab.clone(), step(number)));
        queues.park_at(office.clone(), step(3));
        assert_eq!(queues.take_requests(), [lab.clone(), office.clone()]);
        assert_eq!(queues.take_requests(), [], "one slot at a time is requested");
        assert_eq!(queues.admit(&lab), Some(step(1)));
        queues.park_at(lab.clone(), step(4));
        assert_eq!(queues.take_requests(), std::slice::from_ref(&lab));
        assert_eq!([queues.admit(&office), queues.admit(&lab)], [Some(step(3)), Some(step(2))]);
        assert_eq!((queues.take_requests(), queues.admit(&lab)), (vec![lab.clone()], Some(step(4))));
        assert_eq!((queues.take_requests(), queues.admit(&lab)), (vec![], None));
    }

    #[test]
    fn no_slot_is_requested_or_used_while_no_more_call_may_run() {
        let mut queues = Queues::new(1);
        let (lab, hub) = (location("lab"), element("t__hub"));
        queues.park_at(lab.clone(), step(1));
        assert_eq!(queues.take_requests(), std::slice::from_ref(&lab));
        queues.enter(&hub);
        assert_eq!((queues.admit(&lab), queues.take_requests()), (None, vec![]));
        queues.leave(&hub);
        assert_eq!(queues.take_requests(), std::slice::from_ref(&lab));
        assert_eq!(queues.admit(&lab), Some(step(1)));
    }

    #[test]
    fn all_that_are_parked_are_taken_out_in_order() {
        let mut queues = Queues::new(8);
        let (hub, other) = (element("t__hub"), element("t__other"));
        for (element, number) in [(&hub, 3), (&other, 2), (&hub, 1)] {
            queues.enter(element);
            queues.park(element, step(number));
        }
        queues.park_at(location("lab"), step(0));
        assert_eq!(queues.drain(), [step(0), step(1), step(2), step(3)]);
        assert_eq!(queues.take_requests(), []);
        assert_eq!(queues.drain(), []);
        assert!(queues.is_in_use(&hub));
        queues.leave(&other);
        assert_eq!(queues.wake(), None);
    }
}
