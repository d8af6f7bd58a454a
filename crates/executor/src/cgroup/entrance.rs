//! The open files through which a child process enters its control groups. The child enters them before it executes its
//! program.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// The open files through which a new child process enters its control groups.
#[derive(Debug, Default)]
pub(crate) struct Entrance {
    /// Opened folder of the child's control group in cgroup version 2; `None` if the child enters no such group. The
    /// kernel creates the child in this group. A later move into the group would take tens of milliseconds, and would
    /// delay all forks on the host.
    pub(crate) into: Option<OwnedFd>,
    /// File `tasks` of each control group in cgroup version 1, opened for writing. The child enters a control group
    /// by writing `0` to the group's file. Such a write does not delay forks of other processes on the host.
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

    /// Returns the file descriptor of the folder `into` as a number, which the system call `clone3` needs. Returns
    /// `None` if the child enters no group of version 2.
    pub(crate) fn number(&self) -> Option<u64> {
        self.group().and_then(|group| u64::try_from(group.as_raw_fd()).ok())
    }
}
