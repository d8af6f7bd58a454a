//! The controllers of control groups. Each controller limits one resource.

use std::collections::BTreeSet;

use crate::{Capability, Limits};

/// A controller of control groups, which limits one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Controller {
    Memory,
    Pids,
    Cpu,
}

impl Controller {
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// Returns the kernel's name of the controller. Versions 1 and 2 of control groups use the same names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }

    pub(crate) fn capability(self) -> Capability {
        match self {
            Self::Memory => Capability::MemoryLimit,
            Self::Pids => Capability::PidsLimit,
            Self::Cpu => Capability::CpuLimit,
        }
    }

    /// Returns a controller for each limit of memory, processes or processor time that is set. Other limits need no
    /// controller.
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
