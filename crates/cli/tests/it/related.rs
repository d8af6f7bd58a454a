//! Changed inputs of a relationship whose two ends stay. The relationship is ceased with the old inputs, and
//! created with the new inputs.

use insta::assert_snapshot;

use crate::env::TestEnv;

const SCRIPTS: &str = "shop/Contains/part/Lifecycle/script/scripts";

/// Returns an assembly with a database and an application. Install and Reconfigure of the database publish
/// its address with its port; Start also does so if the file `start` exists. The application receives the
/// address by the relationship `serves`. The relationship `knows` reads no changing value.
fn shop(kind: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "shop/assembly.yaml",
        "name: assembly::shop::1.0
properties: {port: {default: '1'}, secret: {type: password, default: ''}}
composition:
  db: {type: resource::part::1.0, properties: {port: {value: '${port}'}, secret: {value: '${secret}'}}}
  app: {type: resource::part::1.0}
relationships:
  serves:
    source-capabilities: [db.cap]
    target-requirements: [app.req]
    source-state: Inactive
    target-state: Inactive
    properties: {peer: {value: 'at ${source.address}'}}
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
  knows:
    source-capabilities: [db.cap]
    target-requirements: [app.req]
    source-state: Inactive
    target-state: Inactive
    properties: {peer: {value: '${source.name}'}}
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
",
    );
    env.write(
        "shop/Contains/part/resource.yaml",
        format!(
            "name: resource::part::1.0
properties:
  port: {{volatile: true, default: none}}
  secret: {{volatile: true, type: password, default: ''}}
  address: {{read-only: true{kind}}}
lifecycle: [Install, Configure, Start, Reconfigure, Stop, Uninstall]
operations: {{Join: {{}}, Leave: {{}}}}
default-driver: {{script: {{properties: {{effect: repeatable}}}}}}
"
        ),
    );
    let reads = r#"#!/bin/sh
set -eu
input=$(cat)
trace=$(printf '%s\n' "$input" | sed -n 's/^ *location.trace: "\(.*\)"$/\1/p')
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;};/^instances:$/{n;s/^ *"\{0,1\}\([a-z0-9]*\)"\{0,1\}:.*/\1/p;}')
port=$(printf '%s\n' "$input" | sed -n 's/^ *properties.port: "\(.*\)"$/\1/p')
secret=$(printf '%s\n' "$input" | sed -n 's/^ *properties.secret: "\(.*\)"$/\1/p')
peer=$(printf '%s\n' "$input" | sed -n 's/^ *peer: "\(.*\)"$/\1/p')
name=${0##*/}
name=${name%.sh}
"#;
    let publish = r#"printf 'instances:\n  "%s":\n    instanceId: "%s"\n    interfaces:\n      properties:\n        signals:\n          address: "%s"\n' "$id" "$id" "host:$port$secret"
"#;
    for transition in ["Install", "Reconfigure"] {
        env.script(&format!("{SCRIPTS}/{transition}.sh"), format!("{reads}{publish}"));
    }
    let starts = "[ \"$port\" != none ] && [ -e \"$WINDLASS_VOLUME_STATE/start\" ] || exit 0\nport=$(cat \"$WINDLASS_VOLUME_STATE/start\")\n";
    env.script(&format!("{SCRIPTS}/Start.sh"), format!("{reads}{starts}{publish}"));
    for transition in ["Configure", "Stop", "Uninstall"] {
        env.script(&format!("{SCRIPTS}/{transition}.sh"), reads);
    }
    for operation in ["Join", "Leave"] {
        let fails = format!("if [ -e \"$WINDLASS_VOLUME_STATE/{operation}\" ]; then exit 1; fi\n");
        let script = format!("{reads}echo \"$name $peer\" >>\"$trace\"\n{fails}");
        env.script(&format!("{SCRIPTS}/{operation}.sh"), script);
    }
    env
}

/// Checks that nothing is left to do, and that `up` calls no driver.
fn is_settled(env: &TestEnv, args: &[&str]) {
    env.clear_trace();
    let up: Vec<&str> = ["up", "shop"].iter().chain(args).copied().collect();
    let again = env.ok(&up);
    assert!(again.stdout.contains("nothing to call"), "{again}");
    assert_eq!(env.trace(), [""; 0]);
}

