//! Halving: finds the bad elements of a batch of health checks, if the whole batch fails.
//!
//! Each search is a *round*. A group of elements that fails is checked again in two halves, until each bad element is
//! alone. The groups that are checked next are called a *wave*. All groups of a wave are checked at the same time. An
//! element that was bad in the last round is a *suspect*, and is checked alone from the beginning. With `b` bad
//! elements among `n` elements, the first round makes at most `1 + 2·b·⌈log2 n⌉` checks. A later round with the same
//! bad elements makes at most `1 + b` checks, if `b` is at most [`MAX_ALONE`].
//!
//! The simpler method would check each element of a failed batch separately. This module does not use this method,
//! because one bad element could then cause 1000 checks.
//!
//! A check that hangs takes as long as its timeout. So after [`MAX_TIMEOUTS`] timeouts in a round, a group that times
//! out is no longer halved. The elements of the group stay unresolved in that round.

use windlass_driver::{Observation, Observed};
use windlass_model::record::{Failure, FailureKind};

/// The number of timeouts after which a [round](self) no longer divides groups that time out. A round is one search for
/// the bad elements of a batch.
pub const MAX_TIMEOUTS: usize = 32;

/// If a batch contains at most this number of [suspects](self), each suspect is checked alone. A suspect is an
/// element whose last check has failed. If there are more suspects, one check first covers all suspects together,
/// because many failures usually have one common cause, such as a broken script.
pub const MAX_ALONE: usize = 16;

/// The maximum number of failed groups of [suspects](self) that one search divides into halves. A suspect is an
/// element whose last check before the search has failed. Further failed groups of suspects are not divided.
const MAX_SUSPECT_FAILURES: usize = 32;

/// The maximum number of elements in a batch of health checks. The engine divides a larger number of elements into
/// several batches. A script writes one answer for each element of its batch to stdout. Even 1000 answers are far
/// smaller than 4 MiB, which is the default maximum of a job's stdout.
pub const LARGEST_BATCH: usize = 1000;

/// Tells whether the answer about an element of a batch is unclear. The answer is unclear in two cases: the driver
/// can't tell the state of the element, or the check ran and failed, for example by a timeout. The element must then be
/// checked again in a smaller group.
///
/// If the check could not run, for example without a runtime, the function returns `false`: a check in a smaller group
/// could not run either.
pub fn is_unclear(answer: &Result<Observed, Failure>) -> bool {
    match answer {
        Ok(seen) => matches!(seen.observation, Observation::CannotTell(_) | Observation::Unanswered),
        Err(failure) => !failure.kind.could_not_run(),
    }
}

/// Returns the failure that replaces `answer`, the unclear answer about an [unresolved](Halving::unresolved) element.
/// If `answer` is a failure, the new message contains the message of `answer`.
pub fn too_many_hang(answer: &Result<Observed, Failure>) -> Failure {
    let why = match answer {
        Err(failure) => failure.message.as_str(),
        Ok(_) => "it gave no clear answer",
    };
    let message = format!("too many checks of its batch hang to check it alone: {why}");
    Failure::new(FailureKind::Infrastructure, message)
}

/// The elements that one check covers, by their positions in the batch of health checks.
pub type Group = Vec<usize>;

/// The search for the bad elements of a batch of health checks (see the [module](self)).
#[derive(Debug)]
pub struct Halving {
    suspects: Vec<bool>,
    wave: Vec<Group>,
    timeouts: usize,
    suspect_failures: usize,
    unresolved: Vec<usize>,
}

/// The way in which the check of a group has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupEnd {
    /// The check has ended in time.
    InTime,
    /// The check has timed out.
    TimedOut,
}

impl GroupEnd {
    /// Returns the way in which the check of a group has ended, from the answers about its elements.
    pub fn of(answers: &[Result<Observed, Failure>]) -> Self {
        let has_timed_out = |answer: &Result<Observed, Failure>| {
            answer.as_ref().is_err_and(|failure| failure.kind == FailureKind::Timeout)
        };
        if answers.iter().any(has_timed_out) { Self::TimedOut } else { Self::InTime }
    }
}

impl Halving {
    /// Begins a *round*: one search for the bad elements of a batch. `suspects` tells for each element whether its
    /// last check has failed.
    pub fn new(suspects: Vec<bool>) -> Self {
        let (bad, good): (Group, Group) = (0..suspects.len()).partition(|element| suspects[*element]);
        let (alone, together) = bad.split_at(if bad.len() > MAX_ALONE { 0 } else { bad.len() });
        let mut wave: Vec<Group> = alone.iter().map(|element| vec![*element]).collect();
        wave.extend([good, together.to_vec()].into_iter().filter(|group| !group.is_empty()));
        Self { suspects, wave, timeouts: 0, suspect_failures: 0, unresolved: Vec::new() }
    }

    /// Returns the groups to check now. Each group is returned only once. An empty list means that the round has ended.
    #[must_use]
    pub fn take_wave(&mut self) -> Vec<Group> {
        std::mem::take(&mut self.wave)
    }

