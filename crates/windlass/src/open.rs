//! [`Windlass`]: a project with its store, drivers and runtimes.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::noop::Noop;
use windlass_driver::{Location, Registry};
use windlass_engine::{Engine, Means, Options};
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

/// How a project is opened.
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
    /// Opens the project that a file or folder belongs to: that of the nearest `windlass.yaml` at or above it.
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

    /// Sets the variables that a location's secrets may be read from. The default has none.
    #[must_use]
    pub fn variables(mut self, variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.variables = Arc::new(variables);
        self
    }

    /// Sets what is done with what the user should know beside the answer to what was asked, as that an interrupted export
    /// was finished. The default passes it over.
    #[must_use]
    pub fn notices(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Arc::new(tell);
        self
    }

    /// Sets how jobs are supervised. The default starts the running program again with the argument `supervise`; it
    /// must then call [`windlass_executor::process::supervise`].
    #[must_use]
    pub fn supervisor(mut self, supervisor: SupervisorCommand) -> Self {
        self.supervisor = supervisor;
        self
    }

    /// Sets the variables that say where container engines are, as the Docker client reads them. Without them the usual
    /// socket is asked.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the folder with the images for sandboxes; else it is `.windlass/images`.
    #[must_use]
    pub fn images(mut self, folder: Option<PathBuf>) -> Self {
        self.images = folder;
        self
    }

    /// Adds a runtime of the embedding program. It serves the locations of its [kind](Runtime::kind), also those that a
    /// runtime of this crate would serve.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtimes.push(runtime);
        self
    }

    /// Sets the file with the key that secrets are sealed with; else it is `.windlass/key`, made when it is needed.
    #[must_use]
    pub fn key_file(mut self, file: Option<PathBuf>) -> Self {
        self.key_file = file;
        self
    }

    /// Sets where the state is kept: the address of a PostgreSQL database, such as
    /// `postgres://windlass@db.example.org/windlass`; else it is `.windlass/state.db`. All who share a database need the
    /// same key.
    #[must_use]
    pub fn state(mut self, address: Option<String>) -> Self {
        self.state = address;
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

    /// Sets the most bytes of a document that is read; else it is 16 MiB.
    #[must_use]
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes;
        self
    }

    /// Says that this process carries out what others ask of the assemblies that it holds: it [watches](Windlass::watch).
    #[must_use]
    pub fn serving(mut self, serves: bool) -> Self {
        self.serves = serves;
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
    store: tokio::sync::Mutex<Option<Arc<dyn Store>>>,
}

impl Windlass {
    /// Opens a project.
    ///
    /// # Errors
    ///
    /// When the start is not there, or its `windlass.yaml` has mistakes: all of them.
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

    /// Returns the runtime that serves a location, which need not be one of the project, and opens it.
    ///
    /// # Errors
    ///
    /// When there is none, or it can't be opened.
    pub async fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, Error> {
        self.places.runtimes.of(location).await.map_err(Error::NoRuntime)
    }

    /// Returns where container engines are looked for.
    pub(crate) fn environment(&self) -> &Environment {
        &self.settings.environment
    }

    /// Parts with the runtimes and removes the empty folders that they leave. Jobs that must not be cut go on.
    ///
    /// # Errors
    ///
    /// When the folders can't be read.
    pub async fn close(&self) -> Result<(), Error> {
        Ok(self.places.runtimes.close().await?)
    }

    /// Returns the store; none when there is none and none is to be made.
    pub(crate) async fn store(&self, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        // Held while it is opened, so that it is opened once.
        let mut opened = self.store.lock().await;
        if opened.is_none() {
            *opened = match &self.settings.state {
                // Rarely needed, and large: on the heap.
                Some(address) => Box::pin(self.open_server(address, create)).await?,
                None => self.open_file(create)?,
            };
            if let Some(store) = &*opened {
                Box::pin(self.settle_exports(store)).await?;
            }
        }
        Ok(opened.clone())
    }

    /// Tells the user something beside the answer.
    pub(crate) fn tell(&self, what: &str) {
        (self.settings.tell)(what);
    }

    fn open_file(&self, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        let path = self.store_path();
        let there = is_there(&path)?;
        let folder = self.project.state_dir();
        // Nothing can be in what is no folder, and nothing was asked to be there instead.
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
            // An empty file: whoever would have made the store found no room for it, or was killed.
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

    /// Names what keeps the state, for people.
    pub fn state_kind(&self) -> &'static str {
        if self.settings.state.is_some() { "PostgreSQL" } else { "the store" }
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
            home: self.home(),
        }
    }

    /// Names this machine and this project's folder, whatever path it was opened by.
    fn home(&self) -> String {
        let root = self.project.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        format!("{}:{}", self.holder().host, root.display())
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder::current(self.settings.command.clone()).serving(self.settings.serves)
    }
}

/// Tells whether something has a path, a link that leads nowhere included. A folder that can't be looked into may have it.
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

/// Makes the folder that the key is to be in, for its owner alone.
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
