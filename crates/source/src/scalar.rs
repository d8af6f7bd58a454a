//! Scalars in their original spelling, with their notation.

use smol_str::SmolStr;

/// A scalar: its text after escapes and folding, and its notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// A `SmolStr` stores a short text without an allocation, and most scalars are words.
    pub(crate) text: SmolStr,
    pub(crate) style: Style,
}

/// The notation of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes. Only this notation can mean null, a boolean or a number.
    Plain,
    /// A text in single quotes: `'…'`.
    SingleQuoted,
    /// A text in double quotes: `"…"`.
    DoubleQuoted,
    /// A literal block: `|`.
    Literal,
    /// A folded block: `>`.
    Folded,
}

impl Scalar {
    /// Creates a scalar with the given text.
    pub fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: SmolStr::new(text), style }
    }

    /// Returns the text, after escapes and folding.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the notation of the scalar.
    pub fn style(&self) -> Style {
        self.style
    }
}
