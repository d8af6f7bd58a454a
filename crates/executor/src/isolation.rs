//! How far a job is shut in, for runtimes that shut jobs in.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Where a job differs from the strictest way to run it. The default differs in nothing: a root that can't be written, no
/// capabilities, images fetched only when they are missing.
///
/// Each relaxation has to be asked for here (or by [`Job::network`](crate::Job::network),
/// [`Job::user`](crate::Job::user)), and the runtime notes it with the job.
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
    /// Capabilities of the kernel that it keeps, without `CAP_`: `NET_ADMIN`.
    pub capabilities: BTreeSet<String>,
    /// How large its `/tmp` may become, in bytes; the runtime's choice if not given.
    pub tmp_bytes: Option<u64>,
    /// When its image is fetched.
    pub pull: Pull,
}

/// Whether a job may write to the file system of its image. What it writes goes with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Root {
    /// It can only read it.
    #[default]
    ReadOnly,
    /// It can write, as far as its user may.
    Writable,
}

/// When an image is fetched from its registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pull {
    /// Never: it has to be there.
    Never,
    /// When it isn't there.
    #[default]
    Missing,
    /// For each job, so that a name that was given to something newer means that.
    Always,
}

impl Isolation {
    /// Tells whether something is asked for that only makes sense where a job is shut in.
    pub(crate) fn is_relaxed(&self) -> bool {
        self.root != Root::ReadOnly || !self.capabilities.is_empty()
    }
}
