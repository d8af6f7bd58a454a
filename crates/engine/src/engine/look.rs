//! Looking how things really are, beside what is on record. Nothing is changed by it, so it needs no lease.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use windlass_driver::{Call, Context, Driver, JobFailure, Observation, Observed, Report};
use windlass_executor::{End, Job, JobId, Outcome, Owner, Runtime};
use windlass_model::instance::{InstanceView, shape};
use windlass_model::record::{Failure, FailureKind};
use windlass_model::{AssemblyName, Clock, ElementName, State, Timestamp};
use windlass_update_ops::Update;

use super::Engine;
use crate::error::EngineError;
use crate::machine::Machine;

/// How an element was found.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The element.
    pub element: ElementName,
    /// The state that is on record.
    pub state: State,
    /// What its driver sees of it, or why it can't look.
    pub sight: Result<Observation, Failure>,
    /// What was measured meanwhile, by the names of metrics, as the driver says it.
    pub metrics: BTreeMap<String, Value>,
}

impl Seen {
    /// Tells whether it is as its record says; none when that can't be told.
    pub fn is_well(&self) -> Option<bool> {
        match &self.sight {
            Ok(Observation::Reached) => Some(true),
            Ok(Observation::Absent | Observation::Differs(_)) => Some(false),
            _ => None,
        }
    }
}

impl Engine {
    /// Looks how the parts of an assembly are that are up, as far as their drivers can look. In the order of the assembly.
    ///
    /// # Errors
    ///
    /// When there is no such assembly, or the store can't be read. That a part can't be looked at is in its answer.
    pub async fn look(&self, name: &AssemblyName) -> Result<Vec<Seen>, EngineError> {
        let Some(snapshot) = self.store.load(name).await? else {
            return Err(self.unknown(name).await?);
        };
        let world = self.loaded(snapshot).await?;
        let mut machine = Machine::settle(self.tools(), world, Vec::new(), self.means.clock.now());
        let looks = machine.looks();
        let seen =
            stream::iter(looks).map(|look| self.look_at(look)).buffered(self.options.parallelism.max(1));
        Ok(seen.collect().await)
    }

    async fn look_at(&self, look: Look) -> Seen {
        let Look { element, state, ready } = look;
        let seen = match ready {
            Ok((call, driver)) => self.ask(&call, &*driver).await,
            Err(failure) => Err(failure),
        };
        let metrics = seen.as_ref().map(|seen| measured(&seen.report)).unwrap_or_default();
        Seen { element, state, sight: seen.map(|seen| seen.observation), metrics }
    }

    async fn ask(&self, call: &Call, driver: &dyn Driver) -> Result<Observed, Failure> {
        let runtime = self
            .means
            .places
            .runtime(&call.location)
            .await
            .map_err(|why| Failure::new(FailureKind::Infrastructure, why))?;
        let now = self.means.clock.now();
        let context = Looking {
            runtime,
            round: format!("{}-w{}", call.id, now.as_millis()),
            owner: self.store.id().as_str().parse().ok(),
            clock: self.means.clock.clone(),
            longest: LONGEST,
        };
        let mut answers = driver.observe(&context, std::slice::from_ref(call)).await;
        match (answers.pop(), answers.is_empty()) {
            (Some(answer), true) => answer,
            _ => Err(Failure::new(FailureKind::Protocol, "the driver did not answer once to one call")),
        }
    }
}

/// Returns what a report says of metrics. What it says of them wrongly is nothing; the observation is of the rest.
fn measured(report: &Report) -> BTreeMap<String, Value> {
    let mut document = json!({});
    let applied = Update::parse(&report.updates, shape()).map(|parsed| parsed.update.apply(&mut document));
    let metrics = InstanceView::new(&document).metrics().filter(|_| matches!(applied, Ok(Ok(()))));
    metrics.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// An element to look at.
pub(crate) struct Look {
    pub(crate) element: ElementName,
    pub(crate) state: State,
    /// The call, and who can look; or why nobody can.
    pub(crate) ready: Result<(Box<Call>, Arc<dyn Driver>), Failure>,
}

/// The world for a look: jobs run, and nothing is written down.
pub(super) struct Looking {
    pub(super) runtime: Arc<dyn Runtime>,
    /// What the ids of its jobs begin with.
    pub(super) round: String,
    pub(super) owner: Option<Owner>,
    pub(super) clock: Arc<dyn Clock>,
    /// The longest that a job may take.
    pub(super) longest: Duration,
}

/// The longest that a look may take.
const LONGEST: Duration = Duration::from_secs(120);

#[async_trait]
impl Context for Looking {
    async fn job(&self, name: &str, mut job: Job) -> Result<Outcome, JobFailure> {
        let failed = |error: String| JobFailure::NotRun(Failure::new(FailureKind::Infrastructure, error));
        let id: JobId = format!("{}-{name}", self.round)
            .parse()
            .map_err(|error| failed(format!("its job has no id: {error}")))?;
        if let Some(owner) = &self.owner {
            job.owner = owner.clone();
        }
        job.limits.timeout = job.limits.timeout.min(self.longest);
        let outcome = self.runtime.run(&id, &job).await.map_err(|error| failed(error.to_string()))?;
        match &outcome.end {
            End::Lost(why) => Err(JobFailure::Lost(Failure::new(FailureKind::Lost, why.clone()))),
            _ => Ok(outcome),
        }
    }

    async fn checkpoint(&self, _: usize, _: Report) -> Result<(), Failure> {
        Ok(())
    }

    /// Nothing of its jobs is kept.
    fn hide(&self, _: &[String]) {}

    fn cancelled(&self) -> bool {
        false
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
