//! Rebuilds nodes with changed parts.

use super::node::{Map, Node, Value};
use crate::too_deep::with_stack;

/// Replaces each node below `node` by the result of `change`, and removes it if the result is `None`.
/// Unchanged lists and maps keep their addresses.
pub(crate) fn rebuilt(node: &Node, change: &dyn Fn(&Node) -> Option<Node>) -> Node {
    with_stack(|| match node.value() {
        Value::List(list) => {
            let new: Vec<Node> =
                list.iter().filter_map(|entry| change(entry).map(|entry| rebuilt(&entry, change))).collect();
            let same = new.len() == list.len() && new.iter().zip(list.iter()).all(|(a, b)| a.same_place(b));
            if same { node.clone() } else { node.with_value(new) }
        }
        Value::Map(map) => {
            let new: Map = map
                .iter()
                .filter_map(|(key, entry)| change(entry).map(|entry| (key.clone(), rebuilt(&entry, change))))
                .collect();
            let same = new.len() == map.len() && new.values().zip(map.values()).all(|(a, b)| a.same_place(b));
            if same { node.clone() } else { node.with_value(Value::from(new)) }
        }
        _ => node.clone(),
    })
}
