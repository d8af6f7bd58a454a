//! The program `windlass-supervisor` runs the supervisor, which is the parent process of jobs.
//!
//! A program that uses this crate can start itself a second time as the supervisor. Most programs do this, and do not
//! need `windlass-supervisor`. Any other program names `windlass-supervisor` in its
//! `windlass_executor::process::SupervisorCommand`, and `ProcessRuntime` then starts it. Users never start it
//! themselves.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise()
}
