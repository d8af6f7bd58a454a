//! Connections for reading, separate from the writer's connection.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::fault::{Fault, Outcome};
use super::frozen::Frozen;
use super::identity::FileIdentity;
use super::open::connect;
use crate::error::StoreError;

/// The idle connections for reading. A read takes one of them, or opens a new connection if none is idle.
pub(super) struct Readers {
    path: Arc<PathBuf>,
    busy: Duration,
    file: FileIdentity,
    /// Set if the store can only be read.
    frozen: Option<Frozen>,
    free: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(
        path: Arc<PathBuf>,
        busy: Duration,
        file: FileIdentity,
        frozen: Option<Frozen>,
    ) -> Self {
        Self { path, busy, file, frozen, free: Mutex::default() }
    }

    /// Runs queries on a thread that may block on the disk. The queries see the records at one point in time.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(self);
        match tokio::task::spawn_blocking(move || readers.read_here(work)).await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is being shut down.
            Err(_) => Err(StoreError::Closed),
        }
    }

    fn read_here<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T>) -> Result<T, StoreError> {
        let mut db = self.take()?;
        let outcome = in_transaction(&mut db, work).map_err(|fault| fault.at(&self.path));
        self.file.check()?;
        if let Some(frozen) = &self.frozen {
            frozen.check()?;
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        outcome
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(|| self.make(), Ok)
    }

    fn make(&self) -> Result<Connection, StoreError> {
        let db = match &self.frozen {
            Some(frozen) => frozen.connect()?,
            None => connect(&self.path, self.busy)?,
        };
        db.set_prepared_statement_cache_capacity(32);
        db.pragma_update(None, "query_only", true).map_err(|error| Fault::from(error).at(&self.path))?;
        Ok(db)
    }
}

fn in_transaction<T>(db: &mut Connection, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
    let transaction = db.transaction()?;
    let found = work(&transaction)?;
    transaction.commit()?;
    Ok(found)
}
