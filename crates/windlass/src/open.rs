//! [`Windlass`]: a project with its store, drivers and runtimes.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Once};

use tokio::sync::OnceCell;
use windlass_driver::noop::Noop;
use windlass_driver::{Driver, Location, Registry};
use windlass_engine::{Engine, EngineEnv, JobSlots, Options};
use windlass_executor::Runtime;
use windlass_executor::process::SupervisorCommand;
use windlass_model::Clock;
use windlass_model::clock::SystemClock;
use windlass_model::id::Entropy;
use windlass_project::{Overlay, Project};
use windlass_script::Script;
use windlass_source::files::MAX_SIZE;
use windlass_store::{Holder, KeySource, Store, without_password};

use crate::error::Error;
#[cfg(feature = "daemon")]
use crate::file_version::FileVersion;
use crate::places::ProjectPlaces;
use crate::runtimes::{RuntimeContext, RuntimeFactory, RuntimeRegistry, Runtimes, Variables};
use crate::stores::{self, StoreKind, StoreSettings};
use crate::supervise;
use crate::system::SystemEntropy;

/// The settings with which a project is opened.
#[derive(Clone)]
pub struct Settings {
    start: PathBuf,
    supervisor: SupervisorCommand,
    images: Option<PathBuf>,
    runtimes: RuntimeRegistry,
    drivers: Registry,
    key_file: Option<PathBuf>,
    state: Option<String>,
    pub(crate) store: Option<Arc<dyn Store>>,
    options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    command: String,
    serves: bool,
    only_reads: bool,
    max_size: usize,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    variables: Variables,
}

impl Settings {
    /// Creates settings for the project to which `start` belongs. If `start` is a folder, windlass searches for
    /// `windlass.yaml` in this folder, and then in the folders above. If `start` is a file, the search begins in the
    /// folder of the file. If this search finds nothing, windlass searches in the working folder, and then in the folders
    /// above. Without a `windlass.yaml`, the working folder is the project, and its subfolder `.windlass` contains the
    /// state. So a service whose working folder may change needs a `windlass.yaml`, with at least the line
    /// `version: 1`.
    pub fn new(start: impl Into<PathBuf>) -> Self {
        Self {
            start: start.into(),
            supervisor: supervise::command(),
            images: None,
            runtimes: RuntimeRegistry::default(),
            drivers: drivers(),
            key_file: None,
            state: None,
            store: None,
            options: Options::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            command: "windlass".to_owned(),
            serves: false,
            only_reads: false,
            max_size: MAX_SIZE,
            tell: Arc::new(|_| {}),
            variables: Arc::new(|_| None),
        }
    }

    /// Sets the function that reads environment variables. windlass reads secrets of locations from these
    /// variables. It also finds container engines by the variables of the Docker client, such as `DOCKER_HOST`. By
    /// default, there are no variables.
    #[must_use]
    pub fn variables(mut self, variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.variables = Arc::new(variables);
        self
    }

    /// Sets the handler of notices that do not belong to the result of a command. An example is the notice
    /// that an interrupted export was finished. By default notices are ignored.
    #[must_use]
    pub fn notices(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Arc::new(tell);
        self
    }

    /// Sets the command that supervises jobs. The default starts the running program again, which then calls
    /// [`supervise`](crate::supervise()).
    #[must_use]
    pub fn supervisor(mut self, supervisor: SupervisorCommand) -> Self {
        self.supervisor = supervisor;
        self
    }

    /// Sets the folder of the images for sandboxes. The default is `.windlass/images`.
    #[must_use]
    pub fn images(mut self, folder: Option<PathBuf>) -> Self {
        self.images = folder;
        self
    }

