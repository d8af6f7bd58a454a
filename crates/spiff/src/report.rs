//! The report of unresolved nodes and their reasons.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::eval::State;
use crate::eval::closure::{Closure, Expression, Template, shorten};
use crate::syntax::ast::Expr;
use crate::syntax::{Place, embedded};
use crate::value::{Issue, Node, Value};

/// A node without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedNode {
    /// Printed expression, or the kind of any other node.
    pub text: String,
    /// Whether it is an expression.
    pub is_expression: bool,
    /// Name of the document.
    pub source: String,
    /// Path: keys, and `[i]` for list entries.
    pub path: Vec<Arc<str>>,
    /// Path of the problem's origin, if it is another node.
    pub origin: Vec<Arc<str>>,
    /// Reason.
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

    /// Returns the nodes as problems of the node that needed the document.
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

    /// Collects the unresolved nodes of a document.
    pub(crate) fn find(root: &Node, state: &State) -> Self {
        let mut path = Vec::new();
        let nodes = collect(root, &mut path, state);
        let cycles = crate::cycle::cycles(&nodes, root);
        Self { nodes, cycles }
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

fn collect(node: &Node, path: &mut Vec<Arc<str>>, state: &State) -> Vec<UnresolvedNode> {
    crate::syntax::too_deep::with_stack(|| collect_here(node, path, state))
}

fn collect_here(node: &Node, path: &mut Vec<Arc<str>>, state: &State) -> Vec<UnresolvedNode> {
    let mut nodes = Vec::new();
    let mut found = false;
    let mut below = |name: Arc<str>, child: &Node| {
        path.push(name);
        nodes.extend(collect(child, path, state));
        path.pop();
    };
    match node.value() {
        Value::Map(map) => map.iter().for_each(|(key, child)| below(key.clone(), child)),
        Value::List(list) => {
            list.iter().enumerate().for_each(|(at, child)| below(format!("[{at}]").into(), child));
        }
        Value::Expression(_) => {
            nodes.push(unresolved(node, path, None));
            found = true;
        }
        Value::String(text) if embedded::is_expression(text) => {
            let inner = &text[2..text.len() - 2];
            if let Err(error) = state.parse(inner, &Place::default()) {
                nodes.push(unresolved(node, path, Some(Issue::new(error.to_string()))));
                found = true;
            }
        }
        _ => {}
    }
    if node.annotations().failed && !found {
        nodes.push(unresolved(node, path, None));
    }
    // A stable sort keeps document order among equal reasons.
    nodes.sort_by_key(|node| node.reason);
    nodes
}

fn unresolved(node: &Node, path: &[Arc<str>], problem: Option<Issue>) -> UnresolvedNode {
    let annotations = node.annotations();
    let reason = match (annotations.error || problem.is_some(), annotations.failed) {
        (true, _) => Reason::Error,
        (false, false) => Reason::Pending,
        (false, true) => Reason::Depends,
    };
    let issue = problem.unwrap_or_else(|| annotations.issue.as_deref().cloned().unwrap_or_default());
    let expr = match node.value() {
        Value::Expression(expression) => Expression::of(expression),
        _ => None,
    };
    let origin = match expr.map(|expr| &**expr) {
        Some(Expr::Auto(origin)) => origin.to_vec(),
        Some(Expr::Merge(merge)) => merge.path.to_vec(),
        _ => issue.path.as_deref().map(|origin| elsewhere(path, origin)).unwrap_or_default(),
    };
    UnresolvedNode {
        text: expr.map_or_else(|| plain(node.value()), ToString::to_string),
        is_expression: expr.is_some(),
        source: node.source().to_owned(),
        path: path.to_vec(),
        origin,
        reason,
        issue,
    }
}

/// Returns the origin of a problem relative to the node: empty if it is the node, `..` and the rest if it is
/// below it.
fn elsewhere(path: &[Arc<str>], origin: &[Arc<str>]) -> Vec<Arc<str>> {
    match origin.strip_prefix(path) {
        _ if path.is_empty() => origin.to_vec(),
        Some([]) => Vec::new(),
        Some(rest) => std::iter::once(Arc::from("..")).chain(rest.iter().cloned()).collect(),
        None => origin.to_vec(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Map(_) => "<map>".into(),
        Value::List(_) => "<list>".into(),
        Value::String(text) => text.to_string(),
        Value::Lambda(lambda) => Closure::of(lambda).map_or_else(|| lambda.text(), |_| lambda.text()),
        Value::Template(template) => match Template::of(template) {
            Some(template) => format!("<template {}>", shorten(&template.path)),
            None => "<template>".into(),
        },
        Value::Null | Value::Undefined => "%!s(<nil>)".into(),
        Value::Int(value) => format!("%!s(int64={value})"),
        Value::Bool(value) => format!("%!s(bool={value})"),
        other => format!("<{}>", other.type_name()),
    }
}
