//! Output about large clusters. The output must be short, but must not hide a node that differs from the others.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::env::TestEnv;
use crate::small::RESOURCE;

/// Returns a project with the assembly `small` as a cluster of thirty nodes. Each node publishes its name.
/// The nodes in `fail` can't be installed. The fifth node prints more text, and the seventh reports that it
/// is nearly full.
fn thirty() -> TestEnv {
    let install = r#"field() { printf '%s\n' "$input" | sed -n "s/^ *properties.$1: \"\(.*\)\"$/\1/p"; }
me=$(field me)
case " $(field fail) " in
*" ${me##*__} "*)
    echo "$me has no room ($((${me##*__} * 7)))" >&2
    [ "${me##*__}" != 5 ] || echo "and smells" >&2
    exit 1 ;;
esac
word=active
message="as $me"
[ "${me##*__}" != 7 ] || message="97 % full"
printf 'instances:\n  "%s":\n    instanceId: "%s"\n    status: {flags: {active: true}, message: "%s"}\n    interfaces: {properties: {signals: {url: "http://%s"}}}\n' "$id" "$id" "$message" "$me""#;
    let env = TestEnv::small("effect: repeatable", &[("Install", install), ("Uninstall", "")]);
    env.write(
        "small/assembly.yaml",
        "name: assembly::small::1.0
properties: {nodes: {default: 30}, fail: {default: ''}}
composition:
  head: {type: resource::head::1.0}
  box:
    type: resource::box::1.0
    cluster: {initial-quantity: '${nodes}'}
    properties: {me: {value: '${instance.name}'}, fail: {value: '${fail}'}}
",
    );
    env.edit(RESOURCE, "lifecycle:", "properties: {me: {}, fail: {}, url: {read-only: true}}\nlifecycle:");
    env.write(
        "small/Contains/head/resource.yaml",
        "name: resource::head::1.0\nlifecycle: [Install, Uninstall]\ndefault-driver: {noop: {}}\n",
    );
    env
}

