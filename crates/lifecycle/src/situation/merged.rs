//! The merged topology of an assembly whose parts were installed from several versions.

use std::collections::HashSet;

use indexmap::IndexMap;
use indexmap::map::Entry;
use windlass_model::assembly::{ElementKind, Endpoint};
use windlass_model::name::RelationshipName;
use windlass_model::record::PairKey;
use windlass_model::{Element, ElementName, Relationship, Topology};

use super::as_of;

/// Returns the topology after an interrupted upgrade, in which parts may belong to different versions.
///
/// - `versions`: the topologies of the assembly, the newest last.
/// - `version_of`: the position of an element's version in `versions`; `None` if the element doesn't exist.
/// - `made`: the created and partly created pairs of nodes.
///
/// A resource belongs to the version from which it last got values. The result contains a copy of the resource from
/// this version.
///
/// A relationship is merged from several versions: the newest version, and each version to which a resource of its
/// sources or targets belongs. The result has the sources and targets of all these versions, so that the plan can
/// remove every created pair. All other data comes from one of these versions: the oldest one in which the relationship
/// has operations.
///
/// The plan removes a created pair by the operations of its relationship. So the result must contain the relationship,
/// with operations and with both nodes of the pair. If any of these is missing, the function searches `versions`, the
/// newest first, for a version in which the relationship has operations and both nodes. The missing data is copied from
/// this version.
///
/// Resources and relationships may read properties of assemblies and references, for example by `${size}`. A resource
/// from an older version may still have the old value of `${size}`. So its copy in the result contains this old value
/// in place of `${size}`. A relationship keeps `${size}`, because the plan can re-create the relationship with the
/// newest value.
///
/// When a process completes, all elements belong to the version of this process, even elements without steps. So the
/// caller may omit all versions that are older than the version of the last completed process. If `versions` is empty,
/// the result is `None`.
pub fn merged<'a>(
    versions: &[&Topology],
    version_of: impl Fn(&ElementName) -> Option<usize>,
    made: impl IntoIterator<Item = &'a PairKey>,
) -> Option<Topology> {
    let newest = *versions.last()?;
    let elements = elements(versions, &version_of);
    let mut relationships = relationships(versions, &version_of);
    for pair in made {
        describe(pair, versions, &mut relationships);
    }
    let relationships = relationships.into_values().collect();
    Some(Topology::new(newest.name().clone(), elements, relationships).made_as(newest))
}

/// Returns the elements of the merged topology, parents before their children.
///
/// A resource is copied from the version to which it belongs; see [`merged`]. An assembly, a group or a reference is
/// copied from the newest version that contains it.
///
/// The elements of the newest version come first, followed by elements that only older versions contain.
fn elements(versions: &[&Topology], version_of: &impl Fn(&ElementName) -> Option<usize>) -> Vec<Element> {
    let is_of = |at: usize, element: &Element| version_of(&element.name) == Some(at);
    let in_use: Vec<bool> = (0..versions.len())
        .map(|at| at + 1 == versions.len() || versions[at].elements().iter().any(|e| is_of(at, e)))
        .collect();
    let mut elements = Vec::new();
    let mut known = HashSet::new();
    for (at, topology) in versions.iter().enumerate().rev() {
        for element in topology.elements() {
            let from = version_of(&element.name).filter(|from| *from < versions.len());
            let own = from.and_then(|from| Some((from, versions[from].get(&element.name)?)));
            let own = own.filter(|(_, own)| own.kind == ElementKind::Resource);
            // For an assembly, a group or a reference, no version is recorded. Such an element is taken from
            // the newest version that contains it.
            let (from, chosen) = match own {
                Some(own) => own,
                // The resource does not exist, but other elements may read its values. The resource is kept if
                // its version is still in use: if it is the newest version, or if existing elements were
                // installed from it.
                None if element.kind != ElementKind::Resource || in_use[at] => (at, element),
                None => continue,
            };
            if known.insert(&element.name) {
                let is_older = chosen.kind == ElementKind::Resource && from + 1 < versions.len();
                elements.push(if is_older { as_of::element(versions[from], chosen) } else { chosen.clone() });
            }
        }
    }
    elements
}

