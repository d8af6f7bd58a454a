//! Determines whether a retry of a pending expression can have a different result.
//!
//! A retry of an expression that waits for an unchanged node has the same result. So the expression stores
//! the nodes that it referred to. A pass compares these nodes, and evaluates the expression only after a
//! change.

use std::ptr::addr_eq;
use std::sync::{Arc, Weak};

use super::find::Found;
use super::resolved::is_locally_resolved;
use super::scope::Env;
use crate::syntax::ast::{Child, Expr, Reference};
use crate::value::{Annotations, Map, Node, Pending, Value};

/// The nodes at which the search for each reference ended in the last evaluation.
pub(crate) type Seen = Box<[Option<Sight>]>;

/// The state of a referenced node at the last evaluation of an expression.
///
/// A sight keeps only weak references to lists, maps and expressions. These values contain the sights of the
/// previous pass, so strong references would keep the sights of all passes in memory.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    value: SeenValue,
    annotations: Option<Arc<Annotations>>,
}

#[derive(Clone, Debug)]
enum SeenValue {
    Scalar(Value),
    List(Weak<Vec<Node>>),
    Map(Weak<Map>),
    Expression(Weak<dyn Pending>),
    /// A value that holds a scope. It never counts as unchanged.
    Scoped,
}

impl Sight {
    fn of(node: &Node) -> Self {
        let annotations = node.shared_annotations().cloned();
        let value = match node.value() {
            _ if annotations.as_ref().is_some_and(|known| known.template.is_some()) => SeenValue::Scoped,
            Value::Lambda(_) | Value::Template(_) => SeenValue::Scoped,
            Value::List(list) => SeenValue::List(Arc::downgrade(list)),
            Value::Map(map) => SeenValue::Map(Arc::downgrade(map)),
            Value::Expression(expression) => SeenValue::Expression(Arc::downgrade(expression)),
            scalar => SeenValue::Scalar(scalar.clone()),
        };
        Self { value, annotations }
    }

    /// Tells whether a node is unchanged: the same list, map or expression in memory, or an equal scalar.
    fn is(&self, node: &Node) -> bool {
        let same_value = match (&self.value, node.value()) {
            (SeenValue::Scalar(before), now) => before == now,
            (SeenValue::List(before), Value::List(now)) => addr_eq(before.as_ptr(), Arc::as_ptr(now)),
            (SeenValue::Map(before), Value::Map(now)) => addr_eq(before.as_ptr(), Arc::as_ptr(now)),
            (SeenValue::Expression(before), Value::Expression(now)) => {
                addr_eq(before.as_ptr(), Arc::as_ptr(now))
            }
            _ => false,
        };
        same_value
            && match (&self.annotations, node.shared_annotations()) {
                (None, None) => true,
                (Some(before), Some(now)) => Arc::ptr_eq(before, now) || before == now,
                _ => false,
            }
    }
}

/// Returns the references of an expression whose value depends on nothing else; `None` if it may depend on
/// other things.
pub(crate) fn references(expr: &Child) -> Option<Vec<&Reference>> {
    let mut found = Vec::new();
    collect(expr, &mut found).then_some(found)
}

/// Maximum number of stored references; an expression with more references is evaluated in every pass.
const MOST: usize = 8;

fn collect<'e>(expr: &'e Child, found: &mut Vec<&'e Reference>) -> bool {
    match &**expr {
        Expr::Int(_) | Expr::Float(_) | Expr::Str(_) | Expr::Bool(_) | Expr::Nil | Expr::Undefined => true,
        Expr::Reference(reference) => {
            found.push(reference);
            // References that begin with an underscore depend on the place of the expression.
            reference.tag.is_none() && !reference.path[0].starts_with('_') && found.len() <= MOST
        }
        Expr::Binary(_, left, right) => collect(left, found) && collect(right, found),
        Expr::Conditional(condition, yes, no) => {
            collect(condition, found) && collect(yes, found) && collect(no, found)
        }
        Expr::Not(inner) | Expr::Group(inner) => collect(inner, found),
        Expr::List(items) => items.iter().all(|item| collect(&item.expr, found)),
        _ => false,
    }
}

/// Returns the nodes that an expression sees from a place.
pub(crate) fn seen(references: &[&Reference], env: &Env) -> Seen {
    references.iter().map(|reference| end(reference, env).as_ref().map(Sight::of)).collect()
}

/// Tells whether an expression sees the same nodes as before.
pub(crate) fn sees(references: &[&Reference], seen: &Seen, env: &Env) -> bool {
    references.len() == seen.len()
        && references.iter().zip(seen).all(|(reference, before)| match (end(reference, env), before) {
            (None, None) => true,
            (Some(now), Some(before)) => before.is(&now),
            _ => false,
        })
}

/// Returns the node at which the search for a reference ends: its target, or the last node that it reaches.
fn end(reference: &Reference, env: &Env) -> Option<Node> {
    let control = env.state().features.control;
    let from_root = reference.path[0].is_empty();
    let mut found: Option<Found> = None;
    let mut here = None;
    for name in reference.path.iter().skip(usize::from(from_root)) {
        found = match &found {
            None if from_root => env.root_name(name),
            None => env.name(name),
            Some(found) => found.step(name),
        };
        let node = found.as_ref()?.node();
        let complete = is_locally_resolved(&node, control);
        here = Some(node);
        if !complete {
            break;
        }
    }
    here
}
