//! The merge keys `<<` and `<<<` of maps. A list entry that consists of a merge key is an *insertion*.

use std::ops::Bound;
use std::sync::Arc;

use super::node::{Map, Node};

/// Tells whether a key is `<<` or `<<<`.
pub(crate) fn is_merge_key(key: &str) -> bool {
    matches!(key, "<<" | "<<<")
}

/// Tells whether a map is completely merged, which means that it contains no merge key. If `control` is true, the keys
/// of control structures also count as merge keys.
pub(crate) fn is_map_complete(map: &Map, control: bool) -> bool {
    // Keys are sorted by byte, so all that begin with `<<` are adjacent.
    let from = Bound::Included("<<");
    let mut keys = map.range::<str, _>((from, Bound::Unbounded)).map(|(key, _)| key);
    if control {
        return !keys.take_while(|key| key.starts_with("<<")).any(|key| !key.starts_with("<<!"));
    }
    !keys.by_ref().take_while(|key| key.starts_with("<<")).any(|key| is_merge_key(key))
}

/// Returns the merge key and its value, if a list entry is an insertion: a map whose only key is a merge key.
/// Returns `None` for any other entry.
pub(crate) fn insert(entry: &Node) -> Option<(&Arc<str>, &Node)> {
    let map = entry.as_map()?;
    if map.len() != 1 {
        return None;
    }
    map.iter().next().filter(|(key, _)| is_merge_key(key))
}

/// Tells whether a list is completely merged, which means that no entry is an insertion (see [`insert`]).
pub(crate) fn is_list_complete(list: &[Node]) -> bool {
    !list.iter().any(|entry| insert(entry).is_some())
}
