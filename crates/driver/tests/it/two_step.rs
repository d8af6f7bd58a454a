//! A driver that creates an instance by two jobs with a checkpoint between them. A test can make the driver violate the
//! contract.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use windlass_driver::testing::sample;
use windlass_driver::{
    Binding, Bindings, Call, Context, Driver, Effect, Failure, FailureKind, Found, JobFailure, Nature,
    Observation, Observed, Package, PackageProblem, Query, Report,
};
use windlass_executor::{Job, Outcome};
use windlass_model::instance::LogEntry;
use windlass_model::name::DriverKind;
use windlass_model::record::Severity;
use windlass_model::resolve::Resolved;
use windlass_model::{Action, Transition};

/// A violation of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slip {
    /// The driver violates nothing.
    Nothing,
    /// Each repetition of a call gives its first job another name.
    OtherName,
    /// The job's arguments contain the current time. So a repetition of the call starts a different job.
    TimeInJob,
    /// The failure of a lost job is reported as an ordinary failure.
    LostIsFailed,
    /// The failure of a job that could not be run is reported as an ordinary failure.
    NotRunIsFailed,
    /// A call whose id is known creates the instance again.
    CreatesAgain,
    /// A checkpoint that can't be recorded is ignored.
    IgnoresCheckpoint,
    /// The updates contain an unknown update command.
    BadUpdates,
    /// Answers come in reverse order.
    Reversed,
    /// Only the first call of a batch is answered.
    OneForAll,
    /// The driver ignores a stop.
    RunsOn,
    /// A secret is in the job's arguments.
    SecretInJob,
    /// A secret is in a log entry.
    SecretInLog,
    /// A secret is in the data of a log entry.
    SecretInData,
    /// A published secret is not hidden.
    Unhidden,
    /// The declared timeout of the action is zero.
    NoTime,
}

pub(crate) struct TwoStep(pub(crate) Slip);

/// Returns calls for two instances with a secret property and a sensitive output.
pub(crate) fn calls() -> Vec<Call> {
    let binding = Binding {
        driver: "two-step".parse().unwrap(),
        infrastructure: vec!["*".to_owned()],
        properties: [].into(),
    };
    let bindings = Bindings {
        transitions: [(Transition::Create, Vec::new())].into(),
        default: vec![binding],
        ..Bindings::default()
    };
    let package = Package::new("resource::vm::1.0".parse().unwrap(), bindings, Vec::new());
    let call = |number| {
        let mut call = sample::call(package.clone(), Action::Transition(Transition::Create), number);
        let secret = Resolved { value: json!("a-given-secret"), sensitive: true };
        call.properties.insert("given".parse().unwrap(), secret);
        call.sensitive.insert("token".parse().unwrap());
        call
    };
    vec![call(1), call(2)]
}

impl TwoStep {
    fn has(&self, slip: Slip) -> bool {
        self.0 == slip
    }

    async fn create(&self, context: &dyn Context, at: usize, call: &Call) -> Result<Report, Failure> {
        static REPETITIONS: AtomicU32 = AtomicU32::new(0);
        let mut name = format!("create-{at}");
        if self.has(Slip::OtherName) {
            name = format!("create-{}", REPETITIONS.fetch_add(1, Ordering::Relaxed));
        }
        if self.has(Slip::CreatesAgain) && call.natural.is_some() {
            "create-another".clone_into(&mut name);
        }
        let mut job = Job::command("sh").args(["-c", "read instance; echo vm-$instance"]);
        if self.has(Slip::TimeInJob) {
            job = job.arg(context.now().as_millis().to_string());
        }
        if self.has(Slip::SecretInJob) {
            job = job.arg("a-given-secret");
        }
        let created = self.outcome(context.job(&name, job.stdin(format!("{}\n", call.instance))).await)?;
        let natural = created.stdout.text().trim().to_owned();
        let known = Report { natural: Some(natural.clone()), ..Report::settled() };
        let recorded = context.checkpoint(at, known.clone()).await;
        if !self.has(Slip::IgnoresCheckpoint) {
            recorded?;
        }
        let job = Job::command("sh").args(["-c", "read id; echo token-of-$id"]).stdin(format!("{natural}\n"));
        let confirmed = self.outcome(context.job(&format!("confirm-{at}"), job).await)?;
        let token = confirmed.stdout.text().trim().to_owned();
        if !self.has(Slip::Unhidden) {
            context.hide(std::slice::from_ref(&token));
        }
        let message = if self.has(Slip::SecretInLog) { "with a-given-secret" } else { "confirmed" };
        let data = self.has(Slip::SecretInData).then(|| json!({"with": {"a-given-secret": true}}));
        let log = vec![LogEntry { data, ..LogEntry::new(Severity::Info, message) }];
        let word = if self.has(Slip::BadUpdates) { "$sett" } else { "$set" };
        let updates = json!({ word: { "interfaces.properties.signals.token": token } });
        Ok(Report { updates, log, ..known })
    }

    fn outcome(&self, ended: Result<Outcome, JobFailure>) -> Result<Outcome, Failure> {
        let failed = || Failure::new(FailureKind::Failed, "there is no outcome");
        match ended {
            Err(JobFailure::Lost(_)) if self.has(Slip::LostIsFailed) => Err(failed()),
            Err(JobFailure::NotRun(_)) if self.has(Slip::NotRunIsFailed) => Err(failed()),
            ended => Ok(ended?),
        }
    }
}

#[async_trait]
impl Driver for TwoStep {
    fn kind(&self) -> DriverKind {
        "two-step".parse().unwrap()
    }

    fn family(&self) -> &'static str {
        "two-step"
    }

    fn check(&self, _: &Package) -> Vec<PackageProblem> {
        Vec::new()
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        let timeout = Duration::from_secs(if self.has(Slip::NoTime) { 0 } else { 60 });
        let batch = Some("vms".to_owned());
        Some(Nature { effect: Effect::Once, observable: true, batch, timeout, names: true })
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut answers = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let stopped = || Failure::new(FailureKind::Lost, "it was stopped on request");
            let runs_on = !context.cancelled() || self.has(Slip::RunsOn);
            answers.push(if runs_on { self.create(context, at, call).await } else { Err(stopped()) });
        }
        if self.has(Slip::OneForAll) {
            answers.truncate(1);
        }
        if self.has(Slip::Reversed) {
            answers.reverse();
        }
        answers
    }

    async fn observe(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        let seen = Observed { observation: Observation::Reached, report: Report::settled() };
        calls.iter().map(|_| Ok(seen.clone())).collect()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        Ok(Vec::new())
    }
}
