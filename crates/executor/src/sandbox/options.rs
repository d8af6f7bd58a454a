//! Options of a sandbox runtime.

use std::{num::NonZeroUsize, path::PathBuf};

use rustix::process::{Resource, getrlimit};

use crate::{
    Bounds,
    process::{ProcessOptions, SupervisorCommand},
};

/// Default limits. Each of them applies to a job that does not set this limit itself. The values are enough
/// for a script, and too small to exhaust a machine.
pub const DEFAULT_BOUNDS: Bounds =
    Bounds { memory_bytes: Some(2 << 30), pids: Some(1024), cpu_millis: None, open_files: Some(4096) };

/// Returns the default limits `bounds`, with a limit of open files that this process can set. If the limit in `bounds`
/// is above the hard limit of this process, the result contains the hard limit instead.
pub fn settable(mut bounds: Bounds) -> Bounds {
    let hard = getrlimit(Resource::Nofile).maximum;
    bounds.open_files = bounds.open_files.map(|files| hard.map_or(files, |hard| files.min(hard)));
    bounds
}

/// The options of a [`SandboxRuntime`](crate::sandbox::SandboxRuntime): folders of its jobs and images, and
/// settings of its sandboxes.
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
    /// Creates options from the folder for the jobs, the folder of the image store, and the command that
    /// starts a supervisor. The folder for the jobs must not be shared with a process runtime. By default
    /// `bwrap` is looked up in the system's program folders, and `/tmp` has 256 MiB.
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

    /// Sets the default limits. Each of them applies to a job that does not set this limit itself, if this
    /// host can enforce the limit. If the maximum number of open files is above the hard limit of this process,
    /// the hard limit applies instead.
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Sets the folder for volumes.
    pub fn volumes_dir(mut self, volumes_dir: impl Into<PathBuf>) -> Self {
        self.jobs = self.jobs.volumes_dir(volumes_dir);
        self
    }

    /// Sets the maximum number of concurrent jobs; further jobs are queued.
    pub fn at_once(mut self, at_once: NonZeroUsize) -> Self {
        self.jobs = self.jobs.at_once(at_once);
        self
    }

    /// Sets the program that creates sandboxes (bubblewrap): a path, or a name that is looked up in the
    /// system's program folders.
    pub fn bwrap(mut self, bwrap: impl Into<PathBuf>) -> Self {
        self.bwrap = bwrap.into();
        self
    }

    /// Sets the maximum size, in bytes, of each job's folder for temporary files. These files are in memory.
    pub fn tmp_bytes(mut self, bytes: u64) -> Self {
        self.tmp_bytes = bytes;
        self
    }
}