    /// Takes the result of the check of a group. The elements without a clear answer are checked again in
    /// smaller groups.
    pub fn answered(&mut self, group: &Group, unclear: Vec<usize>, end: GroupEnd) {
        self.timeouts += usize::from(end == GroupEnd::TimedOut);
        if group.len() <= 1 || unclear.is_empty() {
            return;
        }
        let is_of_suspects = group.iter().all(|element| self.suspects[*element]);
        self.suspect_failures += usize::from(is_of_suspects);
        let hangs = end == GroupEnd::TimedOut && self.timeouts >= MAX_TIMEOUTS;
        if hangs || self.suspect_failures > MAX_SUSPECT_FAILURES && is_of_suspects {
            return self.unresolved.extend(unclear);
        }
        let middle = unclear.len().div_ceil(2);
        let halves = unclear.chunks(middle).map(<[usize]>::to_vec);
        self.wave.extend(halves);
    }

    /// Returns the unresolved elements of the search, as positions in the batch. If too many checks of the search time
    /// out, the search no longer divides a group that times out. The elements of such a group are unresolved. The
    /// result omits [suspects](self): elements whose last check before this search failed.
    pub fn unresolved(&self) -> impl Iterator<Item = usize> {
        self.unresolved.iter().copied().filter(|element| !self.suspects[*element])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The result of one search for bad elements: the groups that were checked, the elements whose check succeeded,
    /// and the unresolved elements.
    struct Asked {
        groups: Vec<Group>,
        well: BTreeSet<usize>,
        unresolved: BTreeSet<usize>,
    }

    /// Runs one search for bad elements, and returns its result. `suspects` has one entry for each element: `true`
    /// if the last check of the element has failed. `bad` contains the indexes of the bad elements.
    ///
    /// The check of a group fails if the group contains a bad element. Each failed check ends with `end`.
    fn round(bad: &BTreeSet<usize>, suspects: Vec<bool>, end: GroupEnd) -> Asked {
        let mut halving = Halving::new(suspects);
        let (mut groups, mut well) = (Vec::new(), BTreeSet::new());
        loop {
            let wave = halving.take_wave();
            if wave.is_empty() {
                let unresolved = halving.unresolved().collect();
                return Asked { groups, well, unresolved };
            }
            for group in wave {
                let fails = group.iter().any(|element| bad.contains(element));
                well.extend(group.iter().filter(|_| !fails));
                let unclear = if fails { group.clone() } else { Vec::new() };
                halving.answered(&group, unclear, if fails { end } else { GroupEnd::InTime });
                groups.push(group);
            }
        }
    }

    fn alone(groups: &[Group]) -> BTreeSet<usize> {
        groups.iter().filter(|group| group.len() == 1).map(|group| group[0]).collect()
    }

    proptest! {
        /// Each good element has an answer, each bad element was checked alone, and the number of checks is
        /// bounded.
        #[test]
        fn the_bad_ones_are_found(n in 1_usize..600, bad in prop::collection::btree_set(0_usize..600, 0..40)) {
            let bad: BTreeSet<usize> = bad.into_iter().filter(|element| *element < n).collect();
            let Asked { groups, well, .. } = round(&bad, vec![false; n], GroupEnd::InTime);
            let good: BTreeSet<usize> = (0..n).filter(|element| !bad.contains(element)).collect();
            prop_assert_eq!(&well, &good);
            prop_assert!(bad.is_subset(&alone(&groups)));
            let depth = usize::BITS - (n - 1).leading_zeros();
            prop_assert!(groups.len() <= 1 + 2 * bad.len() * depth as usize, "{} checks", groups.len());

            // Bad elements are checked alone until they are well.
            let suspects: Vec<bool> = (0..n).map(|element| bad.contains(&element)).collect();
            let Asked { groups, well, .. } = round(&bad, suspects.clone(), GroupEnd::InTime);
            prop_assert_eq!(&well, &good);
            if bad.len() <= MAX_ALONE {
                prop_assert!(groups.len() <= 1 + bad.len());
            }
            let Asked { well, .. } = round(&BTreeSet::new(), suspects, GroupEnd::InTime);
            prop_assert_eq!(well.len(), n);
        }

        /// The number of timeouts in a round is bounded, no matter how many checks hang.
        #[test]
        fn timeouts_are_bounded(
            n in 1_usize..600,
            bad in prop::collection::btree_set(0_usize..600, 0..600),
            known in prop::collection::btree_set(0_usize..600, 0..600),
        ) {
            let suspects: Vec<bool> = (0..n).map(|element| known.contains(&element)).collect();
            let Asked { groups, well, unresolved } = round(&bad, suspects.clone(), GroupEnd::TimedOut);
            let hangs = groups.iter().filter(|group| group.iter().any(|element| bad.contains(element))).count();
            // After `MAX_TIMEOUTS` timeouts, no further group is halved. But each of the earlier timeouts has
            // added two halves to the next wave, and these halves may also time out.
            prop_assert!(hangs <= 2 * MAX_TIMEOUTS + MAX_ALONE, "{hangs} timeouts");
            let alone = alone(&groups);
            for element in (0..n).filter(|element| !suspects[*element]) {
                let is_judged = well.contains(&element) || alone.contains(&element);
                prop_assert!(is_judged != unresolved.contains(&element));
            }
        }
    }

    #[test]
    fn a_broken_script_is_not_asked_for_each_element() {
        let all: BTreeSet<usize> = (0..500).collect();
        let Asked { groups, .. } = round(&all, vec![true; 500], GroupEnd::InTime);
        assert!(groups.len() <= 2 * MAX_SUSPECT_FAILURES + 1, "{} checks", groups.len());
    }
}
