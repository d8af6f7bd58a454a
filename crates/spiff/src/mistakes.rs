//! Errors of the original that an engine can reproduce on request.

/// The errors of the original that an engine reproduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mistakes {
    /// Whether expressions with non-ASCII characters are refused.
    pub(crate) ascii_only: bool,
    /// Whether entries without a unique key beside `- <<: (( merge ))` are not evaluated.
    pub(crate) raw_entries: bool,
}
