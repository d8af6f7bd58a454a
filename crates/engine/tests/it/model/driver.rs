//! A driver whose calls are jobs that change the world of a test.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass_driver::contract::{Found, Query};
use windlass_driver::{
    Call, Context, Driver, JobFailure, Nature, Observation, Observed, Package, Report, Settled,
};
use windlass_executor::{End, Job};
use windlass_model::name::DriverKind;
use windlass_model::record::{Failure, FailureKind};
use windlass_model::{Action, Transition};

use super::world::{Seen, World};

/// The driver of these tests. Its jobs change a simulated [`World`].
pub(super) struct Hand(pub(super) World);

pub(super) const KIND: &str = "hand";

impl Hand {
    async fn act(&self, context: &dyn Context, call: &Call) -> Result<Report, Failure> {
        let is_new = self.0.announce(call);
        if is_new && self.0.is_unstarted() {
            return Err(Failure::new(FailureKind::Infrastructure, "no job can be started"));
        }
        assert!(!self.0.stumbles(call), "it has stumbled");
        let job = Job::command(call.id.to_string());
        let outcome = context.job("run", job).await.map_err(|failure| match failure {
            JobFailure::Lost(failure) | JobFailure::NotRun(failure) => failure,
            _ => Failure::new(FailureKind::Failed, "no outcome"),
        })?;
        let said: Value = serde_json::from_str(&outcome.stdout.text()).unwrap_or_default();
        let report = report(said["natural"].as_str(), &said["out"]);
        if outcome.end == End::Exited(0) {
            let settled = if self.0.is_slow(call) { Settled::Converging } else { Settled::Yes };
            return Ok(Report { settled, ..report });
        }
        if report.natural.is_some() {
            context.checkpoint(0, report).await?;
        }
        assert!(!self.0.panics(), "it was bad luck");
        Err(Failure::new(FailureKind::Failed, "it was bad luck"))
    }
}

impl Hand {
    /// Checks the health of a part by a job.
    async fn check(&self, context: &dyn Context, call: &Call) -> Result<Observed, Failure> {
        let said = self.0.answer(context, "look", call.element.as_str()).await?;
        let observation = match said["state"].as_str() {
            Some("Active") => Observation::Reached,
            Some("Absent") => Observation::Absent,
            _ => Observation::Differs(said["state"].to_string()),
        };
        Ok(Observed { observation, report: Report::settled() })
    }
}

impl World {
    /// Runs a job that answers a question about an object, and checks that the answer is about the same object.
    async fn answer(&self, context: &dyn Context, what: &str, of: &str) -> Result<Value, Failure> {
        self.asks();
        let job = Job::command(format!("{what} {of}"));
        let outcome = context.job(what, job).await.map_err(|failure| match failure {
            JobFailure::Lost(failure) | JobFailure::NotRun(failure) => failure,
            _ => Failure::new(FailureKind::Failed, "no outcome"),
        })?;
        let said: Value = serde_json::from_str(&outcome.stdout.text()).unwrap_or_default();
        if said["of"] != of {
            self.complain(format!("who asks to {what} {of} is answered {said}"));
        }
        Ok(said)
    }
}

/// Tells whether a call belongs to a health check instead of a process.
fn is_check(call: &Call) -> bool {
    call.id.as_str().split('-').any(|part| part == "p0")
}

fn report(natural: Option<&str>, out: &Value) -> Report {
    let updates = match out {
        Value::Null => Value::Null,
        out => json!({ "interfaces": { "properties": { "signals": { "out": out } } } }),
    };
    Report { natural: natural.map(ToOwned::to_owned), updates, ..Report::settled() }
}

/// Tells whether an action needs an existing instance.
fn needs_instance(action: &Action) -> bool {
    use Transition::{Configure, Integrity, Reconfigure, Start, Stop};
    matches!(action, Action::Transition(Configure | Start | Integrity | Reconfigure | Stop))
}

#[async_trait]
impl Driver for Hand {
    fn kind(&self) -> DriverKind {
        KIND.parse().expect("valid")
    }

    fn family(&self) -> &'static str {
        KIND
    }

    fn check(&self, _: &Package) -> Vec<windlass_driver::PackageProblem> {
        Vec::new()
    }

    fn nature(&self, _: &Package, action: &Action) -> Option<Nature> {
        let effect = self.0.effect(action);
        Some(Nature {
            effect,
            observable: self.0.observable(),
            batch: None,
            timeout: Duration::from_secs(60),
            names: false,
        })
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut answers = Vec::new();
        for call in calls {
            answers.push(self.act(context, call).await);
        }
        answers
    }

    async fn observe(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        if let [call] = calls
            && is_check(call)
        {
            return vec![self.check(context, call).await];
        }
        let look = |call: &Call| {
            let (seen, natural, out) = self.0.look(call.id.as_str());
            let observation = match seen {
                _ if self.0.is_converging(&call.element) => self.0.not_ready(call),
                Seen::All => Observation::Reached,
                Seen::Half => Observation::Differs("it is not as it should be".to_owned()),
                // The instance exists before these actions, so it still exists if they have done nothing.
                Seen::Nothing if needs_instance(&call.action) => {
                    Observation::Differs("it is as before".to_owned())
                }
                Seen::Nothing => Observation::Absent,
            };
            let out = out.filter(|_| seen == Seen::All).map_or(Value::Null, Value::from);
            Ok(Observed { observation, report: report(natural.as_deref(), &out) })
        };
        calls.iter().map(look).collect()
    }

    async fn discover(&self, context: &dyn Context, query: &Query) -> Result<Vec<Found>, Failure> {
        let wanted = query.properties.get("what").and_then(Value::as_str).unwrap_or_default();
        let said = self.0.answer(context, "find", wanted).await?;
        Ok(vec![Found::new(said["of"].as_str().unwrap_or_default(), BTreeMap::new())])
    }
}
