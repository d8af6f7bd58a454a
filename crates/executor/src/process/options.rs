//! The settings that a program chooses when it opens a process runtime.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread::available_parallelism,
};

use crate::{confine::Confinement, process::SupervisorCommand};

/// Default number of concurrent jobs per processor. More jobs would only slow each other down.
const PER_PROCESSOR: NonZeroUsize = NonZeroUsize::new(4).expect("it is not zero");

/// The options of a [`ProcessRuntime`](crate::process::ProcessRuntime): the folders of its jobs, the command that
/// starts a supervisor, the maximum number of concurrent jobs, and their confinement.
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a runtime is opened with them"]
pub struct ProcessOptions {
    pub(crate) state_dir: PathBuf,
    pub(crate) volumes_dir: PathBuf,
    pub(crate) supervisor: SupervisorCommand,
    pub(crate) at_once: NonZeroUsize,
    pub(crate) confinement: Confinement,
}

impl ProcessOptions {
    /// Creates options. `state_dir` is the folder for the jobs, and `supervisor` is the command that starts a
    /// supervisor. If the folder `state_dir` does not exist, the runtime creates it with the mode 0700. By default,
    /// volumes are in a folder `volumes` beside `state_dir`, and up to four jobs per processor run at a time.
    pub fn new(state_dir: impl Into<PathBuf>, supervisor: SupervisorCommand) -> Self {
        let state_dir = state_dir.into();
        let volumes_dir = state_dir.parent().unwrap_or(Path::new("")).join("volumes");
        let at_once = available_parallelism().unwrap_or(NonZeroUsize::MIN).saturating_mul(PER_PROCESSOR);
        Self { state_dir, volumes_dir, supervisor, at_once, confinement: Confinement::none() }
    }

    /// Sets the folder for volumes.
    pub fn volumes_dir(mut self, volumes_dir: impl Into<PathBuf>) -> Self {
        self.volumes_dir = volumes_dir.into();
        self
    }

    /// Sets the confinement of all jobs. If the host can't enforce the confinement, the runtime refuses to
    /// open.
    pub fn confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// Sets the maximum number of concurrent jobs. Further jobs are queued.
    pub fn at_once(mut self, at_once: NonZeroUsize) -> Self {
        self.at_once = at_once;
        self
    }
}
