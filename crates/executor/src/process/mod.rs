//! A runtime that runs jobs as processes of this host.
//!
//! The jobs of a [`ProcessRuntime`] are children of a **supervisor**, not of the process that submits them.
//! The supervisor is a process that starts with the first job, and exits when its last job has ended. It is the
//! embedding program itself, started with a hidden argument ([`SupervisorCommand`]), or the program
//! `windlass-supervisor` of this crate. The supervisor has these purposes:
//!
//! * It forks the processes of the jobs. The process that submits jobs never has to fork for a job.
//! * It collects the exit codes of jobs, even after the death of the process that submitted them.
//! * When that process dies, it kills the jobs whose setting is [`Kill`](crate::OnOwnerDeath::Kill).
//! * It adopts the orphans: if the parent of a job's process exits, the supervisor becomes the new parent of the
//!   process, and still knows its job.
//!
//! All data about a job that must survive the death of a process is in the job's folder. The folder is
//! complete before it becomes visible. The supervisor locks the folder of a running job. By this lock, other
//! processes distinguish a running job from a lost job.
//!
//! # Limitations
//! A process is no container: a job can access the host's files and network with the rights of the user that
//! started the embedding program. Every job has limits of its time and its stored output. If control groups
//! can be created, a job can also have limits of memory, processes and processor time ([`ControlGroups`]).
//! The runtime refuses a job that needs another [`Capability`](crate::Capability), such as an image.

mod connection;
mod disk;
mod dispatch;
mod error;
mod follow;
pub(crate) mod groups;
mod inspect;
mod layout;
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
    options::ProcessOptions, runtime::ProcessRuntime, supervisor::supervise,
    supervisor_command::SupervisorCommand,
};

#[cfg(feature = "sandbox")]
pub(crate) use self::staging::JobEnvironment;
