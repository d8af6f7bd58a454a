//! How a store on a server is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_model::Clock;
use windlass_model::id::Entropy;

use crate::holder::{Processes, SystemProcesses};
use crate::key::KeySource;
use crate::lease::LeaseTerms;
use crate::sqlite::POLL_EVERY;

/// The schema that the tables are in unless told otherwise.
pub const SCHEMA: &str = "windlass";

/// How long a connection may take to come about unless the address says otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How a store on a server is opened: what it is given from outside, and its limits.
#[derive(Clone)]
pub struct Options {
    pub(super) key: KeySource,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) create: bool,
    pub(super) schema: String,
    pub(super) terms: LeaseTerms,
    pub(super) processes: Arc<dyn Processes>,
    pub(super) poll_every: Duration,
    pub(super) readers: usize,
}

impl Options {
    /// Opens a store that is there, on the usual terms.
    pub fn new(key: KeySource, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            key,
            clock,
            entropy,
            create: false,
            schema: SCHEMA.to_owned(),
            terms: LeaseTerms::default(),
            processes: Arc::new(SystemProcesses),
            poll_every: POLL_EVERY,
            readers: 4,
        }
    }

    /// Sets whether a store that is not there is made, with its schema and its key.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets the schema that the tables are in: letters, digits and `_`, beginning with a letter.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
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

    /// Sets how many connections read at the same time at most, beside the one that writes.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("key", &self.key)
            .field("create", &self.create)
            .field("schema", &self.schema)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}
