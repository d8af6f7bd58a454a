//! Stop requests.

use tokio_util::sync::CancellationToken;

/// A request to stop running work, in two stages. A clone of a `Stop` is the same request.
///
/// | stage | requested by | effect |
/// |---|---|---|
/// | soon | [`request`](Self::request) | no further call begins, and running jobs may finish |
/// | now | [`request_now`](Self::request_now) | the running jobs are cancelled |
///
/// The second stage includes the first.
///
/// ```
/// use windlass_driver::Stop;
///
/// let all = Stop::default();
/// let one = all.child();
/// one.request_now();
/// assert!(one.is_requested() && one.is_requested_now());
/// assert!(!all.is_requested());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop {
    soon: CancellationToken,
    /// Is cancelled only after `soon`.
    now: CancellationToken,
}

impl Stop {
    /// Creates a `Stop` for one of several concurrent works. A request to `self` stops all these works. A request to
    /// the returned `Stop` stops only the one work.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { soon: self.soon.child_token(), now: self.now.child_token() }
    }

    /// Requests the first stage: no further call begins, and running jobs may finish.
    pub fn request(&self) {
        self.soon.cancel();
    }

    /// Requests both stages: no further call begins, and the running jobs are cancelled.
    pub fn request_now(&self) {
        self.soon.cancel();
        self.now.cancel();
    }

    /// Tells whether a stop was requested, in either stage.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.soon.is_cancelled()
    }

    /// Tells whether the second stage was requested.
    #[must_use]
    pub fn is_requested_now(&self) -> bool {
        self.now.is_cancelled()
    }

    /// Waits until a stop is requested, in either stage.
    pub async fn requested(&self) {
        self.soon.cancelled().await;
    }

    /// Waits until the second stage is requested.
    pub async fn requested_now(&self) {
        self.now.cancelled().await;
    }
}
