//! A folder with one store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use windlass_model::{AssemblyName, Clock};
use windlass_store::sqlite::Options;
use windlass_store::testing::conformance::{Harness, OnDisk};
use windlass_store::testing::{CountingEntropy, Graveyard, ManualClock, SkewedClock, samples};
use windlass_store::{KeySource, SqliteStore, Store, StoreError};

pub(crate) struct Place {
    folder: TempDir,
    clock: Arc<ManualClock>,
    /// The time since the machine started.
    uptime: Arc<ManualClock>,
    graveyard: Arc<Graveyard>,
    handles: AtomicU64,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::new(ManualClock::at(samples::TIME)),
            uptime: Arc::default(),
            graveyard: Arc::default(),
            handles: AtomicU64::default(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    /// Removes all files of the store.
    pub(crate) fn remove(&self) {
        for entry in self.folder.path().read_dir().unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }

    pub(crate) fn shared_clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }

    /// Returns options with short waits, and entropy that differs between handles.
    pub(crate) fn options(&self) -> Options {
        self.options_with(self.clock.clone())
    }

    fn options_with(&self, clock: Arc<dyn Clock>) -> Options {
        let entropy = CountingEntropy::seeded(self.handles.fetch_add(1, Ordering::SeqCst));
        Options::new(KeySource::File(self.key()), clock, Arc::new(entropy))
            .create(true)
            .uptime(self.uptime.clone())
            .processes(self.graveyard.clone())
            .poll_every(Duration::from_millis(1))
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(self.path(), self.options()).unwrap()
    }

    /// Opens a store that must be refused. Returns the error, and its message with paths replaced.
    pub(crate) fn refusal(&self, options: Options) -> (StoreError, String) {
        let error = SqliteStore::open(self.path(), options).unwrap_err();
        let message = self.normal(&error);
        (error, message)
    }

    /// Returns the reason why the secrets of the store can't be opened.
    pub(crate) fn key_problem(&self, options: Options) -> (StoreError, String) {
        let error = SqliteStore::open(self.path(), options).unwrap().check_key().unwrap_err();
        let message = self.normal(&error);
        (error, message)
    }

    pub(crate) fn normal(&self, error: &StoreError) -> String {
        error.to_string().replace(&self.folder.path().display().to_string(), "PLACE")
    }

    /// Opens a connection to the store's file, as another program would.
    pub(crate) fn stranger(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

#[async_trait]
impl Harness for Place {
    async fn open(&self) -> Box<dyn Store> {
        Box::new(self.store())
    }

    async fn open_askew(&self, millis: i64) -> Box<dyn Store> {
        let clock = Arc::new(SkewedClock::new(self.clock.clone(), millis));
        Box::new(SqliteStore::open(self.path(), self.options_with(clock)).unwrap())
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.uptime.advance(by);
    }

    async fn sabotage(&self, scope: &AssemblyName) {
        let sql = format!(
            "CREATE TRIGGER sabotage BEFORE INSERT ON event WHEN new.assembly = '{scope}'
            BEGIN SELECT RAISE(FAIL, 'sabotage'); END"
        );
        self.stranger().execute_batch(&sql).unwrap();
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn graveyard(&self) -> &Graveyard {
        &self.graveyard
    }
}

impl OnDisk for Place {
    fn files(&self) -> Vec<u8> {
        let files = self.folder.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| *file != self.key()).flat_map(|file| std::fs::read(file).unwrap()).collect()
    }
}