#[test]
fn one_up_renews_a_relationship_with_published_values() {
    let env = shop("");
    env.ok(&["up", "shop"]);
    let mut made = env.trace();
    made.sort();
    assert_eq!(made, ["Join at host:1", "Join shop__db"]);
    env.clear_trace();
    assert_snapshot!(env.ok(&["up", "shop", "-p", "port=2"]).out(), @"
      ~ db changed
          port: 1 → 2
    1 to change
    shop: 1 step, up to 1 at once (p2 up)
       s1 db Reconfigure

    ok        db Reconfigure LONG

    done: shop is Active (LONG)
    resuming: serves was created with outdated inputs
      ~ relationship serves re-created (db to app)
          peer: at host:1 → at host:2
    1 relationship to change
    shop: 2 steps, up to 1 at once (p3 up)
       s1 app Cease serves: target.Leave
       s2 app Create serves: target.Join

    ok        app Cease serves: target.Leave LONG
    ok        app Create serves: target.Join LONG

    done: shop is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Leave at host:1", "Join at host:2"]);
    is_settled(&env, &["-p", "port=2"]);
    // The next change ceases the relationship with the inputs of this change.
    env.ok(&["up", "shop", "-p", "port=3"]);
    assert_eq!(env.trace(), ["Leave at host:2", "Join at host:3"]);
    env.clear_trace();
    env.ok(&["down", "shop"]);
    let mut ended = env.trace();
    ended.sort();
    assert_eq!(ended, ["Leave at host:3", "Leave shop__db"]);
}

/// A component that a relationship names with several capabilities is one source, or one target.
#[test]
fn two_capabilities_of_one_component_are_one_pair() {
    let env = shop("");
    let ends = "    source-capabilities: [db.cap]\n    target-requirements: [app.req]\n";
    let twice =
        "    source-capabilities: [db.cap, db.other]\n    target-requirements: [app.req, app.admin]\n";
    let file = "shop/assembly.yaml";
    env.write(file, env.read(file).replace(ends, twice));
    let plan = env.ok(&["plan", "shop"]).stdout;
    assert_eq!(plan.matches("Create serves").count(), 1, "{plan}");
    env.ok(&["up", "shop"]);
    let mut made = env.trace();
    made.sort();
    assert_eq!(made, ["Join at host:1", "Join shop__db"]);
    env.clear_trace();
    env.ok(&["down", "shop"]);
    let mut ended = env.trace();
    ended.sort();
    assert_eq!(ended, ["Leave at host:1", "Leave shop__db"]);
}

/// The inputs of a relationship are outdated. Intents other than `up` must report these inputs, and must not change the
/// relationship. `plan` must explain the change that `up` would make.
#[test]
fn outdated_inputs_are_reported_by_any_intent() {
    let env = shop("");
    env.ok(&["up", "shop"]);
    env.clear_trace();
    env.write(".windlass/volumes/state/start", "7");
    assert_snapshot!(env.ok(&["heal", "shop", "db"]).out(), @"
      ↻ db restarted
    1 to restart
    shop: 2 steps, up to 1 at once (p2 heal db)
       s1 db Stop
       s2 db Start

    ok        db Stop LONG
    ok        db Start LONG

    done: shop is Active (LONG)
      serves was created with outdated inputs; `windlass retry shop` updates them
    ");
    assert_eq!(env.trace(), [""; 0]);
    assert_snapshot!(env.ok(&["plan", "shop"]).out(), @"
      ~ relationship serves re-created (db to app)
          peer: at host:1 → at host:7
    1 relationship to change
    shop: 2 steps, up to 1 at once
       s1 app Cease serves: target.Leave
       s2 app Create serves: target.Join
          needs serves: the outdated relationship is ceased first: its `peer` has changed (shop/assembly.yaml:7:3)
    longest chain: s1 → s2
    ");
    assert_snapshot!(env.ok(&["plan", "shop", "--why", "s2"]).out(), @"
    s2 app Create serves: target.Join
      s2 is in the plan because of this change: relationship serves re-created (db to app).
      s2 waits until s1 app Cease serves has succeeded, because of a rule of the relationship serves: the outdated relationship is ceased first: its `peer` has changed (shop/assembly.yaml:7:3).
    ");
    let changes = env.json(&["plan", "shop"])["changes"]["relationships"].clone();
    assert_snapshot!(serde_json::to_string_pretty(&changes).unwrap(), @r#"
    [
      {
        "after": {
          "sources": [
            "shop__db"
          ],
          "targets": [
            "shop__app"
          ]
        },
        "assembly": "shop",
        "before": {
          "sources": [
            "shop__db"
          ],
          "targets": [
            "shop__app"
          ]
        },
        "kind": "renewed",
        "relationship": "serves",
        "values": [
          {
            "after": {
              "value": "at host:7"
            },
            "before": {
              "value": "at host:1"
            },
            "property": "peer"
          }
        ]
      }
    ]
    "#);
    // If the inputs change back to the applied values, nothing is reported.
    env.write(".windlass/volumes/state/start", "1");
    assert!(!env.ok(&["heal", "shop", "db"]).stdout.contains("has changed"));
    assert!(env.ok(&["plan", "shop"]).stdout.contains("nothing to do"));
    env.write(".windlass/volumes/state/start", "7");
    env.ok(&["heal", "shop", "db"]);
    assert_eq!(env.trace(), [""; 0]);
    env.ok(&["retry", "shop"]);
    assert_eq!(env.trace(), ["Leave at host:1", "Join at host:7"]);
    is_settled(&env, &[]);
}

/// The first `up` changes a relationship, and fails. If its Cease operation failed, the second `up` must repeat Cease
/// with the same inputs. If its Create operation failed, the second `up` must undo the creation, and then create the
/// relationship again.
#[test]
fn an_up_after_a_failed_one_goes_on() {
    let env = shop("");
    env.ok(&["up", "shop"]);
    for fails in ["Leave", "Join"] {
        let file = format!(".windlass/volumes/state/{fails}");
        env.write(&file, "");
        env.clear_trace();
        let run = env.run(&["up", "shop", "-p", "port=2"]);
        assert_eq!(run.code(), Some(1), "{run}");
        std::fs::remove_file(env.path(&file)).unwrap();
        let expected: &[&str] = match fails {
            "Leave" => &["Leave at host:1"],
            _ => &["Leave at host:1", "Join at host:2"],
        };
        assert_eq!(env.trace(), expected, "{run}");
    }
    env.clear_trace();
    env.ok(&["up", "shop", "-p", "port=2"]);
    assert_eq!(env.trace(), ["Leave at host:2", "Join at host:2"]);
    is_settled(&env, &["-p", "port=2"]);
}

/// A secret is an input of a relationship, and changes. The Cease operation must get the old secret, and the store must
/// contain both secrets only sealed.
#[test]
fn a_secret_that_it_was_made_with_is_kept_unseen() {
    let env = shop(", type: password");
    env.write("one", "hunter22");
    env.write("two", "hunter33");
    env.ok(&["up", "shop", "-p", "secret=@one"]);
    env.clear_trace();
    let run = env.ok(&["up", "shop", "-p", "secret=@two"]);
    assert_eq!(env.trace(), ["Leave at host:1hunter22", "Join at host:1hunter33"]);
    assert!(run.stdout.contains("peer: *** → ***") && !run.stdout.contains("hunter"), "{run}");
    let bytes = std::fs::read(env.path(".windlass/state.db")).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"hunter"), "nothing lies open in the store");
    is_settled(&env, &["-p", "secret=@two"]);
}

/// A rollback changes the inputs of a relationship. windlass must call the Cease operation with the current inputs, and
/// then the Create operation with the earlier inputs.
#[test]
fn going_back_makes_it_as_it_was() {
    let env = shop("");
    env.ok(&["up", "shop"]);
    env.ok(&["up", "shop", "-p", "port=2"]);
    env.clear_trace();
    env.ok(&["rollback", "shop", "--yes"]);
    assert_eq!(env.trace(), ["Leave at host:2", "Join at host:1"]);
    is_settled(&env, &[]);
}
