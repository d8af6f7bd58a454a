//! The access of functions to the evaluator and the outside world.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::FunctionError;
use crate::value::{Callable, Node, Value};

/// A kind of access that a caller may grant to templates. Nothing is granted by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Capability {
    /// Read files below given folders.
    Read,
    /// Write files below given folders.
    Write,
    /// Run commands.
    Exec,
    /// Read from `http:` and `https:` addresses.
    Http,
    /// Read environment variables.
    Env,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Http => "http",
            Self::Env => "env",
        })
    }
}

/// An access that isn't granted, or that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// The capability isn't granted at all.
    #[error("no OS operations supported in this execution environment")]
    NotGranted(Capability),
    /// The capability is granted, but not for this.
    #[error("`{path}` is outside of the folders granted for {capability}")]
    Outside {
        /// The capability.
        capability: Capability,
        /// The file, command, address or variable.
        path: String,
    },
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// The evaluator's side of a call: everything that a function may use beyond its arguments.
pub trait Host {
    /// Calls a lambda with positional arguments.
    ///
    /// # Errors
    /// As the lambda's body, or [`FunctionError::Pending`] if that needs another pass.
    fn call(&mut self, lambda: &dyn Callable, arguments: &[Node]) -> Result<Node, FunctionError>;

    /// Parses and evaluates an expression in the scope of the call.
    ///
    /// # Errors
    /// As the expression.
    fn evaluate(&mut self, expression: &str) -> Result<Node, FunctionError>;

    /// Processes maps and map templates, the first as template and the others as its stubs: a cascade of its own.
    ///
    /// # Errors
    /// With the report of the inner documents.
    fn merge(&mut self, documents: &[Node]) -> Result<Node, FunctionError>;

    /// Processes a document in the scope of the call, or with a root of its own.
    ///
    /// # Errors
    /// With the report of the document.
    fn process(&mut self, document: Node, own_root: bool) -> Result<Node, FunctionError>;

    /// Makes a template value of a document.
    fn template(&mut self, document: Node) -> Value;

    /// Names a value, as `&tag:` does; a leading `*` makes the tag global.
    ///
    /// # Errors
    /// If the tag names something else already.
    fn tag(&mut self, name: &str, value: &Node) -> Result<(), FunctionError>;

    /// The path of the node whose expression is evaluated.
    fn path(&self) -> Vec<String>;

    /// The value at a path from the root of the document, if it is there and complete.
    ///
    /// # Errors
    /// [`FunctionError::Pending`] if it isn't complete yet.
    fn lookup(&mut self, path: &[&str]) -> Result<Option<Node>, FunctionError>;

    /// The features that are switched on, by name and in order.
    fn features(&self) -> Vec<String>;

    /// Accounts for work: about one step for each thing looked at or byte made. Functions whose work can be much
    /// larger than their arguments must ask before they do it.
    ///
    /// # Errors
    /// [`FunctionError::Limit`] if the limit of steps, size or time is exceeded.
    fn spend(&mut self, steps: u64) -> Result<(), FunctionError>;

    /// Seconds and nanoseconds since 1970.
    fn now(&self) -> Duration;

    /// Fills bytes with randomness.
    fn random(&mut self, bytes: &mut [u8]);

    /// Reads a file, or an address.
    ///
    /// # Errors
    /// If that isn't granted, or fails.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, Denied>;

    /// Writes a file, with the mode of the file if it is created.
    ///
    /// # Errors
    /// If that isn't granted, or fails.
    fn write(&mut self, path: &str, content: &[u8], mode: u32) -> Result<(), Denied>;

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// If that isn't granted, or fails.
    fn make_folder(&mut self, path: &str, mode: u32) -> Result<(), Denied>;

    /// Makes a file with this content that is removed at the end, and gives its path.
    ///
    /// # Errors
    /// If that isn't granted, or fails.
    fn temporary_file(&mut self, content: &[u8], mode: u32) -> Result<String, Denied>;

    /// The entries of a folder: names, and whether each is a folder; sorted by name.
    ///
    /// # Errors
    /// If that isn't granted, or fails.
    fn list(&mut self, folder: &str) -> Result<Vec<(String, bool)>, Denied>;

    /// Whether something is there, and whether it is a folder.
    ///
    /// # Errors
    /// If that isn't granted.
    fn exists(&mut self, path: &Path) -> Result<Option<bool>, Denied>;

    /// Runs a command with this standard input, and gives its standard output.
    ///
    /// # Errors
    /// If that isn't granted, or fails.
    fn run(&mut self, command: &[String], input: Option<&[u8]>, cached: bool) -> Result<Vec<u8>, Denied>;

    /// The value of an environment variable.
    ///
    /// # Errors
    /// If that isn't granted.
    fn variable(&mut self, name: &str) -> Result<Option<String>, Denied>;

    /// The key that `encrypt` and `decrypt` use where none is given.
    fn encryption_key(&self) -> Option<String>;
}
