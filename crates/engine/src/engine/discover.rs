//! Finds existing instances by the `queries` of drivers, for references and for adoption.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use windlass_driver::{
    Call, Context, Driver, Found, Nature, Observed, Package, Placement, Query, Report, Unrecorded,
};
use windlass_model::id::StoreId;
use windlass_model::instance::OUTPUTS;
use windlass_model::name::DriverKind;
use windlass_model::record::{Effect, Failure, FailureKind};
use windlass_model::{Action, InstanceId};
use windlass_source::Diagnostic;

use super::env::EngineEnv;
use super::look;
use crate::panic::caught;

/// A search for existing instances.
#[derive(Debug, Clone)]
pub struct DiscoveryQuery {
    /// The package of the resource, which declares `queries`.
    pub package: Arc<Package>,
    /// The placement, which chooses the location.
    pub placement: Placement,
    /// The properties that an instance must have.
    pub properties: BTreeMap<String, Value>,
    /// The store whose next process removes the jobs of a killed search; `None` if the project has no store
    /// yet.
    pub store: Option<StoreId>,
}

/// Maximum duration of a search.
const LONGEST: Duration = Duration::from_secs(600);

impl EngineEnv {
    /// Lets a driver search for instances. A search changes nothing, so it needs neither a lease nor a store.
    ///
    /// # Errors
    /// A failure if the search can't run or fails. An empty result is not an error.
    pub async fn discover(&self, quest: &DiscoveryQuery) -> Result<Vec<Found>, Failure> {
        let refused = |why| Failure::new(FailureKind::Refused, why);
        let location = Arc::new(self.places.location(&quest.placement).map_err(refused)?);
        let binding = quest.package.bindings().query(&location.infrastructure).ok_or_else(|| {
            refused(format!(
                "`{}` names no driver for queries at infrastructure type `{}`",
                quest.package.name(),
                location.infrastructure
            ))
        })?;
        let driver = self.drivers.get(&binding.driver);
        let driver = driver.ok_or_else(|| refused(format!("there is no driver `{}`", binding.driver)))?;
        let _slot = self.slots.take_at(&location).await;
        let runtime = self.places.runtime(&location).await;
        let context = Unrecorded {
            runtime: runtime.map_err(|why| Failure::new(FailureKind::Infrastructure, why))?,
            prefix: match &quest.store {
                Some(store) => look::round(store, &*self.entropy, self.clock.now(), LONGEST, None),
                None => format!("query-{}", InstanceId::random(&*self.entropy)),
            },
            owner: quest.store.as_ref().and_then(|store| store.as_str().parse().ok()),
            clock: self.clock.clone(),
            longest: LONGEST,
            stop: CancellationToken::new(),
        };
        let (package, properties) = (quest.package.clone(), quest.properties.clone());
        let query = Query { package, binding: binding.clone(), location, properties };
        caught(driver.discover(&context, &query)).await?
    }
}

/// A driver that adopts an instance by searching for it. It serves resources with `queries` and without Adopt.
pub(crate) struct ByQueries(pub(crate) Arc<dyn Driver>);

#[async_trait]
impl Driver for ByQueries {
    fn kind(&self) -> DriverKind {
        self.0.kind()
    }

    fn family(&self) -> &'static str {
        self.0.family()
    }

    fn check(&self, package: &Package) -> Vec<Diagnostic> {
        self.0.check(package)
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        Some(Nature {
            effect: Effect::Repeatable,
            observable: false,
            batch: None,
            timeout: LONGEST,
            names: true,
        })
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut reports = Vec::with_capacity(calls.len());
        for call in calls {
            reports.push(self.find(context, call).await);
        }
        reports
    }

    async fn observe(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        self.0.observe(context, calls).await
    }

    async fn discover(&self, context: &dyn Context, query: &Query) -> Result<Vec<Found>, Failure> {
        self.0.discover(context, query).await
    }
}

impl ByQueries {
    /// Finds the only instance that matches a call.
    async fn find(&self, context: &dyn Context, call: &Call) -> Result<Report, Failure> {
        let given = call.properties.iter().filter(|(_, input)| !input.value.is_null());
        let query = Query {
            package: call.package.clone(),
            binding: call.binding.clone(),
            location: call.location.clone(),
            properties: given.map(|(name, input)| (name.to_string(), input.value.clone())).collect(),
        };
        let mut found = self.0.discover(context, &query).await?;
        match (found.pop(), found.len()) {
            (Some(only), 0) => Ok(taken_over(only)),
            (None, _) => Err(Failure::new(
                FailureKind::NotFound,
                "`queries` found no matching instance; check that it exists",
            )),
            (Some(last), _) => {
                let ids: Vec<String> =
                    found.iter().chain([&last]).map(|thing| format!("`{}`", thing.natural)).collect();
                let message = format!(
                    "`queries` found {} matching instances: {}; set more of its properties",
                    ids.len(),
                    ids.join(", ")
                );
                Err(Failure::new(FailureKind::Refused, message))
            }
        }
    }
}

fn taken_over(found: Found) -> Report {
    let published = found.properties.into_iter().map(|(name, value)| {
        let key = name.replace('\\', r"\\").replace('.', r"\.");
        (format!("interfaces.{OUTPUTS}.signals.{key}"), value)
    });
    let published: Map<String, Value> = published.collect();
    let updates = if published.is_empty() { Value::Null } else { json!({ "$set": published }) };
    Report { natural: Some(found.natural), updates, ..Report::settled() }
}
