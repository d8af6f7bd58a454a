//! Finds the node at a path below another node.

use super::merge_key::{is_list_complete, is_map_complete};
use super::node::{Node, Value};
use crate::path::steps;

/// Key field of a list that declares no other key field.
pub(crate) const KEY: &str = "name";

impl Node {
    /// Returns the node at a path: `a.b.[0]`, or `a.x` for the list entry whose key field is `x`.
    ///
    /// ```
    /// use windlass_source::Source;
    /// use windlass_spiff::yaml::read_document;
    ///
    /// let node = read_document(&Source::new("a.yaml", "a: [{name: x, v: 1}]\n"))?;
    /// assert_eq!(node.at("a.x.v").and_then(|node| node.as_int()), Some(1));
    /// assert_eq!(node.at("a[0].v").and_then(|node| node.as_int()), Some(1));
    /// # Ok::<(), windlass_spiff::yaml::ReadError>(())
    /// ```
    pub fn at(&self, path: &str) -> Option<Self> {
        let steps = steps(path, false);
        steps.iter().try_fold(self.clone(), |node, name| step(&node, name, None))
    }
}

/// Follows one step of a path: returns the node to which `step` leads from `here`. Returns `None` if this node does
/// not exist. The parameter `complete` tells whether `here` must be completely merged:
///
/// - `None`: `here` may still contain a merge key.
/// - `Some(false)`: if `here` still contains a merge key, the result is `None`.
/// - `Some(true)`: if `here` still contains a merge key or a key of a control structure, the result is `None`.
pub(crate) fn step(here: &Node, step: &str, complete: Option<bool>) -> Option<Node> {
    match here.value() {
        Value::Map(map) => {
            if complete.is_some_and(|control| !is_map_complete(map, control)) {
                return None;
            }
            map.get(step).cloned()
        }
        Value::List(list) => {
            if complete.is_some() && !is_list_complete(list) {
                return None;
            }
            entry(list, step, here.annotations().key_name.as_deref(), complete)
        }
        _ => None,
    }
}

fn entry(list: &[Node], step: &str, key: Option<&str>, complete: Option<bool>) -> Option<Node> {
    if let Some(index) = step.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let index: i64 = index.parse().ok()?;
        let length = i64::try_from(list.len()).ok()?;
        let index = if index < 0 { index.checked_add(length)? } else { index };
        return list.get(usize::try_from(index).ok()?).cloned();
    }
    let (key, wanted) = match step.split_once(':') {
        Some((key, wanted)) if !key.is_empty() => (key, wanted),
        _ => (key.unwrap_or(KEY), step),
    };
    list.iter()
        .find(|entry| {
            let Some(map) = entry.as_map() else { return false };
            if complete.is_some_and(|control| !is_map_complete(map, control)) {
                return false;
            }
            map.get(key).and_then(|name| name.as_str()) == Some(wanted)
        })
        .cloned()
}

/// Returns the node at a path. Returns `None` if the node does not exist, or if a map or list on the way still
/// contains a merge key. If `control` is true, the keys of control structures also count as merge keys.
pub(crate) fn path<'p>(root: &Node, path: impl IntoIterator<Item = &'p str>, control: bool) -> Option<Node> {
    let mut here = root.clone();
    for name in path {
        here = step(&here, name, Some(control))?;
    }
    Some(here)
}
