//! A context over the process runtime, in a folder of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;
use windlass_driver::{Context, Failure, FailureKind, JobFailure, Report};
use windlass_executor::process::{ProcessOptions, ProcessRuntime, SupervisorCommand};
use windlass_executor::{Job, Outcome, Runtime};
use windlass_model::Timestamp;

use crate::schemas::{check_input, check_output};

/// A context that records the jobs and checkpoints of a driver. The context also checks the input and output documents
/// of each script.
pub(crate) struct Place {
    folder: TempDir,
    runtime: Arc<ProcessRuntime>,
    count: AtomicU32,
    jobs: Mutex<Vec<(String, Job)>>,
    checkpoints: Mutex<Vec<Report>>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options =
            ProcessOptions::new(folder.path().join("jobs"), SupervisorCommand::new(supervisor(), [""; 0]));
        let runtime = Arc::new(ProcessRuntime::open_with(options).unwrap());
        let (jobs, checkpoints) = (Mutex::default(), Mutex::default());
        Self { folder, runtime, count: AtomicU32::new(0), jobs, checkpoints }
    }

    pub(crate) fn runtime(&self) -> Arc<ProcessRuntime> {
        self.runtime.clone()
    }

    /// Returns a path in the context's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Lists all files below a folder of the context, sorted.
    pub(crate) fn files(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let root = self.path(name);
        walk(&root, &mut |path| found.push(path.strip_prefix(&root).unwrap().display().to_string()));
        found.sort();
        found
    }

    /// Returns the names and inputs of all jobs.
    pub(crate) fn jobs(&self) -> Vec<(String, String)> {
        let text = |job: &Job| String::from_utf8(job.stdin.expose().to_vec()).unwrap();
        self.jobs.lock().unwrap().iter().map(|(name, job)| (name.clone(), text(job))).collect()
    }

    /// Returns the last job.
    pub(crate) fn last_job(&self) -> Job {
        self.jobs.lock().unwrap().last().unwrap().1.clone()
    }

    pub(crate) fn checkpoints(&self) -> Vec<Report> {
        self.checkpoints.lock().unwrap().clone()
    }
}

#[async_trait]
impl Context for Place {
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
        self.jobs.lock().unwrap().push((name.to_owned(), job.clone()));
        check_input(std::str::from_utf8(job.stdin.expose()).unwrap());
        let id = format!("job-{}", self.count.fetch_add(1, Ordering::Relaxed)).parse().unwrap();
        let failed = |error: windlass_executor::RuntimeError| {
            JobFailure::NotRun(Failure::new(FailureKind::Infrastructure, error.to_string()))
        };
        let outcome = self.runtime.run(&id, &job).await.map_err(failed)?;
        check_output(&outcome.stdout);
        Ok(outcome)
    }

    async fn checkpoint(&self, _: usize, report: Report) -> Result<(), Failure> {
        self.checkpoints.lock().unwrap().push(report);
        Ok(())
    }

    fn hide(&self, _: &[String]) {}

    fn cancelled(&self) -> bool {
        false
    }

    fn now(&self) -> Timestamp {
        Timestamp::default()
    }
}

/// A context in which every job has the given outcome, without being run.
pub(crate) struct Canned(pub(crate) Outcome);

#[async_trait]
impl Context for Canned {
    async fn job(&self, _: &str, _: Job) -> Result<Outcome, JobFailure> {
        check_output(&self.0.stdout);
        Ok(self.0.clone())
    }

    async fn checkpoint(&self, _: usize, _: Report) -> Result<(), Failure> {
        Ok(())
    }

    fn hide(&self, _: &[String]) {}

    fn cancelled(&self) -> bool {
        false
    }

    fn now(&self) -> Timestamp {
        Timestamp::default()
    }
}

/// Returns the path of the example `supervisor`, which cargo builds before it runs the tests.
fn supervisor() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap().join("examples/supervisor");
    assert!(built.exists(), "run `cargo build -p windlass-script --example supervisor` first");
    built
}

pub(crate) fn walk(folder: &Path, found: &mut dyn FnMut(&Path)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() { walk(&path, found) } else { found(&path) }
    }
}
