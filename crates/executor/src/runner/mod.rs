//! The runner: a program of ours that runs jobs inside containers.
//!
//! To start a process through an engine's `exec` costs tens of milliseconds, to start a container a hundred. A process
//! of ours that is in the container already does it for the price of fork and exec. It also does what an engine can't:
//! end a job with all its processes and leave the container as it was, tell a missing program from an exit code of 127,
//! bound what is kept of a flood, and write an outcome down where a broken connection can't lose it.
//!
//! It is one static file for this host's kind of processor, [`program`], compiled by this crate's build script, copied into a
//! container and started as its first process: `windlass-runner serve FOLDER [SCRUB…]` runs the jobs that an owner sends it on its
//! stdin, several at a time, and answers on its stdout, in frames that the module `protocol` describes. `FOLDER` is where the jobs'
//! folders are made; the folders `SCRUB` are emptied whenever no job is left, if the runner is the first process of its namespace.
//!
//! The same program works outside of a container, as the child of a test.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the other half is used by the runner, which is compiled by itself")
)]
pub(crate) mod protocol;

/// The program, empty where it could not be built.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/windlass-runner"));

/// Returns the runner, an executable file for Linux on the processor that this crate was compiled for. `None` where
/// there was no static C library to build it with; then warm containers work by exec.
pub fn program() -> Option<&'static [u8]> {
    if PROGRAM.is_empty() { None } else { Some(PROGRAM) }
}

#[cfg(test)]
mod tests;
