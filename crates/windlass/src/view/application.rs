//! The status of a launched application or a factory, in addition to the status of its assembly.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use windlass_model::{AssemblyName, PropertyName};
use windlass_store::Snapshot;

use crate::error::Error;
use crate::wiring::{InstanceReferenceView, ServiceReferenceView, Wiring};

/// The status of a launched application or a factory.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ApplicationStatusView {
    /// The title of the application from which the assembly was launched.
    pub title: String,
    /// The number of the application's revision to which the assembly belongs. Revisions are numbered from 1.
    pub revision: u32,
    /// The environment in which the assembly was launched.
    pub environment: String,
    /// The factory of the application; `None` if the assembly is a factory itself.
    pub factory: Option<AssemblyName>,
    /// The natural id of the application's instance, as a script has reported it.
    pub natural_id: Option<String>,
    /// The known values of the configuration pins, by the exposed ids of the pins. A secret is `***`.
    pub configuration: BTreeMap<PropertyName, Value>,
    /// The references to services: the components of the type `reference.Service` in the application's manifest. The
    /// list contains an entry for each reference in each environment that has the application as a service. If there is
    /// no such environment, the list contains an entry for each reference in the environment of the launch.
    pub services: Vec<ServiceReferenceView>,
    /// The references to other applications. The scripts of this application have reported them.
    pub references: Vec<InstanceReferenceView>,
}

impl ApplicationStatusView {
    /// Returns the status of an application. Returns `None` for an assembly with a descriptor.
    pub(super) async fn of(wiring: &mut Wiring, snapshot: &Snapshot) -> Result<Option<Self>, Error> {
        let record = &snapshot.assembly;
        let Some(from) = &record.application else { return Ok(None) };
        let settable = |name: &PropertyName| {
            let property = record.topology.root().and_then(|root| root.properties.get(name));
            property.is_some_and(|property| !property.read_only)
        };
        let known = windlass_engine::offer(snapshot.clone()).properties.into_iter();
        let configuration = known.filter(|(name, _)| settable(name)).map(|(name, of)| (name, of.shown()));
        Ok(Some(Self {
            title: from.title.clone(),
            revision: from.revision,
            environment: from.environment.clone(),
            factory: record.owner.clone(),
            natural_id: snapshot.instances.values().find_map(|instance| instance.natural.clone()),
            configuration: configuration.collect(),
            services: wiring.service_references(record).await?,
            references: wiring.instance_references(snapshot).await?,
        }))
    }
}

/// Returns the lists of instances that a factory publishes as outputs. Each list maps natural ids to the names of
/// applications. The manifest of the factory can expose the signal `factory.instances` under several ids. Each of these
/// ids is the name of one output.
pub(super) async fn instances(
    wiring: &mut Wiring,
    snapshot: &Snapshot,
) -> Result<BTreeMap<PropertyName, Value>, Error> {
    if snapshot.assembly.application.is_none() || snapshot.assembly.owner.is_some() {
        return Ok(BTreeMap::new());
    }
    let pins = wiring.instance_pins(&snapshot.assembly).await?;
    let named = pins.into_iter().filter_map(|(pin, of)| Some((pin.to_string().parse().ok()?, json!(*of))));
    Ok(named.collect())
}
