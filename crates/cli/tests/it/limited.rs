//! Plans that are limited to some parts by `--target` or `--except`, and their resumption.

use insta::assert_snapshot;

use crate::env::{TestEnv, until};

const UP: [&str; 4] = ["up", "h_bta", "-p", "numOfServers=3"];

fn up() -> TestEnv {
    let env = TestEnv::with("h_bta");
    env.ok(&UP);
    env.clear_trace();
    env
}

/// Returns the nodes for which transitions were called, sorted.
fn touched(env: &TestEnv) -> Vec<String> {
    let node = |line: &String| {
        let (transition, rest) = line.split_once(' ')?;
        let is_transition = !transition.contains("Relationship");
        is_transition.then(|| rest.split_whitespace().next()?.strip_prefix("h_bta__").map(str::to_owned))?
    };
    let mut nodes: Vec<String> = env.changes().iter().filter_map(node).collect();
    nodes.sort();
    nodes.dedup();
    nodes
}

const OTHER: [&str; 4] = ["-p", "data=other", "--yes", "--max-unavailable=all"];

#[test]
fn several_targets_are_all_planned() {
    let env = up();
    let up = [&UP[..], &OTHER, &["--target", "B__1", "--target", "B__3"]].concat();
    let done = env.ok(&up);
    assert_eq!(touched(&env), ["B__1", "B__3"]);
    let (_, undone) = done.stdout.split_once("because of `--target` or `--except`").unwrap();
    assert!(undone.contains("B__2") && undone.contains(" A "), "{undone}");
}

#[test]
fn excepted_parts_stay_as_they_are_and_are_listed() {
    let env = up();
    let plan =
        env.ok(&[&["plan"], &UP[1..], &["-p", "data=other", "--except", "A", "--except", "B__2"]].concat());
    let (_, undone) = plan.stdout.split_once("because of `--target` or `--except`").unwrap();
    assert!(undone.contains("B__2") && !undone.contains("B__1"), "{undone}");
    env.ok(&[&UP[..], &OTHER, &["--except", "A", "--except", "B__2"]].concat());
    assert_eq!(touched(&env), ["B__1", "B__3"]);
    // The plan is limited to a target, except one of its nodes.
    env.clear_trace();
    env.ok(&[&UP[..], &["-p", "data=third", "--yes", "--target", "B", "--except", "B__1"]].concat());
    assert_eq!(touched(&env), ["B__2", "B__3"]);
    // Without the options, `up` changes the remaining parts.
    env.clear_trace();
    env.ok(&[&UP[..], &["-p", "data=third", "--yes"]].concat());
    assert_eq!(touched(&env), ["A", "B__1"]);
}

/// A node is no longer a part of the assembly, but still exists because of `--except`. A later `up` can keep the node
/// again with `--except`, or remove only this node with `--target`. `heal` must refuse the node.
#[test]
fn a_node_that_has_left_can_be_named() {
    let env = up();
    let fewer = ["up", "h_bta", "-p", "numOfServers=2", "--yes"];
    for _ in 0..2 {
        env.ok(&[&fewer[..], &["--except", "B__3"]].concat());
        assert!(touched(&env).is_empty());
    }
    let heal = env.refuses(&["heal", "h_bta", "B__3"]);
    assert!(heal.contains("`B__3` is no longer a part of the assembly; `windlass up` removes it"), "{heal}");
    env.ok(&[&fewer[..], &["--target", "B__3"]].concat());
    assert_eq!(touched(&env), ["B__3"]);
}

#[test]
fn a_part_that_needs_an_excepted_one_is_refused() {
    let env = TestEnv::with("h_bta");
    assert_snapshot!(env.refuses(&[&UP[..], &["--except", "A"]].concat()), @"error[WL0546]: `B__3` needs `A`, which stays as it is; leave `B__3` as it is too, or plan both");
    assert_snapshot!(env.refuses(&[&UP[..], &["--except", "C"]].concat()), @"error[WL0554]: `h_bta` has no part `C`; there are `internal-network`, `public-network`, `xenial-image`, `A`, `B`, `B__1`, `B__2`, `B__3`");
    env.ok(&[&UP[..], &["--except", "B"]].concat());
    assert_eq!(touched(&env), ["A"]);
}

#[test]
fn a_saved_plan_keeps_its_exceptions() {
    let env = up();
    env.ok(&[&["plan"], &UP[1..], &["-p", "data=other", "--except", "A", "-o", "some.plan"]].concat());
    env.ok(&["apply", "some.plan"]);
    assert_eq!(touched(&env), ["B__1", "B__2", "B__3"]);
    env.clear_trace();
    env.ok(&["down", "h_bta", "--except", "A", "--dry-run", "-o", "down.plan"]);
    env.ok(&["apply", "down.plan"]);
    assert_eq!(touched(&env), ["B__1", "B__2", "B__3"]);
}

