//! Mistakes of the original that an engine can reproduce.

/// The mistakes of the original that an engine reproduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mistakes {
    /// Whether an expression with a non-ASCII character is a syntax error.
    pub(crate) ascii_only: bool,
    /// Whether entries without a unique key are not evaluated, if their list contains `- <<: (( merge ))`.
    pub(crate) raw_entries: bool,
}
