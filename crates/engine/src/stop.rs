//! How a process is asked to stop, and how long stopping may take.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long a driver may take to answer once its jobs had their time to end.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// When the user wants to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Nothing new is started, and what runs may end.
    pub soon: CancellationToken,
    /// What runs is stopped.
    pub now: CancellationToken,
}

impl Stop {
    /// Makes a stop for one of several things that run side by side: it comes with this one, and also alone.
    pub(crate) fn of_one(&self) -> Self {
        Self { soon: self.soon.child_token(), now: self.now.child_token() }
    }

    /// Waits until what runs should have stopped long since: nobody waits for it any longer. `grace` is what a job has to
    /// end by itself.
    pub(crate) async fn is_overdue(&self, grace: Duration) {
        self.now.cancelled().await;
        tokio::time::sleep(grace.saturating_add(LAST_ANSWER)).await;
    }
}
