//! The recorded failure of an element whose health check has failed.

use windlass_model::record::{Failure, FailureKind};

/// The beginning of the recorded message of every failed health check.
const CHECK_FAILED: &str = "the health check failed: ";

/// Returns the failure that windlass records for an element after a failed health check. `failure` is the failure of
/// the check. The recorded message consists of the words `the health check failed` and the message of `failure`.
pub fn of(failure: &Failure) -> Failure {
    Failure { message: format!("{CHECK_FAILED}{}", failure.message), ..failure.clone() }
}

/// Tells whether a recorded failure comes from a health check.
pub fn is_failing(recorded: &Failure) -> bool {
    recorded.message.starts_with(CHECK_FAILED)
}

/// Tells whether a recorded failure means that the script of a health check has failed for the element. Such an
/// element is checked alone next time. If the check could not run, the result is `false`, because such a failure
/// says nothing about the element.
pub fn is_suspect(recorded: &Failure) -> bool {
    use FailureKind::{Capacity, Infrastructure, Lost, Refused};
    is_failing(recorded) && !matches!(recorded.kind, Refused | Capacity | Infrastructure | Lost)
}
