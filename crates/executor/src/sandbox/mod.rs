//! A runtime that runs each job in an image on this host, without a container engine.
//!
//! A job runs in a sandbox. The root of the sandbox is a read-only image of a [`Store`](crate::image::Store),
//! and the working folder is `/work`. The sandbox has namespaces of its own for users, processes, mounts,
//! network, host name, control groups and System V IPC. The job has no capabilities. If the kernel supports
//! it, a system-call filter restricts the job.
//!
//! [bubblewrap](https://github.com/containers/bubblewrap) creates the sandbox. The supervisor of the
//! [process runtime](crate::process) starts the job in the sandbox, as a child of the supervisor. So exit
//! codes, signals and failures to start are reported as for a job of the process runtime. The outcome of a
//! job survives the death of the process that submitted the job. With
//! [`OnOwnerDeath::Finish`](crate::OnOwnerDeath::Finish), the job continues after this death.
//!
//! The sandbox runtime needs no daemon. If the host allows user namespaces, the runtime needs no root rights.
//! The runtime refuses a job without an image; the process runtime accepts such jobs.
//!
//! # The environment of a job
//!
//! | path | content |
//! |---|---|
//! | `/` | the image, read-only |
//! | `/work` | the job's working folder, in which the job starts; also `HOME` |
//! | `/tmp`, `/dev/shm` | files in memory, of limited size; `TMPDIR` is `/tmp` |
//! | `/proc` | the processes of the sandbox; the first process is a program of this crate |
//! | `/dev` | `null zero full random urandom` and the standard streams; no terminals |
//! | path of a volume | the volume; if the image has no such folder, the runtime adds it to the stored image |
//!
//! The environment of a job consists of the variables that every job gets, the variables of its image, and the
//! variables that the job sets. If several of these three sources contain the same variable, the value from the
//! last of these sources counts. The entry point and the command of the image are not used, since a job names its
//! command. The job runs as the user that the job names. If the job names no user, it runs as the user whose number
//! the image names, or else as user 1000. Outside of the sandbox, each of these users is the user of the
//! supervisor, without additional rights.
//!
//! The job has a network only if it asks for the host's network ([`Network::Host`](crate::Network::Host)).
//! The runtime refuses a network behind a bridge, since such a network needs privileges on the host.

mod options;
mod runtime;

pub use self::options::{DEFAULT_BOUNDS, settable};
pub use self::{
    options::SandboxOptions,
    runtime::{SandboxRuntime, volume_problem},
};
pub use crate::bwrap::probe::{Sandboxes, probe};
