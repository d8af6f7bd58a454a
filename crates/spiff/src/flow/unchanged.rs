//! Finds nodes that a pass doesn't change.

use std::sync::Arc;

use crate::eval::Env;
use crate::eval::expression::Expression;
use crate::value::{Node, Redirect, Value};

/// Tells whether a node can't change, because it is plain data and the document has no stubs.
pub(super) fn stays(node: &Node, env: &Env) -> bool {
    if !env.level.stubs.is_empty() || node.has_annotations() {
        return false;
    }
    match node.value() {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Bytes(_) => true,
        Value::String(text) => !text.contains("(("),
        _ => false,
    }
}

/// Tells whether a node is an expression that needs no new evaluation. Such an expression waits for nodes, and
/// these nodes have not changed since its last evaluation.
pub(super) fn waits(node: &Node, env: &Env) -> bool {
    let Value::Expression(expression) = node.value() else { return false };
    is_bare(node) && env.state().step().is_ok() && Expression::still_waits(expression, env)
}

/// Tells whether a node has no annotations. An annotation for a problem does not count.
pub(super) fn is_bare(node: &Node) -> bool {
    let known = node.annotations();
    known.flags.is_empty()
        && known.tag.is_none()
        && known.redirect == Redirect::None
        && known.key_name.is_none()
        && known.template.is_none()
        && !(known.replace || known.merged || known.preferred || known.undefined)
}

/// Tells whether two nodes have equal values, equal annotations and the same document name. If both nodes
/// contain the same list or map in memory, its entries are not compared.
pub(super) fn identical(a: &Node, b: &Node) -> bool {
    if a.same(b) {
        return a.source() == b.source();
    }
    if a.annotations() != b.annotations() || a.source() != b.source() {
        return false;
    }
    match (a.value(), b.value()) {
        (Value::List(a), Value::List(b)) => {
            Arc::ptr_eq(a, b) || (a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| identical(a, b)))
        }
        (Value::Map(a), Value::Map(b)) => {
            Arc::ptr_eq(a, b)
                || (a.len() == b.len()
                    && a.iter().zip(b.iter()).all(|((ka, a), (kb, b))| ka == kb && identical(a, b)))
        }
        (Value::Lambda(a), Value::Lambda(b)) => Arc::ptr_eq(a, b) || a.text() == b.text(),
        (Value::Template(a), Value::Template(b)) => {
            Arc::ptr_eq(a, b) || identical(a.original(), b.original())
        }
        (a, b) => a == b,
    }
}
