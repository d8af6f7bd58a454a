//! One topology of what was installed from several versions.

use std::collections::HashSet;

use indexmap::IndexMap;
use indexmap::map::Entry;
use windlass_model::assembly::ElementKind;
use windlass_model::name::RelationshipName;
use windlass_model::{Element, ElementName, Relationship, Topology};

use crate::as_of;

/// Describes what is there after an upgrade that was cut short: each element as the version has it from which it was
/// installed.
///
/// `versions` are the topologies of the assembly, the newest last. `version_of` returns for an element the place of its
/// version in that list, and nothing for an element that isn't there. A relationship is as the oldest version has it
/// that one of its ends is still of, and has the ends of all later ones too, so that whatever was made is ended.
///
/// A resource of an older version reads its assemblies and references as that version has them, since those have no
/// versions of their own: a change that was given to the assembly, and that a part has not been given, is not lost. A
/// relationship reads the newest, since it is made anew without its ends.
///
/// Once a process has reached its end, everything is of its version, also what it had no steps for: older versions
/// can be forgotten then.
pub fn merged(
    versions: &[&Topology],
    version_of: impl Fn(&ElementName) -> Option<usize>,
) -> Option<Topology> {
    let newest = *versions.last()?;
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
    let relationships = relationships(versions, &version_of);
    // Parents come before their children: the newest version's elements are in order, and older ones that it lacks
    // follow with theirs.
    Some(Topology::new(newest.name().clone(), elements, relationships))
}

fn relationships(
    versions: &[&Topology],
    version_of: &impl Fn(&ElementName) -> Option<usize>,
) -> Vec<Relationship> {
    let mut merged: IndexMap<(&ElementName, &RelationshipName), Relationship> = IndexMap::new();
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
    merged.into_values().collect()
}

/// Lets an older relationship have the ends of a newer one as well. Of two, the one that calls something counts: only
/// it can have been made.
fn join(older: &mut Relationship, newer: &Relationship) {
    let older_calls = !older.create.is_empty() || !older.cease.is_empty();
    let mut base = if older_calls { older.clone() } else { newer.clone() };
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
