//! The runtimes of a project, opened when they are first needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use windlass_driver::Location;
use windlass_executor::docker::{
    DockerOptions, DockerRuntime, Engine, EngineChoice, Environment, WarmContainers,
};
use windlass_executor::pool::PoolRuntime;
use windlass_executor::process::{ProcessOptions, ProcessRuntime, SupervisorCommand};
use windlass_executor::sandbox::{SandboxOptions, SandboxRuntime};
use windlass_executor::{Owner, Runtime, RuntimeError};

use crate::places::chain;

/// The engine of a location that names none.
const USUAL_ENGINE: &str = "docker";

/// The file with the engines that may have jobs of this project.
const ENGINES: &str = "engines";

/// Opens runtimes and keeps them.
pub(crate) struct Runtimes {
    state: PathBuf,
    /// The store of images that the user has, for sandboxes.
    images: PathBuf,
    supervisor: SupervisorCommand,
    environment: Environment,
    given: BTreeMap<String, Arc<dyn Runtime>>,
    opened: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    process: Option<Arc<ProcessRuntime>>,
    sandbox: Option<Arc<SandboxRuntime>>,
    engines: BTreeMap<String, OpenEngine>,
}

/// An engine with its runtimes: fresh containers, and a pool for each size that a location asks for.
struct OpenEngine {
    engine: Engine,
    fresh: Arc<DockerRuntime>,
    pools: BTreeMap<u16, Arc<PoolRuntime>>,
}

impl Runtimes {
    pub(crate) fn new(
        state: PathBuf,
        images: PathBuf,
        supervisor: SupervisorCommand,
        environment: Environment,
    ) -> Self {
        Self { state, images, supervisor, environment, given: BTreeMap::new(), opened: Mutex::default() }
    }

    /// Puts a runtime of the embedding program in the place of those of its kind.
    pub(crate) fn give(&mut self, runtime: Arc<dyn Runtime>) {
        self.given.insert(runtime.kind().to_owned(), runtime);
    }

    /// Says whether a location has a runtime, without opening it.
    pub(crate) fn check(&self, location: &Location) -> Result<(), String> {
        let (name, kind) = (&location.name, location.runtime.as_str());
        match kind {
            _ if self.given.contains_key(kind) => Ok(()),
            "process" => Ok(()),
            "docker" | "sandbox" if location.image.is_none() => Err(format!(
                "the location `{name}` has the runtime `{kind}` and no `image`, so there is nothing to run scripts in; name one as `image` of the location"
            )),
            "docker" | "sandbox" => Ok(()),
            other => {
                Err(format!("the runtime `{other}` of the location `{name}` is not part of this version"))
            }
        }
    }

    /// Returns the runtime of a location, and opens it if nobody has.
    pub(crate) async fn of(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        self.check(location)?;
        if let Some(runtime) = self.given.get(&location.runtime) {
            return Ok(runtime.clone());
        }
        let mut opened = self.opened.lock().await;
        if location.runtime == "process" {
            return self.process(&mut opened).map(|it| it as Arc<dyn Runtime>).map_err(|error| chain(&error));
        }
        if location.runtime == "sandbox" {
            return self.sandbox(&mut opened).map(|it| it as Arc<dyn Runtime>).map_err(|error| chain(&error));
        }
        let name = location.engine.as_deref().unwrap_or(USUAL_ENGINE);
        let engine = self.engine(&mut opened, name).await?;
        let Some(size) = location.pool else { return Ok(engine.fresh.clone()) };
        let folder = self.state.join("pool").join(folder_name(name));
        Ok(engine.pool(size, &folder).map_err(|error| chain(&error))?)
    }

    /// Returns all runtimes that may have jobs of earlier lives.
    pub(crate) async fn all(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        let mut all: Vec<_> = self.given.values().cloned().collect();
        let mut opened = self.opened.lock().await;
        if self.jobs().exists() {
            all.push(self.process(&mut opened).map_err(|error| chain(&error))?);
        }
        if self.rooms().exists() {
            all.push(self.sandbox(&mut opened).map_err(|error| chain(&error))?);
        }
        for name in self.remembered().map_err(|error| error.to_string())? {
            let engine = self.engine(&mut opened, &name).await.map_err(|why| {
                let file = self.state.join(ENGINES);
                format!(
                    "{why}; it may still run jobs of this project. If it is gone for good, remove `{name}` from `{}`",
                    file.display()
                )
            })?;
            all.push(engine.fresh.clone());
        }
        Ok(all)
    }

