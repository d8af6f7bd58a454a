//! Options for opening a store: dependencies that the caller passes to every store, and options of one kind
//! of store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_model::Clock;
use windlass_model::id::Entropy;

use crate::holder::{Processes, SystemProcesses};
use crate::key::KeySource;
use crate::lease::LeaseTerms;

/// Default interval at which a [`Watch`](crate::Watch) polls for events of other programs.
pub const POLL_EVERY: Duration = Duration::from_millis(100);

/// Options for opening a store. `Own` contains the options of one kind of store.
///
/// Each field has a method of the same name that sets the field. An implementation of [`Store`](crate::Store) reads the
/// fields.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options<Own> {
    /// The source of the key.
    pub key: KeySource,
    /// The clock for the times in records.
    pub clock: Arc<dyn Clock>,
    /// The source of random ids and keys.
    pub entropy: Arc<dyn Entropy>,
    /// Whether a missing store is created.
    pub create: bool,
    /// The lease terms.
    pub terms: LeaseTerms,
    /// The source that knows which holders are dead.
    pub processes: Arc<dyn Processes>,
    /// The interval at which a watch polls for events of other programs.
    pub poll_every: Duration,
    /// The options of one kind of store.
    pub own: Own,
}

impl<Own: Default> Options<Own> {
    /// Creates options that open an existing store, with the defaults for everything else.
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
    /// Sets whether a missing store is created, together with its folder or schema and its key.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets the source of the key.
    #[must_use]
    pub fn key(mut self, key: KeySource) -> Self {
        self.key = key;
        self
    }

    /// Sets the lease terms. All programs that share a store should use the same terms.
    #[must_use]
    pub fn terms(mut self, terms: LeaseTerms) -> Self {
        self.terms = terms;
        self
    }

    /// Sets the source that knows which holders are dead.
    #[must_use]
    pub fn processes(mut self, processes: Arc<dyn Processes>) -> Self {
        self.processes = processes;
        self
    }

    /// Sets how often a watch polls for events of other programs.
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
