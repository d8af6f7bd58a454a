//! The report of unresolved nodes and their reasons.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::value::{Issue, Node};

/// A node without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedNode {
    /// Text of the expression, or the kind of a node that is no expression.
    pub text: String,
    /// Whether the node is an expression.
    pub is_expression: bool,
    /// Name of the document.
    pub source: String,
    /// Path: keys, and `[i]` for list entries.
    pub path: Vec<Arc<str>>,
    /// Path of the problem's origin, if it is another node.
    pub origin: Vec<Arc<str>>,
    /// The reason why the node has no value.
    pub reason: Reason,
    /// Problem with its causes; empty if unknown.
    pub issue: Issue,
}

/// The reason why a node has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The node has a problem of its own.
    Error,
    /// The node is part of a cycle of nodes that wait for each other.
    Pending,
    /// The node depends on a node that failed.
    Depends,
}

impl Reason {
    const fn sign(self) -> char {
        match self {
            Self::Error => '*',
            Self::Pending => '@',
            Self::Depends => '-',
        }
    }
}

/// All nodes of a document without a value. Nodes with problems of their own are first, then cycles, then
/// nodes that depend on failed nodes. Each group is in document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unresolved {
    /// Nodes without a value.
    pub nodes: Vec<UnresolvedNode>,
    /// Cycles of nodes that wait for each other, as paths.
    pub cycles: Vec<Vec<String>>,
}

impl Unresolved {
    /// Tells whether all nodes have values.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Tells whether any node has a known problem.
    pub(crate) fn has_issue(&self) -> bool {
        self.nodes.iter().any(|node| !node.issue.message.is_empty())
    }

    /// Tells whether any node has a problem of its own, and whether any depends on a failed node.
    pub(crate) fn state(&self) -> (bool, bool) {
        let any = |reason| self.nodes.iter().any(|node| node.reason == reason);
        (any(Reason::Error), any(Reason::Depends))
    }

    /// Returns the nodes as problems, for the node whose value required the document.
    pub(crate) fn issues(&self) -> Vec<Issue> {
        self.nodes.iter().map(|node| Issue { message: node.line(""), ..node.issue.clone() }).collect()
    }

    /// Creates the report of a document whose processing a limit has ended.
    pub(crate) fn exhausted(root: &Node, limit: &str) -> Self {
        let node = UnresolvedNode {
            text: "<document>".into(),
            is_expression: false,
            source: root.source().to_owned(),
            path: Vec::new(),
            origin: Vec::new(),
            reason: Reason::Error,
            issue: Issue::new(limit),
        };
        Self { nodes: vec![node], cycles: Vec::new() }
    }
}

impl UnresolvedNode {
    /// Formats the node in one line; `gap` precedes the reason.
    fn line(&self, gap: &str) -> String {
        let text = self.text.replace('\n', "\n\t");
        let text = if self.is_expression { format!("(( {text} ))") } else { text };
        let path = self.path.join(".");
        let origin = self.origin.join(".");
        let mut line = format!("{text}\tin {}\t{path}\t({origin})", self.source);
        if !self.issue.message.is_empty() {
            line.push_str(gap);
            line.push(self.reason.sign());
            line.push_str(&self.issue.message);
        }
        line
    }
}

impl Display for Unresolved {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("unresolved nodes:")?;
        for node in &self.nodes {
            write!(f, "\n\t{}{}", node.line("\t"), nested(&node.issue))?;
        }
        Ok(())
    }
}

impl std::error::Error for Unresolved {}

/// Formats the causes of a problem, as lines below it.
fn nested(issue: &Issue) -> String {
    let (prefix, gap) = if issue.chain { ("\n\t\t... ", "") } else { ("\n", "\t\t\t") };
    let mut text = String::new();
    for inner in &issue.nested {
        text.push_str(prefix);
        text.push_str(&inner.message);
        text.push_str(&nested(inner));
    }
    text.replace('\n', &format!("\n{gap}"))
}
