//! Options of a store on a server.

use std::time::Duration;

/// Default schema of the tables.
pub const SCHEMA: &str = "windlass";

/// Time limit for establishing a connection if the address sets none.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Options for opening a store on a server.
pub type Options = crate::options::Options<OnServer>;

/// Options that only a store on a server has.
#[derive(Debug, Clone)]
pub struct OnServer {
    pub(super) schema: String,
    pub(super) readers: usize,
}

impl Default for OnServer {
    /// Returns options with the default schema, and four connections for reading.
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), readers: 4 }
    }
}

impl Options {
    /// Sets the name of the schema that contains the tables. The name consists of lower-case letters, digits and
    /// `_`, starts with a letter, and has at most 63 characters.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.own.schema = schema.into();
        self
    }

    /// Sets the maximum number of connections for reading, beside the connection that writes. At least one
    /// connection for reading is used.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.own.readers = readers.max(1);
        self
    }
}
