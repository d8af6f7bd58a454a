//! The status of a launched application or a factory, in addition to the status of its assembly.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use windlass_engine::command;
use windlass_model::record::CommandRecord;
use windlass_model::{AssemblyName, CommandId, CommandName, PropertyName, Timestamp};
use windlass_store::{Snapshot, Store};

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
    /// The components of the type `reference.Service` in the application's manifest, and the services to which they
    /// refer. The list contains these components once for each environment in which the application is a service. If
    /// there is no such environment, the list contains them once, for the environment of the launch.
    pub services: Vec<ServiceReferenceView>,
    /// The references to other applications. The scripts of this application have reported them.
    pub references: Vec<InstanceReferenceView>,
    /// The commands of the application that have not ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<OpenCommandView>,
}

/// A command that was called on an application, and has not ended. The script of the command runs, or the final
/// result is awaited.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct OpenCommandView {
    /// The id of the command's execution, for `windlass app command --wait ID`.
    pub id: CommandId,
    /// The exposed id of the command's pin, such as `control.reboot`.
    pub command: CommandName,
    /// The time of the call.
    #[serde(serialize_with = "super::time::one")]
    pub started: Timestamp,
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
            commands: open_commands(&**wiring.store(), snapshot).await?,
        }))
    }
}

/// Returns the open commands of an application: the commands that have not ended.
async fn open_commands(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<OpenCommandView>, Error> {
    let mut open = Vec::new();
    for id in snapshot.elements.values().flat_map(|element| &element.commands) {
        let found = command(store, &snapshot.assembly.name, id).await?;
        if let Some(CommandRecord { id, command, started, .. }) =
            found.filter(|record| !record.state.is_final())
        {
            open.push(OpenCommandView { id, command, started });
        }
    }
    Ok(open)
}

/// Returns the outputs by which a factory publishes its instances. The manifest of the factory can expose the signal
/// `factory.instances` under several ids. Each of these ids is the name of one output. The value of each output is the
/// same map from the natural ids of the instances to the names of their applications.
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
