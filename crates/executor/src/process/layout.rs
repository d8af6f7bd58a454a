//! The files and folders of the process runtime. All file names are defined here. `<state>` is the jobs
//! folder, and an owner is a process that submits jobs.
//!
//! ```text
//! <state>/<job id>/          0700, renamed to this path when complete; locked by the supervisor of the job
//!           job.json         the job without stdin and contents of files; later a second line, with the end
//!           stdin            the job's stdin until the job starts, if the stdin is long
//!           work/            the working folder
//!           tmp/             the job's TMPDIR
//!           room             only for a prewarmed sandbox: a link to the folder in which the sandbox was created;
//!                            the path of that folder marks the processes of the sandbox
//!           stdout stderr    the first bytes of the stream, up to a limit; for short output, a link to a file in
//!                            /dev/shm
//!           stdout.tail …    the last bytes of a stream that is longer than the limit
//! <state>/.staging/<owner>/  the owner's jobs that have not started, and jobs being removed; locked by the owner.
//!                            A supervisor that prewarms sandboxes has a folder here, too
//! <state>/.control/<pid>-<time>          the pipe by which other owners cancel the jobs of a supervisor
//! <state>/.control/.groups-<pid>-<time>  the paths of a supervisor's control groups, if it has created any
//! ```
//!
//! The stdin of a job is a file and not a pipe, so the supervisor never waits for a job that does not read its input.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::{JobId, RuntimeError, Stream};

/// Returns the first 12 hexadecimal digits of the SHA-256 of a folder's path. Names of control groups, and of folders
/// in memory, contain these digits instead of the path. The path may be too long, and other users can read these names.
pub(crate) fn digest(folder: &Path) -> String {
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    hex::encode(&digest[..6])
}

/// The jobs folder. All processes that submit jobs to it, and their supervisors, share the folder.
#[derive(Debug, Clone)]
pub(crate) struct StateDir(PathBuf);

impl StateDir {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self(root)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn staging(&self) -> PathBuf {
        self.0.join(".staging")
    }

    pub(crate) fn control(&self) -> PathBuf {
        self.0.join(".control")
    }

    pub(crate) fn job(&self, id: &JobId) -> JobFolder {
        JobFolder(self.0.join(id.as_str()))
    }

    /// Lists the jobs in the folder, sorted. Names that are no job ids are skipped.
    pub(crate) fn jobs(&self) -> io::Result<Vec<JobId>> {
        let mut ids: Vec<JobId> = entries(&self.0)?.iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort();
        Ok(ids)
    }
}

/// The folder of one job: at its final path, or in a staging folder.
#[derive(Debug, Clone)]
pub(crate) struct JobFolder(PathBuf);

impl JobFolder {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.0.join("job.json")
    }

    /// Returns the file in which earlier versions wrote the end of a job.
    pub(crate) fn former_ending(&self) -> PathBuf {
        self.0.join("outcome.json")
    }

    pub(crate) fn stdin(&self) -> PathBuf {
        self.0.join("stdin")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// Returns the path of the symbolic link `room`. Only a job with a prewarmed sandbox has this link. The link's
    /// target is the path of the folder in which the sandbox was created.
    pub(crate) fn sandbox_link(&self) -> PathBuf {
        self.0.join("room")
    }

    pub(crate) fn spill(&self, stream: Stream) -> PathBuf {
        self.0.join(stream.name())
    }

    pub(crate) fn tail(&self, stream: Stream) -> PathBuf {
        self.0.join(format!("{}.tail", stream.name()))
    }
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Lists the names in a folder. If the folder does not exist, the list is empty.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<String>> {
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing?,
    };
    listing.filter_map(|entry| entry.map(|entry| entry.file_name().into_string().ok()).transpose()).collect()
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a function that wraps an I/O error with the attempted action and the path.
pub(crate) fn storage(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RuntimeError {
    let path = path.to_owned();
    move |source| RuntimeError::Storage { action, path, source }
}
