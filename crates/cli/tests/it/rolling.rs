//! Rolling changes: the nodes of a group change in batches.

use rustix::process::Signal;
use serde_json::json;

use crate::env::{TestEnv, until};

const UP: [&str; 4] = ["up", "h_bta", "-p", "numOfServers=3"];

/// Returns a project in which `h_bta` with three nodes is up. All nodes are related to its server `A`.
fn three_nodes() -> TestEnv {
    let env = TestEnv::with("h_bta");
    env.ok(&UP);
    env.clear_trace();
    env
}

/// Returns the stops and starts of the nodes, in order.
fn moves(env: &TestEnv) -> Vec<String> {
    let trace = env.trace();
    let moves = trace.iter().filter_map(|call| {
        let (transition, element) = call.split_once(' ')?;
        let node = element.split_whitespace().next()?.strip_prefix("h_bta__")?;
        matches!(transition, "Stop" | "Start").then(|| format!("{transition} {node}"))
    });
    moves.collect()
}

#[test]
fn a_related_group_changes_node_by_node() {
    let env = three_nodes();
    let replace = [&UP[..], &["--replace", "B"]].concat();
    let plan = env.ok(&[&["plan"], &replace[1..]].concat());
    assert!(plan.stdout.contains("  B changes in 3 batches of at most 1 node\n"), "{plan}");
    env.ok(&[&replace[..], &["--yes"]].concat());
    let one_by_one = ["Stop B__1", "Start B__1", "Stop B__2", "Start B__2", "Stop B__3", "Start B__3"];
    assert_eq!(moves(&env), one_by_one);
    env.clear_trace();
    let all = env.ok(&[&replace[..], &["--yes", "--max-unavailable", "all"]].concat());
    assert!(!all.stdout.contains("batches"), "{all}");
    let moves = moves(&env);
    assert!(moves[..3].iter().all(|call| call.starts_with("Stop")), "{moves:?}");
    // Without the option, the number of the descriptor applies.
    env.edit("h_bta/assembly.yaml", "    cluster:\n", "    update: {max-unavailable: 70%}\n    cluster:\n");
    let plan = env.ok(&[&["plan"], &replace[1..]].concat());
    assert!(plan.stdout.contains("  B changes in 2 batches of at most 2 nodes\n"), "{plan}");
}

/// If the descriptor declares a rollback, a failed batch rolls back the nodes that have changed. The nodes
/// after the failed node never change.
#[test]
fn a_failed_batch_rolls_back_where_that_is_declared() {
    let env = three_nodes();
    env.edit("h_bta/assembly.yaml", "    cluster:\n", "    update: {on-failure: rollback}\n    cluster:\n");
    env.ok(&UP);
    let start = "h_bta/Contains/t_simple/Lifecycle/script/scripts/Start.sh";
    let works = env.read(start);
    let once =
        "started=$WINDLASS_VOLUME_STATE/started\n[ ! -e \"$started\" ] || exit 1\ntouch \"$started\"\n";
    env.script(start, works.replace("begin Start\n", &format!("begin Start\n{once}")));
    env.clear_trace();
    let failed = env.run(&[&UP[..], &["--replace", "B", "--yes"]].concat());
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert!(failed.stdout.contains("\nrolling back: a node of `B` has failed\n"), "{failed}");
    assert!(failed.stdout.ends_with("\nnot done: p3 has failed, and was rolled back\n"), "{failed}");
    let hint = "`windlass log h_bta` lists the steps that ran; the assembly is rolled back now\n";
    assert!(failed.stdout.contains(hint) && !failed.stdout.contains("same command"), "{failed}");
    assert!(!moves(&env).contains(&"Stop B__3".to_owned()), "{:?}", moves(&env));
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.starts_with("h_bta Active"), "{status}");
    env.clear_trace();
    env.script(start, works.replace("begin Start\n", "begin Start\nexit 1\n"));
    let all = env.run(&[&UP[..], &["--replace", "B", "--yes", "--max-unavailable", "all"]].concat());
    assert!(all.stdout.contains("\nrolling back: a node of `B` has failed\n"), "{all}");
    let again = env.ok(&["history", "h_bta", "--format", "json"]).stdout;
    assert!(again.contains("rollback to p2"), "{again}");
    let json = env.run(&[&UP[..], &["--replace", "B", "--yes", "--format", "json"]].concat());
    assert_eq!(json.code(), Some(1), "{json}");
    let view: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let failures = view["failures"].as_array().unwrap();
    assert!(failures.iter().any(|failure| failure["process"] == view["rolled-back"]), "{view:#}");
}

