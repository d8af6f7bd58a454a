//! The runtimes of a project, opened on first use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;
use windlass_driver::Location;
use windlass_executor::docker::{
    DockerOptions, DockerRuntime, Engine, EngineChoice, Environment, WarmContainers,
};
use windlass_executor::pool::PoolRuntime;
use windlass_executor::process::{ProcessOptions, ProcessRuntime, SupervisorCommand};
use windlass_executor::sandbox::{SandboxOptions, SandboxRuntime};
use windlass_executor::{Owner, Runtime, RuntimeError};

use crate::blocking::blocking;
use crate::engines::{Note, Noted, Notes};
use crate::error::chain;

/// The engine of a location that names none.
const USUAL_ENGINE: &str = "docker";

/// Opens and caches runtimes. Each is opened once, and opening one does not block another, because connecting
/// may take long.
pub(crate) struct Runtimes {
    state: PathBuf,
    /// The folder with the images of sandboxes.
    images: PathBuf,
    supervisor: SupervisorCommand,
    environment: Environment,
    given: BTreeMap<String, Arc<dyn Runtime>>,
    notes: Notes,
    opened: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    process: Arc<OnceCell<Arc<ProcessRuntime>>>,
    sandbox: Arc<OnceCell<Arc<SandboxRuntime>>>,
    engines: BTreeMap<String, Arc<OnceCell<OpenEngine>>>,
}

/// An engine with its runtimes: one for fresh containers, and a pool for each pool size that a location
/// requests.
struct OpenEngine {
    engine: Engine,
    fresh: Arc<DockerRuntime>,
    pools: Mutex<BTreeMap<u16, Pool>>,
    /// The note that marks the engine as in use, until it is closed.
    note: Mutex<Option<Note>>,
}

/// A pool, whether it is open or not.
type Pool = Arc<OnceCell<Arc<PoolRuntime>>>;

impl Runtimes {
    pub(crate) fn new(
        state: PathBuf,
        images: PathBuf,
        supervisor: SupervisorCommand,
        environment: Environment,
    ) -> Self {
        let notes = Notes::new(&state);
        let (given, opened) = (BTreeMap::new(), Mutex::default());
        Self { state, images, supervisor, environment, given, notes, opened }
    }

    /// Adds a runtime of the embedding program, which replaces the built-in one of its kind.
    pub(crate) fn give(&mut self, runtime: Arc<dyn Runtime>) {
        self.given.insert(runtime.kind().to_owned(), runtime);
    }

    /// Checks that a location has a runtime, without opening it.
    pub(crate) fn check(&self, location: &Location) -> Result<(), String> {
        let (name, kind) = (&location.name, location.runtime.as_str());
        match kind {
            _ if self.given.contains_key(kind) => Ok(()),
            "process" => Ok(()),
            "docker" | "sandbox" if location.image.is_none() => Err(format!(
                "the location `{name}` has the runtime `{kind}` and no `image`, which scripts need; set `image` of the location"
            )),
            "docker" | "sandbox" => Ok(()),
            other => {
                Err(format!("this version does not support the runtime `{other}` of the location `{name}`"))
            }
        }
    }

    /// Returns the runtime of a location, and opens it on first use.
    pub(crate) async fn of(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        self.check(location)?;
        if let Some(runtime) = self.given.get(&location.runtime) {
            return Ok(runtime.clone());
        }
        match location.runtime.as_str() {
            "process" => Ok(self.process().await.map_err(|error| chain(&error))?),
            "sandbox" => Ok(self.sandbox().await.map_err(|error| chain(&error))?),
            _ => {
                let name = location.engine.as_deref().unwrap_or(USUAL_ENGINE);
                let cell = self.cell(name);
                let engine = self.engine(&cell, name).await?;
                let Some(size) = location.pool else { return Ok(engine.fresh.clone()) };
                let folder = self.state.join("pool").join(folder_name(name));
                Ok(engine.pool(size, folder).await.map_err(|error| chain(&error))?)
            }
        }
    }

