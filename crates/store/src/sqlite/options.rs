//! How a store is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_model::Clock;
use windlass_model::id::Entropy;

use crate::holder::{Processes, SystemProcesses};
use crate::key::KeySource;
use crate::lease::LeaseTerms;

/// How long a write waits for other processes' writes unless told otherwise.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a [`Watch`](crate::Watch) looks for other processes' events unless told otherwise.
pub const POLL_EVERY: Duration = Duration::from_millis(100);

/// How a store is opened: what it is given from outside, and its limits.
#[derive(Clone)]
pub struct Options {
    pub(super) key: KeySource,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) create: bool,
    pub(super) terms: LeaseTerms,
    pub(super) processes: Arc<dyn Processes>,
    pub(super) busy_timeout: Duration,
    pub(super) poll_every: Duration,
    pub(super) max_pages: Option<u32>,
}

impl Options {
    /// Opens a store that is there, on the usual terms.
    pub fn new(key: KeySource, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            key,
            clock,
            entropy,
            create: false,
            terms: LeaseTerms::default(),
            processes: Arc::new(SystemProcesses),
            busy_timeout: BUSY_TIMEOUT,
            poll_every: POLL_EVERY,
            max_pages: None,
        }
    }

    /// Sets whether a store that is not there is made, with its folder and its key.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets where the key comes from.
    #[must_use]
    pub fn key(mut self, key: KeySource) -> Self {
        self.key = key;
        self
    }

    /// Sets the terms of leases. All who share a store should agree on them.
    #[must_use]
    pub fn terms(mut self, terms: LeaseTerms) -> Self {
        self.terms = terms;
        self
    }

    /// Sets who knows which holders are dead.
    #[must_use]
    pub fn processes(mut self, processes: Arc<dyn Processes>) -> Self {
        self.processes = processes;
        self
    }

    /// Sets how long a write waits for other processes' writes before it is [`Locked`](crate::StoreError::Locked).
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets how often a watch looks for other processes' events.
    #[must_use]
    pub fn poll_every(mut self, every: Duration) -> Self {
        self.poll_every = every;
        self
    }

    /// Sets the size that the file may have, in pages of 4 KiB; beyond it the store is
    /// [`Full`](crate::StoreError::Full).
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("key", &self.key)
            .field("create", &self.create)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}