    /// Adds a runtime that the embedding program implements. The runtime serves all locations of its
    /// [kind](Runtime::kind), even if this crate has a runtime of that kind.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtimes = self.runtimes.with_runtime(runtime);
        self
    }

    /// Adds a kind of runtime that the embedding program implements. The kind can declare its own settings for
    /// `windlass.yaml`. The added kind replaces an earlier kind of the same name.
    #[must_use]
    pub fn runtime_kind(mut self, factory: Arc<dyn RuntimeFactory>) -> Self {
        self.runtimes = self.runtimes.with(factory);
        self
    }

    /// Adds a driver that the embedding program implements. The driver can declare its own settings for
    /// `windlass.yaml`. The added driver replaces an earlier driver of the same kind.
    #[must_use]
    pub fn driver(mut self, driver: impl Driver + 'static) -> Self {
        self.drivers = self.drivers.with(driver);
        self
    }

    /// Sets the file with the key that seals secrets. The default is `.windlass/key`, which is created when
    /// needed.
    #[must_use]
    pub fn key_file(mut self, file: Option<PathBuf>) -> Self {
        self.key_file = file;
        self
    }

    /// Sets the address of a PostgreSQL database for the state, such as
    /// `postgres://windlass@db.example.org/windlass`. By default, the state is in the file
    /// `.windlass/state.db`. All programs that share a database need the same key.
    #[must_use]
    pub fn state(mut self, address: Option<String>) -> Self {
        self.state = address;
        self
    }

    /// Sets the store, in place of the store in the folder `.windlass` or at the address of [`state`](Self::state). The
    /// embedding program may implement the store itself. The trait [`Store`] lists the guarantees, and the conformance
    /// suite of the crate `windlass-store` verifies them (feature `testing`). The store seals secrets with its own key.
    /// The key of [`key_file`](Self::key_file) then only encrypts exports.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the engine's options, such as parallelism, polling interval and waiting times.
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

    /// Sets the command line of this program, for display. If another program needs a lease that this program holds,
    /// the other program shows this text to its user. The default is `windlass`.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Sets the maximum size of a document in bytes. The default is 16 MiB.
    #[must_use]
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes;
        self
    }

    /// Sets whether this program is a daemon. While a daemon holds the lease of an assembly, other programs can't
    /// change this assembly. They can only submit requests for the assembly. To execute these requests, the daemon
    /// must call `daemon::watch` (feature `daemon`).
    #[must_use]
    pub fn serving(mut self, serves: bool) -> Self {
        self.serves = serves;
        self
    }

    /// Sets whether the program only reads records, and runs no jobs. Then an unknown runtime, driver or key of
    /// `windlass.yaml` is no error, but a [warning of the project](Project::warnings). Default: it is an error.
    #[must_use]
    pub fn only_reading(mut self, only_reads: bool) -> Self {
        self.only_reads = only_reads;
        self
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("start", &self.start)
            .field("state", &self.state.as_deref().map(without_password))
            .field("store", &self.store)
            .field("drivers", &self.drivers)
            .field("runtimes", &self.runtimes)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A project with its store, drivers and runtimes. Opening a project is cheap, because the store and the
/// runtimes are opened at first use.
///
/// All clones of a project share its store and its runtimes.
#[derive(Clone)]
pub struct Windlass {
    pub(crate) project: Project,
    /// The version of `windlass.yaml` that `project` contains.
    #[cfg(feature = "daemon")]
    pub(crate) version: Option<FileVersion>,
    pub(crate) settings: Settings,
    context: RuntimeContext,
    pub(crate) places: Arc<ProjectPlaces>,
    slots: JobSlots,
    pub(crate) store: Arc<OnceCell<Arc<dyn Store>>>,
    /// Ensures that the user gets only one notice about a lost store. The store counts as lost if the project has
    /// no store now, but seems to have had a store earlier.
    pub(crate) lost_store: Arc<Once>,
}

impl Windlass {
    /// Opens the project to which a file or folder belongs. [`Settings::new`] sets the path of this file or folder.
    ///
    /// # Errors
    ///
    /// Fails if this path does not exist. Fails with all errors of the project's `windlass.yaml`. Also fails if
    /// this process was started to [supervise](crate::supervise()) jobs.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        // Without this check, the program would start itself as a supervisor again and again.
        if supervise::is_supervisor() {
            return Err(Error::IsSupervisor);
        }
        let project = read_project(&settings)?;
        #[cfg(feature = "daemon")]
        let version = FileVersion::of(&project);
        let state = project.state_dir();
        let mut context = RuntimeContext::new(state);
        context.supervisor = settings.supervisor.clone();
        context.variables = settings.variables.clone();
        if let Some(images) = &settings.images {
            context.images.clone_from(images);
        }
        let runtimes = Arc::new(Runtimes::new(settings.runtimes.factories(), &context));
        let places = Arc::new(ProjectPlaces::new(project.clone(), settings.variables.clone(), runtimes));
        let slots = JobSlots::default();
        Ok(Self {
            project,
            #[cfg(feature = "daemon")]
            version,
            settings,
            context,
            places,
            slots,
            store: Arc::default(),
            lost_store: Arc::new(Once::new()),
        })
    }

    /// Reads `windlass.yaml` again. The result shares the store, the runtimes and the job slots with `self`.
    ///
    /// # Errors
    ///
    /// A text with all errors of the file. Also fails if the file no longer exists.
    #[cfg(feature = "daemon")]
    pub(crate) fn reopened(&self) -> Result<Self, String> {
        let project = read_project(&self.settings).map_err(|error| error.to_string())?;
        let is_gone = project.file().is_none() && self.project.file().is_some();
        if is_gone || project.root() != self.project.root() {
            return Err("the file does not exist any more".to_owned());
        }
        let version = FileVersion::of(&project);
        let (variables, runtimes) = (self.settings.variables.clone(), self.places.runtimes.clone());
        let places = Arc::new(ProjectPlaces::new(project.clone(), variables, runtimes));
        Ok(Self { project, version, places, ..self.clone() })
    }

    /// Returns the open project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Returns the available drivers, with the settings of the project.
    pub fn drivers(&self) -> &Registry {
        self.project.drivers()
    }

    /// Returns the current time.
    pub fn now(&self) -> windlass_model::Timestamp {
        self.settings.clock.now()
    }

    /// Returns the runtime that serves a location, and opens the runtime if needed. The location need not
    /// belong to the project.
    ///
    /// # Errors
    ///
    /// Fails if no runtime serves the location, or if the runtime can't be opened.
    pub async fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, Error> {
        self.places.runtimes.of(location).await.map_err(Error::NoRuntime)
    }

    /// Returns the registered kinds of runtimes.
    pub fn registry(&self) -> &RuntimeRegistry {
        &self.settings.runtimes
    }

    pub(crate) fn runtime_context(&self) -> &RuntimeContext {
        &self.context
    }

    /// Closes the runtimes and removes their empty folders. Jobs that must not be interrupted keep running.
    ///
    /// # Errors
    ///
    /// Fails if the folders can't be read.
    pub async fn close(&self) -> Result<(), Error> {
        Ok(self.places.runtimes.close().await?)
    }

    pub(crate) fn store_settings(&self) -> StoreSettings {
        StoreSettings {
            address: self.settings.state.clone(),
            folder: self.project.state_dir(),
            key: self.key(),
            clock: self.settings.clock.clone(),
            entropy: self.settings.entropy.clone(),
        }
    }

    /// Calls the handler that [`Settings::notices`] sets. `what` is a notice that is not part of a command's result,
    /// for example that an interrupted export was finished.
    pub(crate) fn tell(&self, what: &str) {
        (self.settings.tell)(what);
    }

    pub(crate) fn key(&self) -> KeySource {
        let file = self.settings.key_file.clone();
        KeySource::File(file.unwrap_or_else(|| self.project.state_dir().join("key")))
    }

    /// Returns the name of the store in messages, for example `PostgreSQL`. The name of the default store is
    /// `the store`.
    pub fn store_kind(&self) -> &'static str {
        match &self.settings.state {
            Some(address) => stores::of(Some(address)).map_or("the store", StoreKind::name),
            None => "the store",
        }
    }

    pub(crate) fn engine(&self, store: Arc<dyn Store>) -> Engine {
        Engine { store, env: self.engine_env(), options: self.settings.options }
    }

    /// Tells whether intents may remove an assembly to which other assemblies refer.
    pub(crate) fn is_forced(&self) -> bool {
        self.settings.options.force
    }

    /// Returns everything that the engine needs except the store.
    pub(crate) fn engine_env(&self) -> EngineEnv {
        EngineEnv {
            drivers: self.drivers().clone(),
            places: self.places.clone(),
            slots: self.slots.clone(),
            clock: self.settings.clock.clone(),
            entropy: self.settings.entropy.clone(),
            home: self.home(),
        }
    }

    /// Returns a text that identifies this machine and the canonical folder of this project.
    pub(crate) fn home(&self) -> String {
        let root = self.project.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        format!("{}:{}", self.holder().host, root.display())
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder::current(self.settings.command.clone()).serving(self.settings.serves)
    }
}