    /// Returns all runtimes that may hold jobs of earlier processes.
    pub(crate) async fn all(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        let mut all: Vec<_> = self.given.values().cloned().collect();
        if self.jobs().exists() {
            all.push(self.process().await.map_err(|error| chain(&error))?);
        }
        if self.rooms().exists() {
            all.push(self.sandbox().await.map_err(|error| chain(&error))?);
        }
        let noted = self.noted().await.map_err(|error| self.unnoted(&error))?;
        for name in noted.into_iter().map(|noted| noted.engine).collect::<BTreeSet<_>>() {
            let cell = self.cell(&name);
            let engine = self.engine(&cell, &name).await.map_err(|why| {
                format!(
                    "{why}; it may still run jobs of this project. If `{name}` is gone for good, remove the file that names it \
                     from `{}`",
                    self.notes.folder().display()
                )
            })?;
            all.push(engine.fresh.clone());
        }
        Ok(all)
    }

    fn opened(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn jobs(&self) -> PathBuf {
        self.state.join("jobs")
    }

    async fn process(&self) -> Result<Arc<ProcessRuntime>, RuntimeError> {
        let cell = self.opened().process.clone();
        let options = || {
            ProcessOptions::new(self.jobs(), self.supervisor.clone()).volumes_dir(self.state.join("volumes"))
        };
        let open = async || {
            let options = options();
            blocking(move || ProcessRuntime::open_with(options)).await.map(Arc::new)
        };
        cell.get_or_try_init(open).await.cloned()
    }

    /// Returns the folder with the jobs of the sandbox runtime.
    fn rooms(&self) -> PathBuf {
        self.state.join("rooms")
    }

    async fn sandbox(&self) -> Result<Arc<SandboxRuntime>, RuntimeError> {
        let cell = self.opened().sandbox.clone();
        let open = async || {
            let options = SandboxOptions::new(self.rooms(), &self.images, self.supervisor.clone())
                .volumes_dir(self.state.join("volumes"));
            blocking(move || SandboxRuntime::open(options)).await.map(Arc::new)
        };
        cell.get_or_try_init(open).await.cloned()
    }

    /// Returns the cell of an engine, whether it is open or not.
    fn cell(&self, name: &str) -> Arc<OnceCell<OpenEngine>> {
        self.opened().engines.entry(name.to_owned()).or_default().clone()
    }

    async fn engine<'c>(&self, cell: &'c OnceCell<OpenEngine>, name: &str) -> Result<&'c OpenEngine, String> {
        cell.get_or_try_init(async || {
            let choice: EngineChoice = name.parse().map_err(|error| chain(&error))?;
            let engine = Engine::connect(&choice, &self.environment).await.map_err(|error| chain(&error))?;
            let options = DockerOptions::new().environment(self.environment.clone());
            let fresh = DockerRuntime::open(engine.clone(), options).await.map_err(|error| chain(&error))?;
            // Written before the first job exists, so that a command after a crash knows where to look.
            let (notes, engine_name, client) =
                (self.notes.clone(), name.to_owned(), fresh.client().to_owned());
            let note = blocking(move || notes.add(&engine_name, &client)).await;
            let note = note.map_err(|error| self.unnoted(&error))?;
            // Removes leftovers of dead clients other than jobs. Jobs are adopted by their ids.
            fresh.reap(&Owner::default(), |_| true).await.map_err(|error| chain(&error))?;
            Ok(OpenEngine {
                engine,
                fresh: Arc::new(fresh),
                pools: Mutex::default(),
                note: Mutex::new(Some(note)),
            })
        })
        .await
    }

    async fn noted(&self) -> io::Result<Vec<Noted>> {
        let notes = self.notes.clone();
        blocking(move || notes.all()).await
    }

    fn unnoted(&self, error: &io::Error) -> String {
        format!("the list of used engines can't be written to `{}`: {error}", self.notes.folder().display())
    }

    /// Closes the runtimes, and removes their empty folders. Also removes the folders of owners that were
    /// killed.
    pub(crate) async fn close(&self) -> Result<(), RuntimeError> {
        if self.jobs().exists() {
            self.process().await?;
        }
        if self.rooms().exists() {
            self.sandbox().await?;
        }
        let Opened { process, sandbox, engines } = std::mem::take(&mut *self.opened());
        let noted = self.noted().await.unwrap_or_default();
        for (name, cell) in &engines {
            let Some(engine) = cell.get() else { continue };
            engine.close().await;
            for noted in noted.iter().filter(|noted| noted.engine == *name) {
                self.forget(engine, noted).await;
            }
        }
        let (pools, notes) = (self.state.join("pool"), self.notes.clone());
        blocking(move || {
            // A pool removes its folder when it is dropped.
            drop(engines);
            let _in_use = fs::remove_dir(pools);
            let _left_for_the_next = notes.tidy();
        })
        .await;
        if let Some(sandbox) = sandbox.get() {
            remove_jobs_by_hand(&**sandbox).await;
            sandbox.close().await?;
        }
        if let Some(process) = process.get() {
            remove_jobs_by_hand(&**process).await;
            process.close().await?;
        }
        let state = self.state.clone();
        blocking(move || {
            // Dropping a runtime removes its working folder.
            drop((process, sandbox));
            // If there is no store either, this process has only read.
            let _in_use = fs::remove_dir(state);
        })
        .await;
        Ok(())
    }

    /// Removes the note of a client that has left nothing on an engine. If that is unknown, the next command
    /// queries the engine again.
    async fn forget(&self, engine: &OpenEngine, noted: &Noted) {
        if !matches!(engine.fresh.has_left(noted.client.as_deref()).await, Ok(false)) {
            return;
        }
        let own = engine
            .note
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take_if(|_| noted.client.as_deref() == Some(engine.fresh.client()));
        let (folder, noted) = (self.notes.clone(), noted.clone());
        let forgotten = blocking(move || match own {
            Some(note) => note.remove(),
            None => folder.remove(&noted),
        });
        let _asked_for_again = forgotten.await;
    }
}

