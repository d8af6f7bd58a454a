//! Control groups of jobs: limits that the kernel enforces, and an end that nobody escapes.
//!
//! A job gets a group where one may be made: as root, or below a group that was delegated to us. Where none may be made
//! nothing is pretended: the limits are no [capability](crate::Capability), and the end of a job is told to its
//! processes one by one.
//!
//! Both versions of the interface are used as they are found. A host may have version 2 only; or version 1 for some
//! controllers, and version 2 beside it without any, which still can end a group as a whole (`cgroup.kill`). cgroups(7),
//! and the kernel's `admin-guide/cgroup-v1` and `admin-guide/cgroup-v2`.

mod entrance;
mod group;
mod places;

use std::{collections::BTreeSet, sync::OnceLock};

pub(crate) use self::{
    entrance::Entrance,
    group::{Group, end_all},
    places::{Places, Version, hand_on},
};
use crate::{Capabilities, Capability, Limits};

/// What this host lets us do with control groups. In force for the jobs of [processes](crate::process) and
/// [sandboxes](crate::sandbox).
///
/// ```
/// let groups = windlass_executor::process::ControlGroups::probe();
/// println!("processes that leave their session are found by their group: {}", groups.ends_all);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlGroups {
    /// A job's processes are ended as a group, whatever they have done to be forgotten (version 2, `cgroup.kill`).
    pub ends_all: bool,
    /// The limits that are enforced, of memory, processes and processor time. Memory is that with swap where the kernel
    /// counts swap.
    pub limits: Capabilities,
    /// The version of the interface that enforces them; `None` where none are.
    pub version: Option<u8>,
}

impl ControlGroups {
    /// Finds out, by making groups and removing them. What was found is kept as long as this program runs.
    pub fn probe() -> Self {
        let places = places();
        let there = Controller::ALL.into_iter().filter(|controller| places.limits(*controller));
        let limits = there.map(Controller::capability).collect();
        Self { ends_all: places.tracks(), limits, version: places.version() }
    }
}

/// Where groups may be made, found out once.
pub(crate) fn places() -> &'static Places {
    static PLACES: OnceLock<Places> = OnceLock::new();
    PLACES.get_or_init(Places::find)
}

/// What limits what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Controller {
    Memory,
    Pids,
    Cpu,
}

impl Controller {
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// Its name, of which both versions have the same.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }

    fn capability(self) -> Capability {
        match self {
            Self::Memory => Capability::MemoryLimit,
            Self::Pids => Capability::PidsLimit,
            Self::Cpu => Capability::CpuLimit,
        }
    }

    /// Lists those that a job needs.
    pub(crate) fn needed(limits: &Limits) -> BTreeSet<Self> {
        [
            (limits.memory_bytes.is_some(), Self::Memory),
            (limits.pids.is_some(), Self::Pids),
            (limits.cpu_millis.is_some(), Self::Cpu),
        ]
        .into_iter()
        .filter_map(|(needed, controller)| needed.then_some(controller))
        .collect()
    }
}
