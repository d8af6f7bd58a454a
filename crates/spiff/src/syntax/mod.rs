//! Parses and prints expressions.
//!
//! ```
//! use windlass_spiff::syntax::{Place, parse};
//!
//! let expr = parse("map[list|x|->x+1]", &Place::default());
//! assert_eq!(expr.unwrap_err().to_string(), "parse error near symbol 14 - symbol 15: 'x'");
//!
//! let expr = parse("map[list|x|->x + 1]", &Place::default()).unwrap();
//! assert_eq!(expr.to_string(), "map[list|x|->x + 1]");
//! ```

pub mod ast;
pub mod embedded;
mod error;
mod parser;
mod print;
pub(crate) mod quote;

use std::sync::Arc;

pub use ast::{Expr, Path, Place};
pub use error::{MAX_DEPTH, SyntaxError, Unexpected};

/// Parses an expression, without the `((` and `))` around it.
///
/// # Errors
/// Fails if the text is no valid expression. [`SyntaxError::Unexpected`] quotes the part of the text that is invalid,
/// or that stands directly before the invalid part.
pub fn parse(text: &str, place: &Place) -> Result<Arc<Expr>, SyntaxError> {
    parser::parse(text, place).map(|parsed| parsed.expr)
}

/// Parses an expression as [`parse`] does. Also returns whether the syntax tree depends on `place`. If not, the caller
/// can cache the tree, and use it wherever the same text occurs.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_placed(text: &str, place: &Place) -> Result<(Arc<Expr>, bool), SyntaxError> {
    parser::parse(text, place).map(|parsed| (parsed.expr, parsed.uses_place))
}
