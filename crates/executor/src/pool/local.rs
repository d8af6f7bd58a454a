//! A carrier that starts no containers. A [carrier](crate::pool::Carrier) is the means by which a pool starts
//! runners. This carrier starts them as children of this process, and isolates nothing. It is for tests on hosts
//! without a container engine.

use std::{
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use tokio::process::{Child, Command};

use super::{Carrier, ContainerNeeds, EndContainer, Shape, StartError, WarmContainer};
use crate::{Job, RuntimeError, runner};

/// Starts [runners](crate::runner) as children of this process.
#[derive(Debug)]
pub struct LocalCarrier {
    folder: PathBuf,
    next: AtomicU64,
}

impl LocalCarrier {
    /// Creates a carrier: a means to start [runners](crate::runner) for a pool. The folder `folder` must exist. In this
    /// folder, the carrier stores the program of the runners, and creates a subfolder for the jobs of each runner.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), next: AtomicU64::new(0) }
    }

    fn runner(&self) -> Result<PathBuf, RuntimeError> {
        let unavailable =
            |problem: String| RuntimeError::Unavailable { runtime: "local".to_owned(), problem };
        let path = self.folder.join("windlass-runner");
        let program = runner::program().ok_or_else(|| unavailable("there is no runner".to_owned()))?;
        place(&path, program).map_err(|error| unavailable(error.to_string()))?;
        Ok(path)
    }
}

/// Creates an executable file. Does nothing if the file exists.
fn place(path: &std::path::Path, program: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if path.exists() {
        return Ok(());
    }
    // The file with the runner's program gets its final name when it is complete, so it is never open for
    // writing while a runner starts.
    let fresh = path.with_extension("new");
    std::fs::remove_file(&fresh).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o755).open(&fresh)?;
    std::io::Write::write_all(&mut file, program)?;
    drop(file);
    std::fs::rename(fresh, path)
}

#[async_trait]
impl Carrier for LocalCarrier {
    async fn needs(&self, job: &Job) -> Option<ContainerNeeds> {
        // This carrier enforces no limits.
        let is_limited =
            job.limits.memory_bytes.is_some() || job.limits.pids.is_some() || job.limits.cpu_millis.is_some();
        (job.volumes.is_empty() && !is_limited).then(ContainerNeeds::default)
    }

    async fn start(&self, _shape: &Shape) -> Result<WarmContainer, StartError> {
        let problem = |error: std::io::Error| RuntimeError::Unavailable {
            runtime: "local".to_owned(),
            problem: error.to_string(),
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        std::fs::create_dir(&folder).map_err(problem)?;
        let mut command = Command::new(self.runner()?);
        command.arg("serve").arg(&folder).env_clear().kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Another thread may fork a child at the moment when the program's file is open for writing. The
        // child holds the file open until it executes a program. Until then, the start here fails with "text
        // file busy", and is repeated.
        let mut tries = 0;
        let mut child = loop {
            match command.spawn() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && tries < 100 => {
                    tries += 1;
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
                spawned => break spawned.map_err(problem)?,
            }
        };
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(problem(std::io::Error::other("the runner has no streams")).into());
        };
        let end = Box::new(EndLocalContainer { child, folder });
        Ok(WarmContainer { input: Box::new(input), output: Box::new(output), image_digest: None, end })
    }

    async fn reap(&self) -> Result<(), RuntimeError> {
        Ok(())
    }
}

struct EndLocalContainer {
    child: Child,
    folder: PathBuf,
}

#[async_trait]
impl EndContainer for EndLocalContainer {
    async fn end(mut self: Box<Self>) -> Option<String> {
        let status = self.child.wait().await;
        let _gone = std::fs::remove_dir_all(&self.folder);
        status.ok().map(|status| status.to_string())
    }
}