#[test]
fn down_leaves_what_it_excepts() {
    let env = up();
    let down = env.ok(&["down", "h_bta", "--except", "A"]);
    assert!(down.stdout.contains("done: the planned parts of h_bta are removed"), "{down}");
    assert_eq!(touched(&env), ["B__1", "B__2", "B__3"]);
    let status = env.run(&["status", "h_bta"]).stdout;
    assert!(status.starts_with("h_bta partly removed assembly") && status.contains("─ A Active"), "{status}");
    env.clear_trace();
    // `up` creates the removed parts again.
    env.ok(&UP);
    assert_eq!(touched(&env), ["B__1", "B__2", "B__3"]);
    env.clear_trace();
    env.ok(&["down", "h_bta", "--target", "B__1", "--target", "B__2"]);
    assert_eq!(touched(&env), ["B__1", "B__2"]);
    env.clear_trace();
    env.ok(&["down", "h_bta"]);
    assert_eq!(touched(&env), ["A", "B__3"]);
    assert!(env.ok(&["down", "h_bta"]).stderr.contains("removed already"));
}

/// `down` refuses to remove a part if a remaining part depends on it.
#[test]
fn down_removes_no_part_that_another_depends_on() {
    let env = TestEnv::with("h_bta");
    env.edit("h_bta/assembly.yaml", "  B:\n", "  B:\n    depends-on: [A]\n");
    env.ok(&UP);
    env.clear_trace();
    for limit in [["--target", "A"], ["--except", "B"], ["--except", "B__2"]] {
        let said = env.refuses(&[&["down", "h_bta"][..], &limit].concat());
        assert!(said.contains("depends on `A`, which would be removed; remove `B__"), "{said}");
    }
    assert_eq!(touched(&env), [""; 0]);
    env.ok(&["down", "h_bta", "--target", "B__2"]);
    env.ok(&["down", "h_bta", "--target", "A", "--target", "B"]);
}

/// A retry of an interrupted process keeps the limits of its command.
#[test]
fn a_retry_keeps_the_limits_of_down_and_up() {
    let env = up();
    env.location("pause: \"0.3\"");
    let down = env.spawn(&["down", "h_bta", "--except", "A", "--except", "B__3"]);
    until("the first call", || !env.trace().is_empty());
    down.kill();
    env.location("");
    env.ok(&["retry", "h_bta"]);
    assert_eq!(touched(&env), ["B__1", "B__2"]);
    env.location("fail: Stop:3");
    assert_eq!(env.run(&["down", "h_bta", "--target", "B__3"]).code(), Some(1));
    env.location("");
    env.clear_trace();
    env.ok(&["retry", "h_bta"]);
    assert_eq!(touched(&env), ["B__3"]);
    env.ok(&UP);
    env.location("fail: Stop:1");
    assert_eq!(env.run(&[&UP[..], &OTHER, &["--except", "A", "--except", "B__2"]].concat()).code(), Some(1));
    env.location("");
    env.clear_trace();
    env.ok(&["retry", "h_bta"]);
    assert!(!touched(&env).iter().any(|node| ["A", "B__2"].contains(&node.as_str())), "{:?}", touched(&env));
}

/// `down --except` can leave a protected part and remove all other parts.
#[test]
fn the_others_of_a_protected_part_go() {
    let env = TestEnv::with("h_bta");
    env.edit("h_bta/assembly.yaml", "  A:\n", "  A:\n    protect: true\n");
    env.ok(&UP);
    env.refuses(&["down", "h_bta"]);
    env.ok(&["down", "h_bta", "--except", "A"]);
    assert!(env.run(&["status", "h_bta"]).stdout.contains("A Active"));
}

#[test]
fn a_part_is_not_both_the_target_and_left_out() {
    let env = TestEnv::with("h_bta");
    let contradiction = ["--target", "B", "--except", "A", "--except", "B"];
    let said = ["up", "plan", "down"]
        .map(|command| env.refuses(&[&[command, "h_bta"], &contradiction[..]].concat()));
    assert!(said.iter().all(|one| *one == said[0]), "{said:?}");
    assert_snapshot!(said[0], @"error[WL0800]: `--target B` and `--except B` contradict each other; remove one of them");
    let replaced = env.refuses(&["plan", "h_bta", "--replace", "B", "--except", "B"]);
    assert_eq!(replaced, said[0].replace("--target", "--replace"));
    let node = env.refuses(&["up", "h_bta", "--target", "B__1", "--except", "B"]);
    assert_eq!(node, said[0].replace("--target B", "--target B__1"));
}

/// After a limited `down`, the status reports that the assembly is partly removed.
#[test]
fn the_status_after_a_limited_down_is_that_of_its_end() {
    let env = up();
    env.ok(&["down", "h_bta", "--target", "A", "--target", "B__2"]);
    assert_snapshot!(env.ok(&["status", "h_bta"]).out(), @"
    h_bta partly removed assembly::h_bta::1.0, AGE
      2 of 4 Active
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Absent AGE
    └─ B 1 of 3 Absent
       ├─ 1 Active active, AGE
       ├─ 2 Absent AGE
       └─ 3 Active active, AGE
      output: A_output
    ");
}
