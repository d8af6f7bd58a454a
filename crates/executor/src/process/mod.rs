//! Jobs as processes of this host.
//!
//! The jobs of a [`ProcessRuntime`] are children of one **supervisor**, not of the runtime's own process. The
//! supervisor is a process that starts with the first job. It lives as long as its owner, or until all jobs
//! that must finish have finished. So the embedding process never forks, exit codes are collected even when
//! it dies, and orphans get a parent that knows their job. The supervisor is the embedding program itself,
//! started with a hidden argument ([`SupervisorCommand`]), or the program `windlass-supervisor` of this
//! crate.
//!
//! All state that must survive a process is in the job's folder, complete before it becomes visible. The
//! supervisor locks the folder of a running job. By this lock other processes distinguish a running job from
//! a lost one.
//!
//! # Limitations
//! A process is no container: a job can access the host's files and network with the rights of the user that
//! started the embedding program. Only its time and its output are limited. Where control groups can be
//! created, their limits apply too ([`ControlGroups`]). Jobs that need more
//! ([`Capability`](crate::Capability)) are refused.

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
