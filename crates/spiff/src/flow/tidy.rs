//! Prepares a finished document for the output: removes temporary nodes, and unescapes expressions.

use std::sync::Arc;

use crate::Features;
use crate::syntax::embedded;
use crate::value::merge_key::is_merge_key;
use crate::value::rebuild::rebuilt;
use crate::value::{Flags, Map, Node, Value};

fn without(node: &Node, flags: &[Flags]) -> Node {
    rebuilt(node, &|node| {
        let own = node.annotations().flags;
        (!flags.iter().any(|flag| own.has(*flag))).then(|| node.clone())
    })
}

/// Removes the nodes with the marker `&temporary` or `&local` from a document.
pub fn discard_temporary(node: &Node) -> Node {
    without(node, &[Flags::TEMPORARY, Flags::LOCAL])
}

/// Removes the nodes with the marker `&local`.
pub(super) fn discard_local(node: &Node) -> Node {
    without(node, &[Flags::LOCAL])
}

/// Returns a document with the nodes that have the marker `&state`, and with the lists and maps around them.
pub(crate) fn state_only(node: &Node) -> Node {
    let keep = |node: &Node| node.annotations().flags.has(Flags::STATE).then(|| node.clone());
    let below = |node: &Node| keep(node).or_else(|| Some(state_only(node)).filter(has_content));
    match node.value() {
        Value::List(list) => node.with_value(list.iter().filter_map(below).collect::<Vec<_>>()),
        Value::Map(map) => {
            let fields: Map =
                map.iter().filter_map(|(key, node)| Some((key.clone(), below(node)?))).collect();
            node.with_value(Value::from(fields))
        }
        _ => node.clone(),
    }
}

fn has_content(node: &Node) -> bool {
    match node.value() {
        Value::List(list) => !list.is_empty(),
        Value::Map(map) => !map.is_empty(),
        _ => false,
    }
}

/// Removes one level of escapes from expressions and keys.
pub(super) fn unescape(node: &Node, features: Features) -> Node {
    match node.value() {
        Value::String(text) => match embedded::unescape(text, features.interpolation) {
            std::borrow::Cow::Owned(text) => node.with_value(text),
            std::borrow::Cow::Borrowed(_) => node.clone(),
        },
        Value::List(list) => {
            let new: Vec<Node> = list.iter().map(|entry| unescape(entry, features)).collect();
            let same = new.iter().zip(list.iter()).all(|(a, b)| a.same_place(b));
            if same { node.clone() } else { node.with_value(new) }
        }
        Value::Map(map) => {
            let new: Map =
                map.iter().map(|(key, node)| (unescaped_key(key), unescape(node, features))).collect();
            let same = new.len() == map.len()
                && new.iter().zip(map.iter()).all(|((ka, a), (kb, b))| ka == kb && a.same_place(b));
            if same { node.clone() } else { node.with_value(Value::from(new)) }
        }
        _ => node.clone(),
    }
}

/// Removes one `!` of a key that begins with `<<!` or `<<<!`.
fn unescaped_key(key: &Arc<str>) -> Arc<str> {
    for merge_key in ["<<<", "<<"] {
        if let Some(rest) = key.strip_prefix(merge_key).and_then(|rest| rest.strip_prefix('!')) {
            debug_assert!(is_merge_key(merge_key), "escapes are those of merge keys");
            return format!("{merge_key}{rest}").into();
        }
    }
    key.clone()
}
