//! The errors of the process runtime.

use crate::RuntimeError;

/// The kind of this runtime. In `windlass.yaml`, a location (a place where scripts run) chooses the runtime
/// by this word.
pub(crate) const KIND: &str = "process";

/// Returns the error of a runtime that can't serve a request now.
pub(crate) fn unavailable(problem: &str) -> RuntimeError {
    RuntimeError::Unavailable { runtime: KIND.to_owned(), problem: problem.to_owned() }
}
