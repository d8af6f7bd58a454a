//! The supervisor of the jobs that this crate's tests run; a test program can't be its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_executor::process::supervise()
}
