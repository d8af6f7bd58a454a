//! The nodes of a group: numbered ones, or one for each entry of a list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_model::Template;
use windlass_model::name::NodeKey;
use windlass_source::Place;

/// An entry of a list, which declares a node.
pub(super) struct Entry {
    pub(super) key: NodeKey,
    pub(super) fields: BTreeMap<String, Template>,
    /// The place of the entry, or of its list if the entry's place is unknown.
    pub(super) place: Place,
    /// Names of the inventory's fields that the entry does not contain; see
    /// [`GivenPlaces::left_out`](super::GivenPlaces::left_out).
    pub(super) left_out: Arc<BTreeSet<String>>,
}

/// The nodes of a group.
pub(super) enum Nodes {
    /// The nodes from 1 to this number.
    Numbered(u32),
    /// One node for each entry.
    Keyed(Vec<Entry>),
}

impl Nodes {
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Numbered(count) => *count,
            Self::Keyed(entries) => u32::try_from(entries.len()).unwrap_or(u32::MAX),
        }
    }

    /// Returns the entry of the node with this number, counted from 1; `None` if the nodes have no keys.
    pub(super) fn entry(&self, number: u32) -> Option<&Entry> {
        match self {
            Self::Numbered(_) => None,
            Self::Keyed(entries) => entries.get(usize::try_from(number).ok()?.checked_sub(1)?),
        }
    }
}

/// Returns the lowest key, which does not depend on the order of the list.
pub(super) fn lowest(entries: &[Entry]) -> Option<&NodeKey> {
    entries.iter().map(|entry| &entry.key).min()
}
