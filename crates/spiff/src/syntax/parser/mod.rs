//! A recursive descent parser with ordered choice.
//!
//! The grammar is a parsing expression grammar: the alternatives of a rule are tried in order. White space around
//! binary operators has a meaning.
//!
//! The parser may try several alternatives at one position. Nevertheless, parsing takes linear time, because the
//! parser stores the results of the rules in `memory::Slot` for each position. Without the stored results, *n* nested
//! parentheses would take time in proportion to 3^n. The parser also records the match that ends farthest in the
//! text, and a syntax error reports this match.

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
mod state;
mod tree;

use marker::{marked, prefer};
use operator::{expression, or};
use state::{Parser, Recursive};

use super::ast::{Child, Place};
use super::error::SyntaxError;

pub(super) struct Parsed {
    pub(super) expr: Child,
    /// Whether the value of the expression depends on its place in the document.
    pub(super) uses_place: bool,
}

/// Parses the whole text as an expression.
pub(super) fn parse(text: &str, place: &Place) -> Result<Parsed, SyntaxError> {
    let mut parser = Parser::new(text, place, Recursive { expression, or });
    let tree = prefer(&mut parser).or_else(|| marked(&mut parser)).or_else(|| expression(&mut parser));
    if let Some(fatal) = parser.fatal {
        return Err(fatal);
    }
    match tree {
        Some(tree) if parser.at == parser.text.len() => {
            Ok(Parsed { expr: tree.expr, uses_place: parser.uses_place })
        }
        _ => Err(SyntaxError::at(&parser.text, parser.farthest, None)),
    }
}
