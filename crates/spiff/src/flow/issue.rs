//! Adds problems to nodes.

use std::sync::Arc;

use crate::eval::Env;
use crate::value::{Issue, Node};

/// Adds a problem to a node. The path of the problem is that of `env`. If an earlier problem of the node has
/// a path, the new problem gets that path.
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

/// Adds a problem to a node. The path in the problem stays as it is.
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
