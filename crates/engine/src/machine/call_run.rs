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
    /// The length of the period in which a health check may report results of a command. The period begins with the
    /// command. `None` means that only the call itself can report results.
    pub(super) late_results: Option<Duration>,
    /// Whether an earlier process began the call.
    pub(super) taken_up: bool,
    /// Whether the next observation is to find out whether a lost call was executed.
    pub(super) recovering: bool,
    /// Whether the call waits for its next attempt.
    pub(super) repeats: bool,
    /// Whether a job of the call has started.
    pub(super) acted: bool,
    /// Whether an observation has shown that no attempt so far has done anything.
    pub(super) untouched: bool,
    pub(super) polls: u32,
    /// The sealed outcomes of the call's jobs, which are dropped when the call ends.
    pub(super) wipe: Vec<SecretRef>,
    /// The secrets that the driver has named, such as a password that a job has published.
    pub(super) hidden: Vec<String>,
}

impl CallRun {
    /// Tells whether no report of the call was applied yet. The recorded status is then older than the call.
    pub(super) fn has_no_report(&self) -> bool {
        self.record.state == CallState::Open
    }

    /// Tells whether a failed call may have had effects. If the kind of the failure does not tell, the call may have
    /// had effects if one of its jobs has started.
    pub(super) fn may_have_acted(&self, failure: &Failure) -> bool {
        match failure.kind {
            FailureKind::Refused | FailureKind::AlreadyExists => false,
            FailureKind::Timeout | FailureKind::Lost | FailureKind::Protocol | FailureKind::Failed => true,
            _ => self.acted,
        }
    }
}
