//! The supervisor of the jobs that this crate's tests run. A test program can't supervise its own jobs.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise()
}
