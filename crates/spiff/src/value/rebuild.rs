//! Rebuilds nodes with changed parts.

use super::node::{Map, Node, Value};
use crate::too_deep::with_stack;

/// Returns a copy of `node` in which `change` has replaced each node below `node`. If `change` returns `None` for a
/// node, the copy does not contain this node. `node` and the copy share unchanged lists and maps.
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
