//! The report of the nodes without a value, with the reasons.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use windlass_source::Code;

use crate::codes;
use crate::limits::ExceededLimit;
use crate::value::{Issue, Node};

/// A node without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedNode {
    /// Text of the expression. For a node that is no expression, a description such as `<map>`.
    pub text: String,
    /// Whether the node is an expression.
    pub is_expression: bool,
    /// Name of the document that contains the node.
    pub source: String,
    /// Path of the node: keys, and `[i]` for list entries.
    pub path: Vec<Arc<str>>,
    /// The path that the report shows beside the path of the failed node. Usually, this is the path at which the
    /// problem occurred, or nothing if the problem occurred at the failed node itself. For a `merge` expression, it is
    /// the path that the expression reads in the stubs.
    pub origin: Vec<Arc<str>>,
    /// The kind of reason why the node has no value.
    pub reason: Reason,
    /// The problem and its causes. If no problem is recorded for the node, this issue has an empty message.
    pub issue: Issue,
}

/// The kind of reason why a node has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The node has a problem of its own.
    Error,
    /// The node belongs to a cycle of nodes that wait for each other, or waits for nodes of a cycle.
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

/// All unresolved nodes of one document: the nodes without a value. There are three groups: nodes that failed because
/// of a problem of their own, nodes that wait for each other, and nodes that depend on a failed node. Each group is in
/// document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unresolved {
    /// Nodes without a value.
    pub nodes: Vec<UnresolvedNode>,
    /// Cycles of nodes that wait for each other. A cycle is a list of paths, whose first path is repeated at
    /// the end.
    pub cycles: Vec<Vec<String>>,
    /// The limit that has ended the processing. Then the only node of the report is the root of the document, with the
    /// message about the limit.
    pub exceeded: Option<ExceededLimit>,
}

impl Unresolved {
    /// Tells whether all nodes have values.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the code of the errors of the report.
    pub(crate) fn code(&self) -> Code {
        if self.exceeded.is_some() { codes::LIMIT } else { codes::UNRESOLVED }
    }

    /// Tells whether at least one node has a known problem.
    pub(crate) fn has_issue(&self) -> bool {
        self.nodes.iter().any(|node| !node.issue.message.is_empty())
    }

    /// Returns two flags: whether at least one node has a problem of its own, and whether at least one
    /// depends on a failed node.
    pub(crate) fn state(&self) -> (bool, bool) {
        let any = |reason| self.nodes.iter().any(|node| node.reason == reason);
        (any(Reason::Error), any(Reason::Depends))
    }

    /// Returns a problem for each node of the report.
    ///
    /// The report may be about a document that was processed during the evaluation of an expression. For example,
    /// the evaluation of `*t` processes the content of the template `t`. If this content has problems, the
    /// expression fails. The problem of the expression then contains the problems of the content as its causes.
    pub(crate) fn issues(&self) -> Vec<Issue> {
        self.nodes.iter().map(|node| Issue { message: node.line(""), ..node.issue.clone() }).collect()
    }

    /// Creates the report of a document whose processing has ended because a limit was exceeded.
    pub(crate) fn exceeded(root: &Node, limit: ExceededLimit, message: &str) -> Self {
        let node = UnresolvedNode {
            text: "<document>".into(),
            is_expression: false,
            source: root.source().to_owned(),
            path: Vec::new(),
            origin: Vec::new(),
            reason: Reason::Error,
            issue: Issue::new(message),
        };
        Self { nodes: vec![node], cycles: Vec::new(), exceeded: Some(limit) }
    }
}

impl UnresolvedNode {
    /// Returns the line for this node in a report. If the node has a problem with a message, the line ends with the
    /// sign of the [`Reason`] (`*`, `@` or `-`) and the message. The text `gap` comes before the sign.
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

/// Returns the causes of a problem as text: the lines that follow the message of the problem.
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
