//! Generates documents and updates of the worked example. There are few names, so that paths often coincide.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use windlass_update_ops::{Op, Path, Shape, Update};

use crate::table::instance;

pub(crate) fn shape() -> Shape {
    instance(&[])
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a".to_owned()), Just("b".to_owned()), Just("10.0".to_owned())]
}

/// Generates arbitrary values for signals, which may be nested.
fn opaque() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!({})),
        (0..3_u8).prop_map(Value::from),
        Just(json!({"a": {"b": []}})),
        Just(json!([1])),
    ]
}

/// Generates a map of some of the fields. A field may be absent, null or empty.
fn fields<const N: usize>(fields: [(&'static str, BoxedStrategy<Value>); N]) -> BoxedStrategy<Value> {
    let pairs: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            option::of(value).prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    pairs.prop_map(|pairs| pairs.into_iter().flatten().collect::<Map<_, _>>().into()).boxed()
}

fn map(entry: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    btree_map(name(), entry, 0..3)
        .prop_map(|entries| entries.into_iter().collect::<Map<_, _>>().into())
        .boxed()
}

fn text() -> BoxedStrategy<Value> {
    name().prop_map(Value::from).boxed()
}

fn status() -> BoxedStrategy<Value> {
    let flag = || any::<bool>().prop_map(Value::from).boxed();
    let flags = fields([("active", flag()), ("converging", flag()), ("failed", flag())]);
    fields([("flags", flags), ("message", text())])
}

fn interface() -> BoxedStrategy<Value> {
    fields([("signals", map(opaque().boxed())), ("status", status())])
}

fn component(depth: u32) -> BoxedStrategy<Value> {
    let reference =
        (name(), name()).prop_map(|(mapping, key)| json!({"mapping": mapping, "key": key})).boxed();
    match depth {
        0 => fields([("reference", reference)]),
        _ => fields([("reference", reference), ("components", map(component(depth - 1)))]),
    }
}

fn list() -> BoxedStrategy<Value> {
    entries().prop_map(Value::from).boxed()
}

fn entries() -> impl Strategy<Value = Vec<Value>> {
    vec((0..3_u8).prop_map(|n| json!({"message": n.to_string()})), 0..3)
}

/// Generates valid, canonical documents.
pub(crate) fn document() -> impl Strategy<Value = Value> {
    let raw = fields([
        ("name", text()),
        ("status", status()),
        ("interfaces", map(interface())),
        ("components", map(component(2))),
        ("activityLog", list()),
        ("commands", map(list())),
    ]);
    raw.prop_map(|document| shape().canonical(document))
}

/// Generates an operation at a path of the table, with a value of the path's type.
fn operation(appends: bool) -> impl Strategy<Value = (Path, Op)> {
    let at = |keys: &'static [&'static str], value: BoxedStrategy<Value>| {
        let names = vec(name(), keys.len());
        let path = names.prop_map(move |names| {
            let keys =
                keys.iter().zip(names).map(|(key, name)| if *key == "*" { name } else { (*key).to_owned() });
            Path::from_keys(keys).unwrap()
        });
        let op = prop_oneof![2 => value.prop_map(Op::Replace), 1 => Just(Op::Unset)];
        (path, op).boxed()
    };
    let values = prop_oneof![
        at(&["name"], text()),
        at(&["status"], status()),
        at(&["status", "flags", "active"], any::<bool>().prop_map(Value::from).boxed()),
        at(&["status", "message"], text()),
        at(&["interfaces"], map(interface())),
        at(&["interfaces", "*"], interface()),
        at(&["interfaces", "*", "signals"], map(opaque().boxed())),
        at(&["interfaces", "*", "signals", "*"], opaque().boxed()),
        at(&["interfaces", "*", "status"], status()),
        at(&["components"], map(component(2))),
        at(&["components", "*"], component(1)),
        at(&["components", "*", "components", "*"], component(1)),
        at(
            &["components", "*", "components", "*", "reference"],
            Just(json!({"mapping": "m", "key": "k"})).boxed()
        ),
        at(&["commands"], map(list())),
        at(&["activityLog"], list()),
    ];
    let lists = prop_oneof![
        (Just("activityLog".parse::<Path>().unwrap()), entries().prop_map(Op::Append)),
        (
            name().prop_map(|name| Path::from_keys(["commands".to_owned(), name]).unwrap()),
            entries().prop_map(Op::Append)
        ),
    ];
    prop_oneof![4 => values, u32::from(appends) => lists]
}

/// Generates updates of any kind. Of conflicting operations, the first is kept.
pub(crate) fn update() -> impl Strategy<Value = Update> {
    vec(operation(true), 0..6).prop_map(build)
}

/// Generates updates that append nothing.
pub(crate) fn append_free() -> impl Strategy<Value = Update> {
    vec(operation(false), 0..6).prop_map(build)
}

fn build(ops: Vec<(Path, Op)>) -> Update {
    let mut kept: Vec<(Path, Op)> = vec![];
    for (path, op) in ops {
        if !kept.iter().any(|(other, _)| other.is_comparable(&path)) {
            kept.push((path, op));
        }
    }
    Update::from_ops(kept, &shape()).unwrap()
}

/// Generates any JSON, including keywords of the wire form.
pub(crate) fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z.$]{0,3}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("$set"),
        Just("$unset"),
        Just("$pushAll"),
        Just("status"),
        Just("flags"),
        Just("status.flags"),
        Just("active"),
        Just("activityLog"),
        Just("interfaces"),
        Just("interfaces.a.signals"),
        Just("components"),
        Just("commands.a"),
        Just("a"),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..3).prop_map(Value::from),
            4 => btree_map(key.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}