/// Makes sure that `relationships` contains a relationship whose operations can remove a created pair.
///
/// If `relationships` contains no such relationship yet, the function takes one from `versions`: from the newest
/// version that declares operations for the pair.
fn describe<'a>(pair: &'a PairKey, versions: &[&Topology], relationships: &mut Known<'a>) {
    let known = relationships.get(&(&pair.assembly, &pair.relationship));
    if known.is_some_and(|known| versions.iter().any(|version| relates(version, known, pair))) {
        return;
    }
    let declares = |version: &&Topology| {
        let found = version.relationship(&pair.assembly, pair.relationship.as_str())?;
        relates(version, found, pair).then(|| found.clone())
    };
    let Some(own) = versions.iter().rev().find_map(declares) else { return };
    match relationships.entry((&pair.assembly, &pair.relationship)) {
        Entry::Vacant(entry) => drop(entry.insert(own)),
        Entry::Occupied(mut entry) => join(entry.get_mut(), &own),
    }
}

/// Tells whether a topology contains the operations for a pair.
///
/// The result is `true` if the topology declares the pair's relationship, and two conditions hold:
///
/// - The relationship calls operations.
/// - One node of the pair is a source of the relationship, and the other node is a target.
pub fn describes(topology: &Topology, pair: &PairKey) -> bool {
    let found = topology.relationship(&pair.assembly, pair.relationship.as_str());
    found.is_some_and(|found| relates(topology, found, pair))
}

/// Tells whether a relationship calls operations for a pair.
fn relates(topology: &Topology, relationship: &Relationship, pair: &PairKey) -> bool {
    let is_end = |ends: &[Endpoint], node: &ElementName| {
        let Some(element) = topology.get(node) else { return false };
        let group = element
            .parent
            .as_ref()
            .filter(|parent| topology.get(parent).is_some_and(|parent| parent.kind == ElementKind::Group));
        ends.iter().any(|end| end.element == *node || Some(&end.element) == group)
    };
    calls(relationship)
        && is_end(&relationship.sources, &pair.source)
        && is_end(&relationship.targets, &pair.target)
}

fn calls(relationship: &Relationship) -> bool {
    !relationship.create.is_empty() || !relationship.cease.is_empty()
}

/// Relationships by key. The key consists of the declaring assembly and the name of the relationship.
type Known<'a> = IndexMap<(&'a ElementName, &'a RelationshipName), Relationship>;

fn relationships<'a>(
    versions: &[&'a Topology],
    version_of: &impl Fn(&ElementName) -> Option<usize>,
) -> Known<'a> {
    let mut merged = Known::new();
    for (at, topology) in versions.iter().enumerate() {
        let newest = at + 1 == versions.len();
        for relationship in topology.relationships() {
            let ends = relationship.sources.iter().chain(&relationship.targets);
            let mut leaves = ends.flat_map(|end| topology.leaves(&end.element));
            if !newest && !leaves.any(|leaf| version_of(&leaf.name) == Some(at)) {
                continue;
            }
            match merged.entry((&relationship.assembly, &relationship.name)) {
                Entry::Vacant(entry) => drop(entry.insert(relationship.clone())),
                Entry::Occupied(mut entry) => join(entry.get_mut(), relationship),
            }
        }
    }
    merged
}

/// Combines two versions of one relationship, and writes the result to `older`. The result has the sources and
/// targets of both versions.
///
/// If `older` has operations, its operations and all its other data stay, because these operations may have created
/// existing pairs. Otherwise, no pairs exist, and `older` gets the operations and all other data of `newer`.
fn join(older: &mut Relationship, newer: &Relationship) {
    let mut base = if calls(older) { older.clone() } else { newer.clone() };
    for (ends, more) in [
        (&mut base.sources, older.sources.iter().chain(&newer.sources)),
        (&mut base.targets, older.targets.iter().chain(&newer.targets)),
    ] {
        for end in more {
            if !ends.iter().any(|known| known.element == end.element) {
                ends.push(end.clone());
            }
        }
    }
    *older = base;
}
