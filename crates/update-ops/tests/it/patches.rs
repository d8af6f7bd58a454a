//! Tests conflicts, and the conversion from and to JSON Patch and JSON Merge Patch.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use windlass_update_ops::{
    NoMergePatch, Shape, Update, from_json_patch, from_merge_patch, to_json_patch, to_merge_patch,
};

use crate::generate::{anything, append_free, document, shape, update};
use crate::table::instance;

fn applied(update: &Update, document: &Value) -> Value {
    let mut document = document.clone();
    update.apply(&mut document).unwrap();
    document
}

/// Applies a JSON Patch by the crate `json-patch`. `None` if it can't be applied.
pub(crate) fn patched(patch: &Value, document: &Value) -> Option<Value> {
    let patch: json_patch::Patch = serde_json::from_value(patch.clone()).ok()?;
    let mut document = document.clone();
    json_patch::patch(&mut document, &patch).ok()?;
    Some(document)
}

/// Applies a JSON Merge Patch by the crate `json-patch`.
fn merged(patch: &Value, document: &Value) -> Value {
    let mut document = document.clone();
    json_patch::merge(&mut document, patch);
    document
}

/// The examples of RFC 7396, appendix A, without those that replace the whole document, which no update can
/// express.
#[rstest]
#[case(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}))]
#[case(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}))]
#[case(json!({"a": "b"}), json!({"a": null}), json!({}))]
#[case(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}))]
#[case(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}))]
#[case(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}))]
#[case(json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}}))]
#[case(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}))]
#[case(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}))]
#[case(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({}))]
fn merges_as_the_rfc(#[case] document: Value, #[case] patch: Value, #[case] expected: Value) {
    let untyped = Shape::untyped();
    assert_eq!(untyped.canonical(merged(&patch, &document)), expected);
    let update = from_merge_patch(&patch, &untyped).unwrap();
    assert_eq!(applied(&update, &document), expected);
}

#[rstest]
#[case(json!(["c", "d"]))]
#[case(json!(["c"]))]
#[case(json!(null))]
#[case(json!("bar"))]
fn whole_documents_are_not_replaced(#[case] patch: Value) {
    let errors = from_merge_patch(&patch, &Shape::untyped()).unwrap_err();
    assert_eq!(errors[0].to_string(), "it replaces the whole document, and an update changes fields");
}

#[rstest]
#[case::unknown(
    json!({"status": {"runing": 1}}), "/status/runing", "`status.runing`: no such path"
)]
#[case::sort(json!({"name": [1]}), "/name", "`name`: expected a string, found a list")]
#[case::opaque(
    json!({"interfaces": {"i": {"signals": {"p": {"x": 1}}}}}), "/interfaces/i/signals/p",
    "`interfaces.i.signals.p` is a value without parts, and a map can't be merged into it"
)]
#[case::empty_key(json!({"interfaces": {"": {}}}), "/interfaces/", "the path `interfaces.` has an empty key: a dot at an end, or two in a row")]
fn refuses_merge_patches(#[case] patch: Value, #[case] place: &str, #[case] message: &str) {
    let errors = from_merge_patch(&patch, &shape()).unwrap_err();
    assert_eq!((errors[0].place.to_string().as_str(), errors[0].to_string().as_str()), (place, message));
}

#[rstest]
#[case::test(json!([{"op": "test", "path": "/a", "value": 1}]), "/0", "`test` depends on the document, and an update does not")]
#[case::moved(json!([{"op": "move", "path": "/a", "from": "/b"}]), "/0", "`move` depends on the document, and an update does not")]
#[case::copied(json!([{"op": "copy", "path": "/a", "from": "/b"}]), "/0", "`copy` depends on the document, and an update does not")]
#[case::index(json!([{"op": "add", "path": "/a/0", "value": 1}]), "/0/path", "`/a/0` names an entry of a list, and an update appends to lists or replaces them")]
#[case::inside(json!([{"op": "remove", "path": "/a/0/b"}]), "/0/path", "`/a/0/b` names an entry of a list, and an update appends to lists or replaces them")]
#[case::last(json!([{"op": "remove", "path": "/a/-"}]), "/0/path", "`/a/-` names an entry of a list, and an update appends to lists or replaces them")]
#[case::root(json!([{"op": "replace", "path": "", "value": {}}]), "/0/path", "it replaces the whole document, and an update changes fields")]
#[case::empty(json!([{"op": "add", "path": "/", "value": 1}]), "/0/path", "the path is empty")]
#[case::sorts(
    json!([{"op": "add", "path": "/a", "value": 1}, {"op": "add", "path": "/a/b", "value": 1}]),
    "/1", "`a.b` can't be written: `a` is a number, not a map"
)]
#[case::no_list(json!({}), "", "expected a list of operations")]
#[case::pointer(json!([{"op": "remove", "path": "a"}]), "/0/path", "expected a JSON Pointer, which begins with `/`")]
#[case::escape(json!([{"op": "remove", "path": "/a~2"}]), "/0/path", "expected a JSON Pointer, in which `0` or `1` follows each `~`")]
#[case::no_value(json!([{"op": "add", "path": "/a"}]), "/0", "expected a `value`")]
#[case::no_path(json!([{"op": "add", "value": 1}]), "/0", "expected a `path`, which is a JSON Pointer")]
#[case::unknown(json!([{"op": "spam", "path": "/a"}]), "/0/op", "expected `add`, `replace`, `remove`, `test`, `move` or `copy`")]
fn refuses_json_patches(#[case] patch: Value, #[case] place: &str, #[case] message: &str) {
    let errors = from_json_patch(&patch, &Shape::untyped()).unwrap_err();
    assert_eq!((errors[0].place.to_string().as_str(), errors[0].to_string().as_str()), (place, message));
}

