//! How a store in a file is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::uptime::{SystemUptime, Uptime};

/// How long a write waits for other processes' writes unless told otherwise.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How a store in a file is opened.
pub type Options = crate::options::Options<InFile>;

/// What only a store in a file has.
#[derive(Clone)]
pub struct InFile {
    pub(super) busy_timeout: Duration,
    pub(super) max_pages: Option<u32>,
    pub(super) uptime: Arc<dyn Uptime>,
}

impl Default for InFile {
    /// Waits five seconds, and grows as long as there is room.
    fn default() -> Self {
        Self { busy_timeout: BUSY_TIMEOUT, max_pages: None, uptime: Arc::new(SystemUptime) }
    }
}

impl Options {
    /// Sets how long a write waits for other processes' writes before it is [`Locked`](crate::StoreError::Locked).
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.own.busy_timeout = timeout;
        self
    }

    /// Sets the size that the file may have, in pages of 4 KiB; beyond it the store is
    /// [`Full`](crate::StoreError::Full).
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.own.max_pages = Some(pages);
        self
    }

    /// Sets who counts the time that leases are measured by, among the processes of one boot.
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
