//! The worked example: the shape of the instance document of a component with scripts, as in the
//! documentation of the protocol.
//!
//! | path | sort | `$set` | `$unset` | `$pushAll` |
//! |---|---|---|---|---|
//! | `instanceId`, `name` | text | yes | no | no |
//! | `status` | record | yes | no | no |
//! | `status.flags`, `status.flags.{active,converging,failed}` | record, boolean | yes | no | no |
//! | `status.message` | text | yes; `null` means no message | yes | no |
//! | `interfaces`, `interfaces.I`, `interfaces.I.signals` | map, record, map | yes | yes | no |
//! | `interfaces.I.signals.P` | opaque | yes | yes | no |
//! | `interfaces.I.status…` | as `status` | yes | only `interfaces.I.status` and its `message` | no |
//! | `components`, `components.C`, `components.C.components…` | map, record, recursive | yes | yes | no |
//! | `…C.reference` | record | yes | yes | no |
//! | `…C.reference.{mapping,key}` | text, required | yes | no | no |
//! | `activityLog` | list | no | no | yes |
//! | `commands.<id>` | list | no | no | yes, for open commands |

use rstest::rstest;
use serde_json::{Value, json};
use windlass_update_ops::{Keys, Node, Operator, Shape};

use Operator::{PushAll, Set, Unset};

/// Returns the shape that the table describes, for an instance with these open commands.
pub(crate) fn instance(open_commands: &[&str]) -> Shape {
    let results = Node::list().deny(Set, "use `$pushAll`").deny(Unset, "results stay");
    let commands = Node::map(Keys::one_of(open_commands.iter().copied()), results);
    Shape::new([
        ("instanceId", Node::text().deny(Unset, "an instance keeps its id")),
        ("name", Node::text().deny(Unset, "an instance keeps its name")),
        ("status", status().deny(Unset, "`$set` its flags to `false`")),
        ("interfaces", Node::map(Keys::any(), interface())),
        ("components", Node::map(Keys::any(), component())),
        (
            "activityLog",
            Node::list()
                .matching("a map with a string `message`", has_message)
                .deny(Set, "use `$pushAll`")
                .deny(Unset, "the log stays"),
        ),
        ("commands", commands.deny(Set, "use `$pushAll` with `commands.<id>`").deny(Unset, "results stay")),
    ])
}

fn status() -> Node {
    let flag = || Node::boolean().defaults_to(false).spelled("yes", true).spelled("no", false);
    let flags = Node::record([("active", flag()), ("converging", flag()), ("failed", flag())]);
    let none = json!({"active": false, "converging": false, "failed": false});
    Node::record([("flags", flags.defaults_to(none)), ("message", Node::text())])
}

fn interface() -> Node {
    Node::record([("signals", Node::map(Keys::any(), Node::opaque())), ("status", status())])
}

fn component() -> Node {
    Node::recursive(|component| {
        let reference =
            Node::record([("mapping", Node::text().required()), ("key", Node::text().required())]);
        Node::record([("reference", reference), ("components", Node::map(Keys::any(), component))])
    })
}

fn has_message(entry: &Value) -> bool {
    entry["message"].is_string()
}

#[rstest]
#[case("instanceId", &[Set])]
#[case("name", &[Set])]
#[case("status", &[Set])]
#[case("status.flags", &[Set])]
#[case("status.flags.active", &[Set])]
#[case("status.flags.converging", &[Set])]
#[case("status.flags.failed", &[Set])]
#[case("status.message", &[Set, Unset])]
#[case("interfaces", &[Set, Unset])]
#[case("interfaces.info", &[Set, Unset])]
#[case("interfaces.info.signals", &[Set, Unset])]
#[case("interfaces.info.signals.address", &[Set, Unset])]
#[case("interfaces.info.status", &[Set, Unset])]
#[case("interfaces.info.status.flags", &[Set])]
#[case("interfaces.info.status.flags.failed", &[Set])]
#[case("interfaces.info.status.message", &[Set, Unset])]
#[case("components", &[Set, Unset])]
#[case("components.blue", &[Set, Unset])]
#[case("components.blue.components", &[Set, Unset])]
#[case("components.blue.components.vol", &[Set, Unset])]
#[case("components.blue.components.vol.reference", &[Set, Unset])]
#[case("components.blue.components.vol.reference.mapping", &[Set])]
#[case("components.blue.reference.key", &[Set])]
#[case(r"components.10\.0\.0\.1.reference", &[Set, Unset])]
#[case("activityLog", &[PushAll])]
#[case("commands", &[])]
#[case("commands.cmd-1", &[PushAll])]
#[case("commands.cmd-9", &[])]
#[case("status.flags.active.x", &[])]
#[case("interfaces.info.signals.address.x", &[])]
#[case("activityLog.0", &[])]
#[case("configuration", &[])]
fn permits_what_the_table_says(#[case] path: &str, #[case] expected: &[Operator]) {
    let shape = instance(&["cmd-1"]);
    let path = path.parse().unwrap();
    let permitted: Vec<_> =
        Operator::ALL.into_iter().filter(|operator| shape.permits(*operator, &path)).collect();
    assert_eq!(permitted, expected);
}

#[rstest]
#[case::replaced_status_is_completed(
    json!({"flags": {"active": true}}),
    json!({"flags": {"active": true, "converging": false, "failed": false}})
)]
#[case::empty_status_is_all_false(
    json!({}),
    json!({"flags": {"active": false, "converging": false, "failed": false}})
)]
#[case::no_message_is_none(
    json!({"flags": {}, "message": null}),
    json!({"flags": {"active": false, "converging": false, "failed": false}})
)]
fn writes_defaults(#[case] status: Value, #[case] written: Value) {
    let shape = instance(&[]);
    let update = windlass_update_ops::Update::parse(&json!({"status": status}), &shape).unwrap().update;
    let mut document = json!({"status": {"flags": {"failed": true}, "message": "disk full"}});
    update.apply(&mut document).unwrap();
    assert_eq!(document, json!({"status": written}));
}
