//! Conversion of updates from and to JSON Merge Patch, RFC 7396.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::node::{Node, Sort};
use crate::patch::{NoMergePatch, PatchError, PatchProblem};
use crate::path::Path;
use crate::place::Place;
use crate::problem::{Problem, UpdateError};
use crate::shape::Shape;
use crate::update::{Op, Update};

/// Translates a JSON Merge Patch (RFC 7396) to an update. In such a patch, a `null` removes a field, a map is
/// merged, and any other value replaces a field.
///
/// The update has the same effect as the patch on each valid document, except in two cases:
///
/// - Where the patch leaves an empty map or list, the update may leave nothing.
/// - The shape is [untyped](Shape::untyped), and the patch contains a map at a path where the document contains a text.
///   The patch overwrites this text, but the update does not.
///
/// As in [`Update::from_ops`], each value must be a map, a list or a leaf as the shape requires. Other restrictions,
/// such as required fields, are not checked.
///
/// ```
/// use serde_json::json;
/// use windlass_update_ops::{Shape, from_merge_patch};
///
/// let patch = json!({"name": "pump", "signals": {"flow": 8, "error": null}});
/// let update = from_merge_patch(&patch, &Shape::untyped()).expect("it has an equal update");
/// assert_eq!(update.to_value(), json!({
///     "name": "pump",
///     "$set": {"signals.flow": 8},
///     "$unset": {"signals.error": null},
/// }));
/// ```
///
/// # Errors
/// All parts of the patch that no update can express, each with the reason.
pub fn from_merge_patch(patch: &Value, shape: &Shape) -> Result<Update, Vec<PatchError>> {
    let Some(fields) = patch.as_object() else {
        return Err(vec![PatchError::new(Place::default(), PatchProblem::WholeDocument)]);
    };
    let mut reader = Merge { keys: vec![], place: Place::default(), ops: vec![], errors: vec![] };
    reader.fields(Some(&shape.root), fields);
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    let refused = |error: UpdateError| {
        let keys = error.path.iter().flat_map(Path::keys);
        let place = keys.fold(Place::default(), Place::key);
        PatchError::new(place, PatchProblem::Refused(Box::new(error)))
    };
    Update::from_ops(reader.ops, shape)
        .map_err(|errors: Vec<UpdateError>| errors.into_iter().map(refused).collect())
}

/// Returns a JSON Merge Patch (RFC 7396) that changes `document` in the same way as `update`. The patch is empty if
/// the update changes nothing.
///
/// Unlike an update, a patch depends on the document. If a patch replaces a map, the patch contains a `null` for each
/// field to remove. A patch that changes a list contains all entries of the list.
///
/// # Errors
/// When the update writes a `null`, or when it can't be applied to the document.
pub fn to_merge_patch(update: &Update, document: &Value) -> Result<Value, NoMergePatch> {
    let mut after = document.clone();
    update.apply(&mut after)?;
    let empty = Value::Object(Map::new());
    let before = if document.is_object() { document } else { &empty };
    Ok(difference(&mut vec![], Some(before), &after)?.unwrap_or(empty))
}

struct Merge {
    keys: Vec<String>,
    place: Place,
    ops: Vec<(Path, Op)>,
    errors: Vec<PatchError>,
}

impl Merge {
    fn fields(&mut self, node: Option<&Arc<Node>>, fields: &Map<String, Value>) {
        for (key, value) in fields {
            self.keys.push(key.clone());
            self.place.enter(key);
            self.field(node.and_then(|node| node.child(key)).as_ref(), value);
            self.place.leave();
            self.keys.pop();
        }
    }

    fn field(&mut self, node: Option<&Arc<Node>>, value: &Value) {
        let path = match Path::from_keys(self.keys.iter().cloned()) {
            Ok(path) => path,
            Err(error) => {
                let problem = Problem::BadPath(error);
                let error = UpdateError { place: self.place.clone(), path: None, problem };
                return self
                    .errors
                    .push(PatchError::new(self.place.clone(), PatchProblem::Refused(Box::new(error))));
            }
        };
        match value {
            Value::Object(fields) if node.is_some_and(|node| node.is_structural()) => {
                self.fields(node, fields);
            }
            Value::Object(_) if node.is_some_and(|node| matches!(node.sort, Sort::Opaque)) => {
                let problem = PatchProblem::MergesIntoValue { path };
                self.errors.push(PatchError::new(self.place.clone(), problem));
            }
            Value::Null => self.ops.push((path, Op::Unset)),
            other => self.ops.push((path, Op::Replace(other.clone()))),
        }
    }
}

/// Returns the patch that changes one value into another; `None` if the two are equal. `from` is `None` if
/// the value is new.
fn difference(
    keys: &mut Vec<String>,
    from: Option<&Value>,
    to: &Value,
) -> Result<Option<Value>, NoMergePatch> {
    if from == Some(to) {
        return Ok(None);
    }
    match to {
        Value::Null => Err(NoMergePatch::Null { path: Path::walked(keys) }),
        Value::Object(new) => {
            let none = Map::new();
            let old = from.and_then(Value::as_object).unwrap_or(&none);
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
            for (key, value) in new {
                keys.push(key.clone());
                if let Some(changed) = difference(keys, old.get(key), value)? {
                    patch.insert(key.clone(), changed);
                }
                keys.pop();
            }
            Ok(Some(patch.into()))
        }
        other => Ok(Some(other.clone())),
    }
}
