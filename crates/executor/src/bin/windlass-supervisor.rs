//! The supervisor as a program of its own, for embedding programs that can't start themselves again.
//!
//! `windlass_executor::process::ProcessRuntime` starts this program. Users do not start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise()
}
