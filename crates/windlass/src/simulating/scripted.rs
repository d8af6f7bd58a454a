//! Jobs that run scripts. The clock of the simulation waits for them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use windlass_driver::{Context, Failure, JobFailure, Report, Unrecorded};
use windlass_executor::{Job, Outcome};
use windlass_model::Timestamp;

use super::answered::Kept;

/// A context that runs jobs, and notes the time that they take.
pub(super) struct Scripted {
    inner: Unrecorded,
    /// The virtual time.
    now: Timestamp,
    kept: Mutex<Kept>,
}

impl Scripted {
    pub(super) fn new(inner: Unrecorded, now: Timestamp) -> Self {
        Self { inner, now, kept: Mutex::default() }
    }

    pub(super) fn into_kept(self) -> Kept {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Context for Scripted {
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
        let outcome = self.inner.job(name, job).await?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let millis = outcome
            .started
            .map_or(0, |started| outcome.ended.as_millis().saturating_sub(started.as_millis()));
        // Whole seconds, so that the same scripts give the same timeline.
        kept.took += Duration::from_secs(millis / 1000);
        kept.stderr.push_str(&outcome.stderr.text());
        Ok(outcome)
    }

    async fn checkpoint(&self, _: usize, report: Report) -> Result<(), Failure> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).checkpoint = Some(report);
        Ok(())
    }

    fn hide(&self, _: &[String]) {}

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }

    fn now(&self) -> Timestamp {
        self.now
    }
}
