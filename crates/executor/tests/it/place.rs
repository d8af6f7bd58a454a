//! A folder for one test, and a look at what the test left.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use windlass_executor::{
    process::{ProcessOptions, ProcessRuntime, SupervisorCommand},
    testing::leftovers,
};

/// The longest a test waits for a fact.
const LIMIT: Duration = Duration::from_secs(60);

/// A folder with nothing but the folders of runtimes in it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join("jobs")
    }

    pub(crate) fn options(&self) -> ProcessOptions {
        ProcessOptions::new(self.state(), supervisor())
    }

    pub(crate) fn runtime(&self) -> ProcessRuntime {
        ProcessRuntime::open_with(self.options()).unwrap()
    }

    /// The numbers of all processes whose environment names this place: jobs, and what they left behind.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let numbers =
            fs::read_dir("/proc").unwrap().flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
        let place = self.0.path().to_str().unwrap().as_bytes();
        let is_here = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.windows(place.len()).any(|window| window == place)
        };
        numbers.filter(is_here).collect()
    }

    /// All that is on the host because of this place.
    pub(crate) fn host(&self) -> BTreeSet<String> {
        let mark = self.0.path().to_str().unwrap();
        let seen = [
            leftovers::files(self.0.path()),
            leftovers::processes(mark),
            leftovers::mounts(mark),
            leftovers::groups(&self.state()),
        ];
        seen.into_iter().flatten().collect()
    }

    /// Closes the runtime, and fails if then there is a process, a folder or a file.
    pub(crate) async fn is_left_clean(&self, runtime: Arc<ProcessRuntime>) {
        assert_eq!(self.processes(), [0; 0], "processes are left");
        runtime.close().await.unwrap();
        drop(runtime);
        // The supervisor of an owner that died goes by itself, a moment after its last job has ended.
        let begun = Instant::now();
        while !files(self.0.path()).is_empty() && begun.elapsed() < LIMIT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(files(self.0.path()), [""; 0], "files are left");
    }
}

pub(crate) fn supervisor() -> SupervisorCommand {
    SupervisorCommand::new(env!("CARGO_BIN_EXE_windlass-supervisor"), [""; 0])
}

/// Everything below a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path().display().to_string());
        found.extend(files(&entry.path()));
    }
    found
}

/// Waits for a fact that nobody tells of.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
