//! A folder for one test, and a check of what the test left.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use windlass_executor::{
    process::{ProcessOptions, ProcessRuntime, SupervisorCommand},
    testing::leftovers,
};

use crate::attempts::given;

/// Maximum time for which a test waits for a condition.
const LIMIT: Duration = Duration::from_secs(60);

/// A folder that contains only the folders of runtimes.
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

    /// Returns the process ids of all processes whose environment names this place: jobs, and what they left
    /// behind.
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

    /// Returns the folder in memory for the output of this place's jobs, if the host has one.
    pub(crate) fn memory(&self) -> Option<PathBuf> {
        let is_tmpfs = |path: &Path| rustix::fs::statfs(path).is_ok_and(|found| found.f_type == 0x0102_1994);
        let found = fs::metadata(self.state()).ok()?;
        let user = format!("windlass-{}", rustix::process::geteuid().as_raw());
        let digest = Sha256::digest(self.state().as_os_str().as_encoded_bytes());
        let name = format!("{}-{}-{}", found.dev(), found.ino(), hex::encode(&digest[..6]));
        let folder = Path::new("/dev/shm").join(user).join(name);
        (is_tmpfs(Path::new("/dev/shm")) && !is_tmpfs(&self.state())).then_some(folder)
    }

    /// Returns everything on the host that this place has created.
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

    /// Closes the runtime. Fails if a process, a folder or a file is left.
    pub(crate) async fn is_left_clean(&self, runtime: Arc<ProcessRuntime>) {
        assert_eq!(self.processes(), [0; 0], "processes are left");
        let memory = self.memory();
        runtime.close().await.unwrap();
        drop(runtime);
        // The supervisor of a dead owner ends by itself, a moment after its last job.
        let begun = Instant::now();
        while !leftovers::files(self.0.path()).is_empty() && begun.elapsed() < LIMIT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(leftovers::files(self.0.path()), BTreeSet::new(), "files are left");
        assert!(!memory.is_some_and(|memory| memory.exists()), "files are left in memory");
    }
}

pub(crate) fn supervisor() -> SupervisorCommand {
    let usual = || PathBuf::from(env!("CARGO_BIN_EXE_windlass-supervisor"));
    SupervisorCommand::new(given().map_or_else(usual, |folder| folder.join("supervisor")), [""; 0])
}

/// Returns the paths of everything below a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path().display().to_string());
        found.extend(files(&entry.path()));
    }
    found
}

/// Polls until a condition holds that no event reports.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
