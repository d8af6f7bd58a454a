//! The options for loading a document, and its limits.

use crate::Source;
use crate::files::MAX_SIZE;

/// The syntax of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// YAML 1.2, with the tolerance for layout that common readers have.
    #[default]
    Yaml,
    /// JSON as in RFC 8259: YAML-only syntax (comments, bare words, trailing commas) is an error.
    StrictJson,
}

/// The treatment of duplicate keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DuplicateKeys {
    /// An error; the first value is kept.
    #[default]
    Refuse,
    /// A warning; the last value is kept.
    LastWins,
}

/// The treatment of a plain key `<<`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MergeKeys {
    /// Its value is an alias to a mapping, or a list of such aliases. The entries of these mappings are
    /// added, except those with keys that the mapping itself contains.
    #[default]
    Merge,
    /// It is an ordinary key.
    Keep,
    /// It is an error.
    Refuse,
}

/// Limits on documents, so that no document can exhaust the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text. Default: 16 MiB. A source that [may be longer](Source::with_limit) is read up to its
    /// own limit, and the limit on nodes grows in proportion.
    pub bytes: usize,
    /// Nesting depth of collections. Default: 128; values above [`Limits::MAX_DEPTH`] are reduced to it.
    pub depth: usize,
    /// Number of nodes in all documents, with aliases expanded. Default: one million. A sequence counts as
    /// two nodes and a mapping as three, because they use more memory.
    pub nodes: usize,
    /// Number of documents in one text. Default: 10 000.
    pub documents: usize,
    /// Size of the data that aliases and merge keys may add: bytes of text, and 64 for each node. Default: 16
    /// MiB.
    pub expansion: usize,
}

impl Limits {
    /// Maximum nesting depth that can be allowed, given the stack size of a thread.
    pub const MAX_DEPTH: usize = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: MAX_SIZE, depth: 128, nodes: 1_000_000, documents: 10_000, expansion: 16 << 20 }
    }
}

impl Limits {
    /// Returns the limits for a source. A source that may be longer than the default also gets more nodes.
    pub(super) fn of(self, source: &Source) -> Self {
        let times = source.limit() / MAX_SIZE;
        if source.limit() <= self.bytes.max(MAX_SIZE) {
            return self;
        }
        Self { bytes: source.limit(), nodes: self.nodes.saturating_mul(times + 1), ..self }
    }
}

/// The options for loading a document.
///
/// ```
/// use windlass_source::{Dialect, DuplicateKeys, LoadOptions};
///
/// let options = LoadOptions { dialect: Dialect::StrictJson, ..LoadOptions::default() };
/// assert_eq!(options.duplicate_keys, DuplicateKeys::Refuse);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Syntax.
    pub dialect: Dialect,
    /// Treatment of duplicate keys.
    pub duplicate_keys: DuplicateKeys,
    /// Treatment of a plain key `<<`.
    pub merge_keys: MergeKeys,
    /// Limits.
    pub limits: Limits,
}

impl LoadOptions {
    /// Returns the options for strict JSON.
    pub fn json() -> Self {
        Self { dialect: Dialect::StrictJson, ..Self::default() }
    }

    /// Makes the last of equal keys win, with a warning.
    #[must_use]
    pub fn last_key_wins(mut self) -> Self {
        self.duplicate_keys = DuplicateKeys::LastWins;
        self
    }
}
