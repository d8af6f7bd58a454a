//! The interface through which functions access the evaluator and the outside world.

use std::path::Path;
use std::time::Duration;

use super::FunctionError;
use crate::outside::Denied;
use crate::value::{Callable, Node, Value};

/// The interface by which a function accesses everything besides its arguments: the engine that evaluates the
/// call, and the outside world, such as files.
pub trait Host {
    /// Calls a lambda with positional arguments.
    ///
    /// # Errors
    /// The error of the lambda's body, or [`FunctionError::Pending`] if a required value is not known yet.
    fn call(&mut self, lambda: &dyn Callable, arguments: &[Node]) -> Result<Node, FunctionError>;

    /// Parses and evaluates an expression in the scope of the call.
    ///
    /// # Errors
    /// The error of the expression.
    fn evaluate(&mut self, expression: &str) -> Result<Node, FunctionError>;

    /// Processes the first node of `documents` as a document. The other nodes are the stubs, which supply or override
    /// values of this document. Each node is a map, or a template whose content is a map.
    ///
    /// # Errors
    /// [`FunctionError::Failed`] if a node of a document has no value at the end. The message lists all such nodes.
    fn merge(&mut self, documents: &[Node]) -> Result<Node, FunctionError>;

    /// Processes a document in the scope of the call. If `own_root` is true, a reference with a leading dot
    /// begins at a new, empty root. Otherwise, such a reference begins at the root of the calling document.
    ///
    /// # Errors
    /// [`FunctionError::Failed`] if a node of the document can't be evaluated. The causes are the problems of all
    /// such nodes. [`FunctionError::Pending`] if the document waits for a value that is not known yet.
    fn process(&mut self, document: Node, own_root: bool) -> Result<Node, FunctionError>;

    /// Creates a template value from a document.
    fn template(&mut self, document: Node) -> Value;

    /// Tags a value, as the marker `&tag:` does. A leading `*` in the name makes the tag global.
    ///
    /// # Errors
    /// When the tag is already used for another value.
    fn tag(&mut self, name: &str, value: &Node) -> Result<(), FunctionError>;

    /// Returns the path of the node whose expression is evaluated.
    fn path(&self) -> Vec<String>;

    /// Returns the node at a path from the root of the document, if it exists.
    ///
    /// # Errors
    /// [`FunctionError::Pending`] if the node, or a node on the way, is not completely evaluated yet.
    fn lookup(&mut self, path: &[&str]) -> Result<Option<Node>, FunctionError>;

    /// Returns the names of the enabled features, sorted.
    fn features(&self) -> Vec<String>;

    /// Counts work in steps: about one step for each list entry that the function inspects, and for each byte
    /// that it creates. If the work of a function can be much larger than its arguments, the function must
    /// call this method before the work.
    ///
    /// # Errors
    /// [`FunctionError::Limit`] if a limit is exceeded.
    fn spend(&mut self, steps: u64) -> Result<(), FunctionError>;

    /// Returns the time since 1970.
    fn now(&self) -> Duration;

    /// Fills a buffer with random bytes.
    fn random(&mut self, bytes: &mut [u8]);

    /// Reads a file or a URL.
    ///
    /// # Errors
    /// When the access is not granted, or when the operation fails.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, Denied>;

    /// Writes a file. If the file does not exist, it is created with the permissions `mode`.
    ///
    /// # Errors
    /// When the access is not granted, or when the operation fails.
    fn write(&mut self, path: &str, content: &[u8], mode: u32) -> Result<(), Denied>;

    /// Creates a folder, and its missing parent folders.
    ///
    /// # Errors
    /// When the access is not granted, or when the operation fails.
    fn make_folder(&mut self, path: &str, mode: u32) -> Result<(), Denied>;

    /// Creates a temporary file with this content, and returns its path. The file is removed when the
    /// processing ends.
    ///
    /// # Errors
    /// When the access is not granted, or when the operation fails.
    fn temporary_file(&mut self, content: &[u8], mode: u32) -> Result<String, Denied>;

    /// Returns the entries of a folder, sorted by name: the name of each, and whether it is a folder.
    ///
    /// # Errors
    /// When the access is not granted, or when the operation fails.
    fn list(&mut self, folder: &str) -> Result<Vec<(String, bool)>, Denied>;

    /// Looks for a file or folder at a path. Returns `Some(true)` for a folder, `Some(false)` for a file, and `None` if
    /// nothing exists at the path.
    ///
    /// # Errors
    /// When the access is not granted, or when the operation fails.
    fn exists(&mut self, path: &Path) -> Result<Option<bool>, Denied>;

    /// Runs a command with this standard input, and returns its standard output. If `cached` is true and the
    /// same command has run with the same input, returns its earlier output.
    ///
    /// # Errors
    /// When the access is not granted, or when the operation fails.
    fn run(&mut self, command: &[String], input: Option<&[u8]>, cached: bool) -> Result<Vec<u8>, Denied>;

    /// Returns the value of an environment variable.
    ///
    /// # Errors
    /// When the access is not granted.
    fn variable(&mut self, name: &str) -> Result<Option<String>, Denied>;

    /// Returns the key that `encrypt` and `decrypt` use if a call contains no key.
    fn encryption_key(&self) -> Option<String>;
}
