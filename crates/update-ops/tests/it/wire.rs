//! Tests reading and writing the wire form.

use rstest::rstest;
use serde_json::{Value, json};
use windlass_update_ops::{Op, Path, Update};

use crate::table::instance;

fn read(wire: &Value) -> Update {
    Update::parse(wire, &instance(&["cmd-1"])).unwrap().update
}

fn path(text: &str) -> Path {
    text.parse().unwrap()
}

#[rstest]
#[case(json!(null))]
#[case(json!({}))]
#[case(json!({"$set": null, "$unset": {}, "$pushAll": null}))]
#[case(json!({"$pushAll": {"activityLog": []}}))]
fn updates_without_operations_are_empty(#[case] wire: Value) {
    assert_eq!(read(&wire), Update::new());
}

#[rstest]
#[case::plain("name", json!({"name": "web"}), Op::Replace(json!("web")))]
#[case::set("status.message", json!({"$set": {"status.message": "up"}}), Op::Replace(json!("up")))]
#[case::unset("status.message", json!({"$unset": {"status.message": "anything"}}), Op::Unset)]
#[case::null_is_none("status.message", json!({"$set": {"status.message": null}}), Op::Unset)]
#[case::null_map_is_none("interfaces", json!({"interfaces": null}), Op::Unset)]
#[case::empty_map_is_none("components", json!({"components": {}}), Op::Unset)]
#[case::empty_inside("interfaces", json!({"interfaces": {"info": {"signals": {}}}}), Op::Unset)]
#[case::opaque_null("interfaces.i.signals.p", json!({"$set": {"interfaces.i.signals.p": null}}), Op::Replace(Value::Null))]
#[case::opaque_empty(
    "interfaces.i.signals.p",
    json!({"$set": {"interfaces.i.signals.p": {"a": {}}}}),
    Op::Replace(json!({"a": {}}))
)]
#[case::append("activityLog", json!({"$pushAll": {"activityLog": [{"message": "a"}]}}), Op::Append(vec![json!({"message": "a"})]))]
#[case::dollar_key_in_entry(
    "commands.cmd-1",
    json!({"$pushAll": {"commands.cmd-1": [{"$intermediate": true}]}}),
    Op::Append(vec![json!({"$intermediate": true})])
)]
fn reads_one_operation(#[case] at: &str, #[case] wire: Value, #[case] op: Op) {
    let update = read(&wire);
    assert_eq!(update.len(), 1);
    assert_eq!(update.get(&path(at)), Some(&op));
}

/// An update of a health check may contain both plain fields and operators.
#[test]
fn mixes_fields_and_operators() {
    let wire = json!({
        "$set": {"status.flags.active": true},
        "$pushAll": {"activityLog": [{"severity": "INFO", "message": "up"}]},
        "interfaces": {"compute": {"signals": {"ip": "203.0.113.1"}}},
    });
    let update = read(&wire);
    assert_eq!(update.to_value(), wire);
    let mut document = json!({
        "status": {"flags": {"active": false, "converging": true}},
        "interfaces": {"compute": {"signals": {"ip": "203.0.113.9", "old": 1}}, "control": {"signals": {"x": 1}}},
    });
    update.apply(&mut document).unwrap();
    assert_eq!(
        document,
        json!({
            "status": {"flags": {"active": true, "converging": true}},
            "interfaces": {"compute": {"signals": {"ip": "203.0.113.1"}}},
            "activityLog": [{"severity": "INFO", "message": "up"}],
        })
    );
}

#[test]
fn keys_that_look_like_operators_are_written_under_set() {
    let shape = windlass_update_ops::Shape::untyped();
    let update =
        Update::from_ops([(Path::from_keys(["$set"]).unwrap(), Op::Replace(json!(1)))], &shape).unwrap();
    assert_eq!(update.to_value(), json!({"$set": {"$set": 1}}));
    assert_eq!(Update::parse(&update.to_value(), &shape).unwrap().update, update);
}

#[test]
fn programs_are_bound_by_sorts_and_not_by_permissions() {
    let shape = instance(&[]);
    let forbidden = [(path("status"), Op::Unset), (path("commands.cmd-7"), Op::Replace(json!([1])))];
    let update = Update::from_ops(forbidden, &shape).unwrap();
    assert!(Update::parse(&update.to_value(), &shape).is_err());
    assert_eq!(Update::parse(&update.to_value(), &shape.trusting()).unwrap().update, update);
    assert!(Update::from_ops([(path("name"), Op::Append(vec![json!(1)]))], &shape).is_err());
    assert!(Update::from_ops([(path("name"), Op::Replace(json!(1)))], &shape).is_err());
    let twice = [(path("name"), Op::Unset), (path("name"), Op::Unset)];
    assert!(Update::from_ops(twice, &shape).is_err());
}
