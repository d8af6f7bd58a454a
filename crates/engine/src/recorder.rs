//! The [`Context`] of health checks and searches. A driver runs its jobs in this context. The context keeps the last job that has
//! ended, so that the engine can record this job.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use windlass_driver::{Context, Failure, JobFailure, Report, Unrecorded};
use windlass_executor::{Job, Outcome};
use windlass_model::Timestamp;

use crate::work_time::WorkTime;

/// The last job that a [`Recorder`] has run: its id, its input and its outcome.
pub(crate) type LastJob = (String, String, Outcome);

/// A [`Context`] that runs jobs without records in the store, by means of [`Unrecorded`]. It keeps the input and
/// output of the last job in memory.
pub(crate) struct Recorder {
    inner: Unrecorded,
    last: Mutex<Option<LastJob>>,
    work: WorkTime,
}

impl Recorder {
    pub(crate) fn new(inner: Unrecorded) -> Self {
        Self { inner, last: Mutex::default(), work: WorkTime::new() }
    }

    /// Returns the time in which the driver works on its answer.
    pub(crate) fn work(&self) -> &WorkTime {
        &self.work
    }

    /// Returns the last job that has ended, and forgets it.
    pub(crate) fn take_last(&self) -> Option<LastJob> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[async_trait]
impl Context for Recorder {
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
        let _request = self.work.begin_request();
        let input = String::from_utf8_lossy(job.stdin.expose()).into_owned();
        let outcome = self.inner.job(name, job).await?;
        let id = format!("{}-{name}", self.inner.prefix);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, input, outcome.clone()));
        Ok(outcome)
    }

    async fn checkpoint(&self, call: usize, report: Report) -> Result<(), Failure> {
        self.inner.checkpoint(call, report).await
    }

    fn hide(&self, secrets: &[String]) {
        self.inner.hide(secrets);
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }
}
