//! The parser: ordered choice without a tokenizer, with memoization.
//!
//! The grammar is a parsing expression grammar: alternatives are tried in order, and whitespace matters
//! around binary operators. Each rule memoizes its result per position, so parsing takes linear time despite
//! backtracking (`memory`). Rules also record the farthest position reached; an error reports the farthest
//! match.

mod chain;
mod character;
mod lambda;
mod literal;
mod mapping;
mod marker;
mod memory;
mod merge;
mod operand;
mod operator;
mod reference;

use std::sync::Arc;

use memory::{Memory, RULES};

use super::SyntaxError;
use super::ast::{Child, Expr, Place};

/// An expression with its depth.
#[derive(Clone, Debug)]
struct Tree {
    expr: Child,
    depth: u32,
}

impl Tree {
    fn leaf(expr: Expr) -> Self {
        Self { expr: Arc::new(expr), depth: 1 }
    }

    fn over(expr: Expr, children: &[&Tree]) -> Self {
        let depth = children.iter().map(|child| child.depth).max().unwrap_or(0) + 1;
        Self { expr: Arc::new(expr), depth }
    }
}

/// The state of parsing a text. Each rule is a method, and each module has one kind of rules.
pub(super) struct Parser<'a> {
    text: Vec<char>,
    at: usize,
    farthest: (usize, usize),
    memory: Vec<[Memory; RULES]>,
    depth: u32,
    place: &'a Place,
    uses_place: bool,
    fatal: Option<SyntaxError>,
}

/// The result of a parse.
pub(super) struct Parsed {
    pub(super) expr: Child,
    /// Whether the expression depends on its place.
    pub(super) uses_place: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, place: &'a Place) -> Self {
        let text: Vec<char> = text.chars().collect();
        let memory = vec![const { [const { Memory::Unknown }; RULES] }; text.len() + 1];
        Self { text, at: 0, farthest: (0, 0), memory, depth: 0, place, uses_place: false, fatal: None }
    }

    /// Parses the whole text as an expression.
    pub(super) fn run(mut self) -> Result<Parsed, SyntaxError> {
        let tree = self.prefer().or_else(|| self.marked()).or_else(|| self.expression());
        if let Some(fatal) = self.fatal {
            return Err(fatal);
        }
        match tree {
            Some(tree) if self.at == self.text.len() => {
                Ok(Parsed { expr: tree.expr, uses_place: self.uses_place })
            }
            _ => Err(SyntaxError::at(&self.text, self.farthest, None)),
        }
    }
}