/// With a shape, a number in a pointer can be recognised as a key and not as an index.
#[test]
fn a_key_may_be_a_number() {
    let patch = json!([
        {"op": "add", "path": "/interfaces/0/signals/-", "value": 1},
        {"op": "add", "path": "/activityLog/-", "value": {"message": "m"}},
    ]);
    let update = from_json_patch(&patch, &shape()).unwrap();
    assert_eq!(
        update.to_value(),
        json!({"$set": {"interfaces.0.signals.-": 1}, "$pushAll": {"activityLog": [{"message": "m"}]}})
    );
    let patch = json!([{"op": "add", "path": "/activityLog/0", "value": {"message": "m"}}]);
    assert!(from_json_patch(&patch, &shape()).is_err());
}

#[test]
fn all_operations_without_an_equal_are_reported() {
    let patch = json!([
        {"op": "test", "path": "/name", "value": "a"},
        {"op": "add", "path": "/name", "value": "b"},
        {"op": "add", "path": "/nam", "value": "b"},
    ]);
    let errors = from_json_patch(&patch, &shape()).unwrap_err();
    let said: Vec<_> = errors.iter().map(|error| format!("{} {error}", error.place)).collect();
    assert_eq!(said, ["/0 `test` depends on the document, and an update does not", "/2 `nam`: no such path"]);
    assert_eq!(errors[1].help().as_deref(), Some("did you mean `name`?"));
}

#[test]
fn a_merge_patch_writes_no_null() {
    let update = Update::parse(&json!({"$set": {"a.b": null}}), &Shape::untyped()).unwrap().update;
    let Err(NoMergePatch::Null { path }) = to_merge_patch(&update, &json!({})) else { panic!() };
    assert_eq!(path.to_string(), "a.b");
    assert_eq!(to_merge_patch(&update, &json!({"a": {"b": null}})), Ok(json!({})));
}

#[test]
fn patches_of_an_update_that_can_not_be_applied() {
    let update = Update::parse(&json!({"$set": {"a.b": 1}}), &Shape::untyped()).unwrap().update;
    let blocked = json!({"a": "text"});
    assert!(to_json_patch(&update, &blocked).is_err());
    assert!(matches!(to_merge_patch(&update, &blocked), Err(NoMergePatch::NotViable(_))));
}

#[rstest]
#[case::same("status", "status", "both touch `status`")]
#[case::below("status.message", "status", "`status.message` is below `status`")]
#[case::above("status", "status.flags.active", "`status` is above `status.flags.active`")]
fn names_the_paths_of_a_conflict(#[case] path: &str, #[case] other: &str, #[case] said: &str) {
    let unset = |path: &str| {
        Update::parse(&json!({"$unset": {path: null}, "name": "n"}), &instance(&[]).trusting())
            .unwrap()
            .update
    };
    let (first, second) = (unset(path), unset(other));
    let conflicts: Vec<_> = first.conflicts(&second).map(|conflict| conflict.to_string()).collect();
    assert_eq!(conflicts, ["both touch `name`", said]);
}

/// Tells whether a merge patch has a map at a path where the document has a value that is no map.
fn overwrites(patch: &Value, document: &Value) -> bool {
    let (Some(patch), Some(document)) = (patch.as_object(), document.as_object()) else {
        return patch.is_object();
    };
    patch.iter().any(|(key, value)| document.get(key).is_some_and(|document| overwrites(value, document)))
}

