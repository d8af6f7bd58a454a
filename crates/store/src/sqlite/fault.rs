//! Conversion of SQLite errors into [`StoreError`]s.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_CONSTRAINT_FOREIGNKEY, SQLITE_IOERR_SHMSIZE};
use rustix::fs::Access;

use crate::error::StoreError;
use crate::fault::{self, Refusal};

pub(super) type Fault = fault::Fault<rusqlite::Error>;

pub(super) type Outcome<T> = Result<T, Fault>;

impl Refusal for rusqlite::Error {
    fn is_orphan(&self) -> bool {
        extended_code(self) == Some(SQLITE_CONSTRAINT_FOREIGNKEY)
    }

    fn at(&self, place: &Path) -> StoreError {
        of_sqlite(self, place)
    }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// Returns the error for a store whose file can't be written.
pub(super) fn read_only(path: PathBuf) -> StoreError {
    StoreError::ReadOnly { path, advice: "make the file and its folder writable for this user" }
}

fn of_sqlite(error: &rusqlite::Error, path: &Path) -> StoreError {
    let here = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path: here },
        Some(ErrorCode::DiskFull) => StoreError::Full { path: here },
        // SQLite keeps the index of the write-ahead log in a separate file. This error means that the disk
        // has no space for that file.
        Some(ErrorCode::SystemIoFailure) if extended_code(error) == Some(SQLITE_IOERR_SHMSIZE) => {
            StoreError::Full { path: here }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => read_only(here),
        Some(ErrorCode::CannotOpen) if !is_writable(path) => read_only(here),
        Some(ErrorCode::CannotOpen) => io_error("open", path, error),
        Some(ErrorCode::SystemIoFailure) => io_error("read or write", path, error),
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore { path: here },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path: here, detail: error.to_string() },
        _ => StoreError::Database { path: here, detail: error.to_string() },
    }
}

fn io_error(action: &'static str, path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Io { action, path: path.to_owned(), source: Arc::new(io::Error::other(error.to_string())) }
}

/// Tells whether the store file and its folder, where SQLite keeps its log, are writable.
fn is_writable(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    [path, folder].iter().all(|place| rustix::fs::access(*place, Access::WRITE_OK).is_ok())
}
