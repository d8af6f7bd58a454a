//! Clusters with one node for each host of a list. The list is a file or an Ansible inventory.

use insta::assert_snapshot;

use crate::env::{TestEnv, until};

const THREE: &str = "- {name: rack1, data: one}\n- {name: rack2, data: two}\n- {name: rack3, data: three}\n";

const UP: [&str; 4] = ["up", "h_bta", "-p", "hosts=@hosts.yaml"];

/// Returns a project with `h_bta`, whose cluster `B` has a node for each entry of `hosts.yaml`.
fn project() -> TestEnv {
    let env = TestEnv::with("h_bta");
    let file = "h_bta/assembly.yaml";
    env.edit(
        file,
        "      initial-quantity: ${numOfServers}\n      minimum-nodes: 1\n      maximum-nodes: 4\n      scaling-increment: 1\n",
        "      each: ${hosts}\n      key: name\n",
    );
    env.edit(file, "  numOfServers:\n", "  hosts: {type: list, required: true}\n  numOfServers:\n");
    let text = env.read(file);
    let (head, rest) = text.split_once("policies:\n").unwrap();
    let (_, tail) = rest.split_once("references:\n").unwrap();
    let (before, b) = head.split_once("  B:\n").unwrap();
    let b = b.replacen("value: ${data}", "value: ${each.data}", 1);
    env.write(file, format!("{before}  B:\n{b}references:\n{tail}"));
    env.write("hosts.yaml", THREE);
    env
}

/// Returns the calls of transitions and operations so far, each with its node, sorted.
fn calls(env: &TestEnv) -> Vec<String> {
    let short = |line: &String| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?.strip_prefix("h_bta__")?))
    };
    let mut calls: Vec<String> = env.changes().iter().filter_map(short).collect();
    calls.sort();
    calls
}

