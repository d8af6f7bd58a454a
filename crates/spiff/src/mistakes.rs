//! Mistakes of the Go program spiff++ that an engine can reproduce.

/// The mistakes of the Go program spiff++ that an engine reproduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mistakes {
    /// Whether an expression with a non-ASCII character is a syntax error.
    pub(crate) ascii_only: bool,
    /// Whether expressions in certain lists stay text. Each of these lists contains the entry `- <<: (( merge ))`.
    /// [`Engine::with_raw_entries`](crate::Engine::with_raw_entries) describes the lists.
    pub(crate) raw_entries: bool,
}