/// Generates JSON Patches. The operations of a patch often have the same path. Many of the patches can be translated
/// into updates.
fn json_patch() -> impl Strategy<Value = Value> {
    let pointer = prop_oneof![
        Just("/name"),
        Just("/status/message"),
        Just("/interfaces"),
        Just("/interfaces/a"),
        Just("/interfaces/a/signals"),
        Just("/interfaces/a/signals/b"),
        Just("/interfaces/10.0/signals/a"),
        Just("/components/a/components/b"),
        Just("/activityLog"),
        Just("/activityLog/-"),
        Just("/activityLog/0"),
        Just("/commands/a/-"),
    ];
    let value = prop_oneof![
        Just(json!("a")),
        Just(json!(null)),
        Just(json!({})),
        Just(json!([])),
        Just(json!({"a": {"signals": {"b": 1}}})),
        Just(json!({"signals": {"b": 2}})),
        Just(json!([{"message": "m"}])),
        Just(json!({"message": "n"})),
    ];
    let op = prop_oneof![4 => Just("add"), 2 => Just("replace"), 2 => Just("remove")];
    let operation =
        (op, pointer, value).prop_map(|(op, path, value)| json!({"op": op, "path": path, "value": value}));
    proptest::collection::vec(operation, 0..4).prop_map(Value::from)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn conflicts_are_all_comparable_pairs(u in update(), v in update()) {
        let found: BTreeSet<_> = u.conflicts(&v).map(|conflict| (conflict.path, conflict.other)).collect();
        let by_hand: BTreeSet<_> = u
            .paths()
            .flat_map(|p| v.paths().filter(|q| p.is_comparable(q)).map(move |q| (p, q)))
            .collect();
        prop_assert_eq!(&found, &by_hand);
        prop_assert_eq!(found.is_empty(), u.commutes_with(&v));
        let mirrored: BTreeSet<_> = v.conflicts(&u).map(|conflict| (conflict.other, conflict.path)).collect();
        prop_assert_eq!(found, mirrored);
    }

    /// The JSON Patch of an update has exactly the effect of the update.
    #[test]
    fn a_written_json_patch(u in update(), d in document()) {
        let patch = to_json_patch(&u, &d).unwrap();
        prop_assert_eq!(patched(&patch, &d), Some(applied(&u, &d)));
        prop_assert_eq!(patch == json!([]), applied(&u, &d) == d);
    }

    /// The JSON Patch of an update has the effect of the update, also for arbitrary JSON under the untyped
    /// shape.
    #[test]
    fn a_written_json_patch_untyped(wire in anything(), d in anything()) {
        let Ok(parsed) = Update::parse(&wire, &Shape::untyped()) else { return Ok(()) };
        let Ok(patch) = to_json_patch(&parsed.update, &d) else { return Ok(()) };
        prop_assert_eq!(patched(&patch, &d), Some(applied(&parsed.update, &d)));
    }

    /// A JSON Patch is translated into an update. The update must have the effect of the patch on each document to
    /// which the patch can be applied.
    #[test]
    fn a_translated_json_patch(patch in json_patch(), d in document()) {
        let Ok(update) = from_json_patch(&patch, &shape()) else { return Ok(()) };
        let Some(expected) = patched(&patch, &d) else { return Ok(()) };
        prop_assert_eq!(applied(&update, &d), shape().canonical(expected));
    }

    /// The translation of an update to a JSON Patch and back gives an update with the same effect on the
    /// document.
    #[test]
    fn json_patch_and_back(u in update(), d in document()) {
        let patch = to_json_patch(&u, &d).unwrap();
        if let Ok(back) = from_json_patch(&patch, &shape()) {
            prop_assert_eq!(applied(&back, &d), applied(&u, &d));
        }
    }

    #[test]
    fn a_written_merge_patch(u in update(), d in document()) {
        match to_merge_patch(&u, &d) {
            Ok(patch) => {
                prop_assert_eq!(merged(&patch, &d), applied(&u, &d));
                prop_assert_eq!(patch == json!({}), applied(&u, &d) == d);
            }
            Err(error) => prop_assert!(matches!(error, NoMergePatch::Null { .. }), "{error}"),
        }
    }

    /// A merge patch is translated into an update. The update must have the effect of the patch on each document of the
    /// shape.
    #[test]
    fn a_translated_merge_patch(from in document(), to in document(), d in document()) {
        let Ok(patch) = to_merge_patch(&Update::diff(&from, &to, &shape()), &from) else { return Ok(()) };
        let Ok(update) = from_merge_patch(&patch, &shape()) else { return Ok(()) };
        prop_assert_eq!(applied(&update, &d), shape().canonical(merged(&patch, &d)));
        prop_assert_eq!(applied(&update, &from), to);
    }

    #[test]
    fn a_translated_merge_patch_untyped(patch in anything(), d in anything()) {
        let Ok(update) = from_merge_patch(&patch, &Shape::untyped()) else { return Ok(()) };
        if !overwrites(&patch, &d) && d.is_object() {
            let untyped = Shape::untyped();
            let expected = untyped.canonical(merged(&patch, &d));
            prop_assert_eq!(untyped.canonical(applied(&update, &d)), expected);
        }
    }

    /// Any JSON is translated or refused as a patch, without a panic.
    #[test]
    fn any_patch_is_read(patch in anything()) {
        for shape in [shape(), Shape::untyped()] {
            let _ = from_json_patch(&patch, &shape);
            let _ = from_json_patch(&json!([patch]), &shape);
            let _ = from_merge_patch(&patch, &shape);
        }
    }

    /// The merge patch of an update without appends can be applied twice, with the same result.
    #[test]
    fn merge_patches_repeat(u in append_free(), d in document()) {
        if let Ok(patch) = to_merge_patch(&u, &d) {
            let once = merged(&patch, &d);
            prop_assert_eq!(merged(&patch, &once), once);
        }
    }
}
