//! Scalars: the text of a scalar, and its notation (plain, quoted or block).

use smol_str::SmolStr;

/// A scalar of a document: its text, and its notation.
///
/// The text is the content, without quotes. Escapes such as `\n` are replaced by their characters, and folded lines are
/// joined. The text is not converted to a number or a boolean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The content of the scalar. Most scalars are single words, and a `SmolStr` stores a short text without an
    /// allocation.
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

    /// Returns the content, without quotes. Escapes are replaced by their characters, and folded lines are joined.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the notation of the scalar.
    pub fn style(&self) -> Style {
        self.style
    }
}
