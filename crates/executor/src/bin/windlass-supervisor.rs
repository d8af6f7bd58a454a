//! The supervisor as a program of its own, for embedders whose program can't start itself again.
//!
//! Called by `windlass_executor::process::ProcessRuntime` with the folder of its jobs, never by hand.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise(std::env::args_os().skip(1))
}
