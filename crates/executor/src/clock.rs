//! The times in outcomes and events of jobs, such as the start and the end of a job.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970 (UTC), by the clock of the job's host.
///
/// Outcomes and events contain timestamps. Time limits instead use the monotonic clock, which can't be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Creates a timestamp from milliseconds since 1970.
    pub fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970.
    pub fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to this timestamp. If the clock was set back in between, returns zero.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Reads the host's clock. A test can't replace this clock by a simulated one, because supervisors also read
    /// the host's clock, and supervisors are separate processes.
    #[cfg(any(feature = "process", feature = "docker", feature = "image"))]
    pub(crate) fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let millis = u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0);
        Self(seconds * 1000 + millis)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}
