//! One topology of what was installed from several versions.

use std::collections::HashSet;

use windlass_model::name::RelationshipName;
use windlass_model::{ElementName, Topology};

/// Describes what is there after an upgrade that was cut short: each element as the version has it from which it was
/// installed.
///
/// `versions` are the topologies of the assembly, the newest last. `version_of` returns for an element the place of its
/// version in that list, and nothing for an element that isn't there. A relationship is taken from the oldest version
/// that both its ends may still be of, so that whatever was made is ended as it was made.
pub fn merged(
    versions: &[&Topology],
    version_of: impl Fn(&ElementName) -> Option<usize>,
) -> Option<Topology> {
    let newest = *versions.last()?;
    let mut elements = Vec::new();
    let mut known = HashSet::new();
    for (at, topology) in versions.iter().enumerate().rev() {
        for element in topology.elements() {
            let from = version_of(&element.name).filter(|from| *from < versions.len());
            let own = from.and_then(|from| versions[from].get(&element.name));
            // What is no resource has no version of its own: the newest that has it, describes it.
            let is_resource = element.kind == windlass_model::assembly::ElementKind::Resource;
            let chosen = match (is_resource, own) {
                (true, Some(own)) => own,
                (true, None) if at + 1 == versions.len() => element,
                (true, None) => continue,
                (false, _) => element,
            };
            if known.insert(&element.name) {
                elements.push(chosen.clone());
            }
        }
    }
    let mut relationships = Vec::new();
    let mut seen: HashSet<(&ElementName, &RelationshipName)> = HashSet::new();
    for topology in versions {
        for relationship in topology.relationships() {
            if seen.insert((&relationship.assembly, &relationship.name)) {
                relationships.push(relationship.clone());
            }
        }
    }
    // Parents come before their children: the newest version's elements are in order, and older ones that it lacks
    // follow with theirs.
    Some(Topology::new(newest.name().clone(), elements, relationships))
}
