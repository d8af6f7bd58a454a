//! The outcome of a call. This outcome follows from the report of the driver and from the status of the
//! instance.

use std::time::Duration;

use windlass_driver::{Observation, Settled};
use windlass_model::instance::Status;
use windlass_model::record::{Failure, FailureKind};

/// The outcome of a call, after the report of the driver has been applied to the records.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// The instance has reached the requested state.
    Succeeded,
    /// The instance is still changing, or it is unknown whether it has reached the requested state. The instance is
    /// observed again.
    Converging,
    /// The instance no longer exists.
    Gone,
    /// The script reports a failure.
    Failed(Failure),
}

/// The facts that determine the outcome of a call. They are known after the driver's report about the instance has
/// been applied to the records.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// The status of the instance before the report. It is filled only for the first report of an operation or a
    /// command, and is empty for all other reports.
    pub before: &'a Status,
    /// The status of the instance as changed by the report.
    pub after: &'a Status,
    /// The driver's statement: the instance has reached the requested state, is still changing, or no longer exists.
    /// If [`seen`](Self::seen) is set, the value is always [`Settled::Yes`].
    pub settled: Settled,
    /// The observation that the report comes from; `None` if the report is the answer to a call.
    pub seen: Option<&'a Observation>,
    /// Whether the call removes the instance.
    pub removes: bool,
}

impl CallOutcome {
    /// Determines the outcome of a call.
    pub fn of(facts: CallFacts<'_>) -> Self {
        let CallFacts { before, after, settled, seen, removes } = facts;
        let converging = (after.converging && !before.converging)
            || settled == Settled::Converging
            || seen.is_some_and(|seen| !matches!(seen, Observation::Reached | Observation::Absent));
        let gone = settled == Settled::Gone || seen == Some(&Observation::Absent);
        match (gone, removes) {
            (true, true) => Self::Succeeded,
            (true, false) => Self::Gone,
            (false, _) if after.failed && !before.failed => {
                let message = after.message.clone();
                let message = message.unwrap_or_else(|| "its driver reports a failure".to_owned());
                Self::Failed(Failure::new(FailureKind::Failed, message))
            }
            (false, _) if converging => Self::Converging,
            (false, _) => Self::Succeeded,
        }
    }

    /// Returns the failure of a call with the outcome [`CallOutcome::Gone`]. The call was not meant to remove the
    /// instance, but the instance no longer exists.
    pub fn gone() -> Failure {
        Failure::new(FailureKind::Gone, "its driver reports that the instance no longer exists")
    }
}

/// Returns the time until the next observation of a converging instance. `polls` is the number of this observation,
/// counted from 1. The time is `polls` times `first`, but at most 15 times `first`.
pub fn pause_before(first: Duration, polls: u32) -> Duration {
    first.saturating_mul(polls.min(15))
}

/// Returns the failure of a call whose instance was still converging at the timeout. `message` comes from the
/// instance's status.
pub fn still_converging(timeout: Duration, message: Option<&str>) -> Failure {
    let reason = message.map(|message| format!(": {message}")).unwrap_or_default();
    let after = timeout.as_secs();
    Failure::new(FailureKind::Timeout, format!("it was still converging after {after} s{reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(converging: bool, failed: bool) -> Status {
        Status { active: true, converging, failed, message: None }
    }

    fn outcome(after: &Status, settled: Settled, seen: Option<&Observation>, removes: bool) -> CallOutcome {
        CallOutcome::of(CallFacts { before: &Status::default(), after, settled, seen, removes })
    }

    #[test]
    fn an_instance_that_is_gone_ends_its_removal_only() {
        let well = status(false, false);
        assert_eq!(outcome(&well, Settled::Gone, None, true), CallOutcome::Succeeded);
        assert_eq!(outcome(&well, Settled::Yes, Some(&Observation::Absent), true), CallOutcome::Succeeded);
        assert_eq!(outcome(&well, Settled::Gone, None, false), CallOutcome::Gone);
        assert_eq!(outcome(&status(true, true), Settled::Gone, None, true), CallOutcome::Succeeded);
    }

    #[test]
    fn a_failure_counts_before_converging_and_what_was_before_does_not_count() {
        let bad = status(true, true);
        assert!(matches!(outcome(&bad, Settled::Converging, None, false), CallOutcome::Failed(_)));
        let facts =
            CallFacts { before: &bad, after: &bad, settled: Settled::Yes, seen: None, removes: false };
        assert_eq!(CallOutcome::of(facts), CallOutcome::Succeeded);
        assert_eq!(outcome(&status(true, false), Settled::Yes, None, false), CallOutcome::Converging);
    }

    /// Only an observation that shows the requested state ends a call as Succeeded.
    #[test]
    fn an_instance_that_may_not_have_reached_the_state_is_observed_again() {
        let cannot_tell = Observation::CannotTell("the API does not answer".to_owned());
        let differs = Observation::Differs("it still exists".to_owned());
        for seen in [Observation::Converging, differs, cannot_tell, Observation::Unanswered] {
            for removes in [false, true] {
                let outcome = outcome(&status(false, false), Settled::Yes, Some(&seen), removes);
                assert_eq!(outcome, CallOutcome::Converging, "{seen:?}");
            }
        }
        let seen = Some(&Observation::Reached);
        assert_eq!(outcome(&status(true, false), Settled::Yes, seen, true), CallOutcome::Converging);
        assert_eq!(outcome(&status(false, false), Settled::Yes, seen, true), CallOutcome::Succeeded);
    }
}
