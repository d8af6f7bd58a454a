//! Jobs in images, without an engine: a daemonless container for one machine.
//!
//! A job runs in a sandbox. The root of the sandbox is a read-only image of a [`Store`](crate::image::Store),
//! and the working folder is `/work`. The sandbox has namespaces of its own for users, processes, mounts,
//! network, host name and System V IPC. It has a system-call filter and no capabilities.
//!
//! [bubblewrap](https://github.com/containers/bubblewrap) creates the sandbox. The supervisor of the [process
//! runtime](crate::process) starts the job in the sandbox, as its own child. So the job has all guarantees of
//! a process: exit codes, signals, typed start failures. Its outcome survives every crash, and it can finish
//! without its owner.
//!
//! The sandbox runtime needs no daemon, and no root where user namespaces are allowed. A job without an image
//! is refused: the process runtime serves such jobs.
//!
//! # The environment of a job
//!
//! | path | content |
//! |---|---|
//! | `/` | the image, read-only |
//! | `/work` | its working folder, where it starts; also `HOME` |
//! | `/tmp`, `/dev/shm` | in memory, of limited size; `TMPDIR` is `/tmp` |
//! | `/proc` | its own processes; the first of them belongs to this crate |
//! | `/dev` | `null zero full random urandom` and the standard streams; no terminals |
//! | volumes | at the path that the job sets; an empty folder is created in the image if it is missing |
//!
//! A job has the variables of every job, then those of its image, then those that it sets; later ones
//! override earlier ones. The image's entry point and command are not used, since a job names its command.
//! The job runs as the user that it names, else as the user that the image names by number, else as 1000.
//! Outside of the sandbox each of these users is the user of the supervisor, without additional rights.
//!
//! The job has no network unless it asks for the host's ([`Network::Host`](crate::Network::Host)). A network
//! behind a bridge is refused, since it needs privileges on the host.

mod options;
mod runtime;

pub use self::options::DEFAULT_BOUNDS;
pub use self::{options::SandboxOptions, runtime::SandboxRuntime};
pub use crate::bwrap::probe::{Sandboxes, probe};
