//! The store in an SQLite file of the state folder.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_store::sqlite::Options;
use windlass_store::{KeySource, SqliteStore, Store, StoreError};

use super::kind::{StoreKind, StoreSettings};
use crate::blocking::blocking;
use crate::error::Error;

/// The name of the SQLite file.
const FILE: &str = "state.db";

pub(super) struct Sqlite;

#[async_trait]
impl StoreKind for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn form(&self) -> Option<&'static str> {
        None
    }

    fn owns(&self, _: &str) -> bool {
        false
    }

    fn place(&self, settings: &StoreSettings) -> String {
        settings.folder.join(FILE).display().to_string()
    }

    /// Returns a notice if the state folder contains a key and no SQLite file. The key is created together with a
    /// store. So the SQLite file was lost, or the state is in a PostgreSQL database.
    fn lost(&self, settings: &StoreSettings) -> Option<String> {
        let file = settings.folder.join(FILE);
        let KeySource::File(key) = &settings.key else { return None };
        let is_lost =
            key.starts_with(&settings.folder) && key.exists() && !matches!(is_there(&file), Ok(true));
        is_lost.then(|| {
            format!(
                "the key `{}` exists, but the store `{}` does not; if the state is in a database, name it by \
                 `--state`; if the file was lost, restore it from a backup, because `windlass up` would create \
                 everything a second time",
                key.display(),
                file.display()
            )
        })
    }

    async fn open(&self, settings: &StoreSettings, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        let settings = settings.clone();
        Ok(blocking(move || open(settings, create)).await?)
    }
}

fn open(settings: StoreSettings, create: bool) -> Result<Option<Arc<dyn Store>>, StoreError> {
    let StoreSettings { folder, key, clock, entropy, .. } = settings;
    let path = folder.join(FILE);
    let there = is_there(&path)?;
    // The path of the state folder is a file, so it can't contain a store.
    if !there && is_there(&folder)? && !folder.is_dir() {
        return Err(StoreError::NotAStore { path: folder });
    }
    if !create && !there {
        return Ok(None);
    }
    match SqliteStore::open(&path, Options::new(key, clock, entropy).create(create)) {
        Ok(store) => Ok(Some(Arc::new(store))),
        // The file is empty, because the process that created it ran out of disk space or was killed.
        Err(StoreError::Missing { .. }) if !create => Ok(None),
        Err(error) => Err(error),
    }
}

/// Tells whether a path exists. A dangling link exists, too. An inaccessible folder is an error.
fn is_there(path: &Path) -> Result<bool, StoreError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => {
            let (action, source) = ("look for the store", Arc::new(error));
            Err(StoreError::Io { action, path: path.to_owned(), source })
        }
    }
}
