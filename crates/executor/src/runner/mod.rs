//! The runner: a program of this crate that runs jobs inside a warm container.
//!
//! A container engine needs tens of milliseconds to start a process by `exec`, and a hundred to start a
//! container. A runner that is already in the container only needs fork and exec. The runner also does what a
//! container engine can't do:
//!
//! - It kills all processes of a job and leaves the container clean.
//! - It distinguishes a missing program from an exit code of 127.
//! - It limits the stored output of a job.
//! - It ends all jobs when the process that submitted them has gone.
//!
//! The build script compiles the runner to one static file ([`program`]) for the same processor architecture as
//! this crate. The file is copied into a container and started as the first process there: `windlass-runner serve
//! FOLDER [SCRUB…]`. The runner reads jobs from its stdin, can run several jobs at a time, and answers on its
//! stdout. The module `protocol` describes the format of the jobs and the answers. `FOLDER` contains the folders of
//! the jobs. If the runner is the first process of its namespace, it empties the folders `SCRUB` each time its last
//! running job has ended.
//!
//! Tests start the same program outside of a container, as their child.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the other half is used by the runner, which is compiled by itself")
)]
pub(crate) mod protocol;

/// The content of the program; empty if the program could not be built.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/windlass-runner"));

/// Returns the content of the runner's executable file. The executable is for Linux on the processor architecture
/// for which this crate was compiled. Returns `None` if the build script could not build the runner, for example
/// because the build host has no static C library. Without the runner, warm containers can't be used.
pub fn program() -> Option<&'static [u8]> {
    if PROGRAM.is_empty() { None } else { Some(PROGRAM) }
}

#[cfg(test)]
mod tests;
