//! Runs the supervisor as a program of its own. A program that uses this crate needs this program only if it
//! can't start itself a second time as the supervisor.
//!
//! `windlass_executor::process::ProcessRuntime` starts this program. Users do not start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise()
}
