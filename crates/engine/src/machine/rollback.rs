//! Finds the failed group because of which the assembly is rolled back.

use std::collections::BTreeSet;

use windlass_lifecycle::{Diff, ElementChangeKind};
use windlass_model::assembly::OnFailure;
use windlass_model::record::ElementRecord;
use windlass_model::{Element, ElementName, Topology};

use crate::check_failure;
use crate::world::World;

/// Returns the changed groups that demand a rollback if they fail. If the plan only adds nodes to a group or removes
/// nodes, the group does not count. Such a plan gives no node a new version, so no node can return to an old version.
pub(crate) fn demanding_groups(topology: &Topology, diff: &Diff) -> Vec<ElementName> {
    let demands =
        |group: &&Element| group.update.is_some_and(|update| update.on_failure == OnFailure::Rollback);
    let has_changed = |group: &&Element| {
        let is_new = |kind| matches!(kind, ElementChangeKind::Added | ElementChangeKind::Removed);
        let changes = diff.elements.iter().filter(|change| !is_new(change.kind));
        changes.map(|change| &change.element).any(|name| is_within(topology, name, &group.name))
            || diff.batches.iter().any(|batches| batches.group == group.name)
    };
    let groups = topology.elements().iter().filter(demands).filter(has_changed);
    groups.map(|group| group.name.clone()).collect()
}

/// Returns the first group in `groups` that has failed. A group has failed if one of its nodes, or a relationship of one
/// of its nodes, has failed. `failed_ends` contains the sources and the targets of the failed relationships.
///
/// Returns `None` if all parts had already reached the desired version before the process began. The process then only
/// repairs or re-creates parts, so a rollback would bring back an unrelated earlier version.
pub(super) fn failed_group(
    world: &World,
    groups: &[ElementName],
    failed_ends: &BTreeSet<ElementName>,
) -> Option<ElementName> {
    if world.assembly.reached == world.assembly.version {
        return None;
    }
    let elements = world.elements.values();
    // A failed health check of the daemon is no failure of a step.
    let has_failure =
        |record: &&ElementRecord| record.failure.is_some() && check_failure::recorded(record).is_none();
    let failed = elements.filter(has_failure).map(|record| &record.name);
    let failed: Vec<&ElementName> = failed.chain(failed_ends).collect();
    let has_failed = |group: &&ElementName| {
        failed.iter().any(|name| *name == *group || is_within(world.topology(), name, group))
    };
    groups.iter().find(has_failed).cloned()
}

/// Tells whether an element is directly or indirectly inside the element `whole`. An element is not inside itself.
fn is_within(topology: &Topology, name: &ElementName, whole: &ElementName) -> bool {
    let above = |name: &ElementName| topology.get(name).and_then(|element| element.parent.as_ref());
    std::iter::successors(above(name), |name| above(name)).any(|above| above == whole)
}