/// Removes jobs of killed `windlass exec` processes: `exec-<process>-<time>`. No other process would ask for
/// them.
async fn remove_jobs_by_hand(runtime: &dyn Runtime) {
    for id in runtime.list(&Owner::default()).await.unwrap_or_default() {
        let process = id.as_str().strip_prefix("exec-").and_then(|rest| rest.split('-').next());
        let is_dead =
            process.is_some_and(|process| !process.is_empty() && !Path::new("/proc").join(process).exists());
        if is_dead {
            // A job that still runs is left alone.
            let _swept_later = runtime.remove(&id).await;
        }
    }
}

impl OpenEngine {
    fn pools(&self) -> MutexGuard<'_, BTreeMap<u16, Pool>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pool(&self, size: u16, folder: PathBuf) -> Result<Arc<PoolRuntime>, RuntimeError> {
        let cell = self.pools().entry(size).or_default().clone();
        let open = async || {
            let (engine, fresh) = (self.engine.clone(), self.fresh.clone());
            blocking(move || {
                let warm = Arc::new(WarmContainers::open(engine, &folder)?);
                let output = folder.join(format!("output-{size}"));
                Ok(Arc::new(PoolRuntime::new(fresh, warm, size.into(), output)))
            })
            .await
        };
        cell.get_or_try_init(open).await.cloned()
    }

    async fn close(&self) {
        let pools: Vec<_> = self.pools().values().filter_map(|pool| pool.get().cloned()).collect();
        for pool in pools {
            pool.close().await;
        }
        self.fresh.close().await;
    }
}

/// Converts an engine's name to a folder name.
fn folder_name(engine: &str) -> String {
    engine.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
