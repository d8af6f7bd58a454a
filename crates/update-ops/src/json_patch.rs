//! Conversion of updates from and to JSON Patch, RFC 6902.

use std::mem;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::node::{Node, Sort};
use crate::patch::{PatchError, PatchProblem};
use crate::path::{Path, PathError};
use crate::place::Place;
use crate::problem::{NotViable, Problem, UpdateError};
use crate::shape::Shape;
use crate::update::{Op, Update};

/// Translates a JSON Patch (RFC 6902) to an update. The patch may contain `add`, `replace` and `remove` on
/// fields, and `add` at the end of a list.
///
/// The update has the same effect as the patch on each document to which the patch can be applied, with one
/// difference: where the patch leaves an empty map or list, the update may leave nothing. If the patch fails,
/// for example because a parent is missing, the update may succeed. Under an [untyped](Shape::untyped) shape,
/// a path that ends with `/-` means the end of a list.
///
/// As in [`Update::from_ops`], each value must be a map, a list or a leaf as the shape requires. Other
/// restrictions, such as required fields, are not checked.
///
/// ```
/// use serde_json::json;
/// use windlass_update_ops::{Shape, from_json_patch};
///
/// let patch = json!([
///     {"op": "add", "path": "/signals/flow", "value": 8},
///     {"op": "remove", "path": "/signals/error"},
///     {"op": "add", "path": "/log/-", "value": "started"},
/// ]);
/// let update = from_json_patch(&patch, &Shape::untyped()).expect("it has an equal update");
/// assert_eq!(update.to_value(), json!({
///     "$set": {"signals.flow": 8},
///     "$unset": {"signals.error": null},
///     "$pushAll": {"log": ["started"]},
/// }));
/// ```
///
/// # Errors
/// All operations that no update can express, each with the reason.
pub fn from_json_patch(patch: &Value, shape: &Shape) -> Result<Update, Vec<PatchError>> {
    let Some(operations) = patch.as_array() else {
        return Err(vec![malformed(Place::default(), "a list of operations")]);
    };
    let (mut update, mut errors) = (Update::new(), vec![]);
    for (at, operation) in operations.iter().enumerate() {
        let place = Place::default().index(at);
        match read(operation, &place, shape) {
            Err(more) => errors.extend(more),
            Ok(next) => match mem::take(&mut update).then(&next) {
                Ok(both) => update = both,
                Err(error) => {
                    errors.push(PatchError::new(place, PatchProblem::NotViable(Box::new(error))));
                }
            },
        }
    }
    if errors.is_empty() { Ok(update) } else { Err(errors) }
}

/// Returns a JSON Patch (RFC 6902) that changes `document` in the same way as `update`. The patch is empty if the
/// update changes nothing.
///
/// Unlike an update, a patch depends on the document: it must not remove a missing field, and must create
/// missing maps.
///
/// # Errors
/// When the update can't be applied to the document.
pub fn to_json_patch(update: &Update, document: &Value) -> Result<Value, NotViable> {
    let mut after = document.clone();
    update.apply(&mut after)?;
    let mut operations = vec![];
    compare(&mut String::new(), document, &after, &mut operations);
    Ok(operations.into())
}

fn malformed(place: Place, expected: &'static str) -> PatchError {
    PatchError::new(place, PatchProblem::Malformed { expected })
}

/// Translates one operation of a patch to an update.
fn read(operation: &Value, place: &Place, shape: &Shape) -> Result<Update, Vec<PatchError>> {
    let (path, op) = target(operation, place, shape).map_err(|error| vec![error])?;
    Update::from_ops([(path, op)], shape).map_err(|errors| {
        let refused = |error| PatchError::new(place.clone(), PatchProblem::Refused(Box::new(error)));
        errors.into_iter().map(refused).collect()
    })
}

fn target(operation: &Value, place: &Place, shape: &Shape) -> Result<(Path, Op), PatchError> {
    let Some(fields) = operation.as_object() else {
        return Err(malformed(place.clone(), "an operation: a map with `op` and `path`"));
    };
    let name = text(fields, "op", place)?;
    let pointer = text(fields, "path", place)?;
    let at = place.clone().key("path");
    let tokens = tokens(pointer, &at)?;
    let value = || {
        let missing = || malformed(place.clone(), "a `value`");
        fields.get("value").cloned().ok_or_else(missing)
    };
    let op = match name {
        "add" | "replace" => Op::Replace(value()?),
        "remove" => Op::Unset,
        "test" => {
            value()?;
            return Err(depends(name, place));
        }
        "move" | "copy" => {
            self::tokens(text(fields, "from", place)?, &place.clone().key("from"))?;
            return Err(depends(name, place));
        }
        _ => {
            return Err(malformed(
                place.clone().key("op"),
                "`add`, `replace`, `remove`, `test`, `move` or `copy`",
            ));
        }
    };
    let entry = || PatchError::new(at.clone(), PatchProblem::Entry { pointer: pointer.to_owned() });
    let path = |keys: &[String]| Path::from_keys(keys.iter().cloned()).map_err(|error| bad_path(&at, error));
    match (locate(&tokens, shape), op) {
        (Location::Root, _) => Err(PatchError::new(at, PatchProblem::WholeDocument)),
        (Location::Field, op) => Ok((path(&tokens)?, op)),
        (Location::End, Op::Replace(value)) if name == "add" => {
            Ok((path(&tokens[..tokens.len() - 1])?, Op::Append(vec![value])))
        }
        (Location::End | Location::Entry, _) => Err(entry()),
    }
}

