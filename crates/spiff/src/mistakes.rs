//! Mistakes of the original that an engine repeats if it is asked to.

/// Which mistakes are repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mistakes {
    /// Expressions with characters beyond ASCII are refused.
    pub(crate) ascii_only: bool,
    /// Entries without a unique key beside `- <<: (( merge ))` are not evaluated.
    pub(crate) raw_entries: bool,
}
