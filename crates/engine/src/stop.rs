//! Stop requests, and the time that stopping may take.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The time within which a driver may still answer after the grace period of its jobs.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// A request to stop running work, in two stages. Each stage has a token, and begins when its token is cancelled.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// The first stage: no further call begins, and running jobs may finish.
    pub soon: CancellationToken,
    /// The second stage: the engine cancels the running jobs.
    pub now: CancellationToken,
}

impl Stop {
    /// Creates a `Stop` for one of several concurrent processes. If the tokens of `self` are cancelled, all these
    /// processes stop. If the tokens of the new `Stop` are cancelled, only this one process stops.
    pub(crate) fn of_one(&self) -> Self {
        Self { soon: self.soon.child_token(), now: self.now.child_token() }
    }

    /// Waits until no further answer of a driver is expected after a stop.
    ///
    /// First, the function waits for the second stage of the stop, in which the engine cancels the running jobs. Then
    /// it waits for the time `grace`, in which a cancelled job may still end by itself. Finally, it waits for a few
    /// seconds, in which the driver of the job may answer.
    pub(crate) async fn is_overdue(&self, grace: Duration) {
        self.now.cancelled().await;
        tokio::time::sleep(grace.saturating_add(LAST_ANSWER)).await;
    }
}
