//! Adds problems to nodes.

use std::sync::Arc;

use crate::eval::Env;
use crate::value::{Issue, Node};

/// Sets the problem of a node. If an earlier problem of the node has a path, the new problem gets the same path.
/// Otherwise, the new problem gets the path of `env`. If `issue` is `None` or has no message, the node keeps its
/// earlier problem.
///
/// `error` and `failed` become the annotations with the same names.
pub(super) fn with_issue(
    node: Node,
    error: bool,
    failed: bool,
    issue: Option<Arc<Issue>>,
    env: &Env,
) -> Node {
    let issue = issue.filter(|issue| !issue.message.is_empty()).map(|issue| {
        let known = node.annotations().issue.as_ref().and_then(|issue| issue.path.clone());
        let path = known.unwrap_or_else(|| env.path.to_vec().into());
        Arc::new(Issue { path: Some(path), ..(*issue).clone() })
    });
    with_issue_here(node, error, failed, issue)
}

/// Sets the problem of a node. Unlike [`with_issue`], this function does not set the path of `issue`. If `issue` is
/// `None`, the node keeps its earlier problem.
///
/// `error` and `failed` become the annotations with the same names.
pub(super) fn with_issue_here(node: Node, error: bool, failed: bool, issue: Option<Arc<Issue>>) -> Node {
    node.annotate(|annotations| {
        annotations.error = error;
        annotations.failed = failed;
        if issue.is_some() {
            annotations.issue = issue;
        }
    })
}

/// Creates a failed node with a message.
pub(super) fn wrong(node: Node, message: impl Into<String>) -> Node {
    with_issue_here(node, true, true, Some(Arc::new(Issue::new(message))))
}
