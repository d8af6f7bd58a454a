//! Control groups of jobs: limits that the kernel enforces, and a kill that no process escapes.
//!
//! A job gets a group if this process can create groups: as root, or below a group that was delegated to this
//! process. Otherwise a runtime lacks the [capabilities](crate::Capability) for limits of memory, processes
//! and processor time, and ends the processes of a job one by one.
//!
//! Versions 1 and 2 of the interface are supported. Some hosts have only version 2. Other hosts have version
//! 1 with controllers, and beside it version 2 without controllers. Even without controllers, version 2 can
//! kill a group as a whole (`cgroup.kill`). Sources: cgroups(7), and the kernel's `admin-guide/cgroup-v1` and
//! `admin-guide/cgroup-v2`.

mod controller;
mod entrance;
mod group;
mod places;

use std::sync::OnceLock;

#[cfg(test)]
pub(crate) use self::places::Place;
pub(crate) use self::{
    controller::Controller,
    entrance::Entrance,
    group::{Group, end_all},
    places::{Places, Version, delegate},
};
use crate::Capabilities;

/// The features of control groups on this host, for jobs that run as [processes](crate::process) or in
/// [sandboxes](crate::sandbox).
///
/// ```
/// let groups = windlass_executor::process::ControlGroups::probe();
/// println!("processes that leave their session are found by their group: {}", groups.ends_all);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlGroups {
    /// Whether a job's processes are killed as a group, so that no process can escape (version 2,
    /// `cgroup.kill`).
    pub ends_all: bool,
    /// The limits that can be enforced on this host. Control groups may limit memory, the number of processes, and
    /// processor time. If the kernel counts swap, the memory limit includes swap.
    pub limits: Capabilities,
    /// Version of the control group interface that enforces the limits: 1 or 2. If version 1 enforces some of the
    /// limits, and version 2 the others, the value is 2. If no limit can be enforced, the value is `None`.
    pub version: Option<u8>,
}

impl ControlGroups {
    /// Finds out which features of control groups work on this host. To test the features, the function creates control
    /// groups and removes them again. The result is cached for the life of the process.
    pub fn probe() -> Self {
        let places = places();
        let there = Controller::ALL.into_iter().filter(|controller| places.limits(*controller));
        let limits = there.map(Controller::capability).collect();
        Self { ends_all: places.tracks(), limits, version: places.version() }
    }
}

/// Returns the folders in which this process can create groups. The first call searches for them.
pub(crate) fn places() -> &'static Places {
    static PLACES: OnceLock<Places> = OnceLock::new();
    PLACES.get_or_init(Places::find)
}
