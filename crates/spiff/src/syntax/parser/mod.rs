//! The parser: ordered choice without tokens, as the language is defined, but with a memory.
//!
//! The grammar is a parsing expression grammar: alternatives are tried in order, and white space matters around
//! binary operators. Each rule remembers per position what it found, so that text is read in linear time however
//! often alternatives start over (`memory`). Rules also note how far they came; the farthest match is what an error
//! names.

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

/// An expression and how deep it is.
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

/// A text on its way to become an expression: each rule is a method, kinds of rules are modules.
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

/// The results of a parse beside the expression.
pub(super) struct Parsed {
    pub(super) expr: Child,
    /// Whether it depends on where it stands.
    pub(super) uses_place: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, place: &'a Place) -> Self {
        let text: Vec<char> = text.chars().collect();
        let memory = vec![const { [const { Memory::Unknown }; RULES] }; text.len() + 1];
        Self { text, at: 0, farthest: (0, 0), memory, depth: 0, place, uses_place: false, fatal: None }
    }

    /// The whole text as an expression.
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