/// Reads the project to which the path in `settings` belongs.
fn read_project(settings: &Settings) -> Result<Project, Error> {
    let folder = std::env::current_dir().map_err(Error::WorkingFolder)?;
    let files = Overlay::default().with_limit(settings.max_size);
    let kinds = settings.runtimes.kinds();
    let open = if settings.only_reads { Project::open_to_read } else { Project::open_with };
    open(&settings.start, &folder, files, &kinds, &settings.drivers).map_err(Error::Input)
}

/// Returns the built-in drivers: `noop` and `script`.
pub fn drivers() -> Registry {
    Registry::new().with(Noop).with(Script::default())
}

impl fmt::Debug for Windlass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Windlass").field("root", &self.project.root()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens an empty project.
    fn project(folder: &std::path::Path, state: Option<String>) -> Windlass {
        std::fs::write(folder.join("windlass.yaml"), "version: 1\n").unwrap();
        Windlass::open(Settings::new(folder).state(state)).unwrap()
    }

    #[tokio::test]
    async fn concurrent_callers_open_one_store() {
        let folder = tempfile::tempdir().unwrap();
        let windlass = project(folder.path(), None);
        let (one, other) = tokio::join!(windlass.store(true), windlass.store(true));
        assert!(Arc::ptr_eq(&one.unwrap().unwrap(), &other.unwrap().unwrap()));
    }

    #[tokio::test]
    async fn a_missing_store_is_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let windlass = project(folder.path(), None);
        let (none, made) = tokio::join!(windlass.store(false), windlass.store(true));
        assert!(none.unwrap().is_none());
        let found = windlass.store(false).await.unwrap().expect("it was made");
        assert!(Arc::ptr_eq(&found, &made.unwrap().unwrap()));
    }

    /// Two futures run on the only thread of the test: one opens the store, and the other unlocks the file of the
    /// store. If the opening blocked the thread, the file would stay locked.
    #[tokio::test]
    async fn opening_a_store_blocks_no_other_task() {
        let folder = tempfile::tempdir().unwrap();
        let windlass = project(folder.path(), None);
        std::fs::create_dir(folder.path().join(".windlass")).unwrap();
        let other = rusqlite::Connection::open(folder.path().join(".windlass/state.db")).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let (opened, ()) =
            tokio::join!(windlass.store(true), async { other.execute_batch("ROLLBACK").unwrap() });
        assert!(opened.unwrap().is_some());
    }

    /// Opens a store on a server that accepts connections and never answers.
    #[cfg(all(feature = "daemon", feature = "postgres"))]
    #[tokio::test]
    async fn a_stop_ends_a_slow_open() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("postgres://me@{}/shop", silent.local_addr().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let windlass = project(folder.path(), Some(address));
        let (stop, watching) = (windlass_engine::Stop::default(), crate::daemon::Watching::default());
        let (_samples, received) = tokio::sync::mpsc::channel(1);
        let watched = crate::daemon::watch(&windlass, &watching, received, &|_| {}, &stop);
        let (watched, ()) = tokio::join!(watched, async { stop.request() });
        // If the daemon ignored the stop, it would return an error, because the server gives no answer.
        watched.unwrap();
    }
}
