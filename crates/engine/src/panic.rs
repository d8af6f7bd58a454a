//! Handling of faulty drivers. A driver may panic, or give a wrong number of answers. The functions convert these
//! faults to failures, so that a fault does not end the windlass process.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt as _;
use windlass_driver::panic_text;
use windlass_model::record::{Failure, FailureKind};

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic_text(panic);
    let message = format!("its driver panicked: {text}; please report this as a bug of the driver");
    Failure::new(FailureKind::Protocol, message)
}

/// Calls the closure `ask`, and converts a panic to a failure. The closure asks a driver for information, such as
/// the timeout of an action.
///
/// # Errors
/// The driver panicked.
pub(crate) fn described<T>(ask: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|panic| panicked(&*panic))
}

/// Awaits the work of a driver, and converts a panic to a failure.
///
/// # Errors
/// The driver panicked.
pub(crate) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| panicked(&*panic))
}

/// Awaits work that a driver has requested and does not execute itself, such as a job.
///
/// # Errors
/// The work panicked. The error is the text of the panic.
pub(crate) async fn caught_text<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| panic_text(&*panic).to_owned())
}

/// Returns the answer of a driver to one call.
///
/// # Errors
/// Returns a failure if the driver did not give exactly one answer.
pub(crate) fn only<T>(answers: Vec<T>) -> Result<T, Failure> {
    Ok(as_many(answers, 1)?.remove(0))
}

/// Returns the answers of a driver if the driver has given one answer for each call. `calls` is the number of calls.
///
/// # Errors
/// The number of answers is not `calls`.
pub(crate) fn as_many<T>(answers: Vec<T>, calls: usize) -> Result<Vec<T>, Failure> {
    let count = answers.len();
    if count == calls {
        return Ok(answers);
    }
    let to = if calls == 1 { "one call".to_owned() } else { format!("{calls} calls") };
    Err(Failure::new(FailureKind::Protocol, format!("the driver answered {count} times to {to}")))
}
