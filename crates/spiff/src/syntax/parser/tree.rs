//! A parsed expression with its depth.

use std::sync::Arc;

use super::super::ast::{Child, Expr};

/// An expression with its depth.
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
