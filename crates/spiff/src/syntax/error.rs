//! The errors about texts that are no expressions.

use std::fmt::{self, Display, Formatter};

/// Maximum number of levels of an expression. Each nested expression adds a level. In a chain such as `a + b + c`,
/// each operator adds a level.
pub const MAX_DEPTH: u32 = 1000;

/// The reason why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxError {
    /// The text violates the grammar.
    Unexpected(Unexpected),
    /// The expression is deeper than [`MAX_DEPTH`].
    TooDeep,
}

/// The part of an expression's text that is invalid, or that stands directly before the invalid part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected {
    /// The position of the first character of this part, and the position after its last character. A position
    /// is a line and a column, both counted from 1.
    pub span: [(usize, usize); 2],
    /// The characters of the part.
    pub text: String,
    /// Whether the text of the whole expression has more than one line.
    pub lines: bool,
    /// Reason why the part itself is invalid, for example a number that is out of range. `None` if the part is valid,
    /// and the text directly after the part is invalid.
    pub reason: Option<String>,
}

impl SyntaxError {
    pub(crate) fn at(text: &[char], (begin, end): (usize, usize), reason: Option<String>) -> Self {
        let position = |at: usize| {
            let lines = text[..at].iter().filter(|c| **c == '\n').count();
            let start = text[..at].iter().rposition(|c| *c == '\n').map_or(0, |newline| newline + 1);
            (lines + 1, at - start + 1)
        };
        Self::Unexpected(Unexpected {
            span: [position(begin), position(end)],
            text: text[begin..end].iter().collect(),
            lines: text.contains(&'\n'),
            reason,
        })
    }

    /// Creates the error with which the Go program spiff++ refuses an expression with non-ASCII characters.
    pub(crate) fn not_ascii(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let literal = chars.iter().position(|c| *c == '"').unwrap_or(0);
        let end = chars.iter().rposition(|c| *c == '"').map_or(chars.len(), |at| at + 1);
        Self::at(&chars, (literal.min(end), end), Some("unexpected end of JSON input".into()))
    }
}

impl Display for SyntaxError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(f, "expression is nested more than {MAX_DEPTH} levels deep"),
            Self::Unexpected(Unexpected { span: [begin, end], text, lines, reason }) => {
                if *lines {
                    write!(
                        f,
                        "parse error near line {} symbol {} - line {} symbol {}: '{text}'",
                        begin.0, begin.1, end.0, end.1
                    )?;
                } else {
                    write!(f, "parse error near symbol {} - symbol {}: '{text}'", begin.1, end.1)?;
                }
                match reason {
                    Some(reason) => write!(f, ": {reason}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for SyntaxError {}
