//! Looking how things really are, beside what is on record. Nothing is changed by it, so it needs no lease.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use windlass_driver::{Call, Context, Driver, JobFailure, Observation, Observed, Report};
use windlass_executor::{End, Job, JobId, Outcome, Owner, Runtime};
use windlass_model::id::{Entropy, StoreId};
use windlass_model::instance::{InstanceView, shape};
use windlass_model::record::{Failure, FailureKind};
use windlass_model::{AssemblyName, Clock, ElementName, InstanceId, State, Timestamp};
use windlass_update_ops::Update;

use super::Engine;
use crate::error::EngineError;
use crate::machine::Machine;
use crate::stop::Stop;

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
    /// Tells whether its check could not run: that says nothing of how the part is.
    pub fn is_unseen(&self) -> bool {
        use FailureKind::{Capacity, Infrastructure, Lost, Refused};
        let kind = self.sight.as_ref().err().map(|failure| failure.kind);
        matches!(kind, Some(Refused | Capacity | Infrastructure | Lost))
    }

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
        self.look_until(name, &Stop::default()).await
    }

    /// Looks as [`look`](Self::look) does, and stops when it is to.
    ///
    /// # Errors
    ///
    /// As of [`look`](Self::look), and [`EngineError::Stopped`].
    pub async fn look_until(&self, name: &AssemblyName, stop: &Stop) -> Result<Vec<Seen>, EngineError> {
        let Some(snapshot) = self.store.load(name).await? else {
            return Err(self.unknown(name).await?);
        };
        let world = self.loaded(snapshot).await?;
        let mut machine = Machine::settle(self.tools(), world, Vec::new(), self.means.clock.now());
        let looks = machine.looks();
        let seen = stream::iter(looks)
            .map(|look| self.look_at(look, stop))
            .buffered(self.options.parallelism.max(1));
        let seen = seen.collect().await;
        if stop.soon.is_cancelled() { Err(EngineError::Stopped) } else { Ok(seen) }
    }

    async fn look_at(&self, look: Look, stop: &Stop) -> Seen {
        let Look { element, state, ready } = look;
        let seen = match ready {
            Ok((call, driver)) => self.ask(&call, &*driver, stop).await,
            Err(failure) => Err(failure),
        };
        let metrics = seen.as_ref().map(|seen| measured(&seen.report)).unwrap_or_default();
        Seen { element, state, sight: seen.map(|seen| seen.observation), metrics }
    }

    async fn ask(&self, call: &Call, driver: &dyn Driver, stop: &Stop) -> Result<Observed, Failure> {
        let runtime = self
            .means
            .places
            .runtime(&call.location)
            .await
            .map_err(|why| Failure::new(FailureKind::Infrastructure, why))?;
        let now = self.means.clock.now();
        let context = Looking {
            runtime,
            round: round(self.store.id(), &*self.means.entropy, now, LONGEST),
            owner: self.store.id().as_str().parse().ok(),
            clock: self.means.clock.clone(),
            longest: LONGEST,
            stop: stop.clone(),
        };
        let mut answers = driver.observe(&context, std::slice::from_ref(call)).await;
        match (answers.pop(), answers.is_empty()) {
            (Some(answer), true) => answer,
            _ => Err(Failure::new(
                FailureKind::Protocol,
                "the driver did not return exactly one answer to one call",
            )),
        }
    }
}

/// Returns what the ids of a look's jobs begin with: no two looks have the same, be they of one assembly or of two, of one
/// process or of two. It says when nobody waits for them any more.
pub(super) fn round(store: &StoreId, entropy: &dyn Entropy, now: Timestamp, longest: Duration) -> String {
    let over = now.plus_millis(i64::try_from((longest + SLACK).as_millis()).unwrap_or(i64::MAX));
    let random = InstanceId::random(entropy);
    format!("{store}-w{}-{}", over.as_millis() / 1000, &random.as_str()[..LETTERS])
}

/// Tells whether a job belongs to a health check or a query whose process is gone.
pub(super) fn is_forgotten(job: &JobId, store: &StoreId, now: Timestamp) -> bool {
    let rest = job.as_str().strip_prefix(store.as_str()).and_then(|rest| rest.strip_prefix("-w"));
    let over = rest.and_then(|rest| rest.split('-').next()?.parse::<i64>().ok());
    over.is_some_and(|over| over < now.as_millis() / 1000)
}

/// How long after its limit a job of a look may be there: it has a grace to end in, and is removed then.
const SLACK: Duration = Duration::from_secs(60);

/// How many letters tell looks apart that end in the same second: sixty bits.
const LETTERS: usize = 12;

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
    /// When no more is looked at, and a job that looks is stopped.
    pub(super) stop: Stop,
}

impl Looking {
    /// Runs a job unless it is to stop, or until then.
    async fn run(&self, id: &JobId, job: &Job) -> Result<Outcome, String> {
        let stopped = || "it was stopped on request".to_owned();
        if self.stop.soon.is_cancelled() {
            return Err(stopped());
        }
        tokio::select! {
            biased;
            outcome = self.runtime.run(id, job) => return outcome.map_err(|error| error.to_string()),
            () = self.stop.soon.cancelled() => {}
        }
        // A look changes nothing: nobody waits for it. What can't be removed is found by its owner later.
        let removed = async {
            self.runtime.cancel(id, Duration::ZERO).await?;
            self.runtime.wait(id).await?;
            self.runtime.remove(id).await
        };
        if !matches!(tokio::time::timeout(LAST_LOOK, removed).await, Ok(Ok(()))) {
            tracing::warn!(job = %id, "an observation job could not be removed");
        }
        Err(stopped())
    }
}

/// How long a look may take to be stopped.
const LAST_LOOK: Duration = Duration::from_secs(5);

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
        let outcome = self.run(&id, &job).await.map_err(failed)?;
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
        self.stop.soon.is_cancelled()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

#[cfg(test)]
mod tests {
    use windlass_store::testing::CountingEntropy;

    use super::*;

    /// The ids of jobs hold for checks of many assemblies at the same moment, and say when they are over.
    #[test]
    fn no_two_looks_have_the_same_jobs() {
        let (store, now) = ("shop".parse().unwrap(), Timestamp::from_millis(1_700_000_000_123));
        let one = CountingEntropy::seeded(1);
        let rounds: Vec<String> = (0..1000).map(|_| round(&store, &one, now, LONGEST)).collect();
        let apart: std::collections::BTreeSet<&String> = rounds.iter().collect();
        assert_eq!(apart.len(), rounds.len());
        let job: JobId = format!("{}-health-check", rounds[0]).parse().unwrap();
        assert!(!is_forgotten(&job, &store, now.plus_millis(180_000)));
        assert!(is_forgotten(&job, &store, now.plus_millis(182_000)));
        assert!(!is_forgotten(&job, &"other".parse().unwrap(), now.plus_millis(182_000)));
        let of_a_call: JobId = "shop-p1-s1-c0-a1-run".parse().unwrap();
        assert!(!is_forgotten(&of_a_call, &store, now.plus_millis(182_000)));
    }
}
