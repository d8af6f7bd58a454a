//! Protection of parts from removal and replacement.

use insta::assert_snapshot;
use rstest::rstest;

use crate::env::{TestEnv, until};

/// Returns a project in which `h_bta` with two nodes is up. A component of its descriptor is protected.
fn protected(component: &str) -> TestEnv {
    let env = TestEnv::with("h_bta");
    env.edit(
        "h_bta/assembly.yaml",
        &format!("  {component}:\n"),
        &format!("  {component}:\n    protect: true\n"),
    );
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    env.clear_trace();
    env
}

const UP: [&str; 4] = ["up", "h_bta", "-p", "numOfServers=2"];

#[rstest]
#[case::changed_value(&["up", "h_bta", "-p", "numOfServers=2", "-p", "data=other"], "replaced (1 more part too)")]
#[case::replaced(&["up", "h_bta", "-p", "numOfServers=2", "--replace", "B__2"], "replaced")]
#[case::fewer_nodes(&["up", "h_bta", "-p", "numOfServers=1"], "removed")]
#[case::scaled_in(&["scale", "in", "h_bta", "B"], "removed")]
#[case::lowered(&["set-state", "h_bta", "Installed"], "replaced (1 more part too)")]
#[case::down(&["down", "h_bta"], "removed (1 more part too)")]
fn a_protected_cluster_loses_no_node(#[case] command: &[&str], #[case] lost: &str) {
    let env = protected("B");
    let part = if lost == "removed" || lost == "replaced" { "B__2" } else { "B__1" };
    let except = if lost.contains("more") {
        "`windlass up` with `--except PART` for each of them".to_owned()
    } else {
        format!("`windlass up --except {part}`")
    };
    let expected = format!(
        "error[WL0542]: `{part}` of `h_bta` is protected with `B` and would be {lost}; remove `protect: true` from `B`, run {except}, then repeat the command\n"
    );
    let sure = if command[0] == "down" { &[][..] } else { &["--yes"] };
    assert_eq!(env.refuses(&[command, sure].concat()), expected);
    assert_eq!(env.refuses(&[command, &["--dry-run"]].concat()), expected);
    assert_eq!(env.changes(), [""; 0]);
    let status = env.ok(&["status", "h_bta"]);
    assert!(status.stdout.contains("─ B Active protected\n"), "{status}");
    // Changes of other parts, and changes that remove nothing, are allowed.
    env.ok(&["heal", "h_bta", "B__1"]);
    env.ok(&["scale", "out", "h_bta", "B"]);
    env.ok(&["set-state", "h_bta", "Inactive"]);
}

/// Only an `up` lifts a protection. The recorded flag counts: an `up` that lifts the protection can't remove
/// the part at the same time.
#[test]
fn only_an_up_lifts_a_protection() {
    let env = protected("B");
    env.edit("h_bta/assembly.yaml", "    protect: true\n", "");
    env.refuses(&["up", "h_bta", "-p", "numOfServers=1", "--yes"]);
    env.refuses(&["down", "h_bta"]);
    env.ok(&UP);
    assert_eq!(env.changes(), [""; 0], "nothing is called to lift it");
    // A rollback to a protected version protects again. A rollback to an unprotected version keeps the
    // protection.
    env.ok(&["rollback", "h_bta"]);
    env.refuses(&["down", "h_bta"]);
    env.ok(&["rollback", "h_bta", "--to", "p2"]);
    env.refuses(&["down", "h_bta"]);
    env.ok(&UP);
    env.ok(&["down", "h_bta"]);
}

#[test]
fn an_option_protects_the_whole_assembly() {
    let env = TestEnv::with("h_bta");
    env.ok(&[&UP[..], &["--protect"]].concat());
    assert!(env.ok(&["status", "h_bta"]).stdout.contains("s, protected\n"));
    assert_snapshot!(env.refuses(&["down", "h_bta"]), @"error[WL0542]: `A` of `h_bta` is protected and would be removed (2 more parts too); remove `protect: true` from the assembly, run `windlass up` with `--except PART` for each of them and without `--protect`, then repeat the command");
    env.refuses(&["scale", "in", "h_bta", "B", "--yes"]);
    env.refuses(&[&UP[..], &["--replace", "A", "--protect", "--yes"]].concat());
    env.ok(&UP);
    env.ok(&["down", "h_bta"]);
}

