//! Stop requests, and the time that stopping may take.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The time that a driver has to answer after the grace period of its jobs.
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
    /// Creates a stop for one of several concurrent processes. A request of this stop also stops that process.
    /// A request of the new stop stops only that process.
    pub(crate) fn of_one(&self) -> Self {
        Self { soon: self.soon.child_token(), now: self.now.child_token() }
    }

    /// Waits until running jobs were cancelled, and the time for their drivers to answer is over. `grace` is
    /// the time that a cancelled job has to end by itself.
    pub(crate) async fn is_overdue(&self, grace: Duration) {
        self.now.cancelled().await;
        tokio::time::sleep(grace.saturating_add(LAST_ANSWER)).await;
    }
}
