//! A context that runs jobs and records nothing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_executor::{End, Job, JobId, Outcome, Owner, Runtime};
use windlass_model::{Clock, Timestamp};

use crate::call::Report;
use crate::contract::{Context, JobFailure};
use crate::{Failure, FailureKind, Stop};

/// Maximum time that the context still spends on a running job after a person has requested a stop. In this time, the
/// context cancels and removes the job.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// A [`Context`] that runs jobs and records nothing. It is for health checks, for searches, and for scripts that a
/// user runs by hand.
///
/// No outcome is recorded, so a job that is requested twice also runs twice. If the windlass program is killed, its
/// jobs can be found by the [prefix](Self::prefix) of their ids.
#[derive(Clone)]
pub struct Unrecorded {
    /// The runtime that runs the jobs.
    pub runtime: Arc<dyn Runtime>,
    /// The prefix of the job ids. No other context uses the same prefix. A job id is this prefix, a hyphen and
    /// the name of the job.
    pub prefix: String,
    /// The owner of the jobs; `None` if the jobs have no owner.
    pub owner: Option<Owner>,
    /// The clock from which the driver gets the current time.
    pub clock: Arc<dyn Clock>,
    /// Maximum duration of a job.
    pub longest: Duration,
    /// The request to stop. At its first stage, the context cancels the running job, and refuses further jobs.
    pub stop: Stop,
}

impl Unrecorded {
    /// Runs a job. If a stop was requested before, the function does not run the job. If a stop is requested
    /// while the job runs, the function cancels the job. In both cases, the function returns an error.
    async fn run(&self, id: &JobId, job: &Job) -> Result<Outcome, String> {
        let stopped = || "it was stopped on request".to_owned();
        if self.stop.is_requested() {
            return Err(stopped());
        }
        tokio::select! {
            biased;
            outcome = self.runtime.run(id, job) => return outcome.map_err(|error| error.to_string()),
            () = self.stop.requested() => {}
        }
        // No other code waits for a cancelled job, so it is removed here. If the removal fails, the next
        // windlass program that looks for jobs of the same owner removes the job.
        let removed = async {
            self.runtime.cancel(id, Duration::ZERO).await?;
            self.runtime.wait(id).await?;
            self.runtime.remove(id).await
        };
        if !matches!(tokio::time::timeout(LAST_LOOK, removed).await, Ok(Ok(()))) {
            tracing::warn!(job = %id, "a cancelled job could not be removed");
        }
        Err(stopped())
    }
}

#[async_trait]
impl Context for Unrecorded {
    async fn job(&self, name: &str, mut job: Job) -> Result<Outcome, JobFailure> {
        let failed = |error: String| JobFailure::NotRun(Failure::new(FailureKind::Infrastructure, error));
        let id: JobId = format!("{}-{name}", self.prefix)
            .parse()
            .map_err(|error| failed(format!("its job has no id: {error}")))?;
        if let Some(owner) = &self.owner {
            job.owner = owner.clone();
        }
        job.limits.timeout = job.limits.timeout.min(self.longest);
        let outcome = self.run(&id, &job).await.map_err(failed)?;
        match &outcome.end {
            End::Lost(why) => Err(JobFailure::Lost(Failure::new(FailureKind::Lost, why.clone()))),
            _ => Ok(outcome),
        }
    }

    async fn checkpoint(&self, _: usize, _: Report) -> Result<(), Failure> {
        Ok(())
    }

    /// Does nothing, because this context keeps no output.
    fn hide(&self, _: &[String]) {}

    fn cancelled(&self) -> bool {
        self.stop.is_requested()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
