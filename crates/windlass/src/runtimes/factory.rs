//! The traits that the module of a kind of runtime implements, and the types of their arguments and results.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use windlass_driver::Location;
use windlass_executor::process::SupervisorCommand;
use windlass_executor::{Runtime, RuntimeError};
use windlass_project::RuntimeKind;

use crate::supervise;

/// A kind of runtime, with functions that open and inspect runtimes of this kind. The supertrait
/// [`RuntimeKind`] declares the settings of the kind in `windlass.yaml`.
#[async_trait]
pub trait RuntimeFactory: RuntimeKind {
    /// Returns the runtimes of this kind for a project. Nothing is created or contacted yet.
    fn project(&self, context: &RuntimeContext) -> Arc<dyn ProjectRuntimes>;

    /// Inspects the runtimes of this kind on this machine, and the runtimes that the given locations name.
    async fn doctor(&self, context: &RuntimeContext, locations: &[Location]) -> Vec<RuntimeView>;

    /// Tells whether a program is missing where the jobs of a location run. `program` is an absolute path, or a name
    /// that jobs look up in their variable `PATH`. The default returns `false`, as if each program existed: the jobs of
    /// many kinds run in an image, or on another machine.
    fn lacks(&self, location: &Location, program: &str) -> bool {
        let _ = (location, program);
        false
    }
}

/// The runtimes of one kind in a project.
#[async_trait]
pub trait ProjectRuntimes: Send + Sync {
    /// Returns the runtime of a location. The location must have the kind of runtime to which this object belongs.
    /// Opens the runtime at its first use.
    ///
    /// # Errors
    /// Returns a sentence with the reason why the location has no runtime.
    async fn at(&self, location: &Location) -> Result<Arc<dyn Runtime>, String>;

    /// Returns the runtimes that may hold jobs of earlier processes.
    ///
    /// # Errors
    /// Fails if a runtime does not answer. Jobs may still run on this runtime. The error is a sentence with the
    /// name of the runtime and the reason.
    async fn with_jobs(&self) -> Result<Vec<Arc<dyn Runtime>>, String>;

    /// Closes the open runtimes. Also removes files and folders that are left over from killed windlass programs. Jobs
    /// that must not be interrupted keep running. The runtimes may be opened again.
    ///
    /// # Errors
    /// Fails if a runtime can't be closed.
    async fn close(&self) -> Result<(), RuntimeError>;
}

/// A function that returns the value of an environment variable.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The project's data that are needed to open runtimes.
#[derive(Clone)]
#[non_exhaustive]
pub struct RuntimeContext {
    /// The state folder of the project. The folder need not exist. The kinds of runtimes keep their files in
    /// subfolders, such as `jobs` and `rooms`.
    pub state: PathBuf,
    /// The folder with the images of sandboxes.
    pub images: PathBuf,
    /// The command that starts a supervisor of jobs.
    pub supervisor: SupervisorCommand,
    /// The environment variables. Some kinds of runtimes use them to find their container engine.
    pub variables: Variables,
}

impl RuntimeContext {
    /// Creates a context for tests of a [`RuntimeFactory`]. The images are in the subfolder `images` of the state
    /// folder, the running program is the supervisor of jobs, and there are no environment variables. The test can
    /// change the fields.
    pub fn new(state: impl Into<PathBuf>) -> Self {
        let state = state.into();
        Self {
            images: state.join("images"),
            supervisor: supervise::command(),
            variables: Arc::new(|_| None),
            state,
        }
    }
}

impl fmt::Debug for RuntimeContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeContext")
            .field("state", &self.state)
            .field("images", &self.images)
            .field("supervisor", &self.supervisor)
            .finish_non_exhaustive()
    }
}

/// The state of one runtime of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuntimeView {
    /// The kind of the runtime: a value of the key `runtime` in a location.
    pub runtime: String,
    /// The container engine: a value of the key `engine` in a location. `None` for a runtime without a
    /// container engine.
    pub engine: Option<String>,
    /// Whether jobs can run on the runtime now.
    pub ready: bool,
    /// A description of the runtime: name, version, path.
    pub what: String,
    /// The limits on jobs that the runtime enforces.
    pub limits: Vec<String>,
    /// The means by which the runtime isolates jobs.
    pub hardening: Vec<String>,
    /// Limitations of the runtime, and its features that were never tested.
    pub caveats: Vec<String>,
    /// A hint for the user to fix a missing requirement.
    pub advice: Option<String>,
}

impl RuntimeView {
    /// Creates the view of a runtime from its kind, its readiness and its description.
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
