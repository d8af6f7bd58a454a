//! The exit codes of the program. `--help` documents them, so they must not change.

use std::process::ExitCode;

/// Success.
pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;
/// Something failed.
pub(crate) const FAILED: ExitCode = ExitCode::FAILURE;

/// Wrong input: nothing was changed.
pub(crate) fn wrong_input() -> ExitCode {
    ExitCode::from(2)
}

/// A change is pending, and `--detailed-exitcode` was given.
pub(crate) fn changes() -> ExitCode {
    ExitCode::from(3)
}

/// Interrupted.
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(130)
}
