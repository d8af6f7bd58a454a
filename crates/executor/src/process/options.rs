//! What a process runtime is told when it is opened.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread::available_parallelism,
};

use crate::{confine::Confinement, process::SupervisorCommand};

/// How many jobs run at a time for each processor: more only makes each of them slower.
const PER_PROCESSOR: NonZeroUsize = NonZeroUsize::new(4).expect("it is not zero");

/// Where a [`ProcessRuntime`](crate::process::ProcessRuntime) keeps its jobs, and how many run at a time.
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
    /// Takes the folder for the jobs, which is made if needed (mode 0700), and how to start a supervisor. Volumes are
    /// in a folder `volumes` beside it, and four jobs a processor run at a time.
    pub fn new(state_dir: impl Into<PathBuf>, supervisor: SupervisorCommand) -> Self {
        let state_dir = state_dir.into();
        let volumes_dir = state_dir.parent().unwrap_or(Path::new("")).join("volumes");
        let at_once = available_parallelism().unwrap_or(NonZeroUsize::MIN).saturating_mul(PER_PROCESSOR);
        Self { state_dir, volumes_dir, supervisor, at_once, confinement: Confinement::none() }
    }

    /// Keeps volumes in this folder.
    pub fn volumes_dir(mut self, volumes_dir: impl Into<PathBuf>) -> Self {
        self.volumes_dir = volumes_dir.into();
        self
    }

    /// Holds all jobs to this. A runtime that can't do it on this host does not open.
    pub fn confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// Runs this many jobs at a time; the others wait for their turn.
    pub fn at_once(mut self, at_once: NonZeroUsize) -> Self {
        self.at_once = at_once;
        self
    }
}
