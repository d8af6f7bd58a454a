//! The interface through which functions access the evaluator and the outside world.

use std::path::Path;
use std::time::Duration;

use super::FunctionError;
use crate::outside::Denied;
use crate::value::{Callable, Node, Value};

/// The evaluator's side of a call: everything that a function can access besides its arguments.
pub trait Host {
    /// Calls a lambda with positional arguments.
    ///
    /// # Errors
    /// The error of the lambda's body, or [`FunctionError::Pending`] if it needs another pass.
    fn call(&mut self, lambda: &dyn Callable, arguments: &[Node]) -> Result<Node, FunctionError>;

    /// Parses and evaluates an expression in the scope of the call.
    ///
    /// # Errors
    /// The error of the expression.
    fn evaluate(&mut self, expression: &str) -> Result<Node, FunctionError>;

    /// Processes maps and map templates as a separate cascade: the first is the template, the others are its
    /// stubs.
    ///
    /// # Errors
    /// The report of the inner documents.
    fn merge(&mut self, documents: &[Node]) -> Result<Node, FunctionError>;

    /// Processes a document in the scope of the call, or with a root of its own.
    ///
    /// # Errors
    /// The report of the document.
    fn process(&mut self, document: Node, own_root: bool) -> Result<Node, FunctionError>;

    /// Creates a template value from a document.
    fn template(&mut self, document: Node) -> Value;

    /// Tags a value, as `&tag:` does; a leading `*` makes the tag global.
    ///
    /// # Errors
    /// When the tag is already used for another value.
    fn tag(&mut self, name: &str, value: &Node) -> Result<(), FunctionError>;

    /// Returns the path of the node whose expression is evaluated.
    fn path(&self) -> Vec<String>;

    /// Returns the value at a path from the root of the document, if it exists and is complete.
    ///
    /// # Errors
    /// [`FunctionError::Pending`] if the value isn't complete yet.
    fn lookup(&mut self, path: &[&str]) -> Result<Option<Node>, FunctionError>;

    /// Returns the names of the enabled features, sorted.
    fn features(&self) -> Vec<String>;

    /// Accounts for work: about one step for each inspected element or created byte. A function whose work
    /// can be much larger than its arguments must call this before the work.
    ///
    /// # Errors
    /// [`FunctionError::Limit`] if the limit of steps, size or time is exceeded.
    fn spend(&mut self, steps: u64) -> Result<(), FunctionError>;

    /// Returns the time since 1970.
    fn now(&self) -> Duration;

    /// Fills a buffer with random bytes.
    fn random(&mut self, bytes: &mut [u8]);

    /// Reads a file or a URL.
    ///
    /// # Errors
    /// When the access is not granted, or fails.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, Denied>;

    /// Writes a file; `mode` is used if the file is created.
    ///
    /// # Errors
    /// When the access is not granted, or fails.
    fn write(&mut self, path: &str, content: &[u8], mode: u32) -> Result<(), Denied>;

    /// Creates a folder and its parents.
    ///
    /// # Errors
    /// When the access is not granted, or fails.
    fn make_folder(&mut self, path: &str, mode: u32) -> Result<(), Denied>;

    /// Creates a temporary file with this content, and returns its path. The file is removed at the end.
    ///
    /// # Errors
    /// When the access is not granted, or fails.
    fn temporary_file(&mut self, content: &[u8], mode: u32) -> Result<String, Denied>;

    /// Returns the entries of a folder, sorted by name: the names, and whether each is a folder.
    ///
    /// # Errors
    /// When the access is not granted, or fails.
    fn list(&mut self, folder: &str) -> Result<Vec<(String, bool)>, Denied>;

    /// Tells whether a path exists, and whether it is a folder.
    ///
    /// # Errors
    /// When the access is not granted.
    fn exists(&mut self, path: &Path) -> Result<Option<bool>, Denied>;

    /// Runs a command with this standard input, and returns its standard output.
    ///
    /// # Errors
    /// When the access is not granted, or fails.
    fn run(&mut self, command: &[String], input: Option<&[u8]>, cached: bool) -> Result<Vec<u8>, Denied>;

    /// Returns the value of an environment variable.
    ///
    /// # Errors
    /// When the access is not granted.
    fn variable(&mut self, name: &str) -> Result<Option<String>, Denied>;

    /// Returns the default key of `encrypt` and `decrypt`.
    fn encryption_key(&self) -> Option<String>;
}
