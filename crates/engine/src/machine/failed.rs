//! The elements that have failed since the plan was made.

use std::collections::{BTreeSet, HashMap};

use windlass_model::{ElementName, Topology};

/// The failed elements. Each failed element is listed under its own name, and under the names of all groups and
/// assemblies around it.
///
/// An end of a relationship (its source or its target) may be a group or an assembly. Before the machine creates a
/// relationship, it must know whether an element in one of the two ends has failed. With this map, one look-up for each
/// end is enough.
#[derive(Default)]
pub(super) struct FailedParts(HashMap<ElementName, BTreeSet<ElementName>>);

impl FailedParts {
    /// Adds a failed element under its own name, and under the names of all groups and assemblies around it.
    pub(super) fn insert(&mut self, part: &ElementName, topology: &Topology) {
        for end in ends(part, topology) {
            self.0.entry(end).or_default().insert(part.clone());
        }
    }

    /// Removes an element that is no longer failed.
    pub(super) fn remove(&mut self, part: &ElementName, topology: &Topology) {
        if !self.0.contains_key(part) {
            return;
        }
        for end in ends(part, topology) {
            if let Some(failed) = self.0.get_mut(&end) {
                failed.remove(part);
                if failed.is_empty() {
                    self.0.remove(&end);
                }
            }
        }
    }

    /// Returns a failed element among `one`, `other` and all elements inside these two. If several elements have
    /// failed, the function returns the first in the order of their names.
    pub(super) fn first_at(&self, one: &ElementName, other: &ElementName) -> Option<&ElementName> {
        [one, other].into_iter().filter_map(|end| self.0.get(end)?.first()).min()
    }
}

/// Returns the names of an element and of all groups and assemblies around it.
fn ends(part: &ElementName, topology: &Topology) -> impl Iterator<Item = ElementName> {
    let parent = |name: &ElementName| topology.get(name).and_then(|element| element.parent.clone());
    std::iter::successors(Some(part.clone()), parent)
}