#[test]
fn odd_nodes_of_a_large_cluster_are_listed() {
    let env = thirty();
    env.run(&["up", "small", "-p", "fail=4 5 12 13"]);
    // Messages that differ only in numbers count as the same failure; one node prints more.
    assert_snapshot!(env.ok(&["status"]).out(), @"
    small Failed assembly::small::1.0, AGE
      27 of 31 Active
    ├─ head Active AGE
    └─ box Failed 26 of 30 Active
       ├─ 5 Failed AGE
       │    `Install.sh` exited with code 1
       │    | small__box__5 has no room (35)
       │    | and smells
       ├─ 4, 12–13 (3) Failed AGE
       │    `Install.sh` exited with code 1
       │    | box__4: small__box__4 has no room (28)
       ├─ 7 Active active, AGE, 97 % full
       │    url: http://small__box__7
       └─ 1–3, 6, 8–11, 14–30 (25) Active active, AGE, as small__box__*
            url: (25 values)
    ");
    // `--all` shows everything that was omitted.
    let all = env.ok(&["status", "--all"]).stdout;
    for node in 1..=30 {
        let url = format!("url: http://small__box__{node}\n");
        assert_eq!(all.contains(&url), ![4, 5, 12, 13].contains(&node), "{node}: {all}");
    }
    assert_snapshot!(env.ok(&["status", "small", "box__13"]).out(), @"
    small Failed assembly::small::1.0, AGE
      27 of 31 Active
    └─ box__13 Failed AGE
         `Install.sh` exited with code 1
         | small__box__13 has no room (91)
    ");
    assert_snapshot!(env.ok(&["status", "small", "box__7"]).out(), @"
    small Failed assembly::small::1.0, AGE
      27 of 31 Active
    └─ box__7 Active active, AGE, 97 % full
         url: http://small__box__7
    ");
    let cluster = env.ok(&["status", "small", "box"]).stdout;
    assert_eq!(cluster.matches("url: http://small__box__").count(), 26, "{cluster}");
    assert!(!cluster.contains("head"), "{cluster}");
    assert_snapshot!(env.refuses(&["status", "small", "bxo__7"]), @"error[WL0554]: `small` has no part `bxo__7`; did you mean `box__7`?");
    // JSON output contains all nodes.
    let json = env.json(&["status"]);
    let nodes = json["assemblies"][0]["components"][1]["components"].as_array().unwrap();
    assert_eq!(nodes.len(), 30, "{json:#}");
    assert_eq!(nodes[16]["outputs"]["url"], "http://small__box__17");
    let one = env.json(&["status", "small", "box__17"]);
    assert_eq!(one["assemblies"][0]["components"][0], nodes[16]);
    assert_eq!(one["assemblies"][0]["components"].as_array().unwrap().len(), 1);
}

#[test]
fn steps_that_are_alike_are_one_line() {
    let env = thirty();
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"
      + head added (resource::head::1.0)
      + box__1–30 (30) added (resource::box::1.0)
    31 to add
    small: 31 steps, up to 31 at once
        s1 head           Install
    s2–s31 box__1–30 (30) Install
    and 62 steps that only change a state
    longest chain: s1
    ");
    let all = env.ok(&["plan", "small", "--all"]).stdout;
    assert!(all.contains("   s2 box__1  Install\n") && all.contains("  s31 box__30 Install\n"), "{all}");
    assert_eq!(env.json(&["plan", "small"])["steps"].as_array().unwrap().len(), 93);
    assert_snapshot!(env.run(&["up", "small", "-p", "fail=12"]).out().split("\n\n").next().unwrap(), @"
      + head added (resource::head::1.0)
      + box__1–30 (30) added (resource::box::1.0)
    31 to add
    small: 31 steps, up to 31 at once (p1 up)
        s1 head           Install
    s2–s31 box__1–30 (30) Install
    ");
    // The node that differs has its own lines, both in the steps and in the changes.
    assert_snapshot!(env.ok(&["plan", "small", "-p", "fail=30"]).out(), @"
      -/+ box__1–11,13–30 (29) replaced
          fail: 12 → 30
      -/+ box__12 replaced, it has failed
          fail: 12 → 30
    30 to replace
    small: 60 steps, up to 29 at once
         s1 box__12              Uninstall
         s2 box__12              Install
            needs box__12 is Absent first
            after unhealthy parts are cleaned up
     s3–s31 box__1–11,13–30 (29) Uninstall
            needs box__* is Inactive first
            after all parts that change are stopped
    s32–s60 box__1–11,13–30 (29) Install
            needs box__* is Absent first
            after all parts that change are uninstalled
    and 89 steps that only change a state
    longest chain: s1 → s2 → s3 → s32
    ");
    let changes = env.json(&["plan", "small", "-p", "fail=30"]);
    assert_eq!(changes["changes"]["elements"].as_array().unwrap().len(), 30, "{changes:#}");
    assert_snapshot!(env.ok(&["down", "small", "--dry-run"]).out(), @"
      - head removed
      - box__1–30 (30) removed
    31 to remove
    small: 31 steps, up to 31 at once
        s1 head                 Uninstall
           needs head is Inactive first
           after all parts are stopped
    s2…s31 box__1–11,13–30 (29) Uninstall
           needs box__* is Inactive first
           after all parts are stopped
       s13 box__12              Uninstall
           after all parts are stopped
    and 30 steps that only change a state
    longest chain: s1
    ");
    assert_snapshot!(env.ok(&["history", "small"]).out(), @"
    p1 up, failed WHEN assembly::small::1.0, 31 resources
      steps: 30 succeeded, 1 failed
      fail: 12
      changes to the desired assembly:
      + head added (resource::head::1.0)
      + box__1–30 (30) added (resource::box::1.0)
    ");
}

/// A cluster consists of assemblies, and each assembly contains a cluster of nodes. One of these inner clusters has
/// fewer nodes than the others. windlass must still group equal parts.
#[test]
fn clusters_of_clusters_are_few_lines_too() {
    let env = TestEnv::bare();
    let composition = "composition: {lb: {type: resource::node::1.0}, node: {type: resource::node::1.0, cluster: {initial-quantity: 12}}}";
    env.write("nest/Contains/cell/assembly.yaml", format!("name: assembly::cell::1.0\n{composition}\n"));
    env.write(
        "nest/assembly.yaml",
        "name: assembly::nest::1.0\ncomposition: {cell: {type: assembly::cell::1.0, cluster: {initial-quantity: 12}}}\n",
    );
    env.write(
        "nest/Contains/node/resource.yaml",
        "name: resource::node::1.0\nlifecycle: [Install, Uninstall]\ndefault-driver: {noop: {properties: {effect: repeatable}}}\n",
    );
    assert_snapshot!(env.ok(&["plan", "nest"]).out(), @"
      + cell__1–12__lb (12) added (resource::node::1.0)
      + cell__1–12__node__1–12 (144) added (resource::node::1.0)
    156 to add
    nest: 156 steps, up to 156 at once
    s1…s144 cell__1–12__lb (12)          Install
    s2…s156 cell__1–12__node__1–12 (144) Install
    and 312 steps that only change a state
    longest chain: s1
    ");
    env.ok(&["up", "nest"]);
    env.ok(&["scale", "in", "nest", "cell__3__node", "--yes"]);
    assert_snapshot!(env.ok(&["status"]).out(), @"
    nest Active assembly::nest::1.0, AGE
    └─ cell Active
       ├─ 3 Active
       │  ├─ lb Active AGE
       │  └─ node Active
       │     └─ 1–11 (11) Active AGE
       └─ 1–2, 4–12 (11) Active
          ├─ lb (11) Active AGE
          └─ node (11) Active
             └─ 1–12 (132) Active AGE
    ");
    assert_snapshot!(env.ok(&["status", "nest", "cell__3__lb"]).out(), @"
    nest Active assembly::nest::1.0, AGE
    └─ cell__3__lb Active AGE
    ");
}

/// Dissimilar steps are not grouped, so only the beginning is listed.
#[test]
fn a_long_plan_is_abridged() {
    let env = TestEnv::bare();
    let mut assembly = "name: assembly::farm::1.0\ncomposition:\n".to_owned();
    for node in 1..=110 {
        writeln!(assembly, "  node{node}: {{type: resource::node::1.0}}").unwrap();
    }
    env.write("farm/assembly.yaml", assembly);
    env.write(
        "farm/Contains/node/resource.yaml",
        "name: resource::node::1.0\nlifecycle: [Install, Uninstall]\ndefault-driver: {noop: {}}\n",
    );
    let out = env.ok(&["up", "farm"]).stdout;
    let (plan, _) = out.split_once("\n\n").unwrap();
    // The output has twenty changes, their total and twenty steps. After both lists is the number of omitted
    // lines.
    assert!(plan.starts_with("  + node1 added (resource::node::1.0)\n"), "{out}");
    assert!(plan.contains("  … and 90 more\n110 to add\nfarm: 110 steps"), "{out}");
    assert_eq!(plan.lines().count(), 20 + 1 + 1 + 1 + 20 + 1, "{out}");
    assert!(plan.ends_with("      and 90 more; `windlass ps show p1` lists those that ran"), "{out}");
    let told = env.ok(&["ps", "show", "p1"]).stdout;
    assert!(told.ends_with("steps without a script run\n"), "{told}");
    // A request for the plan prints all of it.
    assert!(env.ok(&["down", "farm", "--dry-run"]).stdout.lines().count() > 110);
}
