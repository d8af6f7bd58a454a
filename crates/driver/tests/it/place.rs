//! A process runtime in a separate folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use windlass_executor::process::{ProcessOptions, ProcessRuntime, SupervisorCommand};

/// A folder with a runtime.
pub(crate) struct Place {
    _folder: TempDir,
    pub(crate) runtime: Arc<ProcessRuntime>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = SupervisorCommand::new(supervisor(), [""; 0]);
        let options = ProcessOptions::new(folder.path().join("jobs"), supervisor);
        Self { runtime: Arc::new(ProcessRuntime::open_with(options).unwrap()), _folder: folder }
    }
}

/// Returns the path of the example `driver_supervisor`, which cargo builds before it runs the tests.
fn supervisor() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap().join("examples/driver_supervisor");
    assert!(built.exists(), "run `cargo build -p windlass-driver --example driver_supervisor` first");
    built
}
