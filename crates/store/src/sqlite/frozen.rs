//! Reads a store that can't be written: its file or folder is read-only, or its disk is full.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use crate::error::StoreError;

/// A store file that this program can't write, in the state that the file had when the store was opened.
///
/// SQLite reads such a file without locks, and expects that it does not change. So each read ends with
/// [`Frozen::check`], which fails if another program has changed the store since.
#[derive(Debug, Clone)]
pub(super) struct Frozen {
    path: PathBuf,
    /// The error with which SQLite refused the ordinary access.
    pub(super) reason: StoreError,
    state: FileState,
}

/// The state of a file. If the file is written or replaced, at least one field changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    file: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl From<&Metadata> for FileState {
    fn from(data: &Metadata) -> Self {
        Self {
            file: (data.dev(), data.ino()),
            length: data.len(),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }
}

impl Frozen {
    /// Creates a [`Frozen`] with the current state of the store file at `path`. Returns `None` if some records are
    /// only in SQLite's write-ahead log, and not yet in the file.
    pub(super) fn at(path: &Path, reason: StoreError) -> Option<Self> {
        let state = state_of(path)?;
        Some(Self { path: path.to_owned(), reason, state })
    }

    /// Opens a connection that reads the file without locks.
    pub(super) fn connect(&self) -> Result<Connection, StoreError> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable(&self.path), flags)
            .map_err(|error| Fault::from(error).at(&self.path))
    }

    /// Fails if the store has changed since it was opened. The result of a read is then not valid.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if state_of(&self.path).as_ref() == Some(&self.state) { Ok(()) } else { Err(self.reason.clone()) }
    }
}

/// Returns the state of a store's file. Returns `None` if SQLite's write-ahead log contains data, because some
/// records may then be only in the log, and not in the file.
fn state_of(path: &Path) -> Option<FileState> {
    let log = beside(path, "-wal").metadata();
    if log.is_ok_and(|log| log.len() > 0) {
        return None;
    }
    path.metadata().ok().map(|data| FileState::from(&data))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns an address of the file at `path`. SQLite reads a file at such an address without locks and without a
/// write-ahead log.
fn immutable(path: &Path) -> OsString {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut address = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => address.extend(format!("%{byte:02x}").into_bytes()),
            _ => address.push(byte),
        }
    }
    address.extend(b"?immutable=1");
    OsString::from_vec(address)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn store(path: &Path) -> Connection {
        let db = Connection::open(path).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (7)").unwrap();
        db
    }

    fn reason(path: &Path) -> StoreError {
        StoreError::Full { path: path.to_owned() }
    }

    #[test]
    fn reads_a_file_with_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b?c#d%20é.db");
        store(&path).close().unwrap();
        let frozen = Frozen::at(&path, reason(&path)).unwrap();
        let db = frozen.connect().unwrap();
        assert_eq!(db.query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 7);
        db.execute("INSERT INTO t VALUES (8)", []).unwrap_err();
        frozen.check().unwrap();
    }

    /// If SQLite's write-ahead log contains a record that is not in the store's file yet, `Frozen::at` returns
    /// `None`. A read of the file alone would not find this record.
    #[test]
    fn a_file_with_a_log_is_not_read_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        store(&path).close().unwrap();
        let frozen = Frozen::at(&path, reason(&path)).unwrap();
        let writer = Connection::open(&path).unwrap();
        writer.execute("INSERT INTO t VALUES (8)", []).unwrap();
        assert!(Frozen::at(&path, reason(&path)).is_none());
        frozen.check().unwrap_err();
        writer.close().unwrap();
        frozen.check().unwrap_err();
        assert!(Frozen::at(&path, reason(&path)).is_some());
    }

    #[test]
    fn a_replaced_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        fs::write(&path, "one").unwrap();
        let frozen = Frozen::at(&path, reason(&path)).unwrap();
        fs::write(folder.path().join("other"), "two").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        frozen.check().unwrap_err();
    }
}