#[test]
fn a_failed_batch_stops_the_change() {
    let env = three_nodes();
    let start = "h_bta/Contains/t_simple/Lifecycle/script/scripts/Start.sh";
    let works = env.read(start);
    env.script(start, "#!/bin/sh\necho broken >&2\nexit 1\n");
    let failed = env.run(&[&UP[..], &["--replace", "B", "--yes"]].concat());
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert_eq!(moves(&env), ["Stop B__1"]);
    let nodes = failed.stdout.split_once("resumes the process\n").unwrap().1;
    assert_eq!(nodes, "  failed    B__1\n  unchanged B__2–3 (2) (old package)\n", "{failed}");
    let status = env.run(&["status", "h_bta"]).stdout;
    assert!(status.contains("─ 2 Active") && status.contains("─ 3 Active"), "{status}");
    env.script(start, works);
    env.clear_trace();
    env.ok(&UP);
    assert_eq!(moves(&env).last().map(String::as_str), Some("Start B__1"));
}

/// Returns three nodes with a pause between their batches.
fn three_nodes_with_pauses(pause: &str) -> TestEnv {
    let env = three_nodes();
    env.edit(
        "h_bta/assembly.yaml",
        "    cluster:\n",
        &format!("    update: {{pause: {pause}}}\n    cluster:\n"),
    );
    env.ok(&UP);
    env
}

#[test]
fn the_output_names_each_batch_and_each_pause() {
    let env = three_nodes_with_pauses("100ms");
    let replace = [&UP[..], &["--replace", "B", "--yes"]].concat();
    let plan = env.json(&[&["plan"], &UP[1..], &["--replace", "B"]].concat());
    assert_eq!(plan["changes"]["batches"][0]["pause"], "100ms", "{plan}");
    let run = env.ok(&replace);
    assert!(
        run.stdout.contains("B changes in 3 batches of at most 1 node, with a pause of 100ms between"),
        "{run}"
    );
    let lines = run.stdout.lines().filter(|line| line.starts_with("batch ") || line.starts_with("pause "));
    let lines: Vec<&str> =
        lines.map(|line| line.split_once(" at ").map_or(line, |(before, _)| before)).collect();
    assert_eq!(
        lines,
        [
            "batch     1 of 3 of B: B__1",
            "pause     batch 2 of 3 of B begins",
            "batch     2 of 3 of B: B__2",
            "pause     batch 3 of 3 of B begins",
            "batch     3 of 3 of B: B__3",
        ]
    );
}

/// `status` shows the pause of a running change, and an interrupt ends the pause at once.
#[test]
fn status_tells_the_batch_and_the_pause() {
    let env = three_nodes_with_pauses("1h");
    env.edit("h_bta/assembly.yaml", "pause: 1h", "pause: 2h");
    let running = env.spawn(&[&UP[..], &["--replace", "B", "--yes"]].concat());
    let process = || env.json(&["status", "h_bta"])["assemblies"][0]["process"].clone();
    until("a pause begins", || process()["pauses"].is_array());
    let pause = process()["pauses"][0].clone();
    assert_eq!(pause["before"], json!({"group": "h_bta__B", "number": 2, "count": 3}), "{pause}");
    let status = env.ok(&["status", "h_bta"]).stdout;
    let until = format!(", batch 2 of 3 of B begins at {}", &pause["until"].as_str().unwrap()[..19]);
    assert!(status.contains(&until), "{status}");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code(), Some(130), "{ended}");
    assert!(ended.stdout.contains("  changed   B__1\n  unchanged B__2–3 (2)\n"), "{ended}");
    assert_eq!(moves(&env), ["Stop B__1", "Start B__1"]);
    // All parts are Active, and two of them still have the old version.
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.contains(" up was cancelled; `windlass retry h_bta` resumes it\n"), "{status}");
}

