//! `windlass update`: updates of documents, without a project.

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::json;

use crate::env::TestEnv;

/// Creates a folder with an instance document and updates of it.
fn files() -> TestEnv {
    let env = TestEnv::bare();
    env.write(
        "instance.yaml",
        "name: pump\nstatus: {flags: {active: true, converging: false, failed: true}, message: dry}\n\
         interfaces: {info: {signals: {error: 7}}}\n",
    );
    env.write(
        "first.yaml",
        "status: {flags: {active: yes}}\n$set: {interfaces.info.signals.flow: 8}\n$unset: {interfaces.info.signals.error: }\n",
    );
    env.write(
        "second.json",
        r#"{"$set": {"status.flags.failed": true}, "$pushAll": {"activityLog": [{"message": "m"}]}}"#,
    );
    env
}

#[test]
fn apply_prints_the_document() {
    let env = files();
    let run = env.ok(&["update", "apply", "instance.yaml", "first.yaml", "second.json"]);
    assert_snapshot!(run.out(), @r#"
    activityLog:
      - message: "m"
    interfaces:
      info:
        signals:
          flow: 8
    name: "pump"
    status:
      flags:
        active: true
        converging: false
        failed: true
    "#);
    assert_snapshot!(run.stderr, @"warning: first.yaml: `status.flags.active`: `yes` was read as `true`");
}

#[test]
fn apply_as_json_reads_standard_input() {
    let env = files();
    env.write("any.json", r#"{"a": {"b": 1}}"#);
    let run = env.run_with(
        &["update", "apply", "any.json", "-", "--untyped", "--format", "json"],
        r#"{"$set": {"a.c": [2]}, "$unset": {"a.b": null}}"#,
    );
    assert_eq!(run.code(), Some(0), "{}", run.stderr);
    let view: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(view, json!({"version": 1, "document": {"a": {"c": [2]}}}));
}

#[test]
fn compose_prints_one_update() {
    let env = files();
    let view = env.json(&["update", "compose", "first.yaml", "second.json"]);
    let expected = json!({
        "status": {"flags": {"active": true, "converging": false, "failed": true}},
        "$set": {"interfaces.info.signals.flow": 8},
        "$unset": {"interfaces.info.signals.error": null},
        "$pushAll": {"activityLog": [{"message": "m"}]},
    });
    assert_eq!(view, json!({"version": 1, "update": expected}));
}

/// `update apply` with the output of `diff` gives the second document. With the output of `invert` it
/// restores the first.
#[test]
fn diff_and_invert_are_applied() {
    let env = files();
    env.write("after.yaml", env.ok(&["update", "apply", "instance.yaml", "first.yaml"]).stdout);
    env.write("diff.yaml", env.ok(&["update", "diff", "instance.yaml", "after.yaml"]).stdout);
    env.write("undo.yaml", env.ok(&["update", "invert", "instance.yaml", "first.yaml"]).stdout);
    env.write("none.yaml", "{}\n");
    let document = |args: &[&str]| env.json(&[args, &["--trusted"]].concat());
    let (before, after) = (
        document(&["update", "apply", "instance.yaml", "none.yaml"]),
        document(&["update", "apply", "after.yaml", "none.yaml"]),
    );
    assert_ne!(before, after);
    assert_eq!(document(&["update", "apply", "instance.yaml", "diff.yaml"]), after);
    assert_eq!(document(&["update", "apply", "after.yaml", "undo.yaml"]), before);
    assert_snapshot!(env.read("diff.yaml"), @r#"
    "$set":
      interfaces.info.signals.flow: 8
      status.flags.failed: false
    "$unset":
      interfaces.info.signals.error: null
      status.message: null
    "#);
}

#[test]
fn conflicts_names_the_paths() {
    let env = files();
    let run = env.ok(&["update", "conflicts", "first.yaml", "second.json"]);
    assert_snapshot!(run.out(), @"`status` is above `status.flags.failed`");
    let view = env.json(&["update", "conflicts", "second.json", "first.yaml"]);
    assert_eq!(
        view,
        json!({"version": 1, "conflicts": [{"first": "status.flags.failed", "second": "status"}]})
    );
    env.write("other.yaml", "$set: {status.message: dry}\n");
    let run = env.ok(&["update", "conflicts", "second.json", "other.yaml"]);
    assert_eq!(run.stdout, "");
    assert_snapshot!(run.stderr, @"no conflicts: both orders have the same result");
}

#[test]
fn mistakes_are_drawn() {
    let env = files();
    env.write("wrong.yaml", "status:\n  flags: {active: maybe}\n$set:\n  status.mesage: dry\n$push: {}\n");
    assert_snapshot!(env.refuses(&["update", "apply", "instance.yaml", "wrong.yaml"]), @r"
    error[WL0809]: `status.flags.active`: expected a boolean, found a string
     --> wrong.yaml:2:11
      |
    2 |   flags: {active: maybe}
      |           ^^^^^^

    error[WL0809]: `status.mesage`: no such path
     --> wrong.yaml:4:3
      |
    4 |   status.mesage: dry
      |   ^^^^^^^^^^^^^
      |
      = help: did you mean `status.message`?

    error[WL0809]: unknown operator `$push`
     --> wrong.yaml:5:1
      |
    5 | $push: {}
      | ^^^^^
      |
      = help: use `$pushAll` with a list of entries; the operators are `$set`, `$unset` and `$pushAll`
    ");
}

#[rstest]
#[case::append(&["update", "invert", "instance.yaml", "second.json"], "error[WL0809]: second.json: `activityLog` was appended to, and what was appended can't be taken back")]
#[case::missing(&["update", "apply", "nothing.yaml", "first.yaml"], "error[WL0801]: can't read `nothing.yaml`: ")]
#[case::list(&["update", "apply", "list.json", "first.yaml"], "error[WL0809]: list.json: expected a map of fields")]
#[case::stdin(&["update", "diff", "-", "-"], "error[WL0800]: `-` (standard input) can be given once")]
#[case::blocked(&["update", "apply", "leaf.json", "deep.json", "--untyped"], "error[WL0809]: deep.json: `a.b` can't be written: `a` is a number, not a map")]
#[case::document(&["update", "apply", "leaf.json", "first.yaml"], "error[WL0809]: `a`: no such path")]
#[case::yaml(&["update", "apply", "broken.yaml", "first.yaml"], "1 error; nothing was changed")]
#[case::lone(&["update", "shop"], "tip: to update an assembly, use windlass up FILE")]
fn refuses(#[case] args: &[&str], #[case] message: &str) {
    let env = files();
    env.write("list.json", "[1]");
    env.write("leaf.json", r#"{"a": 1}"#);
    env.write("deep.json", r#"{"$set": {"a.b": 1}}"#);
    env.write("broken.yaml", "a: [\n");
    let said = env.refuses(args);
    assert!(said.contains(message), "{said}");
}
