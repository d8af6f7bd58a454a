//! The contract of every runtime.

use std::{io, path::PathBuf, time::Duration};

use async_trait::async_trait;

use crate::{Capabilities, Capability, Events, Job, JobError, JobId, Outcome, Owner};

/// A place where jobs run: processes of this host, containers of an engine, pods of a cluster.
///
/// A job's life is `submit`, `wait`, `remove`. Between any two of them the caller may die: its next life calls
/// [`find`](Runtime::find) with the id that it wrote down before the submission, and goes on from there.
///
/// Nothing here assumes a disk that is shared with the job, or that it runs on this host. The
/// conformance suite (`testing`, behind the feature of that name) holds every implementation to this page.
#[async_trait]
pub trait Runtime: Send + Sync {
    /// Returns the runtime's kind, as a location names it: `process`, `docker`.
    fn kind(&self) -> &str;

    /// Returns what it can do beyond what every runtime does.
    fn capabilities(&self) -> Capabilities;

    /// Hands over a job. When it returns, the job is the runtime's: everything it was given is stored, and it
    /// starts as soon as there is room.
    ///
    /// Idempotent: of any number of submissions with one id, one job runs, the first. The others answer `Ok`,
    /// even when that one has ended.
    ///
    /// # Errors
    /// [`RuntimeError::Invalid`] and [`RuntimeError::Unsupported`] before anything was done; all others leave it
    /// open whether there is a job, which [`find`](Runtime::find) tells. That the command can't be *started* is
    /// no error but an [outcome](crate::End::NotStarted).
    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError>;

    /// Looks a job up, whoever submitted it.
    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError>;

    /// Follows a job from its beginning to its end, also one that has ended.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError>;

    /// Waits for a job's end. Any number of callers may wait, again and again, until it is removed. Of a job
    /// that is [`Gone`](Found::Gone) the end is [`End::Lost`](crate::End::Lost).
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError>;

    /// Asks a job to end (SIGTERM), and ends it after `grace` (SIGKILL) with all its processes. Returns at once;
    /// [`wait`](Runtime::wait) tells when it is done. A job that ended before is left as it is.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError>;

    /// Removes a job that has ended, with everything it left: after this, [`find`](Runtime::find) says
    /// [`Never`](Found::Never). To be called once its outcome is stored where it counts. Removing a job that
    /// isn't there is fine.
    ///
    /// # Errors
    /// [`RuntimeError::StillRunning`] when it has not ended.
    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError>;

    /// Lists the jobs of an owner that have not been removed, in order of their ids.
    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError>;

    /// Submits a job, waits for it and removes it: for callers to whom the outcome in memory is enough.
    ///
    /// Dropping the future leaves the job running.
    async fn run(&self, id: &JobId, job: &Job) -> Result<Outcome, RuntimeError> {
        self.submit(id, job).await?;
        let mut outcome = self.wait(id).await?;
        self.remove(id).await?;
        outcome.stdout = outcome.stdout.with_spill(None);
        outcome.stderr = outcome.stderr.with_spill(None);
        Ok(outcome)
    }
}

/// What [`Runtime::find`] knows of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// No job of this id was ever started, or it was removed.
    Never,
    /// It is waiting for its turn, or runs.
    Running,
    /// It has ended.
    Ended(Box<Outcome>),
    /// It was started, it doesn't run any more, and how it ended can't be known.
    Gone,
}

/// Why a runtime could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The job could not run anywhere.
    #[error("the job can't be run: {0}")]
    Invalid(#[from] JobError),
    /// The job needs what this runtime can't do.
    #[error("the runtime `{runtime}` can't give the job {}", listed(missing))]
    Unsupported {
        /// The kind of the runtime.
        runtime: String,
        /// Everything that is missing.
        missing: Vec<Capability>,
    },
    /// There is no job of this id.
    #[error("there is no job `{id}`")]
    UnknownJob {
        /// The id as given.
        id: JobId,
    },
    /// The job has not ended, so it can't be removed.
    #[error("the job `{id}` is still running: cancel it or wait for it before removing it")]
    StillRunning {
        /// The id as given.
        id: JobId,
    },
    /// A file or folder that the runtime keeps could not be read or written.
    #[error("can't {action} `{}`", path.display())]
    Storage {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the host said.
        source: io::Error,
    },
    /// What runs the jobs (supervisor, engine, cluster) can't be reached or refused.
    #[error("the runtime `{runtime}` is not available: {problem}")]
    Unavailable {
        /// The kind of the runtime.
        runtime: String,
        /// What went wrong, for people.
        problem: String,
    },
}

fn listed(missing: &[Capability]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
