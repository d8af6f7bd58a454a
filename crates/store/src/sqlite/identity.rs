//! The identity of the store's file.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fault::read_only;
use crate::error::StoreError;

/// The file that the path of a store named when the store was opened.
///
/// A user may remove the file, or replace it, while the store is open. SQLite then continues to use the old file, which
/// no other program sees. So each read and each flush of writes ends with [`FileIdentity::check`].
#[derive(Debug, Clone)]
pub(super) struct FileIdentity {
    /// The path for the messages of errors.
    shown: Arc<PathBuf>,
    path: PathBuf,
    /// The device and the inode. No other file gets this inode while the store has the file open.
    file: (u64, u64),
}

impl FileIdentity {
    /// Returns the identity of the file at `path`. The caller must call this function before it opens the file. After
    /// the opening, the path could already name another file.
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
        let shown = Arc::new(path.to_owned());
        // The program may change its working folder.
        let path = std::path::absolute(path).map_err(|error| io_error("find", &shown, error))?;
        let file = found(&path, &shown)?;
        Ok(Self { shown, path, file })
    }

    /// Checks that the path still names the file.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if no file is at the path, and [`StoreError::Closed`] if another file is there.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if found(&self.path, &self.shown)? == self.file { Ok(()) } else { Err(StoreError::Closed) }
    }
}

/// Returns the device and the inode of a file.
fn found(path: &Path, shown: &Path) -> Result<(u64, u64), StoreError> {
    metadata(path, shown).map(|data| (data.dev(), data.ino()))
}

/// Returns the metadata of the store's file. Errors name the path `shown`.
pub(super) fn metadata(file: &Path, shown: &Path) -> Result<Metadata, StoreError> {
    file.metadata().map_err(|error| match error.kind() {
        // A dangling link: the store is elsewhere, or was removed.
        io::ErrorKind::NotFound if file.is_symlink() => StoreError::NotAStore { path: shown.to_owned() },
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            StoreError::Missing { path: shown.to_owned() }
        }
        _ => io_error("open", shown, error),
    })
}

/// Returns the error of a failed access to the path of the store.
pub(super) fn io_error(action: &'static str, path: &Path, error: io::Error) -> StoreError {
    let place = path.to_owned();
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => read_only(place),
        io::ErrorKind::StorageFull => StoreError::Full { path: place },
        _ => StoreError::Io { action, path: place, source: Arc::new(error) },
    }
}
