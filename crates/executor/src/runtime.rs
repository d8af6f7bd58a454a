//! The contract of every runtime.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Capabilities, Events, Job, JobId, Outcome, Owner, RuntimeError};

/// A place where jobs run: processes of this host, containers of an engine, pods of a cluster.
///
/// A job's life is `submit`, `wait`, `remove`. The caller may die between any two of them. The next process
/// calls [`find`](Runtime::find) with the id that was persisted before the submission, and resumes from
/// there.
///
/// No method assumes that the job shares a disk with the caller or runs on this host. The conformance suite
/// (`testing`, behind the feature of that name) holds every implementation to this contract.
#[async_trait]
pub trait Runtime: Send + Sync {
    /// Returns the runtime's kind, as a location names it: `process`, `docker`.
    fn kind(&self) -> &str;

    /// Returns the optional capabilities of this runtime.
    fn capabilities(&self) -> Capabilities;

    /// Submits a job. When this returns, the runtime owns the job: it has stored all input, and it starts the
    /// job as soon as there is capacity.
    ///
    /// Idempotent: of all jobs submitted with one id, the first one runs, and only once. Later submissions
    /// return `Ok`, even when that job has ended.
    ///
    /// # Errors
    /// [`RuntimeError::Invalid`] and [`RuntimeError::Unsupported`] are returned before anything was done.
    /// After any other error the job may or may not exist; [`find`](Runtime::find) tells whether it does. A
    /// command that can't be *started* is no error but an [outcome](crate::End::NotStarted).
    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError>;

    /// Looks a job up, independent of the process that submitted it.
    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError>;

    /// Follows a job from its start to its end, including a job that has already ended.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError>;

    /// Waits for a job's end. Any number of callers may wait, repeatedly, until the job is removed. For a job
    /// that is [`Gone`](Found::Gone) the end is [`End::Lost`](crate::End::Lost).
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError>;

    /// Asks a job to end (SIGTERM), and kills it with all its processes after `grace` (SIGKILL). Returns at
    /// once; [`wait`](Runtime::wait) returns when the job has ended. A job that ended before is left as it
    /// is.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError>;

    /// Removes a job that has ended, with all its files. After this, [`find`](Runtime::find) returns
    /// [`Never`](Found::Never). Call it once the outcome is persisted. Removing an unknown job is no error.
    ///
    /// # Errors
    /// [`RuntimeError::StillRunning`] when the job has not ended.
    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError>;

    /// Lists the jobs of an owner that have not been removed, sorted by id.
    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError>;

    /// Submits a job, waits for it and removes it. For callers that need the outcome in memory only.
    ///
    /// Dropping the future leaves the job running. The outcome names no spill files, since they are removed
    /// with the job.
    async fn run(&self, id: &JobId, job: &Job) -> Result<Outcome, RuntimeError> {
        self.submit(id, job).await?;
        let mut outcome = self.wait(id).await?;
        self.remove(id).await?;
        outcome.stdout = outcome.stdout.with_spill(None);
        outcome.stderr = outcome.stderr.with_spill(None);
        Ok(outcome)
    }
}

/// The state of a job, as [`Runtime::find`] returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// No job of this id was ever started, or it was removed.
    Never,
    /// The job waits for a slot, or runs.
    Running,
    /// The job has ended.
    Ended(Box<Outcome>),
    /// The job was started, runs no longer, and its end is unknown.
    Gone,
}
