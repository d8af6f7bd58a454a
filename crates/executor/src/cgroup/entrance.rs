//! What a child needs to be in its group before it is anything else.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// The groups of a child that is about to be made.
#[derive(Debug, Default)]
pub(crate) struct Entrance {
    /// The folder of its group of version 2: the kernel makes the child there. To move one later takes a lock that all
    /// forks of the host need, and tens of milliseconds.
    pub(crate) into: Option<OwnedFd>,
    /// The files `tasks` of its groups of version 1. One thread that moves itself takes no such lock.
    pub(crate) tasks: Vec<OwnedFd>,
}

impl Entrance {
    pub(crate) fn group(&self) -> Option<BorrowedFd<'_>> {
        self.into.as_ref().map(AsFd::as_fd)
    }

    /// Enters the groups of version 1. To be called in the child: it makes system calls only.
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        for tasks in &self.tasks {
            rustix::io::write(tasks, b"0")?;
        }
        Ok(())
    }

    /// The number by which the kernel is told where to make the child.
    pub(crate) fn number(&self) -> Option<u64> {
        self.group().and_then(|group| u64::try_from(group.as_raw_fd()).ok())
    }
}
