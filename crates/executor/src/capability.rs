//! One optional capability of a runtime.

use std::fmt;

/// An optional capability of a runtime. At submission, a runtime refuses a job that needs a capability that
/// the runtime lacks. No runtime silently ignores a part of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// The runtime runs a job in the file system of an [image](crate::Job::image).
    Image,
    /// On request, the runtime gives a job a [network](crate::Network) of its own, or runs the job without a network.
    Network,
    /// The runtime runs a job as another [user](crate::Job::user).
    User,
    /// The runtime isolates jobs, and relaxes the isolation of a job that [requests](crate::Isolation) a writable root
    /// or kernel capabilities.
    Isolation,
    /// The runtime enforces [`Limits::memory_bytes`](crate::Limits::memory_bytes).
    MemoryLimit,
    /// The runtime enforces [`Limits::pids`](crate::Limits::pids).
    PidsLimit,
    /// The runtime enforces [`Limits::cpu_millis`](crate::Limits::cpu_millis).
    CpuLimit,
    /// The runtime enforces [`Limits::open_files`](crate::Limits::open_files).
    OpenFilesLimit,
    /// The runtime limits the size of a job's `TMPDIR`, and enforces
    /// [`Isolation::tmp_bytes`](crate::isolation::Isolation::tmp_bytes).
    TmpLimit,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Image => "an image",
            Self::Network => "a network other than the host's",
            Self::User => "another user",
            Self::Isolation => "a root of its own that it may write, or capabilities",
            Self::MemoryLimit => "a memory limit",
            Self::PidsLimit => "a limit on processes",
            Self::CpuLimit => "a limit on processor time",
            Self::OpenFilesLimit => "a limit on open files",
            Self::TmpLimit => "a limit on temporary files",
        })
    }
}
