//! How a store in a file is opened.

use std::time::Duration;

/// How long a write waits for other processes' writes unless told otherwise.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How a store in a file is opened.
pub type Options = crate::options::Options<InFile>;

/// What only a store in a file has.
#[derive(Debug, Clone)]
pub struct InFile {
    pub(super) busy_timeout: Duration,
    pub(super) max_pages: Option<u32>,
}

impl Default for InFile {
    /// Waits five seconds, and grows as long as there is room.
    fn default() -> Self {
        Self { busy_timeout: BUSY_TIMEOUT, max_pages: None }
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
}
