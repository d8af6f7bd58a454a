//! The running program as the supervisor of its own jobs.

use std::process::ExitCode;

use windlass_executor::process::SupervisorCommand;

/// The argument with which the running program starts itself again as the supervisor of its jobs. The argument directly
/// follows the name of the program.
const SUPERVISE: &str = "windlass-supervise";

/// If this process was started to supervise jobs, supervises jobs until the last job has ended. Otherwise, returns
/// `None` at once.
///
/// The process runtime starts the running program again as the supervisor of its jobs. So the `main` of a
/// program that embeds windlass must call this function before it starts any thread:
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = windlass::supervise() {
///         return code;
///     }
///     // …
///     ExitCode::SUCCESS
/// }
/// ```
///
/// To use another program as the supervisor, set [`Settings::supervisor`](crate::Settings::supervisor).
pub fn supervise() -> Option<ExitCode> {
    is_supervisor().then(windlass_executor::process::supervise)
}

/// Tells whether this process was started to supervise jobs.
pub(crate) fn is_supervisor() -> bool {
    std::env::args_os().nth(1).is_some_and(|first| first == SUPERVISE)
}

/// Returns the command that starts the running program again as a supervisor.
pub(crate) fn command() -> SupervisorCommand {
    SupervisorCommand::this_program([SUPERVISE])
}
