//! The size limit of documents, which is the same for all commands.

use std::sync::OnceLock;

use windlass::source::files::{MAX_SIZE, ReadError};

/// The value of `--max-size`: the maximum size of a document in bytes.
static LIMIT: OnceLock<usize> = OnceLock::new();

/// Returns the maximum size of a document in bytes.
pub(crate) fn max_size() -> usize {
    LIMIT.get().copied().unwrap_or(MAX_SIZE)
}

/// Returns a hint for a text that is too long.
pub(crate) fn larger(error: &ReadError) -> &'static str {
    if matches!(error, ReadError::TooLarge { .. }) { "; `--max-size` allows more" } else { "" }
}

/// Sets the maximum size. Only the first value counts.
pub(crate) fn set_max_size(bytes: usize) {
    // The limit can't be set already, because the program parses its arguments only once.
    let _ = LIMIT.set(bytes);
}