/// The desired values of protected parts have changed. An `up` that excludes the parts with `--except` must lift the
/// protection, and must not change the parts. The next `up` must change them.
#[test]
fn a_protection_is_lifted_although_a_part_has_changed() {
    let env = TestEnv::with("h_bta");
    env.ok(&[&UP[..], &["--protect"]].concat());
    env.clear_trace();
    let changed = [&UP[..], &["-p", "data=other", "--yes"]].concat();
    let refused = env.refuses(&changed);
    assert!(refused.contains("with `--except PART` for each of them"), "{refused}");
    env.ok(&[&changed[..], &["--except", "A", "--except", "B"]].concat());
    assert_eq!(env.changes(), [""; 0]);
    env.ok(&changed);
    assert_ne!(env.changes(), [""; 0]);
}

#[test]
fn an_assembly_protects_itself() {
    let env = TestEnv::with("h_bta");
    let text = env.read("h_bta/assembly.yaml");
    env.write("h_bta/assembly.yaml", format!("protect: true\n{text}"));
    env.ok(&["up", "h_bta"]);
    let refused = env.refuses(&["down", "h_bta"]);
    assert!(refused.contains("remove `protect: true` from the assembly"), "{refused}");
    env.write("h_bta/assembly.yaml", text);
    env.ok(&["up", "h_bta"]);
    env.ok(&["down", "h_bta"]);
}

/// A failed installation of a protected part is repaired, because the part was never complete.
#[test]
fn a_failed_installation_is_repaired_although_it_is_protected() {
    let env = TestEnv::with("h_bta");
    env.location("fail: Install:2");
    let up = [&UP[..], &["--protect"]].concat();
    assert_eq!(env.run(&up).code(), Some(1));
    env.location("");
    env.ok(&up);
    env.refuses(&["down", "h_bta"]);
}

/// A policy does not shrink a protected cluster. The daemon reports that once.
#[test]
fn a_policy_is_refused_too() {
    let env = protected("B");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2", "-p", "scale_smoothing=1"]);
    let watching = env.spawn(&["run", "--health", "0"]);
    until("it watches", || watching.stdout().contains("watching"));
    let push = || assert_eq!(env.ok(&["metric", "push", "h_bta__A.load", "5"]).stderr, "");
    until("it is refused", || {
        push();
        watching.stdout().contains("scale in B: `B` is protected")
    });
    push();
    push();
    watching.signal(rustix::process::Signal::INT);
    let watched = watching.end();
    assert_eq!(watched.stdout.matches("is protected").count(), 1, "{watched}");
    assert_eq!(env.ok(&["status", "h_bta", "--all"]).stdout.matches("Active").count(), 5);
}

/// A changed protection is reported, although it causes no call.
#[test]
fn a_changed_protection_is_told() {
    let env = protected("B");
    env.edit("h_bta/assembly.yaml", "    protect: true\n", "");
    let unchanged = env.run(&["plan", "h_bta", "-p", "numOfServers=2", "--detailed-exitcode"]);
    assert_eq!(unchanged.code(), Some(3));
    assert_snapshot!(unchanged.stdout, @"
    h_bta: nothing to do
      ~ B no longer protected
    ");
    // A saved plan shows the protection, too.
    let saved = ["plan", "h_bta", "-p", "numOfServers=2", "-o", "h_bta.plan", "--detailed-exitcode"];
    for command in [&saved[..], &["apply", "h_bta.plan", "--dry-run", "--detailed-exitcode"]] {
        let run = env.run(command);
        assert_eq!(run.code(), Some(3), "{run}");
        assert!(run.stdout.contains("  ~ B no longer protected\n"), "{run}");
    }
    assert_snapshot!(env.ok(&UP), @"
    exit 0
    ----- stdout -----
    h_bta: nothing to call (p2 up)
      ~ B no longer protected

    done: h_bta is Active (LONG)
      output: A_output
    ----- stderr -----
    warning[WL0170]: `B` has several nodes; the value of the lowest one, `B__1`, is taken
      --> h_bta/assembly.yaml:18:12
       |
    18 |     value: ${B.output}
       |            ^^^^^^^^^^^
    ");
    let again = env.ok(&[&UP[..], &["--protect"]].concat());
    assert_snapshot!(again.stdout.lines().take(3).collect::<Vec<_>>().join("\n"), @"
    h_bta: nothing to call (p3 up)
      ~ h_bta protected
    ");
    assert_eq!(env.run(&["plan", "h_bta", "-p", "numOfServers=2"]).code(), Some(0));
}
