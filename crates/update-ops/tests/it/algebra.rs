//! Tests the algebra by single cases. The module `laws` tests the general laws.

use rstest::rstest;
use serde_json::{Value, json};
use windlass_update_ops::{Shape, Update};

use crate::table::instance;

fn trusted(wire: &Value) -> Update {
    Update::parse(wire, &instance(&[]).trusting()).unwrap().update
}

fn untyped(wire: &Value) -> Update {
    Update::parse(wire, &Shape::untyped()).unwrap().update
}

#[rstest]
#[case::later_replaces(json!({"$set": {"status.message": "a"}}), json!({"status": {"message": "b"}}), json!({"status": {"message": "b"}}))]
#[case::folds_into_a_replacement(
    json!({"status": {"message": "a"}}),
    json!({"$set": {"status.flags.active": true}}),
    json!({"status": {"message": "a", "flags": {"active": true}}})
)]
#[case::removes_from_a_replacement(
    json!({"interfaces": {"i": {"signals": {"p": 1, "q": 2}}}}),
    json!({"$unset": {"interfaces.i.signals.p": null}}),
    json!({"interfaces": {"i": {"signals": {"q": 2}}}})
)]
#[case::removes_all_of_a_replacement(
    json!({"interfaces": {"i": {"signals": {"p": 1}}}}),
    json!({"$unset": {"interfaces.i.signals.p": null}}),
    json!({"$unset": {"interfaces": null}})
)]
#[case::writes_below_a_removal(
    json!({"$unset": {"interfaces": null}}),
    json!({"$set": {"interfaces.i.signals.p": 1}, "$unset": {"interfaces.j": null}}),
    json!({"interfaces": {"i": {"signals": {"p": 1}}}})
)]
#[case::removes_below_a_removal(
    json!({"$unset": {"interfaces": null}}),
    json!({"$unset": {"interfaces.i": null}}),
    json!({"$unset": {"interfaces": null}})
)]
#[case::appends_twice(
    json!({"$pushAll": {"activityLog": [1]}}),
    json!({"$pushAll": {"activityLog": [2]}}),
    json!({"$pushAll": {"activityLog": [1, 2]}})
)]
#[case::appends_to_a_replaced_list(json!({"activityLog": [1]}), json!({"$pushAll": {"activityLog": [2]}}), json!({"activityLog": [1, 2]}))]
#[case::appends_to_a_removed_list(
    json!({"$unset": {"activityLog": null}}),
    json!({"$pushAll": {"activityLog": [2]}}),
    json!({"activityLog": [2]})
)]
#[case::appends_below_a_removal(
    json!({"$unset": {"commands": null}}),
    json!({"$pushAll": {"commands.c": [2]}}),
    json!({"commands": {"c": [2]}})
)]
#[case::removes_an_append(
    json!({"$pushAll": {"activityLog": [1]}}),
    json!({"$unset": {"activityLog": null}}),
    json!({"$unset": {"activityLog": null}})
)]
fn composes(#[case] first: Value, #[case] later: Value, #[case] both: Value) {
    assert_eq!(trusted(&first).then(&trusted(&later)), Ok(trusted(&both)));
}

