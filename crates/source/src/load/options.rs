//! The options for loading a document: its syntax, the treatment of certain keys, and limits on its size.

use crate::Source;
use crate::files::MAX_SIZE;

/// The syntax of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// YAML 1.2. The loader also accepts some layouts that most YAML parsers accept although the specification forbids
    /// them.
    #[default]
    Yaml,
    /// JSON as in RFC 8259. YAML syntax that JSON does not have is an error. Examples: comments, bare words
    /// and trailing commas.
    StrictJson,
}

/// The treatment of duplicate keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DuplicateKeys {
    /// A duplicate key is an error, and the first value is kept.
    #[default]
    Refuse,
    /// A duplicate key is a warning, and the last value is kept.
    LastWins,
}

/// The treatment of a plain key `<<`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MergeKeys {
    /// The value of the key `<<` is a mapping, or a list of mappings. The entries of these mappings are added
    /// to the mapping that contains the key `<<`. If the containing mapping already has the key of an entry,
    /// this entry is not added.
    #[default]
    Merge,
    /// The key is an ordinary key.
    Keep,
    /// The key is an error.
    Refuse,
}

/// Limits on documents, so that no document can exhaust the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bytes of text. Default: 16 MiB. [`Source::with_limit`] can permit more bytes for one
    /// source. This source may then also have proportionally more nodes.
    pub bytes: usize,
    /// Nesting depth of collections. Default: 128. Values above [`Limits::MAX_DEPTH`] count as this maximum.
    pub depth: usize,
    /// Number of nodes in all documents, with aliases expanded. Default: one million. A sequence counts as
    /// two nodes and a mapping as three, because they use more memory.
    pub nodes: usize,
    /// Number of documents in one text. Default: 10 000.
    pub documents: usize,
    /// Size in bytes of the data that aliases and merge keys may add. The size of a node is that of its text
    /// plus 64. Default: 16 MiB.
    pub expansion: usize,
}

impl Limits {
    /// Maximum value of [`depth`](Self::depth). Higher values count as this maximum, because deeper nesting could
    /// overflow the stack of a thread.
    pub const MAX_DEPTH: usize = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: MAX_SIZE, depth: 128, nodes: 1_000_000, documents: 10_000, expansion: 16 << 20 }
    }
}

impl Limits {
    /// Returns the limits for a source. They are equal to `self` unless the byte limit of the source is higher than
    /// both [`MAX_SIZE`] and `self.bytes`. If it is higher, two limits change:
    ///
    /// - `bytes` is the byte limit of the source.
    /// - `nodes` is `self.nodes` multiplied by `source.limit() / MAX_SIZE + 1`, where `/` is the integer division.
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
    /// Syntax of the document.
    pub dialect: Dialect,
    /// Treatment of duplicate keys.
    pub duplicate_keys: DuplicateKeys,
    /// Treatment of a plain key `<<`.
    pub merge_keys: MergeKeys,
    /// Limits for the document.
    pub limits: Limits,
}

impl LoadOptions {
    /// Returns the options for strict JSON.
    pub fn json() -> Self {
        Self { dialect: Dialect::StrictJson, ..Self::default() }
    }

    /// Returns the options with [`DuplicateKeys::LastWins`]: if a key occurs several times, the loader uses its last value,
    /// and reports a warning.
    #[must_use]
    pub fn last_key_wins(mut self) -> Self {
        self.duplicate_keys = DuplicateKeys::LastWins;
        self
    }
}
