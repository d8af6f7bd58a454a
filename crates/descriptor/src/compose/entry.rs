//! The nodes of a group: numbered nodes, or one node for each entry of a list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_model::Template;
use windlass_model::name::NodeKey;
use windlass_source::Place;

/// An entry of the list `each`. It declares one node.
pub(super) struct Entry {
    pub(super) key: NodeKey,
    pub(super) fields: BTreeMap<String, Template>,
    /// The place of the entry, or the place of the whole list if the place of the entry is not known.
    pub(super) place: Place,
    /// Names of Ansible variables that windlass has left out of the entry; see
    /// [`GivenPlaces::left_out`](super::GivenPlaces::left_out). Empty if the entry comes from another source
    /// than an Ansible inventory.
    pub(super) left_out: Arc<BTreeSet<String>>,
}

/// The nodes that the composition creates for a group. A number, such as `quantity: 3`, gives numbered nodes. The list
/// `each` gives nodes with keys.
pub(super) enum Nodes {
    /// Nodes with the numbers from 1 to this number.
    Numbered(u32),
    /// One node for each entry, named by the key of the entry.
    Keyed(Vec<Entry>),
}

impl Nodes {
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Numbered(count) => *count,
            Self::Keyed(entries) => u32::try_from(entries.len()).unwrap_or(u32::MAX),
        }
    }

    /// Returns the list entry from which a node is created. `number` is the position of the node in the list, and
    /// the first position is 1. Returns `None` if the group declares a number of nodes instead of a list.
    pub(super) fn entry(&self, number: u32) -> Option<&Entry> {
        match self {
            Self::Numbered(_) => None,
            Self::Keyed(entries) => entries.get(usize::try_from(number).ok()?.checked_sub(1)?),
        }
    }
}

/// Returns the key that comes first in alphabetical order, wherever its entry is in the list. Returns `None` if the
/// list is empty.
pub(super) fn lowest(entries: &[Entry]) -> Option<&NodeKey> {
    entries.iter().map(|entry| &entry.key).min()
}