/// The status shows the current batch. After a failure it shows the version of each node.
#[test]
fn a_failed_batch_tells_the_version_of_each_node() {
    let env = three_nodes();
    for file in ["h_bta/assembly.yaml", "h_bta/Contains/t_simple/Definitions/lm/resource.yaml"] {
        env.edit(file, "resource::t_simple::1.0", "resource::t_simple::2.0");
    }
    let start = "h_bta/Contains/t_simple/Lifecycle/script/scripts/Start.sh";
    let works = env.read(start);
    let waits = r#"state=$WINDLASS_VOLUME_STATE
if [ -e "$state/started" ]; then
    while [ ! -e "$state/go-on" ]; do sleep 0.01; done
    exit 1
fi
touch "$state/started"
"#;
    env.script(start, works.replace("begin Start\n", &format!("begin Start\n{waits}")));
    let running = env.spawn(&[&UP[..], &["--yes"]].concat());
    let batches = || env.json(&["status", "h_bta"])["assemblies"][0]["process"]["batches"].clone();
    let second = json!([{"group": "h_bta__B", "number": 2, "count": 3}]);
    until("the second batch is in progress", || batches() == second);
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.contains(", batch 2 of 3 of B\n"), "{status}");
    env.write(".windlass/volumes/state/go-on", "");
    let failed = running.end();
    assert_eq!(failed.code(), Some(1), "{failed}");
    let nodes = "  changed   B__1 (resource::t_simple::2.0)
  failed    B__2
  unchanged B__3 (resource::t_simple::1.0)\n";
    assert!(failed.stdout.contains(nodes), "{failed}");
    let again = env.run(&[&UP[..], &["--yes", "--format", "json"]].concat());
    assert_eq!(again.code(), Some(1), "{again}");
    env.ok(&["rollback", "h_bta", "--yes"]);
    let history = env.ok(&["history", "h_bta"]).stdout;
    let line = "  changes to the desired assembly; parts that had not changed stay as they are:\n";
    assert_eq!(history.matches(line).count(), 1, "{history}");
}

/// A failed change leaves its additional node. `status` must show this node. If the next `up` completes, it must remove
/// the node.
#[test]
fn status_tells_of_an_additional_node_that_is_left() {
    let env = three_nodes();
    let start = "h_bta/Contains/t_simple/Lifecycle/script/scripts/Start.sh";
    let works = env.read(start);
    let once =
        "started=$WINDLASS_VOLUME_STATE/started\n[ ! -e \"$started\" ] || exit 1\ntouch \"$started\"\n";
    env.script(start, works.replace("begin Start\n", &format!("begin Start\n{once}")));
    let replace = [&UP[..], &["--replace", "B", "--max-surge", "1", "--yes"]].concat();
    let failed = env.run(&replace);
    assert_eq!(failed.code(), Some(1), "{failed}");
    let status = env.ok(&["status", "h_bta"]).stdout;
    let line = "  B__4 is an additional node of a change that has not completed; the next `windlass up` removes it\n";
    assert!(status.contains(line), "{status}");
    let json = env.json(&["status", "h_bta"]);
    assert_eq!(json["assemblies"][0]["additional"], json!(["h_bta__B__4"]), "{json}");
    env.script(start, works);
    env.ok(&[&UP[..], &["--yes", "--current-packages"]].concat());
    let json = env.json(&["status", "h_bta"]);
    assert!(json["assemblies"][0]["additional"].is_null(), "{json}");
    assert!(!env.ok(&["status", "h_bta"]).stdout.contains("additional"));
}

