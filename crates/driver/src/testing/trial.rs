//! The context of a trial: it runs the jobs of a driver, keeps their outcomes, and can cause one failure.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use windlass_executor::{Job, JobId, Outcome, Runtime};
use windlass_model::Timestamp;

use crate::{Context, Failure, FailureKind, JobFailure, Report};

/// A failure or a stop that a trial causes.
///
/// Each variant contains a number: the position of the job or checkpoint at which the incident happens. Positions
/// begin with 0. Jobs whose outcome is already recorded are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incident {
    /// The result of a job is unknown.
    LoseJob(usize),
    /// A job can't be run.
    RefuseJob(usize),
    /// The user requests a stop while a job runs.
    CancelIn(usize),
    /// A checkpoint can't be recorded.
    LoseCheckpoint(usize),
    /// The windlass program dies after a checkpoint was recorded.
    DieAfterCheckpoint(usize),
}

/// A [`Context`] for one trial. A trial executes some calls of a driver, and causes at most one [`Incident`], such as
/// a job with an unknown result.
pub(super) struct Trial<'s> {
    runtime: Option<&'s dyn Runtime>,
    incident: Option<Incident>,
    now: Timestamp,
    log: Mutex<Log>,
    /// Notified when the windlass program of the trial dies ([`Incident::DieAfterCheckpoint`]).
    pub(super) death: Notify,
}

/// The requests of a driver during a trial.
#[derive(Default)]
pub(super) struct Log {
    /// All requested jobs in order, with their names.
    pub(super) jobs: Vec<(String, Job)>,
    /// The outcomes of ended jobs, by name.
    pub(super) records: BTreeMap<String, Outcome>,
    /// All checkpoints in order, each with the position of its call.
    pub(super) checkpoints: Vec<(usize, Report)>,
    /// The number of hidden secrets at the time of each checkpoint.
    pub(super) hidden_before: Vec<usize>,
    /// The secrets that the driver hid.
    pub(super) hidden: Vec<String>,
    /// The names of the jobs that the driver requested after the user's request to stop ([`Incident::CancelIn`]).
    pub(super) late: Vec<String>,
    cancelled: bool,
    /// The number of requested jobs that had no record.
    new_jobs: usize,
}

impl<'s> Trial<'s> {
    pub(super) fn new(runtime: Option<&'s dyn Runtime>) -> Self {
        // Each trial has a later time, so that an answer that depends on the time differs between trials.
        static TRIALS: AtomicU64 = AtomicU64::new(1);
        let hours = i64::try_from(TRIALS.fetch_add(1, Ordering::Relaxed)).unwrap_or_default();
        let now = Timestamp::from_millis(1_700_000_000_000 + hours * 3_600_000);
        Self { runtime, incident: None, now, log: Mutex::default(), death: Notify::new() }
    }

    pub(super) fn with(mut self, incident: Incident) -> Self {
        self.incident = Some(incident);
        self
    }

    /// Sets the records of jobs that ended in an earlier trial.
    pub(super) fn with_records(self, records: BTreeMap<String, Outcome>) -> Self {
        self.log().records = records;
        self
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the requested jobs, and the outcomes of ended jobs by name.
    pub(super) fn ended(&self) -> (Vec<(String, Job)>, BTreeMap<String, Outcome>) {
        let log = self.log();
        (log.jobs.clone(), log.records.clone())
    }

    /// Records that the driver has requested a job. If the trial has a recorded outcome of the job, returns this
    /// outcome. Otherwise returns, as an error, the position of the job among the jobs without a recorded outcome. The
    /// first position is 0.
    fn request(&self, name: &str, job: &Job) -> Result<Outcome, usize> {
        let mut log = self.log();
        assert!(log.jobs.iter().all(|(other, _)| other != name), "the job `{name}` is requested twice");
        log.jobs.push((name.to_owned(), job.clone()));
        if log.cancelled {
            log.late.push(name.to_owned());
        }
        if let Some(outcome) = log.records.get(name) {
            return Ok(outcome.clone());
        }
        log.new_jobs += 1;
        Err(log.new_jobs - 1)
    }

    async fn run(&self, name: &str, job: &Job, cancel: bool) -> Outcome {
        let runtime = self.runtime.expect("a subject whose driver requests jobs has a runtime");
        let id = job_id(name);
        runtime.submit(&id, job).await.expect("the runtime takes the job");
        if cancel {
            self.log().cancelled = true;
            runtime.cancel(&id, Duration::ZERO).await.expect("the job can be cancelled");
        }
        let outcome = runtime.wait(&id).await.expect("the job ends");
        runtime.remove(&id).await.expect("an ended job can be removed");
        outcome
    }
}

/// Returns a job id that ends with `name`. The id is new each time, even for the same name.
fn job_id(name: &str) -> JobId {
    static JOBS: AtomicU64 = AtomicU64::new(0);
    let number = JOBS.fetch_add(1, Ordering::Relaxed);
    let id = format!("trial-{}-{number}-{name}", std::process::id());
    id.parse().unwrap_or_else(|error| panic!("the job name `{name}` makes no job id: {error}"))
}

/// Returns the failure with which [`Context::job`] reports that the result of the job is unknown.
pub(super) fn lost() -> Failure {
    Failure::new(FailureKind::Lost, "the trial lost this job")
}

/// Returns the failure with which [`Context::job`] reports that it has not run the job.
pub(super) fn not_run() -> Failure {
    Failure::new(FailureKind::Infrastructure, "the trial did not run this job")
}

/// Returns the failure with which [`Context::checkpoint`] reports that it has not recorded the checkpoint.
pub(super) fn not_recorded() -> Failure {
    Failure::new(FailureKind::Infrastructure, "the trial did not record this checkpoint")
}

#[async_trait]
impl Context for Trial<'_> {
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
        let number = match self.request(name, &job) {
            Ok(recorded) => return Ok(recorded),
            Err(number) => number,
        };
        if self.cancelled() || self.incident == Some(Incident::LoseJob(number)) {
            return Err(JobFailure::Lost(lost()));
        }
        if self.incident == Some(Incident::RefuseJob(number)) {
            return Err(JobFailure::NotRun(not_run()));
        }
        let cancel = self.incident == Some(Incident::CancelIn(number));
        let outcome = self.run(name, &job, cancel).await;
        if cancel {
            return Err(JobFailure::Lost(lost()));
        }
        self.log().records.insert(name.to_owned(), outcome.clone());
        Ok(outcome)
    }

    async fn checkpoint(&self, call: usize, report: Report) -> Result<(), Failure> {
        let number = {
            let mut log = self.log();
            let hidden = log.hidden.len();
            log.hidden_before.push(hidden);
            log.checkpoints.push((call, report));
            log.checkpoints.len() - 1
        };
        if self.incident == Some(Incident::LoseCheckpoint(number)) {
            return Err(not_recorded());
        }
        if self.incident == Some(Incident::DieAfterCheckpoint(number)) {
            self.death.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    fn hide(&self, secrets: &[String]) {
        self.log().hidden.extend_from_slice(secrets);
    }

    fn cancelled(&self) -> bool {
        self.log().cancelled
    }

    fn now(&self) -> Timestamp {
        self.now
    }
}
