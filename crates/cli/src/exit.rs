//! The exit codes of the program. `--help` documents them, so they must not change.

use std::process::ExitCode;

pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;
/// Exit code 1, for a failure. In contrast to exit code 2, something may have changed. With `--detailed-exitcode`,
/// `plan` and dry runs also end with this code in one other case: they find no change, but can't check the health of
/// at least one part.
pub(crate) const FAILED: ExitCode = ExitCode::FAILURE;

/// Returns exit code 2, for wrong input: nothing was changed. A command for several files is an exception: for example,
/// `fmt` may have rewritten one file before it refuses another file.
pub(crate) fn wrong_input() -> ExitCode {
    ExitCode::from(2)
}

/// Returns exit code 3. With `--detailed-exitcode`, `plan` and dry runs end with this code if something would change.
pub(crate) fn changes() -> ExitCode {
    ExitCode::from(3)
}

/// Exit code 130, for an interruption.
pub(crate) const INTERRUPTED: u8 = 130;

/// Returns the exit code [`INTERRUPTED`].
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}
