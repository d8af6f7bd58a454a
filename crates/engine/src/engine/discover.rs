//! Searches for existing instances with the `queries` that a package declares.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::{Found, Input, Package, Placement, Purpose, Query, Stop, Unrecorded};
use windlass_model::InstanceId;
use windlass_model::id::StoreId;
use windlass_model::record::{Failure, FailureKind};

use super::by_queries::LONGEST;
use super::env::EngineEnv;
use super::look;
use crate::panic::caught;
use crate::recorder::Recorder;
use crate::report::check_natural;

/// A search for existing instances.
#[derive(Debug, Clone)]
pub struct DiscoveryQuery {
    /// The package of the resource to search for. The entries `queries` of this package choose the driver.
    pub package: Arc<Package>,
    /// The values of the properties that choose the location of the search.
    pub placement: Placement,
    /// The properties that an instance must have.
    pub properties: BTreeMap<String, Value>,
    /// The configuration of the search; `None` means that the properties of the location are the configuration.
    pub configuration: Option<BTreeMap<String, Input>>,
    /// The purpose of the search, such as listing all instances of a factory.
    pub purpose: Purpose,
    /// The id of the store. If windlass is killed during the search, jobs of the search may be left. The ids of these
    /// jobs begin with the id of the store, so a later process finds and removes the jobs. `None` means that the
    /// project has no store yet.
    pub store: Option<StoreId>,
}

impl EngineEnv {
    /// Lets a driver search for instances. A search changes nothing, so it needs neither a lease nor a store. A job of
    /// the search ends after 600 s at the latest. The driver itself may work for 600 s, too.
    /// A stop in its first stage cancels the jobs of the search, and the driver must end soon afterwards.
    ///
    /// # Errors
    /// A failure if the search can't run, fails, takes too long or is stopped. An empty result is not an error.
    pub async fn discover(&self, quest: &DiscoveryQuery, stop: &Stop) -> Result<Vec<Found>, Failure> {
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
        let context = Recorder::new(Unrecorded {
            runtime: runtime.map_err(|why| Failure::new(FailureKind::Infrastructure, why))?,
            prefix: match &quest.store {
                Some(store) => look::round(store, &*self.entropy, self.clock.now(), LONGEST, None),
                None => format!("query-{}", InstanceId::random(&*self.entropy)),
            },
            owner: quest.store.as_ref().and_then(|store| store.as_str().parse().ok()),
            clock: self.clock.clone(),
            longest: LONGEST,
            stop: stop.child(),
        });
        let (package, properties) = (quest.package.clone(), quest.properties.clone());
        let configuration = quest.configuration.clone().unwrap_or_else(|| location.configuration());
        let purpose = quest.purpose;
        let query = Query { package, binding: binding.clone(), location, configuration, properties, purpose };
        let overdue = async {
            stop.requested().await;
            tokio::time::sleep(look::LAST_ANSWER).await;
        };
        let mut found = tokio::select! {
            biased;
            found = context.work().limit(LONGEST, caught(driver.discover(&context, &query))) => found???,
            () = overdue => {
                let why = "it was stopped on request, and its driver did not end";
                return Err(Failure::new(FailureKind::Infrastructure, why));
            }
        };
        for instance in &mut found {
            match check_natural(&instance.natural) {
                // The failure of the driver may name the place of the id in its output.
                _ if instance.report.is_err() => {}
                Ok(()) => {}
                Err(failure) if quest.purpose == Purpose::Inventory => instance.report = Err(failure),
                Err(failure) => return Err(failure),
            }
        }
        Ok(found)
    }
}
