//! [`Windlass`]: a project with its store, drivers and runtimes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use windlass_driver::Registry;
use windlass_driver::noop::Noop;
use windlass_engine::{Engine, Means, Options};
use windlass_executor::process::SupervisorCommand;
use windlass_model::Clock;
use windlass_model::clock::SystemClock;
use windlass_model::id::Entropy;
use windlass_project::Project;
use windlass_script::Script;
use windlass_store::{Holder, KeySource, SqliteStore, Store};

use crate::error::Error;
use crate::places::ProjectPlaces;
use crate::system::SystemEntropy;

/// How a project is opened.
#[derive(Clone)]
pub struct Settings {
    start: PathBuf,
    supervisor: SupervisorCommand,
    key_file: Option<PathBuf>,
    options: Options,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    command: String,
}

impl Settings {
    /// Opens the project that a file or folder belongs to: that of the nearest `windlass.yaml` at or above it.
    pub fn new(start: impl Into<PathBuf>) -> Self {
        Self {
            start: start.into(),
            supervisor: SupervisorCommand::this_program(["supervise"]),
            key_file: None,
            options: Options::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            command: "windlass".to_owned(),
        }
    }

    /// Sets how jobs are supervised. The default starts the running program again with the argument `supervise`; it
    /// must pass what follows to [`windlass_executor::process::supervise`].
    #[must_use]
    pub fn supervisor(mut self, supervisor: SupervisorCommand) -> Self {
        self.supervisor = supervisor;
        self
    }

    /// Sets the file with the key that secrets are sealed with; else it is `.windlass/key`, made when it is needed.
    #[must_use]
    pub fn key_file(mut self, file: Option<PathBuf>) -> Self {
        self.key_file = file;
        self
    }

    /// Sets how fast, how often, how patient the engine is.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets where time and ids come from.
    #[must_use]
    pub fn injected(mut self, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        self.clock = clock;
        self.entropy = entropy;
        self
    }

    /// Sets what others are told of who holds a lease: the command line.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }
}

/// A project with its store, drivers and runtimes. Cheap to open: the store and the runtimes are opened when they are
/// first needed.
pub struct Windlass {
    pub(crate) project: Project,
    settings: Settings,
    places: Arc<ProjectPlaces>,
    drivers: Registry,
    store: Mutex<Option<Arc<dyn Store>>>,
}

impl Windlass {
    /// Opens a project.
    ///
    /// # Errors
    ///
    /// When the start is not there, or its `windlass.yaml` has mistakes: all of them.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let folder = std::env::current_dir().map_err(Error::WorkingFolder)?;
        let project = Project::open(&settings.start, &folder).map_err(Error::Input)?;
        let places = Arc::new(ProjectPlaces::new(project.clone(), settings.supervisor.clone()));
        Ok(Self { project, settings, places, drivers: drivers(), store: Mutex::new(None) })
    }

    /// Returns the project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Returns the drivers at hand.
    pub fn drivers(&self) -> &Registry {
        &self.drivers
    }

    /// Adds a driver of the embedding program.
    #[must_use]
    pub fn with_driver(mut self, driver: impl windlass_driver::Driver + 'static) -> Self {
        self.drivers = self.drivers.with(driver);
        self
    }

    /// Returns the current time.
    pub fn now(&self) -> windlass_model::Timestamp {
        self.settings.clock.now()
    }

    /// Parts with the runtimes and removes the empty folders that they leave. Jobs that must not be cut go on.
    ///
    /// # Errors
    ///
    /// When the folders can't be read.
    pub async fn close(&self) -> Result<(), Error> {
        Ok(self.places.close().await?)
    }

    /// Returns the store; none when there is none and none is to be made.
    pub(crate) fn store(&self, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        let mut opened = self.store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(store) = &*opened {
            return Ok(Some(store.clone()));
        }
        let path = self.store_path();
        if !create && !path.exists() {
            return Ok(None);
        }
        let key = self.settings.key_file.clone().unwrap_or_else(|| self.project.state_dir().join("key"));
        let options = windlass_store::sqlite::Options::new(
            KeySource::File(key),
            self.settings.clock.clone(),
            self.settings.entropy.clone(),
        );
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, options.create(create))?);
        *opened = Some(store.clone());
        Ok(Some(store))
    }

    fn store_path(&self) -> PathBuf {
        self.project.state_dir().join("state.db")
    }

    pub(crate) fn engine(&self, store: Arc<dyn Store>) -> Engine {
        Engine { store, means: self.means(), options: self.settings.options }
    }

    /// Returns what an engine works with, beside its store.
    pub(crate) fn means(&self) -> Means {
        Means {
            drivers: self.drivers.clone(),
            places: self.places.clone(),
            clock: self.settings.clock.clone(),
            entropy: self.settings.entropy.clone(),
        }
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder::current(self.settings.command.clone())
    }
}

/// Returns the drivers of this version.
pub(crate) fn drivers() -> Registry {
    Registry::new().with(Noop).with(Script)
}

impl std::fmt::Debug for Windlass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Windlass").field("root", &self.project.root()).finish_non_exhaustive()
    }
}