/// A saved plan contains an additional node. `apply` must create this node first, and remove it at the end.
#[test]
fn a_saved_plan_with_an_additional_node_is_carried_out() {
    let env = three_nodes();
    let save =
        ["plan", "h_bta", "-p", "numOfServers=3", "--replace", "B", "--max-surge", "1", "-o", "b.plan"];
    let saved = env.ok(&save);
    assert!(saved.stdout.contains("+ B__4 added"), "{saved}");
    let done = env.ok(&["apply", "b.plan"]);
    assert!(done.stdout.contains("\nremoving the additional nodes of B\n"), "{done}");
    let moves = moves(&env);
    assert_eq!(
        (moves.first(), moves.last()),
        (Some(&"Start B__4".to_owned()), Some(&"Stop B__4".to_owned()))
    );
    assert_eq!(moves.len(), 8, "{moves:?}");
    let again = env.run(&["apply", "b.plan"]);
    assert_eq!(again.code(), Some(2), "{again}");
}

/// Policies do not scale a group while it has an additional node, regardless of its load.
#[test]
fn the_daemon_does_not_scale_during_a_surge() {
    let up = ["up", "h_bta", "-p", "numOfServers=2", "-p", "scale_smoothing=1"];
    let env = TestEnv::with("h_bta");
    env.ok(&up);
    let start = "h_bta/Contains/t_simple/Lifecycle/script/scripts/Start.sh";
    let works = env.read(start);
    let once =
        "started=$WINDLASS_VOLUME_STATE/started\n[ ! -e \"$started\" ] || exit 1\ntouch \"$started\"\n";
    env.script(start, works.replace("begin Start\n", &format!("begin Start\n{once}")));
    let failed = env.run(&[&up[..], &["--replace", "B", "--max-surge", "1", "--yes"]].concat());
    assert_eq!(failed.code(), Some(1), "{failed}");
    let watching = env.spawn(&["run", "--health", "0"]);
    until("it watches", || watching.stdout().contains("watching"));
    for _ in 0..3 {
        env.ok(&["metric", "push", "h_bta__A.load", "99"]);
    }
    env.script(start, works);
    env.ok(&[&up[..], &["--yes", "--current-packages"]].concat());
    let nodes = || env.json(&["status", "h_bta"])["assemblies"][0]["parts"]["all"].clone();
    assert_eq!(nodes(), 3, "`A` and two nodes");
    assert!(!watching.stdout().contains("scale out"), "{}", watching.stdout());
    until("it scales afterwards", || {
        env.run(&["metric", "push", "h_bta__A.load", "99"]);
        watching.stdout().contains("scale out B")
    });
    until("the group has grown", || nodes() != 3);
    watching.signal(Signal::INT);
    watching.end();
}

/// An additional node exists while the other nodes change. Its removal needs no further consent.
#[test]
fn an_additional_node_is_planned_created_and_removed() {
    let env = three_nodes();
    let replace = [&UP[..], &["--replace", "B", "--max-surge", "1"]].concat();
    let plan = env.ok(&[&["plan"], &replace[1..]].concat());
    let line = "  B changes in 3 batches of at most 1 node, with one additional node meanwhile\n";
    assert!(plan.stdout.contains(line) && plan.stdout.contains("+ B__4 added"), "{plan}");
    let done = env.ok(&[&replace[..], &["--yes"]].concat());
    assert!(done.stdout.contains("\nremoving the additional nodes of B\n"), "{done}");
    assert_eq!(
        moves(&env),
        [
            "Start B__4",
            "Stop B__1",
            "Start B__1",
            "Stop B__2",
            "Start B__2",
            "Stop B__3",
            "Start B__3",
            "Stop B__4"
        ]
    );
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.starts_with("h_bta Active") && !status.contains("─ 4"), "{status}");
    let wrong = env.run(&[&UP[..], &["--max-surge", "all"]].concat());
    assert_eq!(wrong.code(), Some(2), "{wrong}");
}
