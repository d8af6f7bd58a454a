//! The steps that change one part. For each state, a [`Steps`] tells in which step the part leaves this state, and
//! in which step the part reaches it. A state is given as a number, its [rank](crate::rank).
//!
//! The module `steps` stores a [`Steps`] directly in each part, for fast access.

use std::ops::RangeInclusive;

use windlass_plan::Draft;

/// The steps of a part.
///
/// In the list of all steps of the plan, the steps of a part directly follow each other. So each step is stored as a
/// small number, counted from the step `first`: 1 is `first`, 2 is the step after it, and 0 means that there is no
/// step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Steps {
    first: Option<Draft>,
    leave: [u8; 5],
    enter: [u8; 5],
    reconfigure: u8,
}

impl Steps {
    /// Returns the step that changes the state of the part from this [rank](crate::rank) to another rank; `None` if
    /// there is no such step.
    pub(crate) fn leave(&self, rank: u8) -> Option<Draft> {
        self.at(self.leave[usize::from(rank)])
    }

    /// Returns the step in which the part rises to a [rank](crate::rank); `None` if no step does so.
    pub(crate) fn enter(&self, rank: u8) -> Option<Draft> {
        self.at(self.enter[usize::from(rank)])
    }

    /// Returns the step that applies new values.
    pub(crate) fn reconfigure(&self) -> Option<Draft> {
        self.at(self.reconfigure)
    }

    /// Returns the last step that brings the part to a lower state; `None` if there is no such step.
    pub(crate) fn lowest(&self) -> Option<Draft> {
        self.at(self.leave.iter().copied().max().unwrap_or(0))
    }

    /// Returns the first step that raises the part to the [rank](crate::rank) `rank`, or to a higher rank.
    pub(crate) fn up_to(&self, rank: u8) -> Option<Draft> {
        (rank..5).find_map(|rank| self.enter(rank))
    }

    /// Records the step in which the part leaves these [ranks](crate::rank).
    pub(crate) fn set_leave(&mut self, ranks: RangeInclusive<u8>, step: Draft) {
        let number = self.number(step);
        for rank in ranks {
            self.leave[usize::from(rank)] = number;
        }
    }

    /// Records the step in which the part reaches these [ranks](crate::rank). A rank is the number of a state.
    pub(crate) fn set_enter(&mut self, ranks: RangeInclusive<u8>, step: Draft) {
        let number = self.number(step);
        for rank in ranks {
            self.enter[usize::from(rank)] = number;
        }
    }

    /// Records the step that applies new values.
    pub(crate) fn set_reconfigure(&mut self, step: Draft) {
        self.reconfigure = self.number(step);
    }

    fn at(&self, number: u8) -> Option<Draft> {
        Some(self.first?.later(number.checked_sub(1)?))
    }

    fn number(&mut self, step: Draft) -> u8 {
        let first = self.first.get_or_insert(step);
        u8::try_from(step.place() - first.place() + 1).expect("a part takes a handful of steps")
    }
}
