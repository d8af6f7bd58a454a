//! Problems of nodes.

use crate::path::Path;

/// A problem of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issue {
    /// The message of the problem.
    pub message: String,
    /// Problems that caused this problem.
    pub nested: Vec<Issue>,
    /// Whether the nested problems come from a chain of calls. If not, they are problems of nodes of an inner
    /// document.
    pub chain: bool,
    /// Path of the node at which the problem occurred.
    pub path: Option<Path>,
}

impl Issue {
    /// Creates a problem with only a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}
