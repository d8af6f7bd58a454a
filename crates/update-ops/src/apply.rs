//! Applies an update to a document.

use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::check::sort_of;
use crate::path::Path;
use crate::problem::NotViable;
use crate::update::{Op, Update};

impl Update {
    /// Applies the update completely, or not at all if it returns an error.
    ///
    /// Missing maps on the path of a value are created, and maps that a removal leaves empty are removed. So
    /// a document in [canonical form](crate::Shape::canonical) stays in this form. `null` in place of a map or
    /// a list counts as absent.
    ///
    /// # Errors
    /// When a value of the document blocks an operation. This can't happen if the document and the update
    /// have the same [`Shape`](crate::Shape).
    pub fn apply(&self, document: &mut Value) -> Result<(), NotViable> {
        for (path, op) in self {
            viable(document, path.as_slice(), op).map_err(|obstacle| obstacle.of(path))?;
        }
        for (path, op) in self {
            perform(document, path.as_slice(), op);
        }
        Ok(())
    }
}

/// A value that blocks an operation, because the operation needs a map or a list at the path of this value.
pub(crate) struct Obstacle {
    /// Number of keys of the obstacle's path. The path starts at the value that was passed to [`viable`].
    depth: usize,
    expected: &'static str,
    found: &'static str,
}

impl Obstacle {
    /// Converts this obstacle to the error of the operation that it blocks. `path` is the path of this operation. The
    /// first `depth` keys of `path` are the path of the obstacle.
    pub(crate) fn of(self, path: &Path) -> NotViable {
        let obstacle = Path::walked(&path.as_slice()[..self.depth]);
        NotViable { path: path.clone(), obstacle, expected: self.expected, found: self.found }
    }

    /// Increases the depth of the obstacle by `keys`. For example, if [`viable`] has checked the value at the path
    /// `a.b` of a document, an increase by 2 makes the depth relative to the document.
    pub(crate) fn below(self, keys: usize) -> Self {
        Self { depth: self.depth + keys, ..self }
    }
}

/// Checks that `op` can be performed inside `value`, at the path `keys`. An empty path means `value`
/// itself.
pub(crate) fn viable(value: &Value, keys: &[String], op: &Op) -> Result<(), Obstacle> {
    if *op == Op::Unset {
        return Ok(());
    }
    let mut value = Some(value);
    for (depth, key) in keys.iter().enumerate() {
        let map = match value {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Object(map)) => map,
            Some(other) => return Err(Obstacle { depth, expected: "a map", found: sort_of(other) }),
        };
        value = map.get(key);
    }
    match (op, value) {
        (Op::Replace(_), _) | (_, None | Some(Value::Null | Value::Array(_))) => Ok(()),
        (_, Some(other)) => Err(Obstacle { depth: keys.len(), expected: "a list", found: sort_of(other) }),
    }
}

/// Performs `op` inside `value`, at the path `keys`. The caller must first check this operation by [`viable`].
pub(crate) fn perform(value: &mut Value, keys: &[String], op: &Op) {
    match op {
        Op::Replace(new) => *reach(value, keys) = new.clone(),
        Op::Append(new) => match reach(value, keys) {
            Value::Array(entries) => entries.extend_from_slice(new),
            absent => *absent = Value::Array(new.clone()),
        },
        Op::Unset => remove(value, keys),
    }
}

/// Returns the value at `keys`, and creates it if it is absent.
fn reach<'v>(value: &'v mut Value, keys: &[String]) -> &'v mut Value {
    keys.iter().fold(value, |value, key| map_in(value).entry(key.clone()).or_insert(Value::Null))
}

/// Returns the map in a value. If the value is no map, an empty map first replaces the value.
fn map_in(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("a map was just put there")
}

/// Removes the value at `keys`, and the maps on its path that become empty.
fn remove(value: &mut Value, keys: &[String]) {
    let (Some((key, below)), Some(map)) = (keys.split_first(), value.as_object_mut()) else { return };
    let Entry::Occupied(mut entry) = map.entry(key.clone()) else { return };
    if !below.is_empty() {
        remove(entry.get_mut(), below);
    }
    if below.is_empty() || entry.get().as_object().is_some_and(Map::is_empty) {
        entry.remove();
    }
}
