//! Determines whether values are completely evaluated.

use std::collections::HashSet;
use std::sync::Arc;

use crate::syntax::embedded;
use crate::too_deep::with_stack;
use crate::value::merge_key::{is_list_complete, is_map_complete};
use crate::value::{Node, Value};

/// Tells whether a value has been evaluated. The nodes below the value are not checked. The result is `false` for an
/// expression, and for a map or list that still contains a merge key.
///
/// If `control` is true, control structures are enabled. The keys of control structures, such as `<<if`, then also
/// count as merge keys.
pub(crate) fn is_locally_resolved(value: &Value, control: bool) -> bool {
    match value {
        Value::Expression(_) => false,
        Value::Map(map) => is_map_complete(map, control),
        Value::List(list) => is_list_complete(list),
        _ => true,
    }
}

/// Tells whether a value and all nodes below the value are evaluated. For `control`, see [`is_locally_resolved`].
pub(crate) fn is_resolved(value: &Value, control: bool) -> bool {
    is_resolved_or_failed(value, false, control)
}

/// Tells whether a value and all nodes below the value are evaluated. If `accept_failed` is true, a failed node below
/// the value counts as evaluated. For `control`, see [`is_locally_resolved`].
pub(crate) fn is_resolved_or_failed(value: &Value, accept_failed: bool, control: bool) -> bool {
    Settled { accept_failed, control, seen: HashSet::new() }.is(value)
}

/// A search for unevaluated parts of a value.
struct Settled {
    accept_failed: bool,
    control: bool,
    /// Memory addresses of the shared lists and maps that were already searched. A list or map is shared if
    /// several values refer to it. Each shared list or map is searched only once.
    seen: HashSet<usize>,
}

impl Settled {
    fn is(&mut self, value: &Value) -> bool {
        match value {
            Value::Expression(_) => false,
            Value::List(list) => {
                let known = Arc::strong_count(list) > 1 && !self.seen.insert(Arc::as_ptr(list).addr());
                known || list.iter().all(|node| self.node(node))
            }
            Value::Map(map) => {
                let known = Arc::strong_count(map) > 1 && !self.seen.insert(Arc::as_ptr(map).addr());
                known || (is_map_complete(map, self.control) && map.values().all(|node| self.node(node)))
            }
            Value::String(text) => !embedded::is_expression(text),
            _ => true,
        }
    }

    fn node(&mut self, node: &Node) -> bool {
        let annotations = node.annotations();
        let settled = self.accept_failed && (annotations.failed || annotations.error);
        settled || with_stack(|| self.is(node))
    }
}

/// Tells whether a node and all nodes below the node are evaluated. If the node itself has the annotation `failed` or
/// `undefined`, the result is false. For `control`, see [`is_locally_resolved`].
pub(crate) fn is_resolved_node(node: &Node, control: bool) -> bool {
    let annotations = node.annotations();
    !annotations.failed && !annotations.undefined && is_resolved(node, control)
}
