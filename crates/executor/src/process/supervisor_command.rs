//! The command that starts a supervisor.

use std::{ffi::OsString, path::PathBuf};

/// The command that starts the supervisor. It consists of a program and arguments. With these arguments, the
/// program's `main` calls [`supervise`](super::supervise) and does nothing else.
///
/// Usually the program is the embedding program itself, with a hidden argument:
///
/// ```no_run
/// use std::{env, process::ExitCode};
/// use windlass_executor::process::{SupervisorCommand, supervise};
///
/// fn main() -> ExitCode {
///     if env::args_os().nth(1).is_some_and(|first| first == "--supervise-jobs") {
///         return supervise();
///     }
///     let command = SupervisorCommand::this_program(["--supervise-jobs"]);
///     // … ProcessRuntime::open("state", command) …
///     # drop(command);
///     ExitCode::SUCCESS
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorCommand {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
}

impl SupervisorCommand {
    /// Creates the command from a program and the arguments that make it a supervisor.
    pub fn new<A: Into<OsString>>(program: impl Into<PathBuf>, args: impl IntoIterator<Item = A>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// Creates the command from the running program and the arguments that make it a supervisor. The command
    /// starts the same program even after the program's file was replaced or removed.
    pub fn this_program<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::new("/proc/self/exe", args)
    }
}
