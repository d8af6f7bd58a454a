//! The recorded failure of an element whose health check has failed.

use windlass_model::record::{ElementRecord, Failure, FailureKind};

/// Begins the message of the failure.
const CHECK_FAILED: &str = "the health check failed: ";

/// Returns the failure to record for that of a health check.
pub(crate) fn of(failure: &Failure) -> Failure {
    Failure { message: format!("{CHECK_FAILED}{}", failure.message), ..failure.clone() }
}

/// Tells whether the last health check of an element has failed.
pub(crate) fn is_failing(record: &ElementRecord) -> bool {
    record.failure.as_ref().is_some_and(|failure| failure.message.starts_with(CHECK_FAILED))
}

/// Tells whether the script has failed for an element. Its next check is made alone. A check that could not run says
/// nothing about the element.
pub(crate) fn is_suspect(record: &ElementRecord) -> bool {
    use FailureKind::{Capacity, Infrastructure, Lost, Refused};
    let kind = record.failure.as_ref().map(|failure| failure.kind);
    is_failing(record) && !matches!(kind, Some(Refused | Capacity | Infrastructure | Lost))
}
