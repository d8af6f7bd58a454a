//! Views of recorded assemblies: their policies, outputs and secrets.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::{Input, texts};
use windlass_model::record::CallRecord;
use windlass_model::resolve::Resolved;
use windlass_model::{Element, PropertyName, Timestamp};
use windlass_store::Snapshot;

use crate::monitor::Monitor;
use crate::values::{self, Unknown};
use crate::world::World;

/// Creates a monitor of the policies of a recorded assembly; see [`Monitor::new`].
pub fn monitor_of(snapshot: Snapshot, checks: Option<Duration>, now: Timestamp) -> Monitor {
    let world = World::load(snapshot);
    Monitor::new(world.topology(), &world, checks, now)
}

/// Returns the output properties of a recorded assembly.
pub fn outputs(snapshot: Snapshot) -> BTreeMap<PropertyName, Resolved> {
    values::outputs(&World::load(snapshot))
}

/// The secrets of a recorded assembly, for masking the output of calls that still run.
pub struct RecordedSecrets {
    world: World,
    stored: Vec<String>,
}

impl RecordedSecrets {
    /// Collects the secrets of an assembly and of the assemblies that it references. `snapshot` contains the records of
    /// the assembly, and `references` contains those of the referenced assemblies.
    pub fn of(snapshot: Snapshot, references: impl IntoIterator<Item = Snapshot>) -> Self {
        let world = World::load(snapshot);
        let others = references.into_iter().map(World::load);
        let others: Vec<String> = others.flat_map(|other| other.secrets.all_texts()).collect();
        let stored = world.secrets.all_texts().into_iter().chain(others).flat_map(spelled).collect();
        Self { world, stored }
    }

    /// Returns the texts to mask in the output of a running call. The result is `None` in two cases: the call
    /// may publish a secret that is not recorded yet, or the desired assembly does not contain the call's
    /// element. The output must then not be shown before the call has ended.
    pub fn of_call(&self, call: &CallRecord) -> Option<Vec<String>> {
        let element = self.world.topology().get(&call.element).filter(|element| !may_publish(element))?;
        let inputs = values::properties(&self.world, element, call.side, Unknown::LeftOut).ok()?;
        let arguments = match &call.pair {
            Some(pair) => values::arguments(&self.world, pair, call.side, Unknown::LeftOut).ok()?,
            None => BTreeMap::new(),
        };
        let sensitive = inputs.values().chain(arguments.values()).filter(|input: &&Input| input.sensitive);
        let given = sensitive.flat_map(|input| texts(&input.value));
        Some(self.stored.iter().cloned().chain(given).collect())
    }
}

/// Returns the texts to mask for a stored secret: the secret itself and, if it is JSON, each text in the JSON. The
/// store keeps secret parts of a driver's private state as JSON, but an output may show a text without the JSON around
/// it.
fn spelled(stored: String) -> Vec<String> {
    let inside = serde_json::from_str::<Value>(&stored).map(|value| texts(&value)).unwrap_or_default();
    std::iter::once(stored).chain(inside).collect()
}

/// Tells whether an element has a sensitive property whose value the element may publish.
fn may_publish(element: &Element) -> bool {
    element.properties.values().any(|p| p.sensitive && (p.read_only || p.value.is_none()))
}
