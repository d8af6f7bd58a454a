//! A driver for tests. A program that embeds windlass can add such a driver of its own.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use windlass::driver::{
    Call, Context, Driver, Effect, Failure, Found, Nature, Observation, Observed, Package, PackageProblem,
    Query, Report,
};
use windlass::model::name::DriverKind;
use windlass::model::record::FailureKind;
use windlass::model::{Action, Transition};

/// A driver. On Install and Reconfigure, it publishes the property `size`, as an output with the name `is`. A test can
/// hold its calls, and can make them fail.
#[derive(Clone)]
pub(crate) struct Echo(Arc<Gate>);

struct Gate {
    held: watch::Sender<bool>,
    calls: watch::Sender<u32>,
    fails: watch::Sender<bool>,
}

impl Default for Echo {
    fn default() -> Self {
        let (held, fails) = (watch::Sender::new(false), watch::Sender::new(false));
        Self(Arc::new(Gate { held, calls: watch::Sender::new(0), fails }))
    }
}

impl Echo {
    /// Holds all calls, or lets the held calls continue.
    pub(crate) fn hold(&self, held: bool) {
        self.0.held.send_replace(held);
    }

    /// Makes all later calls fail, or succeed again.
    pub(crate) fn fail(&self, fails: bool) {
        self.0.fails.send_replace(fails);
    }

    /// Waits until the driver has got its first call.
    pub(crate) async fn is_called(&self) {
        self.0.calls.subscribe().wait_for(|calls| *calls > 0).await.unwrap();
    }
}

fn report(call: &Call) -> Report {
    let publishes = [Transition::Install, Transition::Reconfigure].map(Action::Transition);
    let size = call.properties.get("size").map_or(Value::Null, |size| size.value.clone());
    if !publishes.contains(&call.action) {
        return Report::settled();
    }
    Report { updates: json!({ "$set": { "interfaces.properties.signals.is": size } }), ..Report::settled() }
}

#[async_trait]
impl Driver for Echo {
    fn kind(&self) -> DriverKind {
        "echo".parse().unwrap()
    }

    fn family(&self) -> &'static str {
        "echo"
    }

    fn check(&self, _: &Package) -> Vec<PackageProblem> {
        Vec::new()
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        let timeout = Duration::from_secs(60);
        Some(Nature { effect: Effect::Repeatable, observable: true, batch: None, timeout, names: false })
    }

    async fn perform(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        self.0.calls.send_modify(|count| *count += 1);
        self.0.held.subscribe().wait_for(|held| !held).await.unwrap();
        let fails = *self.0.fails.borrow();
        let failure = || Failure::new(FailureKind::Failed, "it was told to fail");
        let answer = |call| if fails { Err(failure()) } else { Ok(report(call)) };
        calls.iter().map(answer).collect()
    }

    async fn observe(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        let reached = |call| Ok(Observed { observation: Observation::Reached, report: report(call) });
        calls.iter().map(reached).collect()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        Ok(Vec::new())
    }
}
