//! Functions that inspect documents. They do not use the operations on updates, because the tests check these
//! operations.

use serde_json::Value;
use windlass_update_ops::{Path, Shape};

/// Returns the leaves of a canonical document: all values that are not containers with addressable parts,
/// with their paths.
pub(crate) fn leaves(document: &Value, shape: &Shape) -> Vec<(Path, Value)> {
    let mut found = vec![];
    walk(document, &mut vec![], shape, &mut found);
    found
}

fn walk(value: &Value, keys: &mut Vec<String>, shape: &Shape, found: &mut Vec<(Path, Value)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        keys.push(key.clone());
        let path = Path::from_keys(keys.clone()).unwrap();
        let descend = value.as_object().and_then(|map| map.keys().next());
        if descend.is_some_and(|key| shape.trusting().knows(&path.join(key).unwrap())) {
            walk(value, keys, shape, found);
        } else {
            found.push((path, value.clone()));
        }
        keys.pop();
    }
}
