//! The parts that have failed since the plan was made, found by whatever they are part of.

use std::collections::{BTreeSet, HashMap};

use windlass_model::{ElementName, Topology};

/// The failed parts, by themselves and by each group and assembly that they are in.
///
/// Before a relationship is made it is looked up whether one of its ends has failed: that must not cost a walk over all
/// that is in the ends, nor over all that has failed.
#[derive(Default)]
pub(super) struct FailedParts(HashMap<ElementName, BTreeSet<ElementName>>);

impl FailedParts {
    /// Notes that a part has failed.
    pub(super) fn insert(&mut self, part: &ElementName, topology: &Topology) {
        for end in ends(part, topology) {
            self.0.entry(end).or_default().insert(part.clone());
        }
    }

    /// Notes that a part is well.
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

    /// Returns the first failed part at or below one of two ends.
    pub(super) fn first_at(&self, one: &ElementName, other: &ElementName) -> Option<&ElementName> {
        [one, other].into_iter().filter_map(|end| self.0.get(end)?.first()).min()
    }
}

/// Returns a part and all that it is in.
fn ends(part: &ElementName, topology: &Topology) -> impl Iterator<Item = ElementName> {
    let parent = |name: &ElementName| topology.get(name).and_then(|element| element.parent.clone());
    std::iter::successors(Some(part.clone()), parent)
}
