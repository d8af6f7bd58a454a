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
mod state;
mod tree;

use marker::{marked, prefer};
use operator::{expression, or};
use state::{Parser, Recursive};

use super::ast::{Child, Place};
use super::error::SyntaxError;

/// The result of a parse.
pub(super) struct Parsed {
    pub(super) expr: Child,
    /// Whether the expression depends on its place.
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
