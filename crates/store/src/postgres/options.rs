//! How a store on a server is opened.

use std::time::Duration;

/// The schema that the tables are in unless told otherwise.
pub const SCHEMA: &str = "windlass";

/// How long a connection may take to come about unless the address says otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How a store on a server is opened.
pub type Options = crate::options::Options<OnServer>;

/// What only a store on a server has.
#[derive(Debug, Clone)]
pub struct OnServer {
    pub(super) schema: String,
    pub(super) readers: usize,
}

impl Default for OnServer {
    /// The usual schema, and four connections that read.
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), readers: 4 }
    }
}

impl Options {
    /// Sets the schema that the tables are in: letters, digits and `_`, beginning with a letter.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.own.schema = schema.into();
        self
    }

    /// Sets how many connections read at the same time at most, beside the one that writes.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.own.readers = readers.max(1);
        self
    }
}