    fn jobs(&self) -> PathBuf {
        self.state.join("jobs")
    }

    fn process(&self, opened: &mut Opened) -> Result<Arc<ProcessRuntime>, RuntimeError> {
        if let Some(runtime) = &opened.process {
            return Ok(runtime.clone());
        }
        let options =
            ProcessOptions::new(self.jobs(), self.supervisor.clone()).volumes_dir(self.state.join("volumes"));
        let runtime = Arc::new(ProcessRuntime::open_with(options)?);
        opened.process = Some(runtime.clone());
        Ok(runtime)
    }

    /// Where the jobs of the sandbox runtime are.
    fn rooms(&self) -> PathBuf {
        self.state.join("rooms")
    }

    fn sandbox(&self, opened: &mut Opened) -> Result<Arc<SandboxRuntime>, RuntimeError> {
        if let Some(runtime) = &opened.sandbox {
            return Ok(runtime.clone());
        }
        let options = SandboxOptions::new(self.rooms(), &self.images, self.supervisor.clone())
            .volumes_dir(self.state.join("volumes"));
        let runtime = Arc::new(SandboxRuntime::open(options)?);
        opened.sandbox = Some(runtime.clone());
        Ok(runtime)
    }

    async fn engine<'a>(&self, opened: &'a mut Opened, name: &str) -> Result<&'a mut OpenEngine, String> {
        if !opened.engines.contains_key(name) {
            let choice: EngineChoice = name.parse().map_err(|error| chain(&error))?;
            let engine = Engine::connect(&choice, &self.environment).await.map_err(|error| chain(&error))?;
            let options = DockerOptions::new().environment(self.environment.clone());
            let fresh = DockerRuntime::open(engine.clone(), options).await.map_err(|error| chain(&error))?;
            // Known before the first job is there: after a crash somebody has to look.
            self.remember(name)
                .map_err(|error| format!("can't write to `{}`: {error}", self.state.display()))?;
            // What dead clients have left that is no job. Jobs are taken over by their ids.
            if let Err(error) = fresh.reap(&Owner::default(), |_| true).await {
                return Err(chain(&error));
            }
            let opening = OpenEngine { engine, fresh: Arc::new(fresh), pools: BTreeMap::new() };
            opened.engines.insert(name.to_owned(), opening);
        }
        Ok(opened.engines.get_mut(name).expect("it was just inserted"))
    }

    fn remembered(&self) -> io::Result<BTreeSet<String>> {
        match fs::read_to_string(self.state.join(ENGINES)) {
            Ok(text) => {
                Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }

    fn remember(&self, name: &str) -> io::Result<()> {
        if self.remembered()?.contains(name) {
            return Ok(());
        }
        fs::create_dir_all(&self.state)?;
        let mut file = fs::File::options().append(true).create(true).open(self.state.join(ENGINES))?;
        io::Write::write_all(&mut file, format!("{name}\n").as_bytes())
    }

    /// Parts with the runtimes and removes the empty folders that they leave, also those of owners that were killed.
    pub(crate) async fn close(&self) -> Result<(), RuntimeError> {
        let mut opened = self.opened.lock().await;
        if self.jobs().exists() {
            self.process(&mut opened)?;
        }
        if self.rooms().exists() {
            self.sandbox(&mut opened)?;
        }
        let Opened { process, sandbox, engines } = std::mem::take(&mut *opened);
        for engine in engines.into_values() {
            for pool in engine.pools.values() {
                pool.close().await;
            }
            engine.fresh.close().await;
        }
        let _in_use = fs::remove_dir(self.state.join("pool"));
        if let Some(sandbox) = sandbox {
            sandbox.close().await?;
        }
        if let Some(process) = process {
            process.close().await?;
        }
        // Where there is no store either, nothing has been done here but to look.
        let _in_use = fs::remove_dir(&self.state);
        Ok(())
    }
}

impl OpenEngine {
    fn pool(&mut self, size: u16, folder: &Path) -> Result<Arc<PoolRuntime>, RuntimeError> {
        if let Some(pool) = self.pools.get(&size) {
            return Ok(pool.clone());
        }
        let warm = Arc::new(WarmContainers::open(self.engine.clone(), folder)?);
        let pool =
            PoolRuntime::new(self.fresh.clone(), warm, size.into(), folder.join(format!("output-{size}")));
        let pool = Arc::new(pool);
        self.pools.insert(size, pool.clone());
        Ok(pool)
    }
}

/// Makes the name of a folder out of that of an engine.
fn folder_name(engine: &str) -> String {
    engine.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
