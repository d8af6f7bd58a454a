//! What a sandbox runtime is told when it is opened.

use std::{num::NonZeroUsize, path::PathBuf};

use crate::{
    Bounds,
    process::{ProcessOptions, SupervisorCommand},
};

/// What a job may use that asks for no limit: generous for a script, and less than what takes a machine down.
pub const DEFAULT_BOUNDS: Bounds =
    Bounds { memory_bytes: Some(2 << 30), pids: Some(1024), cpu_millis: None, open_files: Some(4096) };

/// Where a [`SandboxRuntime`](crate::sandbox::SandboxRuntime) keeps its jobs and images, and how its sandboxes are made.
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a runtime is opened with them"]
pub struct SandboxOptions {
    pub(crate) jobs: ProcessOptions,
    pub(crate) store: PathBuf,
    pub(crate) bwrap: PathBuf,
    pub(crate) tmp_bytes: u64,
    pub(crate) bounds: Bounds,
}

impl SandboxOptions {
    /// Takes the folder for the jobs, the folder of the image store, and how to start a supervisor. The folder for the
    /// jobs is not to be shared with a process runtime. `bwrap` is looked up in `PATH`, and `/tmp` has 256 MiB.
    pub fn new(
        state_dir: impl Into<PathBuf>,
        store: impl Into<PathBuf>,
        supervisor: SupervisorCommand,
    ) -> Self {
        Self {
            jobs: ProcessOptions::new(state_dir, supervisor),
            store: store.into(),
            bwrap: PathBuf::from("bwrap"),
            tmp_bytes: 256 << 20,
            bounds: DEFAULT_BOUNDS,
        }
    }

    /// Holds jobs that ask for no limit of their own to these, as far as this host can enforce them.
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Keeps volumes in this folder.
    pub fn volumes_dir(mut self, volumes_dir: impl Into<PathBuf>) -> Self {
        self.jobs = self.jobs.volumes_dir(volumes_dir);
        self
    }

    /// Runs this many jobs at a time; the others wait for their turn.
    pub fn at_once(mut self, at_once: NonZeroUsize) -> Self {
        self.jobs = self.jobs.at_once(at_once);
        self
    }

    /// Makes sandboxes with this program (bubblewrap): a path, or a name that is looked up in `PATH`.
    pub fn bwrap(mut self, bwrap: impl Into<PathBuf>) -> Self {
        self.bwrap = bwrap.into();
        self
    }

    /// Gives each job this many bytes for temporary files, which are held in memory.
    pub fn tmp_bytes(mut self, bytes: u64) -> Self {
        self.tmp_bytes = bytes;
        self
    }
}
