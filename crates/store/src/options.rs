//! How a store is opened: what every store is given from outside, and beside it what a kind of store has for its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_model::Clock;
use windlass_model::id::Entropy;

use crate::holder::{Processes, SystemProcesses};
use crate::key::KeySource;
use crate::lease::LeaseTerms;

/// How often a [`Watch`](crate::Watch) looks for other processes' events unless told otherwise.
pub const POLL_EVERY: Duration = Duration::from_millis(100);

/// How a store is opened: what it is given from outside, and its limits. `Own` is what one kind of store has beside that.
#[derive(Clone)]
pub struct Options<Own> {
    pub(crate) key: KeySource,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) create: bool,
    pub(crate) terms: LeaseTerms,
    pub(crate) processes: Arc<dyn Processes>,
    pub(crate) poll_every: Duration,
    pub(crate) own: Own,
}

impl<Own: Default> Options<Own> {
    /// Opens a store that is there, on the usual terms.
    pub fn new(key: KeySource, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            key,
            clock,
            entropy,
            create: false,
            terms: LeaseTerms::default(),
            processes: Arc::new(SystemProcesses),
            poll_every: POLL_EVERY,
            own: Own::default(),
        }
    }
}

impl<Own> Options<Own> {
    /// Sets whether a store that is not there is made, with what it is in and its key.
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

    /// Sets how often a watch looks for other processes' events.
    #[must_use]
    pub fn poll_every(mut self, every: Duration) -> Self {
        self.poll_every = every;
        self
    }
}

impl<Own: fmt::Debug> fmt::Debug for Options<Own> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("key", &self.key)
            .field("create", &self.create)
            .field("terms", &self.terms)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}
