//! What a job may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a job may use. Every job has a time limit and bounded output; the other limits are the runtime's to
/// enforce, and one that can't refuses a job that asks ([`Capability`](crate::Capability)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// The longest a job may run, counted from its start, not from its submission. Default: one hour.
    pub timeout: Duration,
    /// How long a job that ran out of time has between the request to end (SIGTERM) and its end (SIGKILL).
    /// Default: 5 seconds.
    pub grace: Duration,
    /// How many bytes of stdout the [`Outcome`](crate::Outcome) keeps: the first half of them and the last.
    /// Default: 4 MiB.
    pub stdout_bytes: u64,
    /// The same for stderr. Default: 256 KiB.
    pub stderr_bytes: u64,
    /// How many bytes of each stream are kept on disk while the job is there, at the least what the outcome
    /// keeps. What comes after is counted, and its end kept, but not stored. Default: 64 MiB.
    pub spill_bytes: u64,
    /// The most memory the job may use, in bytes.
    pub memory_bytes: Option<u64>,
    /// The most processes the job may have at a time.
    pub pids: Option<u32>,
    /// The most processor time a second, in thousandths of one processor.
    pub cpu_millis: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60 * 60),
            grace: Duration::from_secs(5),
            stdout_bytes: 4 << 20,
            stderr_bytes: 256 << 10,
            spill_bytes: 64 << 20,
            memory_bytes: None,
            pids: None,
            cpu_millis: None,
        }
    }
}