/// Without a common shape, two updates may disagree on the sort of a path. For example, the first update removes `b.a`,
/// so `b` is a map. The later update appends to `b`, so `b` is a list. The composition of these updates must fail.
#[rstest]
#[case(json!({"$unset": {"b.a": null}}), json!({"$pushAll": {"b": [1]}}), "`b` can't be written: `b` is a map, not a list")]
#[case(json!({"b": 1}), json!({"$set": {"b.a": 1}}), "`b.a` can't be written: `b` is a number, not a map")]
#[case(json!({"b": {"c": 1}}), json!({"$set": {"b.c.d": 1}}), "`b.c.d` can't be written: `b.c` is a number, not a map")]
#[case(json!({"$pushAll": {"b": [1]}}), json!({"$set": {"b.a": 1}}), "`b.a` can't be written: `b` is a list, not a map")]
#[case(json!({"b": "x"}), json!({"$pushAll": {"b": [1]}}), "`b` can't be written: `b` is a string, not a list")]
fn contradicting_updates_do_not_compose(#[case] first: Value, #[case] later: Value, #[case] message: &str) {
    let error = untyped(&first).then(&untyped(&later)).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[rstest]
#[case::makes_parents(json!({}), json!({"$set": {"a.b.c": 1}}), json!({"a": {"b": {"c": 1}}}))]
#[case::null_is_absent(json!({"a": null}), json!({"$set": {"a.b": 1}}), json!({"a": {"b": 1}}))]
#[case::appends_to_nothing(json!({"a": {}}), json!({"$pushAll": {"a.l": [1]}}), json!({"a": {"l": [1]}}))]
#[case::appends_to_null(json!({"l": null}), json!({"$pushAll": {"l": [1]}}), json!({"l": [1]}))]
#[case::removes_empty_parents(json!({"a": {"b": {"c": 1}}, "d": 1}), json!({"$unset": {"a.b.c": null}}), json!({"d": 1}))]
#[case::keeps_other_children(json!({"a": {"b": 1, "c": 2}}), json!({"$unset": {"a.b": null}}), json!({"a": {"c": 2}}))]
#[case::removes_nothing(json!({"a": {"b": 1}}), json!({"$unset": {"a.x.y": null, "b": null}}), json!({"a": {"b": 1}}))]
#[case::removal_through_a_leaf(json!({"a": 1}), json!({"$unset": {"a.b": null}}), json!({"a": 1}))]
#[case::digits_are_keys(json!({}), json!({"$set": {"a.0": 1}}), json!({"a": {"0": 1}}))]
#[case::null_document(json!(null), json!({"a": 1}), json!({"a": 1}))]
fn applies(#[case] mut document: Value, #[case] wire: Value, #[case] expected: Value) {
    untyped(&wire).apply(&mut document).unwrap();
    assert_eq!(document, expected);
}

#[rstest]
#[case(json!({"a": 1}), json!({"$set": {"a.b": 1, "z": 1}}))]
#[case(json!({"a": [1]}), json!({"$set": {"a.0": 1, "Z": 1}}))]
#[case(json!({"a": {"b": "s"}}), json!({"$pushAll": {"a.b": [1]}, "$unset": {"Z": null}, "$set": {"A": 1}}))]
#[case(json!([]), json!({"a": 1}))]
fn an_update_is_refused_as_a_whole(#[case] document: Value, #[case] wire: Value) {
    let mut after = document.clone();
    assert!(untyped(&wire).apply(&mut after).is_err());
    assert_eq!(after, document);
}

#[test]
fn differences_are_as_deep_as_they_can_be() {
    let from = json!({
        "status": {"flags": {"active": false, "failed": true}, "message": "disk full"},
        "interfaces": {"i": {"signals": {"p": {"x": 1}}}},
        "activityLog": [1],
        "commands": {"c": [1, 2]},
    });
    let to = json!({
        "status": {"flags": {"active": true, "failed": true}},
        "interfaces": {"i": {"signals": {"p": {"x": 2}}}, "j": {"signals": {"q": 1}}},
        "activityLog": [1, 2],
        "commands": {"c": [2]},
    });
    let shape = instance(&[]);
    assert_eq!(
        Update::diff(&from, &to, &shape).to_value(),
        json!({
            "$set": {
                "status.flags.active": true,
                "interfaces.i.signals.p": {"x": 2},
                "interfaces.j": {"signals": {"q": 1}},
                "commands.c": [2],
            },
            "$unset": {"status.message": null},
            "$pushAll": {"activityLog": [2]},
        })
    );
}

#[test]
fn an_append_has_no_inverse() {
    let update = trusted(&json!({"$pushAll": {"activityLog": [1]}, "name": "web"}));
    assert!(update.has_appends());
    let error = update.inverse(&json!({})).unwrap_err();
    assert_eq!(error.to_string(), "`activityLog` was appended to, and what was appended can't be taken back");
}

/// A health check that began before the end of a reconfiguration may report values from before the
/// reconfiguration.
#[test]
fn stale_operations_are_split_off() {
    let reconfigured = trusted(&json!({"interfaces": {"info": {"signals": {"login": "yes"}}}}));
    let slow_check = trusted(&json!({
        "$set": {"interfaces.info.signals.login": "no", "status.flags.active": true},
        "$pushAll": {"activityLog": [1]},
    }));
    assert!(!slow_check.commutes_with(&reconfigured));
    let (fresh, stale) = slow_check.without_stale(&reconfigured);
    assert_eq!(
        fresh.to_value(),
        json!({"$set": {"status.flags.active": true}, "$pushAll": {"activityLog": [1]}})
    );
    assert_eq!(stale.to_value(), json!({"$set": {"interfaces.info.signals.login": "no"}}));
    assert!(fresh.commutes_with(&reconfigured));
}

#[test]
fn parts_by_path() {
    let update = trusted(
        &json!({"name": "web", "$set": {"status.message": "up", "interfaces.i.status.message": "up"}}),
    );
    assert!(update.touches(&"status".parse().unwrap()));
    assert!(update.touches(&"name".parse().unwrap()));
    assert!(update.touches(&"interfaces.i".parse().unwrap()));
    assert!(!update.touches(&"interfaces.j".parse().unwrap()));
    let status = update.clone().restrict(&"status".parse().unwrap());
    assert_eq!(status.to_value(), json!({"$set": {"status.message": "up"}}));
    let (short, long) = update.partition(|path| path.keys().len() == 1);
    assert_eq!((short.len(), long.len()), (1, 2));
}

#[test]
fn canonical_documents_have_no_empty_structure() {
    let document = json!({
        "name": null,
        "status": {"flags": {}, "message": null},
        "interfaces": {"i": {"signals": {"p": null, "q": {}}}, "j": {"signals": {}}, "k": null},
        "activityLog": [],
        "commands": {"c": []},
    });
    assert_eq!(
        instance(&[]).canonical(document),
        json!({"interfaces": {"i": {"signals": {"p": null, "q": {}}}}})
    );
}
