//! Handles with which a child process enters its control groups before it executes its program.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// The control groups of a child process that is about to be started.
#[derive(Debug, Default)]
pub(crate) struct Entrance {
    /// Opened folder of the child's control group in cgroup version 2; `None` if the child enters no such
    /// group. The kernel creates the child in this group. A later move into the group would take tens of
    /// milliseconds, and would hold a lock that all forks of the host need.
    pub(crate) into: Option<OwnedFd>,
    /// Opened file `tasks` of each control group in cgroup version 1 that the child enters. The child enters a
    /// group when it writes to the group's file. The write takes no lock that other forks of the host need.
    pub(crate) tasks: Vec<OwnedFd>,
}

impl Entrance {
    pub(crate) fn group(&self) -> Option<BorrowedFd<'_>> {
        self.into.as_ref().map(AsFd::as_fd)
    }

    /// Moves the calling process into its control groups in cgroup version 1. The function makes only system
    /// calls, so a new child may call it.
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        for tasks in &self.tasks {
            rustix::io::write(tasks, b"0")?;
        }
        Ok(())
    }

    /// Returns the number of the descriptor `into`, for the call that creates the child.
    pub(crate) fn number(&self) -> Option<u64> {
        self.group().and_then(|group| u64::try_from(group.as_raw_fd()).ok())
    }
}
