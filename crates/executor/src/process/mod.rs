//! Jobs as processes of this host.
//!
//! The jobs of a [`ProcessRuntime`] are not its children but those of one **supervisor**, a process that is started
//! with the first job and lives as long as its owner, or as long as it takes to finish what must be finished. So the
//! embedding process never forks; exit codes are collected whatever becomes of it; and orphans find a parent that
//! knows them. The supervisor is the embedding program itself, started with a hidden argument
//! ([`SupervisorCommand`]), or the program `windlass-supervisor` of this crate.
//!
//! Everything that must outlast a process is in the job's folder, in its final form before anybody can see it. A
//! running job's folder is locked by its supervisor; that is how another process tells a job that runs from one that
//! was lost.
//!
//! # What it can't do
//! A process is no container: a job sees the host's files and network with the rights of whoever started the
//! embedding program, and is held to its time and its output only, and to the limits of control groups where such may be
//! made ([`ControlGroups`]). Jobs that ask for more
//! ([`Capability`](crate::Capability)) are refused.

mod connection;
mod disk;
mod dispatch;
mod follow;
pub(crate) mod groups;
mod layout;
mod look;
mod memory;
mod options;
mod procfs;
mod record;
mod runtime;
mod staging;
mod supervisor;
mod wire;

pub use crate::{
    cgroup::ControlGroups,
    confine::{Available, Confinement, Unavailable},
};

pub use self::{
    connection::SupervisorCommand, options::ProcessOptions, runtime::ProcessRuntime, supervisor::supervise,
};

pub(crate) use self::staging::{Surroundings, remove_tree};

/// The kind of this runtime, as locations name it.
const KIND: &str = "process";
