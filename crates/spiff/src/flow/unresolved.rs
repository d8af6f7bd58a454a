//! Collects the nodes of a processed document that have no value.

use std::sync::Arc;

use crate::cycle::cycles;
use crate::eval::State;
use crate::eval::closure::{Closure, Template};
use crate::eval::expression::Expression;
use crate::eval::short::shorten;
use crate::report::{Reason, Unresolved, UnresolvedNode};
use crate::syntax::ast::Expr;
use crate::syntax::{Place, embedded};
use crate::value::{Issue, Node, Value};

/// Returns the report of a document's nodes that have no value.
pub(super) fn find(root: &Node, state: &State) -> Unresolved {
    let mut path = Vec::new();
    let nodes = collect(root, &mut path, state);
    let cycles = cycles(&nodes);
    Unresolved { nodes, cycles, exceeded: None }
}

fn collect(node: &Node, path: &mut Vec<Arc<str>>, state: &State) -> Vec<UnresolvedNode> {
    crate::too_deep::with_stack(|| collect_here(node, path, state))
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
    // The sort is stable, so nodes with equal reasons stay in document order.
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

/// Returns the path that a report shows for the problem of a node. `path` is the path of the node, and `origin`
/// is the path at which the problem occurred.
///
/// - If the problem occurred at the node itself, the result is empty.
/// - If the problem occurred below the node, the result consists of `..` and the steps from the node to the
///   problem. For the root node, `..` is omitted.
/// - In all other cases, the result is `origin`.
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
