//! The contract of every runtime.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Capabilities, Events, Job, JobId, Outcome, Owner, RuntimeError};

/// A place where jobs run: this host, or a container engine.
///
/// A caller calls `submit`, `wait` and `remove` for each job. If the caller dies between two of these calls,
/// the next process calls [`find`](Runtime::find) with the id that the caller stored before the submission.
/// The answer tells the next process whether the job was submitted, and whether it has ended.
///
/// No method assumes that a job shares a disk with the caller or runs on the caller's host. The conformance
/// suite (module and feature `testing`) checks this contract for every implementation.
#[async_trait]
pub trait Runtime: Send + Sync {
    /// Returns the kind of the runtime, such as `process` or `docker`. In `windlass.yaml`, a location (a place
    /// where scripts run) chooses its runtime by this word.
    fn kind(&self) -> &str;

    /// Returns the optional capabilities of this runtime.
    fn capabilities(&self) -> Capabilities;

    /// Submits a job. After `Ok`, the runtime starts the job as soon as it has capacity. Until then, the input of
    /// the job may exist only in the memory of this process (see [`stored`](Runtime::stored)).
    ///
    /// The method is idempotent. If jobs are submitted several times with one id, only the first of these
    /// jobs runs, and only once. Each later submission returns `Ok` and has no effect, even if the first job
    /// has ended.
    ///
    /// # Errors
    /// After [`RuntimeError::Invalid`] and [`RuntimeError::Unsupported`], the runtime has done nothing. After
    /// any other error, the job may or may not exist; [`find`](Runtime::find) tells whether it does. If the
    /// program of a job can't be started, the runtime reports an [outcome](crate::End::NotStarted), not an
    /// error.
    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError>;

    /// Waits until a submitted job no longer depends on this process: the runtime has stored all input of the job,
    /// or the job has ended. If this process dies earlier, the job never starts, and [`find`](Runtime::find) returns
    /// [`Never`](Found::Never). Returns `false` if the runtime can't store the job; the job then never starts.
    ///
    /// The default implementation returns `true` at once. A runtime that queues jobs in memory implements the
    /// method. If a runtime passes jobs to another runtime, it also passes the calls of this method.
    async fn stored(&self, _id: &JobId) -> bool {
        true
    }

    /// Returns the state of a job, even if another process submitted the job.
    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError>;

    /// Returns the events of a job from its start to its end. The job may have ended before the call.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError>;

    /// Waits for the end of a job and returns its outcome. Any number of callers may wait at the same time. After the
    /// end, further calls return the same outcome, until the job is removed. If the job is [`Gone`](Found::Gone), the
    /// outcome is [`End::Lost`](crate::End::Lost).
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError>;

    /// Asks a job to end (SIGTERM), and kills all its processes after `grace` (SIGKILL). The method does not
    /// wait for the end; [`wait`](Runtime::wait) does. If the job has already ended, the method does nothing.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownJob`] when there is no such job.
    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError>;

    /// Removes an ended job and all its files. Callers store the outcome before they call this method. After the
    /// removal, [`find`](Runtime::find) returns [`Never`](Found::Never). Removing an unknown job is no error.
    ///
    /// # Errors
    /// [`RuntimeError::StillRunning`] when the job has not ended.
    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError>;

    /// Lists the jobs of an owner that have not been removed, sorted by id.
    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError>;

    /// Submits a job, waits for it and removes it. This method is for callers that do not store the outcome.
    ///
    /// If the caller drops the future, the job continues. The outcome contains no paths of [spill
    /// files](crate::Captured::spill), because these files are removed with the job.
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
    /// No job with this id was ever started, or the job was removed.
    Never,
    /// The job runs, or waits until the runtime has capacity for it.
    Running,
    /// The job has ended.
    Ended(Box<Outcome>),
    /// The job was started, runs no longer, and its end is unknown.
    Gone,
}

#[cfg(feature = "docker")]
impl Found {
    /// Returns the state of a job that has this outcome.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome.end {
            crate::End::Lost(_) => Self::Gone,
            _ => Self::Ended(Box::new(outcome.clone())),
        }
    }
}
