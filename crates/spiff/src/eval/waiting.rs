//! Finds expressions that need no new evaluation in a pass.
//!
//! If an expression waits for nodes that have not changed, a new evaluation has the same result. So an
//! expression stores the nodes to which its references lead. A pass compares the stored nodes with the
//! current ones, and evaluates the expression only if one of them has changed.

use std::ptr::addr_eq;
use std::sync::{Arc, Weak};

use super::find::Found;
use super::resolved::is_locally_resolved;
use super::scope::Env;
use crate::syntax::ast::{Child, Expr, Reference};
use crate::value::{Annotations, Map, Node, Pending, Value};

/// The nodes to which the references of an expression led in its last evaluation. For each reference, the
/// list contains the node, or `None` if the reference led to no node.
pub(crate) type Seen = Box<[Option<Sight>]>;

/// A node to which a reference led during the last evaluation of an expression. The `Sight` describes the node as
/// it was at that time.
///
/// Lists, maps and expressions are stored as weak references. The reason: a stored value may contain
/// expressions, and each expression contains `Sight`s of nodes from an earlier pass. So strong references
/// would keep the nodes of all passes in memory.
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
    /// A lambda or template, or a value that a template has created. Such a value counts as changed in every
    /// pass.
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

    /// Tells whether `node` is still as this `Sight` describes it. A list, map or expression must be the same
    /// object in memory. Scalars and annotations must be equal.
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

/// Returns the references of an expression. Returns `None` if the value may depend on anything besides these
/// references.
pub(crate) fn references(expr: &Child) -> Option<Vec<&Reference>> {
    let mut found = Vec::new();
    collect(expr, &mut found).then_some(found)
}

/// Maximum number of references that [`references`] returns for an expression. If an expression has more
/// references, it is evaluated in every pass.
const MOST: usize = 8;

fn collect<'e>(expr: &'e Child, found: &mut Vec<&'e Reference>) -> bool {
    match &**expr {
        Expr::Int(_) | Expr::Float(_) | Expr::Str(_) | Expr::Bool(_) | Expr::Nil | Expr::Undefined => true,
        Expr::Reference(reference) => {
            found.push(reference);
            // The meaning of a reference that begins with an underscore depends on the place of the
            // expression.
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

/// Returns the nodes to which the references of an expression lead. `env` is the environment of this expression.
pub(crate) fn seen(references: &[&Reference], env: &Env) -> Seen {
    references.iter().map(|reference| end(reference, env).as_ref().map(Sight::of)).collect()
}

/// Tells whether two conditions hold: the references of an expression lead to the nodes in `seen`, and none of
/// these nodes has changed.
pub(crate) fn sees(references: &[&Reference], seen: &Seen, env: &Env) -> bool {
    references.len() == seen.len()
        && references.iter().zip(seen).all(|(reference, before)| match (end(reference, env), before) {
            (None, None) => true,
            (Some(now), Some(before)) => before.is(&now),
            _ => false,
        })
}

/// Returns the node to which a reference leads. If a node on the way is not complete yet, returns that node.
/// Returns `None` if a node does not exist.
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
