//! A runtime that runs jobs as processes of this host.
//!
//! The jobs of a [`ProcessRuntime`] are children of a **supervisor**, not of the process that submits them.
//! The supervisor is a separate process, which the runtime starts for its first job. The supervisor exits when two
//! conditions hold: the submitting process has disconnected or died, and all jobs have ended. The supervisor's program
//! is the embedding program itself, started with a hidden argument ([`SupervisorCommand`]), or the program
//! `windlass-supervisor` of this crate. The supervisor has these purposes:
//!
//! * The supervisor forks the processes of the jobs. The submitting process never has to fork for a job.
//! * The supervisor collects the exit codes of jobs, even after the death of the submitting process.
//! * When the submitting process dies, the supervisor ends the jobs whose setting is
//!   [`Kill`](crate::OnOwnerDeath::Kill).
//! * The supervisor adopts orphans. If the parent of a job's process exits, the supervisor becomes the new parent of
//!   the process, and still knows to which job the process belongs.
//!
//! All data about a job that must survive the death of a process is in the job's folder. The folder gets its final
//! path only when all its files are written. The supervisor locks the folder of a running job. By this lock, other
//! processes distinguish a running job from a lost job.
//!
//! # Limitations
//! A process is no container: a job can access the host's files and network with the rights of the user that
//! started the embedding program. The runtime limits the run time and the stored output of every job. A job can also
//! have a limit of open files. If the host lets the runtime create control groups ([`ControlGroups`]), a job can have
//! limits of memory, processes and processor time, too. The runtime refuses a job that needs another
//! [`Capability`](crate::Capability), such as an image.

mod connection;
mod disk;
mod dispatch;
mod error;
mod follow;
pub(crate) mod groups;
mod inspect;
mod layout;
mod lookup;
mod memory;
mod message;
mod options;
mod procfs;
mod record;
mod runtime;
mod staging;
mod supervisor;
mod supervisor_command;
mod wire;

pub use crate::{
    cgroup::ControlGroups,
    confine::{Available, Confinement, Unavailable},
};

pub use self::{
    lookup::finds_program, options::ProcessOptions, runtime::ProcessRuntime, supervisor::supervise,
    supervisor_command::SupervisorCommand,
};

#[cfg(feature = "sandbox")]
pub(crate) use self::staging::JobEnvironment;
