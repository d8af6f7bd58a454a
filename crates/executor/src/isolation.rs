//! The isolation of a job, for runtimes that isolate jobs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Settings of the isolation of a job. The default relaxes nothing: the root is read-only, and the job has no
/// kernel capabilities.
///
/// A job can request a relaxation of its isolation by these settings, by
/// [`Job::network`](crate::Job::network) and by [`Job::user`](crate::Job::user). Without a request, a job
/// gets no relaxation. The runtime stores the requests with the job.
///
/// ```
/// use windlass_executor::{Isolation, Job, Root};
///
/// let mut isolation = Isolation::default();
/// isolation.root = Root::Writable;
/// isolation.capabilities.insert("NET_BIND_SERVICE".to_owned());
/// let job = Job::command("install.sh").image("demo:1").isolation(isolation);
/// assert!(job.check().is_ok());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Isolation {
    /// Whether the job may write to the file system of its image.
    pub root: Root,
    /// The kernel capabilities that the job keeps, such as `NET_ADMIN`. The names lack the prefix `CAP_`.
    pub capabilities: BTreeSet<String>,
    /// Maximum size of the job's `/tmp`, in bytes. If the size is `None`, the runtime chooses it.
    pub tmp_bytes: Option<u64>,
    /// Condition under which the runtime pulls the image of the job.
    pub pull: Pull,
}

/// The access of a job to the file system of its image. The runtime discards all changes after the job has
/// ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Root {
    /// The job can only read.
    #[default]
    ReadOnly,
    /// The job can write, within the permissions of its user.
    Writable,
}

/// The condition under which a runtime pulls an image from its registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pull {
    /// The runtime never pulls the image, so the image must exist locally.
    Never,
    /// The runtime pulls the image if it does not exist locally.
    #[default]
    Missing,
    /// The runtime pulls the image before each job, so that each job gets the newest image of a moved tag.
    Always,
}

impl Isolation {
    /// Tells whether the job requests a writable root or kernel capabilities. Only a runtime that isolates
    /// jobs accepts such a request.
    pub(crate) fn is_relaxed(&self) -> bool {
        self.root != Root::ReadOnly || !self.capabilities.is_empty()
    }
}
