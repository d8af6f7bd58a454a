//! [`Windlass`]: a project with its store, drivers and runtimes.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::noop::Noop;
use windlass_driver::{Location, Registry};
use windlass_engine::{Engine, EngineEnv, Options};
use windlass_executor::Runtime;
use windlass_executor::docker::Environment;
use windlass_executor::process::SupervisorCommand;
use windlass_model::Clock;
use windlass_model::clock::SystemClock;
use windlass_model::id::Entropy;
use windlass_project::{Overlay, Project};
use windlass_script::Script;
use windlass_source::files::MAX_SIZE;
use windlass_store::{Holder, KeySource, SqliteStore, Store, StoreError};

use crate::error::Error;
use crate::places::{ProjectPlaces, Variables};
use crate::runtimes::Runtimes;
use crate::system::SystemEntropy;

/// Settings for opening a project.
#[derive(Clone)]
pub struct Settings {
    start: PathBuf,
    supervisor: SupervisorCommand,
    environment: Environment,
    images: Option<PathBuf>,
    runtimes: Vec<Arc<dyn Runtime>>,
    key_file: Option<PathBuf>,
    state: Option<String>,
    options: Options,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    command: String,
    serves: bool,
    max_size: usize,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    variables: Variables,
}

impl Settings {
    /// Creates settings for the project of a file or folder: the nearest `windlass.yaml` at or above it.
    pub fn new(start: impl Into<PathBuf>) -> Self {
        Self {
            start: start.into(),
            supervisor: SupervisorCommand::this_program(["supervise"]),
            environment: Environment::default(),
            images: None,
            runtimes: Vec::new(),
            key_file: None,
            state: None,
            options: Options::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            command: "windlass".to_owned(),
            serves: false,
            max_size: MAX_SIZE,
            tell: Arc::new(|_| {}),
            variables: Arc::new(|_| None),
        }
    }

    /// Sets the variables from which secrets of locations may be read. The default has none.
    #[must_use]
    pub fn variables(mut self, variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.variables = Arc::new(variables);
        self
    }

    /// Sets the handler of notices that do not belong to a command's result, for example that an interrupted
    /// export was finished. The default ignores them.
    #[must_use]
    pub fn notices(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Arc::new(tell);
        self
    }

    /// Sets the command that supervises jobs. The default starts the running program again with the argument
    /// `supervise`. The program must then call [`windlass_executor::process::supervise`].
    #[must_use]
    pub fn supervisor(mut self, supervisor: SupervisorCommand) -> Self {
        self.supervisor = supervisor;
        self
    }

    /// Sets the variables that locate container engines, with the meaning that the Docker client gives them.
    /// Without them the default socket is used.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the folder of the images for sandboxes. Default: `.windlass/images`.
    #[must_use]
    pub fn images(mut self, folder: Option<PathBuf>) -> Self {
        self.images = folder;
        self
    }

    /// Adds a runtime of the embedding program. It serves all locations of its [kind](Runtime::kind), even if
    /// this crate has a runtime of that kind.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtimes.push(runtime);
        self
    }

    /// Sets the file with the key that seals secrets. Default: `.windlass/key`, created when needed.
    #[must_use]
    pub fn key_file(mut self, file: Option<PathBuf>) -> Self {
        self.key_file = file;
        self
    }

    /// Sets the address of a PostgreSQL database for the state, such as
    /// `postgres://windlass@db.example.org/windlass`. Default: `.windlass/state.db`. All processes that share
    /// a database need the same key.
    #[must_use]
    pub fn state(mut self, address: Option<String>) -> Self {
        self.state = address;
        self
    }

    /// Sets the engine's options: parallelism, polling interval and waiting times.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the sources of time and ids.
    #[must_use]
    pub fn injected(mut self, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        self.clock = clock;
        self.entropy = entropy;
        self
    }

    /// Sets the command line by which other processes see this lease holder.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Sets the maximum size of a document in bytes. Default: 16 MiB.
    #[must_use]
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes;
        self
    }

    /// Declares that this process executes requests of other processes for the assemblies that it holds, by
    /// [`watch`](Windlass::watch).
    #[must_use]
    pub fn serving(mut self, serves: bool) -> Self {
        self.serves = serves;
        self
    }
}

/// A project with its store, drivers and runtimes. Opening it is cheap: the store and the runtimes are opened
/// on first use.
pub struct Windlass {
    pub(crate) project: Project,
    settings: Settings,
    places: Arc<ProjectPlaces>,
    drivers: Registry,
    store: tokio::sync::Mutex<Option<Arc<dyn Store>>>,
}

