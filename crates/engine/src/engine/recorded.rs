//! Views of recorded assemblies.

use std::collections::BTreeMap;

use windlass_model::resolve::Resolved;
use windlass_model::{PropertyName, Timestamp};
use windlass_store::Snapshot;

use crate::monitor::Monitor;
use crate::values;
use crate::world::World;

/// Creates a monitor of the policies of a recorded assembly.
pub fn monitor_of(snapshot: Snapshot, now: Timestamp) -> Monitor {
    let world = World::load(snapshot);
    Monitor::new(world.topology(), &world, now)
}

/// Returns the output properties of a recorded assembly.
pub fn outputs(snapshot: Snapshot) -> BTreeMap<PropertyName, Resolved> {
    values::outputs(&World::load(snapshot))
}
