//! The contract of a kind of runtime.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use windlass_driver::Location;
use windlass_executor::process::SupervisorCommand;
use windlass_executor::{Runtime, RuntimeError};
use windlass_project::RuntimeKind;

/// A kind of runtime. Its settings in `windlass.yaml` are those of its [`RuntimeKind`].
#[async_trait]
pub trait RuntimeFactory: RuntimeKind {
    /// Returns the runtimes of this kind for a project. Nothing is created or contacted yet.
    fn project(&self, context: &RuntimeContext) -> Arc<dyn ProjectRuntimes>;

    /// Inspects the runtimes of this kind on this machine, and those that the locations of the kind name.
    async fn doctor(&self, context: &RuntimeContext, locations: &[Location]) -> Vec<RuntimeView>;
}

/// The runtimes of one kind in a project.
#[async_trait]
pub trait ProjectRuntimes: Send + Sync {
    /// Returns the runtime of a location of this kind, and opens it on first use.
    ///
    /// # Errors
    /// A sentence that gives the reason why there is none.
    async fn at(&self, location: &Location) -> Result<Arc<dyn Runtime>, String>;

    /// Returns the runtimes that may hold jobs of earlier processes.
    ///
    /// # Errors
    /// A sentence that names a runtime which does not answer, and the reason. Jobs may still run there.
    async fn with_jobs(&self) -> Result<Vec<Arc<dyn Runtime>>, String>;

    /// Closes the open runtimes, and removes what killed owners have left. Jobs that must not be interrupted
    /// keep running. The runtimes may be opened again.
    ///
    /// # Errors
    /// If a runtime can't be closed.
    async fn close(&self) -> Result<(), RuntimeError>;
}

/// The variables of an environment.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The data of a project that are needed to open runtimes.
#[derive(Clone)]
#[non_exhaustive]
pub struct RuntimeContext {
    /// The state folder of the project, which need not exist. A kind keeps its files in a folder of its own
    /// there.
    pub state: PathBuf,
    /// The folder with the images of sandboxes.
    pub images: PathBuf,
    /// The command that supervises jobs.
    pub supervisor: SupervisorCommand,
    /// The environment, for kinds that find their engine by it.
    pub variables: Variables,
}

/// The state of one runtime of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuntimeView {
    /// Its kind, as in a location.
    pub runtime: String,
    /// The engine, as in a location.
    pub engine: Option<String>,
    /// Whether jobs can run on it now.
    pub ready: bool,
    /// A description: name, version, path.
    pub what: String,
    /// The limits on jobs that it enforces.
    pub limits: Vec<String>,
    /// The means by which it isolates jobs.
    pub hardening: Vec<String>,
    /// Its limitations, and features that were never tested with it.
    pub caveats: Vec<String>,
    /// A hint on fixing a missing requirement.
    pub advice: Option<String>,
}

impl RuntimeView {
    /// Creates the view of a runtime of a kind: whether it is ready, and a description.
    pub fn new(runtime: impl Into<String>, ready: bool, what: impl Into<String>) -> Self {
        Self {
            runtime: runtime.into(),
            engine: None,
            ready,
            what: what.into(),
            limits: Vec::new(),
            hardening: Vec::new(),
            caveats: Vec::new(),
            advice: None,
        }
    }
}
