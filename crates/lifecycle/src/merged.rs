//! One topology of what was installed from several versions.

use std::collections::HashSet;

use indexmap::IndexMap;
use indexmap::map::Entry;
use windlass_model::assembly::{ElementKind, Endpoint};
use windlass_model::name::RelationshipName;
use windlass_model::record::PairKey;
use windlass_model::{Element, ElementName, Relationship, Topology};

use crate::as_of;

/// Describes what is there after an upgrade that was cut short: each element as the version has it from which it was
/// installed.
///
/// `versions` are the topologies of the assembly, the newest last. `version_of` returns for an element the place of its
/// version in that list, and nothing for an element that isn't there. A relationship is as the oldest version has it
/// that one of its ends is still of, and has the ends of all later ones too, so that whatever was made is ended. What is
/// `made` and none of these describes, is as the newest version has it that does: its ends may have been given the values
/// of a version that calls nothing for it any more.
///
/// A resource of an older version reads its assemblies and references as that version has them, since those have no
/// versions of their own: a change that was given to the assembly, and that a part has not been given, is not lost. A
/// relationship reads the newest, since it is made anew without its ends.
///
/// Once a process has reached its end, everything is of its version, also what it had no steps for: older versions
/// can be forgotten then.
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
    Some(Topology::new(newest.name().clone(), elements, relationships))
}

/// Returns each element as the version has it from which it was installed, parents before their children: the newest
/// version's elements are in order, and older ones that it lacks follow with theirs.
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
            // What is no resource has no version of its own: the newest that has it, describes it.
            let (from, chosen) = match own {
                Some(own) => own,
                // What is gone is still named by what reads it.
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

/// Sees to it that what was made between two nodes is described: by what is known, or by the newest version that does.
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

/// Tells whether the topology of an assembly says how a relationship between two nodes is ended.
pub fn describes(topology: &Topology, pair: &PairKey) -> bool {
    let found = topology.relationship(&pair.assembly, pair.relationship.as_str());
    found.is_some_and(|found| relates(topology, found, pair))
}

/// Tells whether a relationship calls something for two nodes.
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

/// Relationships by the assembly that declares them and their names.
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

/// Lets an older relationship have the ends of a newer one as well. Of two, the one that calls something counts: only
/// it can have been made.
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
