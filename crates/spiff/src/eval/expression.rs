//! Parsed expressions. A node contains its expression until the engine has evaluated the expression to a value.

use std::any::Any;
use std::sync::Arc;

use super::scope::Env;
use super::waiting::{self, Seen};
use crate::syntax::ast::Child;
use crate::value::{Pending, Value};

/// A parsed expression of a document.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    expr: Child,
    /// The nodes to which the expression referred when it was last evaluated. `None` if the expression
    /// was not evaluated, or if its value depends on anything besides references.
    seen: Option<Seen>,
}

impl Expression {
    pub(crate) fn of(pending: &Arc<dyn Pending>) -> Option<&Child> {
        pending.as_any().downcast_ref::<Self>().map(|expression| &expression.expr)
    }

    pub(crate) fn value(expr: Child) -> Value {
        Value::Expression(Arc::new(Self { expr, seen: None }))
    }

    /// Creates the value of a node whose expression `expr` must be evaluated again in the next pass. The value also
    /// records the nodes to which `expr` refers.
    pub(crate) fn waiting(expr: Child, env: &Env) -> Value {
        let seen = waiting::references(&expr).map(|references| waiting::seen(&references, env));
        Value::Expression(Arc::new(Self { expr, seen }))
    }

    /// Tells whether the nodes to which an expression refers are the same as in its last evaluation. If they are
    /// the same, a new evaluation has the same result.
    pub(crate) fn still_waits(pending: &Arc<dyn Pending>, env: &Env) -> bool {
        let Some(Self { expr, seen: Some(seen) }) = pending.as_any().downcast_ref() else { return false };
        waiting::references(expr).is_some_and(|references| waiting::sees(&references, seen, env))
    }
}

impl Pending for Expression {
    fn text(&self) -> String {
        self.expr.to_string()
    }

    fn equivalent(&self, other: &dyn Pending) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| Arc::ptr_eq(&self.expr, &other.expr) || self.expr == other.expr)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
