//! The isolation of a job, for runtimes that isolate jobs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Relaxations of the strictest isolation. The default relaxes nothing: a read-only root, no kernel
/// capabilities, images pulled only when they are missing.
///
/// Each relaxation must be requested here (or by [`Job::network`](crate::Job::network),
/// [`Job::user`](crate::Job::user)), and the runtime records it with the job.
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
    /// Kernel capabilities that the job keeps, without `CAP_`: `NET_ADMIN`.
    pub capabilities: BTreeSet<String>,
    /// Maximum size of the job's `/tmp`, in bytes; the runtime's choice if not given.
    pub tmp_bytes: Option<u64>,
    /// When the image is pulled.
    pub pull: Pull,
}

/// The access of a job to the file system of its image. Changes are discarded with the job.
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

/// When an image is pulled from its registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pull {
    /// Never: the image must be present locally.
    Never,
    /// When the image is not present locally.
    #[default]
    Missing,
    /// For each job, so that a moved tag resolves to its newest image.
    Always,
}

impl Isolation {
    /// Tells whether a relaxation is requested that has a meaning only on a runtime that isolates jobs.
    pub(crate) fn is_relaxed(&self) -> bool {
        self.root != Root::ReadOnly || !self.capabilities.is_empty()
    }
}
