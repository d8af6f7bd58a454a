//! A parsed expression, and the number of its levels.

use std::sync::Arc;

use super::super::ast::{Child, Expr};

/// An expression, and the number of its levels.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) expr: Child,
    pub(super) depth: u32,
}

impl Tree {
    pub(super) fn leaf(expr: Expr) -> Self {
        Self { expr: Arc::new(expr), depth: 1 }
    }

    pub(super) fn over(expr: Expr, children: &[&Tree]) -> Self {
        let depth = children.iter().map(|child| child.depth).max().unwrap_or(0) + 1;
        Self { expr: Arc::new(expr), depth }
    }
}
