//! Jobs in images, without an engine: a daemonless container for one machine.
//!
//! A job gets a sandbox, which the modules here call its *room*: an image of a [`Store`](crate::image::Store) as its root, which it can't change, namespaces of
//! its own for users, processes, mounts, network, host name and System V IPC, no capability, a system-call filter, and
//! its working folder at `/work`. The room is made by [bubblewrap](https://github.com/containers/bubblewrap); the job
//! is started into it by the supervisor of the [process runtime](crate::process), as its own child, so that all that is
//! true of a process is true of a job in a room: exit codes, signals, typed failures to start, outcomes that outlast
//! every death, jobs that finish without their owner.
//!
//! It needs no root where user namespaces are allowed, and no daemon. A job without an image is refused: what it would
//! run in is what the process runtime is for.
//!
//! # What a job finds
//!
//! | path | what |
//! |---|---|
//! | `/` | the image, read-only |
//! | `/work` | its working folder, where it starts; also `HOME` |
//! | `/tmp`, `/dev/shm` | in memory, of limited size; `TMPDIR` is `/tmp` |
//! | `/proc` | its own processes; the first of them is ours |
//! | `/dev` | `null zero full random urandom` and the standard streams; no terminals |
//! | volumes | where the job says; an empty folder is made in the image if it has none there |
//!
//! Its environment is what every job gets, then what the image says, then what the job says. The image's entry point
//! and command are not used: a job says what it runs. It runs as the user that it names, else the one the image names
//! by number, else 1000; outside, all of these are the user who started us, without a right that others don't have.
//!
//! There is no network but for a job that asks for the host's ([`Network::Host`](crate::Network::Host)); one behind a
//! bridge is refused, for that needs rights on the host.

pub(crate) mod advice;
mod options;
pub(crate) mod plan;
mod probe;
mod runtime;

pub use self::options::DEFAULT_BOUNDS;
pub use self::{
    options::SandboxOptions,
    probe::{Sandboxes, probe},
    runtime::SandboxRuntime,
};

/// The kind of this runtime, as locations name it.
const KIND: &str = "sandbox";
