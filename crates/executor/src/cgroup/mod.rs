//! Control groups of jobs: limits that the kernel enforces, and a kill that no process escapes.
//!
//! A job gets a group where groups can be created: as root, or below a group that was delegated to this
//! process. Elsewhere a runtime lacks the [capabilities](crate::Capability) for limits, and the processes of
//! a job are signalled one by one.
//!
//! Versions 1 and 2 of the interface are supported. A host may have version 2 only. Another host has version
//! 1 for some controllers, and a version 2 without controllers. Even without controllers, version 2 can kill
//! a group as a whole (`cgroup.kill`). Sources: cgroups(7), and the kernel's `admin-guide/cgroup-v1` and
//! `admin-guide/cgroup-v2`.

mod controller;
mod entrance;
mod group;
mod places;

use std::sync::OnceLock;

pub(crate) use self::{
    controller::Controller,
    entrance::Entrance,
    group::{Group, end_all},
    places::{Places, Version, delegate},
};
use crate::Capabilities;

/// The control group features of this host. They apply to the jobs of [processes](crate::process) and
/// [sandboxes](crate::sandbox).
///
/// ```
/// let groups = windlass_executor::process::ControlGroups::probe();
/// println!("processes that leave their session are found by their group: {}", groups.ends_all);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlGroups {
    /// Whether a job's processes are killed as a group, so that none can escape (version 2, `cgroup.kill`).
    pub ends_all: bool,
    /// Enforced limits of memory, processes and processor time. The memory limit includes swap where the
    /// kernel counts swap.
    pub limits: Capabilities,
    /// Version of the interface that enforces the limits; `None` if no limit is enforced.
    pub version: Option<u8>,
}

impl ControlGroups {
    /// Probes the features by creating and removing groups. The result is cached for the life of the process.
    pub fn probe() -> Self {
        let places = places();
        let there = Controller::ALL.into_iter().filter(|controller| places.limits(*controller));
        let limits = there.map(Controller::capability).collect();
        Self { ends_all: places.tracks(), limits, version: places.version() }
    }
}

/// Returns the folders where groups can be created, probed once.
pub(crate) fn places() -> &'static Places {
    static PLACES: OnceLock<Places> = OnceLock::new();
    PLACES.get_or_init(Places::find)
}