#[test]
fn removing_one_host_from_the_middle_removes_its_node() {
    let env = project();
    let up = env.ok(&UP);
    assert!(!up.stderr.contains("WL0117"), "the text of a file is a list: {up}");
    env.clear_trace();
    env.write("hosts.yaml", "- {name: rack3, data: three}\n- {name: rack1, data: one}\n");
    let plan = env.ok(&["plan", "h_bta", "-p", "hosts=@hosts.yaml"]);
    assert_snapshot!(plan.stdout, @"
      - B__rack2 removed
    1 to remove
    h_bta: 3 steps, up to 1 at once
       s1 B__rack2 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3
       s2 B__rack2 Stop
          needs third-relationship: it is ceased before target B__rack2 leaves Active (h_bta/assembly.yaml:139:3)
       s3 B__rack2 Uninstall
          needs B__rack2 is Inactive first
          after all parts are stopped
    longest chain: s1 → s2 → s3
    ");
    env.ok(&[&UP[..], &["--yes"]].concat());
    assert_snapshot!(calls(&env).join("\n"), @"
    CeaseRelationship3 A
    CeaseRelationship3 B__rack2
    Stop B__rack2
    Uninstall B__rack2
    ");
    // A changed value of one entry changes one node, and a new entry adds one.
    env.clear_trace();
    env.write(
        "hosts.yaml",
        "- {name: a9, data: nine}\n- {name: rack1, data: other}\n- {name: rack3, data: three}\n",
    );
    env.ok(&[&UP[..], &["--yes"]].concat());
    let calls = calls(&env);
    assert!(calls.iter().any(|call| call == "Install B__a9"), "{calls:?}");
    assert!(calls.iter().any(|call| call.ends_with("B__rack1")), "{calls:?}");
    assert!(!calls.iter().any(|call| call.ends_with("B__rack3")), "{calls:?}");
    env.clear_trace();
    let same = env.ok(&UP);
    assert!(same.stdout.contains("nothing to do") || env.changes().is_empty(), "{same}");
    // The earlier version contains the earlier list of hosts.
    env.ok(&["rollback", "h_bta", "--yes"]);
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.contains("rack1 Active") && !status.contains("a9"), "{status}");
}

#[test]
fn commands_name_a_node_by_its_key() {
    let env = project();
    env.ok(&UP);
    let status = env.ok(&["status", "h_bta"]).stdout;
    let nodes = ["   ├─ rack1 Active", "   ├─ rack2 Active", "   └─ rack3 Active"];
    assert!(nodes.iter().all(|node| status.contains(node)), "{status}");
    env.clear_trace();
    env.ok(&["heal", "h_bta", "B__rack2"]);
    assert!(
        calls(&env).iter().all(|call| call.ends_with("B__rack2") || call.contains("Relationship")),
        "{:?}",
        calls(&env)
    );
    env.clear_trace();
    env.ok(&["heal", "h_bta", "B"]);
    assert_eq!(env.changes(), [""; 0]);
    env.ok(&[&UP[..], &["--replace", "B__rack3", "--yes"]].concat());
    assert!(
        !calls(&env).iter().any(|call| call.starts_with("Install") && !call.ends_with("B__rack3")),
        "{:?}",
        calls(&env)
    );
    assert_snapshot!(env.refuses(&["heal", "h_bta", "B__rack4"]), @"error[WL0554]: `h_bta` has no part `B__rack4`; did you mean `B__rack1`?");
    for scale in
        [&["scale", "out", "h_bta", "B"][..], &["scale", "in", "h_bta", "B"], &["scale", "h_bta", "B", "4"]]
    {
        let said = env.refuses(scale);
        assert!(said.contains("error[WL0530]: the nodes of `B` are the entries of a list; change"), "{said}");
    }
    let graph = env.ok(&["graph", "h_bta", "--stored"]).stdout;
    assert!(graph.contains("B × 3"), "{graph}");
    env.ok(&["down", "h_bta"]);
}

#[test]
fn a_plan_of_one_host_touches_that_host() {
    let env = project();
    env.ok(&UP);
    env.clear_trace();
    env.write("hosts.yaml", THREE.replace("one", "1").replace("three", "3"));
    let up = env.ok(&[&UP[..], &["--target", "B__rack1", "--yes"]].concat());
    assert!(up.stdout.contains("B__rack3"), "the rest is listed: {up}");
    assert!(!calls(&env).iter().any(|call| call.ends_with("B__rack3")), "{:?}", calls(&env));
    // Nodes that are declared by a list are changed in batches, too.
    let plan = env.ok(&[&["plan"], &UP[1..], &["--replace", "B"]].concat());
    assert!(plan.stdout.contains("B changes in 3 batches of at most 1 node"), "{plan}");
}

#[test]
fn a_list_with_mistakes_is_refused_with_its_places() {
    let env = project();
    env.write(
        "hosts.yaml",
        "- {name: rack1, data: one}\n- {name: '7', data: two}\n- {name: rack1, data: three}\n",
    );
    assert_snapshot!(env.refuses(&UP), @"
    error[WL0173]: entry 2 of `hosts` has the number `7` as its key; begin it with a letter
     --> hosts.yaml:2:3
      |
    2 | - {name: '7', data: two}
      |   ^^^^^^^^^^^^^^^^^^^^^^

    error[WL0173]: entries 1 and 3 of `hosts` have the same key, `rack1`
     --> hosts.yaml:3:3
      |
    1 | - {name: rack1, data: one}
      |   ------------------------ the first of them
    2 | - {name: '7', data: two}
    3 | - {name: rack1, data: three}
      |   ^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: give each entry a key of its own

    2 errors; nothing was changed
    ");
    env.write("hosts.yaml", "rack1: {data: one}\n");
    assert_snapshot!(env.refuses(&UP), @"
    error[WL0173]: `hosts` is not a list
     --> hosts.yaml:1:1
      |
    1 | rack1: {data: one}
      | ^^^^^^^^^^^^^^^^^^
      |
      = help: give a YAML list of maps, one for each node

    1 error; nothing was changed
    ");
    env.write("more.yaml", "hosts:\n  - {name: a, data: x}\n  - {data: y}\n");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--params", "more.yaml"]), @"
    error[WL0173]: entry 2 of `hosts` has no `name`, its key; it has `data`
    --> more.yaml:3:5

    1 error; nothing was changed
    ");
    env.write("h_bta/params.yaml", "hosts: [{name: a, data: x}]\n");
    env.ok(&["up", "h_bta"]);
    assert!(env.ok(&["status", "h_bta"]).stdout.contains("a Active"));
}

const INVENTORY: &str = "[web]
rack[1:2] data=two
rack3 data=three
[db]
store data=none
[web:vars]
zone=north
";

#[test]
fn hosts_come_from_an_inventory() {
    let env = project();
    env.write("inventory.ini", INVENTORY);
    env.ok(&["up", "h_bta", "--inventory", "hosts=inventory.ini:web"]);
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.contains("rack2 Active") && !status.contains("store"), "{status}");
    env.clear_trace();
    env.write(
        "inventory.yaml",
        "all: {children: {web: {hosts: {rack1: {data: two}, rack3: {data: three}}}}}\n",
    );
    let all = ["up", "h_bta", "--inventory", "hosts=inventory.yaml", "--yes"];
    env.ok(&all);
    assert!(
        calls(&env).iter().all(|call| call.ends_with("B__rack2") || call.contains("Relationship")),
        "{:?}",
        calls(&env)
    );
    assert_snapshot!(env.refuses(&["up", "h_bta", "--inventory", "hosts=inventory.ini:wbe"]), @"
    error[WL0345]: the inventory has no group `wbe`
    --> inventory.ini:1:1
     = help: did you mean `web`?

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--inventory", "inventory.ini"]), @"error[WL0800]: `--inventory inventory.ini` is not of the form `--inventory PARAM=FILE[:GROUP]`");
}

/// The record of the assembly contains the list of hosts, so `retry` does not read the file.
#[test]
fn a_killed_installation_goes_on_without_the_list() {
    let env = project();
    env.location("pause: \"0.3\"");
    let up = env.spawn(&UP);
    until("the first call", || !env.trace().is_empty());
    up.kill();
    std::fs::remove_file(env.path("hosts.yaml")).unwrap();
    env.ok(&["retry", "h_bta"]);
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(
        ["rack1", "rack2", "rack3"].iter().all(|key| status.contains(&format!("{key} Active"))),
        "{status}"
    );
}

#[test]
fn a_saved_plan_has_the_list() {
    let env = project();
    env.ok(&["plan", "h_bta", "-p", "hosts=@hosts.yaml", "-o", "farm.plan"]);
    env.write("hosts.yaml", "[]\n");
    env.ok(&["apply", "farm.plan"]);
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.contains("rack3 Active"), "{status}");
}

#[test]
fn a_list_with_two_sources_is_refused() {
    let env = project();
    env.write("inventory.ini", INVENTORY);
    let inventory = ["--inventory", "hosts=inventory.ini:web"];
    assert_snapshot!(env.refuses(&[&UP[..], &inventory].concat()), @"error[WL0800]: `hosts` has two sources: `--inventory hosts=…` and `-p hosts=…`; give one of them");
    assert_snapshot!(env.refuses(&[&["up", "h_bta"], &inventory[..], &inventory].concat()), @"error[WL0800]: `hosts` has two sources: `--inventory hosts=…` and another `--inventory hosts=…`; give one of them");
}

#[test]
fn a_variable_that_is_left_out_is_named() {
    let env = project();
    env.write("inventory.ini", "[web]\nrack1 data='{{ secret }}'\n");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--inventory", "hosts=inventory.ini:web"]), @"
    error[WL0173]: the entry `rack1` has no field `data`
      --> h_bta/assembly.yaml:92:16
       |
    92 |         value: ${each.data}
       |                ^^^^^^^^^^^^
      ::: inventory.ini:2:1
       = note: the entry
       = help: the inventory's `data` is left out, because it is a Jinja expression, a value with a tag, or a password of a connection

    1 error; nothing was changed
    ");
}