impl Windlass {
    /// Opens a project.
    ///
    /// # Errors
    ///
    /// If the start path does not exist, or its `windlass.yaml` has errors; all of them are reported.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let folder = std::env::current_dir().map_err(Error::WorkingFolder)?;
        let files = Overlay::default().with_limit(settings.max_size);
        let project = Project::open_with(&settings.start, &folder, files).map_err(Error::Input)?;
        let state = project.state_dir();
        let images = settings.images.clone().unwrap_or_else(|| state.join("images"));
        let mut runtimes =
            Runtimes::new(state, images, settings.supervisor.clone(), settings.environment.clone());
        settings.runtimes.iter().for_each(|runtime| runtimes.give(runtime.clone()));
        let places = Arc::new(ProjectPlaces::new(project.clone(), settings.variables.clone(), runtimes));
        Ok(Self { project, settings, places, drivers: drivers(), store: tokio::sync::Mutex::new(None) })
    }

    /// Returns the project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Returns the available drivers.
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

    /// Returns the runtime that serves a location, and opens it if needed. The location need not belong to
    /// the project.
    ///
    /// # Errors
    ///
    /// If no runtime serves it, or the runtime can't be opened.
    pub async fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, Error> {
        self.places.runtimes.of(location).await.map_err(Error::NoRuntime)
    }

    /// Returns the variables that locate container engines.
    pub(crate) fn environment(&self) -> &Environment {
        &self.settings.environment
    }

    /// Closes the runtimes, and removes their empty folders. Jobs that must not be interrupted keep running.
    ///
    /// # Errors
    ///
    /// If the folders can't be read.
    pub async fn close(&self) -> Result<(), Error> {
        Ok(self.places.runtimes.close().await?)
    }

    /// Returns the store; `None` if there is no store and `create` is not set.
    pub(crate) async fn store(&self, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        // The lock is held while the store is opened, so that it is opened only once.
        let mut opened = self.store.lock().await;
        if opened.is_none() {
            *opened = match &self.settings.state {
                // Boxed because it is large and rarely used.
                Some(address) => Box::pin(self.open_server(address, create)).await?,
                None => self.open_file(create)?,
            };
            if let Some(store) = &*opened {
                Box::pin(self.settle_exports(store)).await?;
            }
        }
        Ok(opened.clone())
    }

    /// Reports a notice to the user that does not belong to the result.
    pub(crate) fn tell(&self, what: &str) {
        (self.settings.tell)(what);
    }

    fn open_file(&self, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        let path = self.store_path();
        let there = is_there(&path)?;
        let folder = self.project.state_dir();
        // The state folder is not a folder, so there is no store in it, and no other state was requested.
        if !there && is_there(&folder)? && !folder.is_dir() {
            return Err(StoreError::NotAStore { path: folder }.into());
        }
        if !create && !there {
            return Ok(None);
        }
        let (clock, entropy) = (self.settings.clock.clone(), self.settings.entropy.clone());
        let options = windlass_store::sqlite::Options::new(self.key(), clock, entropy);
        match SqliteStore::open(&path, options.create(create)) {
            Ok(store) => Ok(Some(Arc::new(store))),
            // The file is empty: the process that created it ran out of disk space or was killed.
            Err(StoreError::Missing { .. }) if !create => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(feature = "postgres")]
    async fn open_server(&self, address: &str, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        use windlass_store::{PostgresStore, postgres};
        if let (true, KeySource::File(key)) = (create, self.key()) {
            make_folder_of(&key)?;
        }
        let (clock, entropy) = (self.settings.clock.clone(), self.settings.entropy.clone());
        let options = postgres::Options::new(self.key(), clock, entropy).create(create);
        match PostgresStore::open(address, options).await {
            Ok(store) => Ok(Some(Arc::new(store))),
            Err(StoreError::Missing { .. }) if !create => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(feature = "postgres"))]
    async fn open_server(&self, address: &str, _: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        Err(Error::NoSuchState(address.to_owned()))
    }

    pub(crate) fn key(&self) -> KeySource {
        let file = self.settings.key_file.clone();
        KeySource::File(file.unwrap_or_else(|| self.project.state_dir().join("key")))
    }

    fn store_path(&self) -> PathBuf {
        self.project.state_dir().join("state.db")
    }

    /// Returns the kind of the state's storage, for messages.
    pub fn state_kind(&self) -> &'static str {
        if self.settings.state.is_some() { "PostgreSQL" } else { "the store" }
    }

    pub(crate) fn engine(&self, store: Arc<dyn Store>) -> Engine {
        Engine { store, env: self.engine_env(), options: self.settings.options }
    }

    /// Returns the engine's dependencies beside the store.
    pub(crate) fn engine_env(&self) -> EngineEnv {
        EngineEnv {
            drivers: self.drivers.clone(),
            places: self.places.clone(),
            clock: self.settings.clock.clone(),
            entropy: self.settings.entropy.clone(),
            home: self.home(),
        }
    }

    /// Names this machine and the canonical folder of this project.
    fn home(&self) -> String {
        let root = self.project.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        format!("{}:{}", self.holder().host, root.display())
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder::current(self.settings.command.clone()).serving(self.settings.serves)
    }
}

/// Tells whether a path exists, including dangling links. An inaccessible folder counts as an error.
fn is_there(path: &std::path::Path) -> Result<bool, StoreError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => {
            let (action, source) = ("look for the store", Arc::new(error));
            Err(StoreError::Io { action, path: path.to_owned(), source })
        }
    }
}

/// Creates the folder of the key, accessible to its owner only.
#[cfg(feature = "postgres")]
fn make_folder_of(key: &std::path::Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt as _;
    let Some(folder) = key.parent() else { return Ok(()) };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| Error::Write { path: folder.to_owned(), source })
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
