//! Handles with which a child enters its control group before it executes its program.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// The groups of a child that is about to be started.
#[derive(Debug, Default)]
pub(crate) struct Entrance {
    /// Folder of the child's group of version 2: the kernel creates the child in it. Moving a process later
    /// takes tens of milliseconds, and holds a lock that all forks of the host need.
    pub(crate) into: Option<OwnedFd>,
    /// Files `tasks` of the child's groups of version 1, by which the child enters the groups itself. Moving
    /// itself takes no lock that other forks need.
    pub(crate) tasks: Vec<OwnedFd>,
}

impl Entrance {
    pub(crate) fn group(&self) -> Option<BorrowedFd<'_>> {
        self.into.as_ref().map(AsFd::as_fd)
    }

    /// Enters the groups of version 1. Call it in the child: it makes system calls only.
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        for tasks in &self.tasks {
            rustix::io::write(tasks, b"0")?;
        }
        Ok(())
    }

    /// Returns the descriptor number of the group in which the kernel creates the child.
    pub(crate) fn number(&self) -> Option<u64> {
        self.group().and_then(|group| u64::try_from(group.as_raw_fd()).ok())
    }
}
