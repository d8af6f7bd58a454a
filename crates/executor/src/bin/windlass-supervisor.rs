//! Runs the supervisor, the parent process of jobs, as a separate program. Most programs that use this crate do not
//! need this program, because they start themselves a second time as the supervisor.
//!
//! Other programs name `windlass-supervisor` in their `windlass_executor::process::SupervisorCommand`.
//! `ProcessRuntime` then starts `windlass-supervisor`. Users never start it themselves.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise()
}
