//! The runner: a program of this crate that runs jobs inside containers.
//!
//! Starting a process through an engine's `exec` takes tens of milliseconds; starting a container takes a
//! hundred. A runner that is already in the container only needs fork and exec. It also does what an engine
//! can't:
//!
//! - It kills a job with all its processes and leaves the container clean.
//! - It distinguishes a missing program from an exit code of 127.
//! - It bounds the kept output.
//! - It ends all jobs when its owner has gone.
//!
//! The runner is one static file for this host's processor architecture, [`program`], compiled by this
//! crate's build script. It is copied into a container and started as its first process: `windlass-runner
//! serve FOLDER [SCRUB…]`. It reads jobs from its stdin, runs several at a time, and answers on its stdout,
//! in frames that the module `protocol` describes. `FOLDER` holds the jobs' folders. The folders `SCRUB` are
//! emptied whenever no job is left, if the runner is the first process of its namespace.
//!
//! The same program works outside of a container, as the child of a test.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the other half is used by the runner, which is compiled by itself")
)]
pub(crate) mod protocol;

/// The program; empty if it could not be built.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/windlass-runner"));

/// Returns the runner, a Linux executable for the processor architecture that this crate was compiled for.
/// `None` if the build had no static C library; there are then no warm containers.
pub fn program() -> Option<&'static [u8]> {
    if PROGRAM.is_empty() { None } else { Some(PROGRAM) }
}

#[cfg(test)]
mod tests;
