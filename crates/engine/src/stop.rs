//! Stop requests, and the time that stopping may take.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The time within which a driver may still answer after the grace period of its jobs.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// The two stages of a stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// No further call begins, and running jobs may finish.
    pub soon: CancellationToken,
    /// Running jobs are cancelled.
    pub now: CancellationToken,
}

impl Stop {
    /// Creates a new stop for one of several concurrent processes. If `self` is requested, the new stop counts
    /// as requested, too. If only the new stop is requested, only the process with the new stop stops.
    pub(crate) fn of_one(&self) -> Self {
        Self { soon: self.soon.child_token(), now: self.now.child_token() }
    }

    /// Waits for the stage `now`, in which running jobs are cancelled. Then waits until the time is over in
    /// which the drivers of these jobs may still answer. `grace` is the time within which a cancelled job may
    /// end by itself.
    pub(crate) async fn is_overdue(&self, grace: Duration) {
        self.now.cancelled().await;
        tokio::time::sleep(grace.saturating_add(LAST_ANSWER)).await;
    }
}
