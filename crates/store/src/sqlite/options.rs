//! Options of a store in a file.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::uptime::{SystemUptime, Uptime};

/// Default time that a write waits for writes of other programs.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Options for opening a store in a file.
pub type Options = crate::options::Options<InFile>;

/// Options that only a store in a file has.
#[derive(Clone)]
pub struct InFile {
    pub(super) busy_timeout: Duration,
    pub(super) max_pages: Option<u32>,
    pub(super) uptime: Arc<dyn Uptime>,
}

impl Default for InFile {
    /// Returns the default options: a write waits up to five seconds for writes of other programs, and the size of the
    /// file is not limited.
    fn default() -> Self {
        Self { busy_timeout: BUSY_TIMEOUT, max_pages: None, uptime: Arc::new(SystemUptime) }
    }
}

impl Options {
    /// Sets how long a write waits for writes of other programs before it fails with
    /// [`Locked`](crate::StoreError::Locked).
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.own.busy_timeout = timeout;
        self
    }

    /// Sets the maximum size of the file, in pages of 4 KiB. A write that would exceed this size fails with
    /// [`Full`](crate::StoreError::Full).
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.own.max_pages = Some(pages);
        self
    }

    /// Sets the source of monotonic time. The store uses this source to measure the age of a lease, unless the
    /// machine has been rebooted since the last renewal of the lease.
    #[must_use]
    pub fn uptime(mut self, uptime: Arc<dyn Uptime>) -> Self {
        self.own.uptime = uptime;
        self
    }
}

impl fmt::Debug for InFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFile")
            .field("busy_timeout", &self.busy_timeout)
            .field("max_pages", &self.max_pages)
            .finish_non_exhaustive()
    }
}
