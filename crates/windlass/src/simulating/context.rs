//! The context of driver calls in a simulation. The driver requests jobs from the context. In some contexts, each job
//! really runs its script. In the other contexts, each job runs nothing, and returns a simulated output.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use windlass_driver::{Context, Failure, JobFailure, Report, Unrecorded};
use windlass_executor::{Job, Outcome};
use windlass_model::Timestamp;

use super::answered::Printout;

/// The way in which a context executes jobs.
pub(super) enum Jobs {
    /// Each job really runs its script, by means of this inner context.
    Run(Unrecorded),
    /// Each job runs nothing, and returns this output.
    Answer(Printout),
}

/// A driver context that measures the time of its jobs.
pub(super) struct SimulationContext {
    jobs: Jobs,
    /// The virtual time of the simulation.
    now: Timestamp,
    kept: Mutex<Kept>,
}

/// The data that a context collects during a call.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The total time of the jobs.
    pub(super) took: Duration,
    /// The last intermediate report.
    pub(super) checkpoint: Option<Report>,
    /// The lines that the jobs wrote to stderr.
    pub(super) stderr: String,
}

impl SimulationContext {
    pub(super) fn new(jobs: Jobs, now: Timestamp) -> Self {
        Self { jobs, now, kept: Mutex::default() }
    }

    pub(super) fn into_kept(self) -> Kept {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Context for SimulationContext {
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
        let (outcome, took) = match &self.jobs {
            Jobs::Answer(printout) => printout.outcome(job.limits.timeout, self.now),
            Jobs::Run(context) => {
                let outcome = context.job(name, job).await?;
                let took = whole_seconds(&outcome);
                (outcome, took)
            }
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.took += took;
        kept.stderr.push_str(&outcome.stderr.text());
        Ok(outcome)
    }

    async fn checkpoint(&self, _: usize, report: Report) -> Result<(), Failure> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).checkpoint = Some(report);
        Ok(())
    }

    /// Does nothing, because a simulation keeps no output of jobs.
    fn hide(&self, _: &[String]) {}

    fn cancelled(&self) -> bool {
        matches!(&self.jobs, Jobs::Run(context) if context.cancelled())
    }

    fn now(&self) -> Timestamp {
        self.now
    }
}

/// Returns the duration of a job in whole seconds, so that the same scripts give the same timeline.
fn whole_seconds(outcome: &Outcome) -> Duration {
    let since =
        |started: windlass_executor::Timestamp| outcome.ended.as_millis().saturating_sub(started.as_millis());
    Duration::from_secs(outcome.started.map_or(0, since) / 1000)
}