fn depends(op: &str, place: &Place) -> PatchError {
    PatchError::new(place.clone(), PatchProblem::DependsOnDocument { op: op.to_owned() })
}

fn bad_path(place: &Place, error: PathError) -> PatchError {
    let error = UpdateError { place: place.clone(), path: None, problem: Problem::BadPath(error) };
    PatchError::new(place.clone(), PatchProblem::Refused(Box::new(error)))
}

fn text<'f>(
    fields: &'f Map<String, Value>,
    name: &'static str,
    place: &Place,
) -> Result<&'f str, PatchError> {
    let expected = match name {
        "op" => "an `op`, which is a string",
        "path" => "a `path`, which is a JSON Pointer",
        _ => "a `from`, which is a JSON Pointer",
    };
    let value = fields.get(name).and_then(Value::as_str);
    value.ok_or_else(|| malformed(place.clone(), expected))
}

/// Splits a JSON Pointer (RFC 6901) into its keys.
fn tokens(pointer: &str, place: &Place) -> Result<Vec<String>, PatchError> {
    let wrong = |expected| malformed(place.clone(), expected);
    if pointer.is_empty() {
        return Ok(vec![]);
    }
    let rest = pointer.strip_prefix('/').ok_or_else(|| wrong("a JSON Pointer, which begins with `/`"))?;
    let escapes = |token: &str| token.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    if !rest.split('/').all(escapes) {
        return Err(wrong("a JSON Pointer, in which `0` or `1` follows each `~`"));
    }
    Ok(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

/// The target of a pointer.
enum Location {
    Root,
    Field,
    /// Behind the last entry of a list.
    End,
    /// An entry of a list, or a place inside an entry.
    Entry,
}

fn locate(tokens: &[String], shape: &Shape) -> Location {
    let Some((last, above)) = tokens.split_last() else { return Location::Root };
    let mut node: Option<Arc<Node>> = Some(shape.root.clone());
    for (depth, token) in above.iter().enumerate() {
        if lists(node.as_deref(), depth) && is_entry(node.as_deref(), token) {
            return Location::Entry;
        }
        node = node.and_then(|node| node.child(token));
    }
    match lists(node.as_deref(), above.len()) {
        true if last == "-" => Location::End,
        true if is_entry(node.as_deref(), last) => Location::Entry,
        _ => Location::Field,
    }
}

/// Tells whether the value of a node may be a list. `node` is `None` if the shape does not contain the path of the
/// value. `depth` is the number of keys in the path. At depth 0, the value is the document itself, which is a map.
fn lists(node: Option<&Node>, depth: usize) -> bool {
    depth > 0 && node.is_some_and(Node::takes_appends)
}

/// Tells whether a key of a JSON Pointer addresses an entry of the value of `node`. The caller has found out by
/// [`lists`] that the value may be a list. If the shape declares the value as a list, every key addresses an entry. If
/// the shape permits any value, only `-` and keys of digits address an entry.
fn is_entry(node: Option<&Node>, token: &str) -> bool {
    let is_list = node.is_some_and(|node| matches!(node.sort, Sort::List));
    is_list || token == "-" || (!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Adds the operations that change one value into another.
fn compare(pointer: &mut String, from: &Value, to: &Value, operations: &mut Vec<Value>) {
    match (from, to) {
        _ if from == to => {}
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                enter(pointer, key, |pointer| match new.get(key) {
                    None => operations.push(json!({"op": "remove", "path": pointer})),
                    Some(later) => compare(pointer, value, later, operations),
                });
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                enter(pointer, key, |pointer| {
                    operations.push(json!({"op": "add", "path": pointer, "value": value}));
                });
            }
        }
        (Value::Array(old), Value::Array(new)) if new.starts_with(old) => {
            let added = new[old.len()..].iter();
            operations.extend(
                added.map(|entry| json!({"op": "add", "path": format!("{pointer}/-"), "value": entry})),
            );
        }
        (_, to) => operations.push(json!({"op": "replace", "path": pointer, "value": to})),
    }
}

/// Calls `work` with the pointer extended by a key. The pointer is restored afterwards.
fn enter(pointer: &mut String, key: &str, work: impl FnOnce(&mut String)) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    work(pointer);
    pointer.truncate(length);
}
