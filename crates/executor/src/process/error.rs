//! The errors of the process runtime.

use crate::RuntimeError;

/// The kind of this runtime, as locations name it.
pub(crate) const KIND: &str = "process";

/// Returns the error of a runtime that can't serve a request now.
pub(crate) fn unavailable(problem: &str) -> RuntimeError {
    RuntimeError::Unavailable { runtime: KIND.to_owned(), problem: problem.to_owned() }
}
