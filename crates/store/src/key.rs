//! The key that seals a store's secrets, and the file that holds it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// Why a key can't be had, or does not fit.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The store is there, and its key file is not.
    #[error(
        "the key `{}` of the store is missing; put it back from a backup: without it the store's secrets can't be opened", path.display()
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Others may read or write the key file.
    #[error("the key `{}` is open to others (mode {mode:04o}); close it by `chmod 600 {}`", path.display(), path.display())]
    TooOpen {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The content is no key.
    #[error("{origin} has no key: {reason}; a key is one line of 64 hexadecimal digits")]
    Malformed {
        /// Where it came from, as a noun: "the file `…`".
        origin: String,
        /// What is wrong with it, without its content.
        reason: String,
    },
    /// The key is not the one that the store was made with.
    #[error(
        "the key does not open the store `{}`, which was made with another one; put the right key back", path.display()
    )]
    Wrong {
        /// The store.
        path: PathBuf,
    },
    /// The key file can't be read or made.
    #[error("can't {action} the key `{}`", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: Arc<io::Error>,
    },
}
