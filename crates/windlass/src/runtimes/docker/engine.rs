//! The connection of a project to one container engine, and the runtimes that run jobs on this engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;
use windlass_executor::docker::{
    DockerOptions, DockerRuntime, Engine, EngineChoice, Environment, WarmContainers,
};
use windlass_executor::pool::PoolRuntime;
use windlass_executor::{Owner, Runtime, RuntimeError};

use super::notes::Note;
use crate::blocking::blocking;
use crate::error::chain;
use crate::runtimes::exec_job::submitter;
use crate::runtimes::factory::{RuntimeContext, Variables};

/// An open container engine, with the runtimes that run jobs on it. The runtime `fresh` starts a new container for each
/// job. The runtimes in `pools` reuse running containers, which are called warm containers.
pub(super) struct OpenEngine {
    engine: Engine,
    fresh: Arc<DockerRuntime>,
    /// The runtimes that reuse warm containers, by the number of their warm containers. A location sets this number by
    /// its setting `pool`.
    pools: Mutex<BTreeMap<u16, Pool>>,
    /// The note which records that this process uses the engine. `None` after [`take_note`](Self::take_note) has
    /// returned the note.
    note: Mutex<Option<Note>>,
}

/// A place for a [`PoolRuntime`]. The place is empty until this runtime is used for the first time.
type Pool = Arc<OnceCell<Arc<PoolRuntime>>>;

/// Returns the environment variables by which container engines are found.
pub(super) fn environment(variables: &Variables) -> Environment {
    Environment::READ.into_iter().filter_map(|name| Some((name, variables(name)?))).collect()
}

/// Connects to the container engine `name`, and opens the runtime that starts a new container for each job.
pub(super) async fn connect(name: &str, context: &RuntimeContext) -> Result<(Engine, DockerRuntime), String> {
    let environment = environment(&context.variables);
    let choice: EngineChoice = name.parse().map_err(|error| chain(&error))?;
    let engine = Engine::connect(&choice, &environment).await.map_err(|error| chain(&error))?;
    let options = DockerOptions::new().environment(environment);
    let fresh = DockerRuntime::open(engine.clone(), options).await.map_err(|error| chain(&error))?;
    Ok((engine, fresh))
}

impl OpenEngine {
    /// Takes over the connection to a container engine. `note` is the file which records that this process uses the
    /// engine. Removes containers that other windlass programs have left on the engine, if these programs have
    /// ended. A container with a job of an assembly stays, because a later command finds the job by its id. A
    /// container with a job of `windlass exec` is removed, because no later command reads the result of the job.
    pub(super) async fn new(engine: Engine, fresh: DockerRuntime, note: Note) -> Result<Self, String> {
        fresh.reap(&Owner::default(), |id| submitter(id).is_none()).await.map_err(|error| chain(&error))?;
        let (fresh, note) = (Arc::new(fresh), Mutex::new(Some(note)));
        Ok(Self { engine, fresh, pools: Mutex::default(), note })
    }

    /// Returns the runtime that runs each job in a fresh container.
    pub(super) fn fresh(&self) -> Arc<dyn Runtime> {
        self.fresh.clone()
    }

    /// Tells whether the container engine contains no container of the client `client`. A client is the connection of
    /// one windlass program to the engine.
    ///
    /// If `client` is `None`, tells whether the engine contains no job of an ended client. Jobs of running clients do
    /// not count.
    ///
    /// Returns `false` if the engine does not answer.
    pub(super) async fn is_left_by(&self, client: Option<&str>) -> bool {
        matches!(self.fresh.has_left(client).await, Ok(false))
    }

    /// Returns the note which records that this process uses the engine. The caller can then remove the note.
    /// Returns `None` if `client` is not the client id of this process, or if an earlier call has already returned the
    /// note.
    pub(super) fn take_note(&self, client: Option<&str>) -> Option<Note> {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        note.take_if(|_| client == Some(self.fresh.client()))
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<u16, Pool>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the [`PoolRuntime`] with `size` warm containers. Opens this runtime at its first use. The runtime
    /// keeps its files in `folder`.
    pub(super) async fn pool(&self, size: u16, folder: PathBuf) -> Result<Arc<PoolRuntime>, RuntimeError> {
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

    pub(super) async fn close(&self) {
        let pools: Vec<_> = self.pools().values().filter_map(|pool| pool.get().cloned()).collect();
        for pool in pools {
            pool.close().await;
        }
        self.fresh.close().await;
    }
}
