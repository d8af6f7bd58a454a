//! Rolling changes: the nodes of a group change in batches.

use crate::env::TestEnv;

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
    // The descriptor's number holds without the option.
    env.edit("h_bta/assembly.yaml", "    cluster:\n", "    update: {max-unavailable: 70%}\n    cluster:\n");
    let plan = env.ok(&[&["plan"], &replace[1..]].concat());
    assert!(plan.stdout.contains("  B changes in 2 batches of at most 2 nodes\n"), "{plan}");
}

/// The nodes that have changed go back too; those after the failed one never change.
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
    assert!(!moves(&env).contains(&"Stop B__3".to_owned()), "{:?}", moves(&env));
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.starts_with("h_bta Active"), "{status}");
    env.clear_trace();
    env.script(start, works.replace("begin Start\n", "begin Start\nexit 1\n"));
    let all = env.run(&[&UP[..], &["--replace", "B", "--yes", "--max-unavailable", "all"]].concat());
    assert!(all.stdout.contains("\nrolling back: a node of `B` has failed\n"), "{all}");
    let again = env.ok(&["history", "h_bta", "--format", "json"]).stdout;
    assert!(again.contains("rollback to p2"), "{again}");
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
    let status = env.run(&["status", "h_bta"]).stdout;
    assert!(status.contains("─ 2 Active") && status.contains("─ 3 Active"), "{status}");
    env.script(start, works);
    env.clear_trace();
    env.ok(&UP);
    assert_eq!(moves(&env).last().map(String::as_str), Some("Start B__1"));
}
