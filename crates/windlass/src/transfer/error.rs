//! The reasons why an exported assembly can't be written or read.

use std::path::PathBuf;

use thiserror::Error;
use windlass_source::Code;

use crate::codes;
use crate::document::DocumentError;

/// The reason why an exported assembly can't be written or read. A function that returns this error has
/// changed nothing.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The file to write already exists.
    #[error("`{}` exists already; choose another name with `-o`", .0.display())]
    Exists(PathBuf),
    /// The export file can't be used.
    #[error("`{}` {cause}", file.display())]
    File {
        /// The path of the file.
        file: PathBuf,
        /// The reason why the file can't be used.
        cause: DocumentError,
    },
    /// The secrets in the export file can't be opened with the given key.
    #[error(
        "its secrets can't be opened: they were sealed with another key; pass the key of the export with `--key`"
    )]
    OtherKey,
}

impl TransferError {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Exists(_) => codes::EXPORT_EXISTS,
            Self::File { cause, .. } => cause.code(),
            Self::OtherKey => codes::OTHER_KEY,
        }
    }
}
