//! A call that is being made.

use std::sync::Arc;
use std::time::Duration;

use windlass_driver::{Call, Driver, Nature};
use windlass_model::record::{CallRecord, CallState, Failure, FailureKind};
use windlass_secret::SecretRef;

/// A call that is being made, and the known facts about its jobs.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and they come in any combination"
)]
pub(super) struct CallRun {
    pub(super) record: CallRecord,
    pub(super) call: Call,
    pub(super) driver: Arc<dyn Driver>,
    pub(super) nature: Nature,
    /// The length of the period in which a health check may report results of the called command. The period begins
    /// with the call. `None` means that only the call itself can report the results.
    pub(super) late_results: Option<Duration>,
    /// Whether an earlier process began the call.
    pub(super) taken_up: bool,
    /// Whether this process has observed the instance of the call. The field is set only if an earlier process began
    /// the call.
    pub(super) observed: bool,
    /// The reason why the outcome of the call is unknown. The field is set only while the machine observes the
    /// instance to determine the outcome.
    pub(super) lost: Option<String>,
    /// Whether the call waits for its next attempt.
    pub(super) repeats: bool,
    /// Whether a job of the call has started.
    pub(super) acted: bool,
    /// Whether an observation has shown that no attempt so far has done anything.
    pub(super) untouched: bool,
    pub(super) polls: u32,
    /// The reason why the instance is not ready, from the last observation; `None` if the observation gave no reason.
    pub(super) not_ready: Option<String>,
    /// References to the outcomes of the call's jobs. The store keeps these outcomes encrypted. The machine deletes
    /// them from the store when the call ends.
    pub(super) wipe: Vec<SecretRef>,
    /// The secret texts that the driver has registered (`Context::hide`), such as a password in a job's output.
    pub(super) hidden: Vec<String>,
}

impl CallRun {
    /// Tells whether the first report of the call is still missing. Until this report, the recorded status of the
    /// instance is from the time before the call.
    pub(super) fn has_no_report(&self) -> bool {
        self.record.state == CallState::Open
    }

    /// Tells whether a failed call may have had effects. For some kinds of failures, the answer depends only on the
    /// kind. For all other kinds, the call may have had effects if one of its jobs has started or was lost.
    pub(super) fn may_have_acted(&self, failure: &Failure) -> bool {
        match failure.kind {
            FailureKind::Refused | FailureKind::AlreadyExists => self.has_lost_attempt(),
            FailureKind::Timeout | FailureKind::Lost | FailureKind::Protocol | FailureKind::Failed => true,
            _ => self.acted || self.has_lost_attempt(),
        }
    }

    /// Tells whether an earlier attempt of the call was lost, and may have had effects.
    pub(super) fn has_lost_attempt(&self) -> bool {
        self.record.attempt > 1 && !self.untouched
    }
}
