//! The supervisor as a program of its own, for embedders whose program can't start itself again.
//!
//! Called by `windlass_executor::process::ProcessRuntime`, never by hand.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise()
}
