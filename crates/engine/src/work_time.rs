//! A limit on the time that a driver itself works on an answer. If a driver hangs, its call ends with a failure.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use windlass_model::record::{Failure, FailureKind};

/// The time within which a driver may still answer after the grace period of its jobs, or after the timeout of its
/// call.
pub(crate) const LAST_ANSWER: Duration = Duration::from_secs(5);

/// Measures the time in which a driver works. The time in which the driver waits for its context does not count, because
/// each job has a timeout of its own.
#[derive(Debug)]
pub(crate) struct WorkTime {
    /// The number of requests of the driver that the context has not answered yet, such as running jobs.
    requests: watch::Sender<usize>,
}

/// A request of a driver to its context. The request ends when the value is dropped.
pub(crate) struct OpenRequest<'a>(&'a watch::Sender<usize>);

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

impl WorkTime {
    pub(crate) fn new() -> Self {
        Self { requests: watch::Sender::new(0) }
    }

    /// Pauses the measurement until the returned value is dropped.
    pub(crate) fn begin_request(&self) -> OpenRequest<'_> {
        self.requests.send_modify(|open| *open += 1);
        OpenRequest(&self.requests)
    }

    /// Awaits the answer of a driver. The driver may work for the time `limit` and a few seconds more.
    ///
    /// # Errors
    /// The driver gave no answer in time.
    pub(crate) async fn limit<T>(
        &self,
        limit: Duration,
        answer: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            answer = answer => Ok(answer),
            () = self.is_exhausted(limit.saturating_add(LAST_ANSWER)) => {
                let message = format!("its driver gave no answer within {} s", limit.as_secs());
                Err(Failure::new(FailureKind::Timeout, message))
            }
        }
    }

    /// Waits until the driver has worked for the time `limit`.
    async fn is_exhausted(&self, limit: Duration) {
        let mut requests = self.requests.subscribe();
        let mut left = limit;
        loop {
            // `self` has the sender, so the receiver never fails.
            let _ = requests.wait_for(|open| *open == 0).await;
            let start = Instant::now();
            let is_over = tokio::time::timeout(left, requests.wait_for(|open| *open > 0)).await.is_err();
            if is_over {
                return;
            }
            left = left.saturating_sub(start.elapsed());
        }
    }
}
