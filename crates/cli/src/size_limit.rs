//! The size limit of documents, which is the same for all commands.

use std::sync::OnceLock;

use windlass::source::files::{MAX_SIZE, ReadError};

/// The value of `--max-size`: the maximum size of a document in bytes.
static LIMIT: OnceLock<usize> = OnceLock::new();

/// Returns the maximum size of a document in bytes.
pub(crate) fn max_size() -> usize {
    LIMIT.get().copied().unwrap_or(MAX_SIZE)
}

/// Returns a hint about `--max-size`, for the end of the message of `error`. The hint is empty if the size is not
/// the cause of the error.
pub(crate) fn larger(error: &ReadError) -> &'static str {
    if matches!(error, ReadError::TooLarge { .. }) { "; `--max-size` allows more" } else { "" }
}

/// Sets the maximum size of a document in bytes. Only the first call has an effect.
pub(crate) fn set_max_size(bytes: usize) {
    // The limit can't be set already, because the program parses its arguments only once.
    let _ = LIMIT.set(bytes);
}
