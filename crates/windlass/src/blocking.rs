//! Runs blocking work on separate threads, so that this work does not block asynchronous tasks.

use tokio::task::spawn_blocking;

/// Runs work that may block, for example on a disk, on a separate thread. If the returned future is dropped,
/// work that has begun still finishes.
///
/// A panic of the work continues in the caller. If tokio shuts down before the work begins, the future never
/// completes, because tokio is about to drop the task that awaits it.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}
