//! Changes of an existing assembly: upgrade, scale, heal, set-state, rollback, adopt and cancel, with their
//! output.

use insta::assert_snapshot;

use crate::env::{GATE, TestEnv, until};
use crate::small;

/// Several active parts read a value, and the value changes. windlass must stop all these parts before it replaces
/// them, and start them after all of them are replaced.
#[test]
fn another_value_makes_parts_anew() {
    let env = TestEnv::up();
    let plan = ["up", "h_bta", "-p", "data=other", "--dry-run"];
    assert_snapshot!(env.ok(&plan).out(), @"
      -/+ A replaced
          data: data → other
      -/+ B__1 replaced
          data: data → other
    2 to replace
    h_bta: 12 steps, up to 2 at once
       s1 B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3
       s2 B__1 Stop
          needs third-relationship: it is ceased before target B__1 leaves Active (h_bta/assembly.yaml:150:3)
       s3 A    Stop
          needs third-relationship: it is ceased before source A leaves Active (h_bta/assembly.yaml:150:3)
       s4 A    Uninstall
          needs A is Inactive first
          after all parts that change are stopped
       s5 B__1 Uninstall
          needs B__1 is Inactive first
          after all parts that change are stopped
       s6 A    Install
          needs A is Absent first
          after all parts that change are uninstalled
       s7 B__1 Install
          needs B__1 is Absent first
          after all parts that change are uninstalled
       s8 A    Configure
          needs A is Installed first
          after all parts that change are Installed again
       s9 B__1 Configure
          needs B__1 is Installed first
          after all parts that change are Installed again
      s10 A    Start, Integrity
          needs A is Inactive first
          after all parts that change are Inactive again
      s11 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
          needs third-relationship: the old relationship is ceased first (h_bta/assembly.yaml:150:3)
          needs third-relationship: target B__1 must be Inactive (h_bta/assembly.yaml:150:3)
          needs third-relationship: source A must be Active (h_bta/assembly.yaml:150:3)
      s12 B__1 Start, Integrity
          needs B__1 is Inactive first
          needs third-relationship: it is created before target B__1 becomes Active (h_bta/assembly.yaml:150:3)
          after all parts that change are Inactive again
    longest chain: s1 → s3 → s4 → s6 → s8 → s10 → s11 → s12
    ");
    assert_eq!(env.changes(), [""; 0], "a dry run calls nothing");
    let run = env.run(&[&plan[..], &["--detailed-exitcode"]].concat());
    assert_eq!(run.code(), Some(3), "{run}");
    env.ok(&["up", "h_bta", "-p", "data=other", "--yes"]);
    let trace = env.trace();
    assert!(trace.contains(&"Install h_bta__A".to_owned()), "{trace:?}");
    let run = env.run(&[&plan[..], &["--detailed-exitcode"]].concat());
    assert_eq!(run.code(), Some(0), "there is nothing to do any more: {run}");
}

#[test]
fn a_part_is_replaced_or_left_alone_on_demand() {
    let env = TestEnv::up();
    env.ok(&["up", "h_bta", "--replace", "B__1", "--yes"]);
    let trace = env.trace();
    assert!(trace.iter().any(|line| line.starts_with("Install h_bta__B__1")), "{trace:?}");
    assert!(!trace.iter().any(|line| line.starts_with("Install h_bta__A")), "{trace:?}");
    // Only a part of the assembly exists, so the output does not report the assembly as Active.
    let part = env.ok(&["up", "h_bta", "--name", "other", "--target", "A"]);
    assert!(part.stdout.contains("; other as a whole is Absent"), "{part}");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--replace", "xenial-image"]), @"error[WL0555]: `xenial-image` is a reference, which this assembly does not create; name a component instead");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--target", "C"]), @"error[WL0554]: `h_bta` has no part `C`; there are `internal-network`, `public-network`, `xenial-image`, `A`, `B`, `B__1`");
}

/// Differences that remain because of `--target` are listed both before and after the process.
#[test]
fn a_target_lists_what_stays_undone() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    env.clear_trace();
    let target = ["h_bta", "-p", "data=other", "-p", "numOfServers=1", "--target", "B__1"];
    let plan = env.ok(&[&["plan"], &target[..]].concat());
    let run = env.ok(&[&["up", "--yes"], &target[..]].concat());
    for (kind, run) in [("plan", &plan), ("up", &run)] {
        assert!(run.stdout.contains("  -/+ B__1 replaced\n"), "{kind}: {run}");
        assert!(run.stdout.contains("1 to replace\n"), "{kind}: {run}");
        let (_, undone) =
            run.stdout.split_once("not in the plan, because of `--target` or `--except`").unwrap();
        assert!(
            undone.contains("  -/+ A replaced\n") && undone.contains("  - B__2 removed\n"),
            "{kind}: {run}"
        );
        assert!(!undone.contains("B__1"), "{kind}: {run}");
    }
    let trace = env.trace();
    let others = ["Stop h_bta__A", "Uninstall h_bta__A", "h_bta__B__2"];
    assert!(!trace.iter().any(|line| others.iter().any(|other| line.starts_with(other))), "{trace:?}");
    let json = env.ok(&[&["plan"], &target[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["counts"]["removed"], 0, "{json:#}");
    assert_eq!(json["undone"]["elements"].as_array().map(Vec::len), Some(2), "{json:#}");
}

/// A plan lists all changes, destructive changes first.
#[test]
fn a_plan_tells_of_all_changes_those_that_destroy_first() {
    let env = TestEnv::with("h_bta");
    assert!(env.ok(&["plan", "h_bta"]).stdout.contains("+ B__1 added (resource::t_simple::1.0)\n2 to add\n"));
    env.ok(&["up", "h_bta", "-p", "numOfServers=3"]);
    let run = env.ok(&["plan", "h_bta", "-p", "data=other"]);
    let changes: Vec<&str> = run.stdout.lines().take_while(|line| !line.contains(" steps")).collect();
    let heads: Vec<&str> = changes.iter().copied().filter(|line| !line.starts_with("      ")).collect();
    assert_eq!(
        heads,
        [
            "  -/+ A replaced",
            "  -/+ B__1 replaced",
            "  - B__2 removed",
            "  - B__3 removed",
            "2 to replace, 2 to remove"
        ],
        "{run}"
    );
    let down = env.ok(&["down", "h_bta", "--dry-run"]);
    assert!(down.stdout.contains("  - A removed\n") && down.stdout.contains("4 to remove, "), "{down}");
    let json = env.ok(&["plan", "h_bta", "-p", "data=other", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["counts"]["replaced"], &json["counts"]["removed"]), (&2.into(), &2.into()), "{json:#}");
    let parts = json["parts"].as_array().unwrap();
    let kinds: Vec<&str> = parts.iter().filter_map(|part| part["kind"].as_str()).collect();
    assert_eq!(kinds, ["replaced", "replaced", "removed", "removed"], "{json:#}");
    // Destructive changes are red if colours are shown.
    let mut forced = env.command(&["plan", "h_bta", "-p", "data=other"]);
    forced.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
    let forced = env.start(forced).end();
    let red = forced.stdout.lines().filter(|line| line.contains("\u{1b}[31m")).count();
    assert!(red >= 4, "{forced}");
}

#[test]
fn a_cluster_grows_and_shrinks_within_its_bounds() {
    let env = TestEnv::up();
    assert_snapshot!(env.ok(&["scale", "out", "h_bta", "B"]).out(), @"
      + B__2 added (resource::t_simple::1.0)
    1 to add
    h_bta: 4 steps, up to 1 at once (p2 scale out B)
       s1 B__2 Install
       s2 B__2 Configure
       s3 B__2 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
       s4 B__2 Start, Integrity

    ok        B__2 Install LONG
    ok        B__2 Configure LONG
    info      B__2: h_bta__A and h_bta__B__2 are related
    info      A: h_bta__A and h_bta__B__2 are related
    ok        B__2 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    ok        B__2 Start, Integrity LONG

    done: h_bta is Active (LONG)
      output: A_output
    ");
    env.ok(&["scale", "out", "h_bta", "B"]);
    // An unchanged descriptor does not undo a scaling.
    assert_snapshot!(env.ok(&["up", "h_bta"]).out(), @"
    h_bta: nothing to call (p4 up)

    done: h_bta is Active (LONG)
      output: A_output
    ");
    env.ok(&["scale", "in", "h_bta", "B", "--yes"]);
    env.ok(&["scale", "in", "h_bta", "B", "--yes"]);
    assert_snapshot!(env.refuses(&["scale", "in", "h_bta", "B"]), @"error[WL0532]: `h_bta__B` can't shrink by 1: nodes now 1, at least 1 (`minimum-nodes`)");
    assert_snapshot!(env.refuses(&["scale", "in", "h_bta", "A"]), @"error[WL0530]: `h_bta__A` is not a cluster; the clusters are `B`");
    assert_snapshot!(env.refuses(&["scale", "in", "h_bta", "Bb"]), @"error[WL0554]: `h_bta` has no part `Bb`; did you mean `B`?");
}

#[test]
fn a_cluster_gets_a_number_of_nodes() {
    let env = TestEnv::up();
    let nodes = || {
        env.json(&["status", "h_bta", "B"])["assemblies"][0]["components"][0]["components"]
            .as_array()
            .map(Vec::len)
    };
    let dry = env.run(&["scale", "h_bta", "B", "3", "--dry-run", "--detailed-exitcode"]);
    assert!(dry.code() == Some(3) && dry.stdout.contains("2 to add"), "{dry}");
    let grown = env.ok(&["scale", "h_bta", "B=3"]);
    assert!(grown.stdout.contains("scale B=3") && nodes() == Some(3), "{grown}");
    // The same number again changes nothing.
    let same = env.ok(&["scale", "h_bta", "B", "3"]);
    assert!(same.stdout.contains("nothing to call"), "{same}");
    assert_snapshot!(env.refuses(&["scale", "h_bta", "B", "1"]), @"error[WL0541]: the plan for `h_bta` removes or replaces existing parts (2 to remove): `B__2` (removed), `B__3` (removed); review it with `--dry-run`, and agree to it with `--yes`");
    env.ok(&["scale", "h_bta", "B", "1", "--yes"]);
    assert_eq!(nodes(), Some(1));
    assert_snapshot!(env.refuses(&["scale", "h_bta", "B", "9"]), @"error[WL0531]: `h_bta__B` can't grow by 8: nodes now 1, at most 4 (`maximum-nodes`)");
    for line in [&["scale", "h_bta", "B"][..], &["scale", "h_bta", "B=", "2"], &["scale", "h_bta", "B=many"]]
    {
        let refused = env.refuses(line);
        assert!(refused.contains("`scale` needs one number of nodes"), "{refused}");
    }
}

#[test]
fn a_part_is_healed() {
    let env = TestEnv::up();
    assert_snapshot!(env.ok(&["heal", "h_bta", "B__1"]).out(), @"
      ↻ B__1 restarted
    1 to restart
    h_bta: 4 steps, up to 1 at once (p2 heal B__1)
       s1 B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3
       s2 B__1 Stop
       s3 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
       s4 B__1 Start, Integrity

    ok        B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3 LONG
    ok        B__1 Stop LONG
    info      B__1: h_bta__A and h_bta__B__1 are related
    info      A: h_bta__A and h_bta__B__1 are related
    ok        B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    ok        B__1 Start, Integrity LONG

    done: h_bta is Active (LONG)
      output: A_output
    ");
    let status = env.json(&["status"]);
    let parts = status["assemblies"][0]["components"].as_array().unwrap();
    let cluster = parts.iter().find(|part| part["name"] == "h_bta__B").unwrap();
    let id = cluster["components"][0]["id"].as_str().unwrap();
    assert!(env.ok(&["heal", "h_bta", id, "--dry-run"]).stdout.contains("B__1 restarted"), "{status:#}");
    // An `up` has left changes out. A heal of another part says nothing about them.
    let left_out = env.ok(&["up", "h_bta", "-p", "data=other", "--except", "A", "--except", "B"]);
    assert!(left_out.stdout.contains("not in the plan"), "{left_out}");
    for dry_run in [&[][..], &["--dry-run"]] {
        let healed = env.ok(&[&["heal", "h_bta", "B__1"], dry_run].concat());
        assert!(!healed.stdout.contains("not in the plan"), "{healed}");
    }
    let healthy = env.ok(&["heal", "h_bta", "B"]);
    assert!(healthy.stdout.contains("nothing to call"), "healthy nodes stay up: {healthy}");
}

#[test]
fn all_parts_go_to_a_state() {
    let env = TestEnv::up();
    let run = env.ok(&["set-state", "h_bta", "Installed", "--yes"]);
    assert!(run.stdout.contains("done: h_bta is Installed"), "{run}");
    assert!(env.ok(&["status"]).stdout.starts_with("h_bta Installed"));
    env.ok(&["retry", "h_bta"]);
    assert!(
        env.ok(&["status"]).stdout.starts_with("h_bta Installed"),
        "a retry goes for what was asked last"
    );
    // After other intents than `up`, the output reports the actual state, not the desired state.
    for intent in [&["retry", "h_bta"][..], &["heal", "h_bta", "A"], &["scale", "out", "h_bta", "B"]] {
        let run = env.ok(intent);
        assert!(run.stdout.contains("done: h_bta is Installed"), "{run}");
    }
    env.ok(&["up", "h_bta"]);
    assert!(env.ok(&["status"]).stdout.starts_with("h_bta Active"));
    assert_snapshot!(env.refuses(&["set-state", "h_bta", "Created"]), @"
    error[WL0800]: invalid value 'Created' for '<STATE>'
      [possible values: Installed, Inactive, Active]

    For more information, try '--help'.
    ");
}

#[test]
fn rollback_and_history() {
    let env = TestEnv::up();
    assert_snapshot!(env.refuses(&["rollback", "h_bta"]), @"error[WL0512]: `h_bta` has no earlier version to roll back to; `windlass history h_bta` lists its versions");
    env.ok(&["up", "h_bta", "-p", "data=other", "--yes"]);
    assert_snapshot!(env.ok(&["diff", "h_bta@p1", "h_bta@p2"]).out(), @"
    -/+ A replaced
        data: data → other
    -/+ B__1 replaced
        data: data → other
    ");
    env.ok(&["rollback", "h_bta", "--yes"]);
    assert_snapshot!(env.ok(&["history", "h_bta"]).out(), @"
    p1 up, completed WHEN assembly::h_bta::1.0, 2 resources
      steps: 7 succeeded
      changes to the desired assembly:
      + A added (resource::h_simple::1.0)
      + B__1 added (resource::t_simple::1.0)

    p2 up, completed WHEN assembly::h_bta::1.0, 2 resources
      steps: 12 succeeded
      data: other
      changes to the desired assembly:
      -/+ A replaced
          data: data → other
      -/+ B__1 replaced
          data: data → other

    p3 rollback to p1, completed WHEN assembly::h_bta::1.0, 2 resources
      steps: 12 succeeded
      changes to the desired assembly:
      -/+ A replaced
          data: other → data
      -/+ B__1 replaced
          data: other → data
    ");
    let again = env.run(&["up", "h_bta", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(again.code(), Some(0), "it is what it was: {again}");
    // Versions from before a `down` are not versions of the new assembly.
    env.ok(&["down", "h_bta"]);
    env.ok(&["up", "h_bta"]);
    assert_snapshot!(env.refuses(&["rollback", "h_bta"]), @"error[WL0512]: `h_bta` has no earlier version to roll back to; `windlass history h_bta` lists its versions");
    assert_snapshot!(env.refuses(&["rollback", "h_bta", "--to", "p2"]), @"error[WL0512]: `h_bta` did not exist before p2; `windlass history h_bta` lists its versions");
    assert_snapshot!(env.refuses(&["rollback", "h_bta", "--to", "p0"]), @"error[WL0204]: `h_bta` has no process p0; `windlass ps` lists all processes");
    assert_snapshot!(env.refuses(&["rollback", "h_bta", "--to", "p99"]), @"error[WL0204]: `h_bta` has no process p99; `windlass ps` lists all processes");
    assert_snapshot!(env.refuses(&["diff", "h_bta@p1", "h_bta@p99"]), @"error[WL0204]: `h_bta` has no process p99; `windlass ps` lists all processes");
    assert_snapshot!(env.refuses(&["diff", "h_bta@p1", "other@p3"]), @"error[WL0800]: `h_bta` and `other` are two assemblies; a diff compares versions of one assembly");
}

/// A rollback also undoes a `set-state` of all parts.
#[test]
fn a_state_is_gone_back_from() {
    let env = TestEnv::up();
    env.ok(&["set-state", "h_bta", "Inactive"]);
    env.ok(&["rollback", "h_bta"]);
    assert!(env.ok(&["status"]).stdout.starts_with("h_bta Active"));
    assert_snapshot!(env.ok(&["history", "h_bta"]).out(), @"
    p1 up, completed WHEN assembly::h_bta::1.0, 2 resources
      steps: 7 succeeded
      changes to the desired assembly:
      + A added (resource::h_simple::1.0)
      + B__1 added (resource::t_simple::1.0)

    p2 set-state Inactive, completed WHEN assembly::h_bta::1.0, 2 resources
      steps: 3 succeeded
      changes to the desired assembly:
      ~ A changed, Active → Inactive
      ~ B__1 changed, Active → Inactive

    p3 rollback to p1, completed WHEN assembly::h_bta::1.0, 2 resources
      steps: 3 succeeded
      changes to the desired assembly:
      ~ A changed, Inactive → Active
      ~ B__1 changed, Inactive → Active
    ");
    assert_snapshot!(env.ok(&["diff", "h_bta@p2", "h_bta@p3"]).out(), @"
    ~ A changed, Inactive → Active
    ~ B__1 changed, Inactive → Active
    ");
}

const SCRIPTS: [(&str, &str); 4] = [("Install", "answer"), ("Start", ""), ("Stop", ""), ("Uninstall", "")];

/// Returns a project in which `small` is up, and afterwards a comment in a script has changed.
fn repackaged(scripts: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::small("effect: repeatable", scripts);
    env.ok(&["up", "small"]);
    env.clear_trace();
    env.edit(&format!("{}/Stop.sh", small::SCRIPTS), "set -eu", "set -eu # another");
    env
}

#[test]
fn a_changed_package_is_reconfigured() {
    let env = repackaged(&[&SCRIPTS[..], &[("Reconfigure", "")]].concat());
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"
      ~ box changed, its package has changed
      package resource::box::1.0 of box:
        ~ Lifecycle/script/scripts/Stop.sh: affects Stop
    1 to change
    small: 1 step, up to 1 at once
       s1 box Reconfigure
    longest chain: s1
    ");
    let plan = env.json(&["plan", "small"]);
    assert_eq!(plan["changes"]["elements"][0]["kind"], "reconfigured");
    assert_eq!(plan["changes"]["elements"][0]["repackaged"], true);
    let file = serde_json::json!({
        "path": "Lifecycle/script/scripts/Stop.sh", "kind": "changed", "affects": ["Stop"],
    });
    assert_eq!(plan["packages"][0]["files"], serde_json::json!([file]), "{plan:#}");
    assert_eq!(plan["packages"][0]["parts"], serde_json::json!(["small__box"]), "{plan:#}");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Reconfigure"]);
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"small: nothing to do");
}

#[test]
fn a_changed_package_without_reconfigure_is_used_from_then_on() {
    let env = repackaged(&SCRIPTS);
    env.edit(&format!("{}/Uninstall.sh", small::SCRIPTS), "name=${0##*/}", "name=Another");
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"
    small: nothing to call
      ~ box changed, its package has changed
      package resource::box::1.0 of box:
        ~ Lifecycle/script/scripts/Stop.sh: affects Stop
        ~ Lifecycle/script/scripts/Uninstall.sh: affects Uninstall
    1 to change
    ");
    let plan = env.json(&["plan", "small"]);
    assert_eq!(plan["changes"]["elements"][0]["kind"], "repackaged");
    assert_eq!(plan["steps"][0]["action"], "(new package)");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), [""; 0]);
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"small: nothing to do");
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Stop", "Another"]);
}

/// A package changes. If the resource declares `on-package-change: replace`, windlass must replace the instances. If
/// the resource declares `keep`, windlass must call no script.
#[test]
fn a_resource_declares_the_effect_of_a_changed_package() {
    let env = repackaged(&[&SCRIPTS[..], &[("Reconfigure", "")]].concat());
    env.script(&format!("{}/../lib/common.sh", small::SCRIPTS), "");
    env.write("small/Contains/box/notes.txt", "");
    env.edit(small::RESOURCE, "lifecycle:", "on-package-change: keep\nlifecycle:");
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"
    small: nothing to call
      ~ box changed, its package has changed
      package resource::box::1.0 of box:
        ~ Definitions/lm/resource.yaml
        + Lifecycle/script/lib/common.sh: affects any action
        ~ Lifecycle/script/scripts/Stop.sh: affects Stop
        + notes.txt
    1 to change
    ");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), [""; 0]);
    env.edit(small::RESOURCE, "on-package-change: keep", "on-package-change: replace");
    let refused = env.refuses(&["up", "small"]);
    assert!(refused.contains("(1 to replace)"), "{refused}");
    env.ok(&["up", "small", "--yes"]);
    assert_eq!(env.trace(), ["Stop", "Uninstall", "Install", "Start"]);
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"small: nothing to do");
    // Files outside of the package change nothing.
    env.write("small/Contains/box/README.md", "# The box");
    env.write(&format!("{}/Stop.sh~", small::SCRIPTS), "");
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"small: nothing to do");
    env.edit(small::RESOURCE, "on-package-change: replace", "on-package-change: restart");
    assert_snapshot!(env.refuses(&["plan", "small"]), @"
    error[WL0148]: `restart` is no effect of a changed package: one of keep, reconfigure, replace
     --> small/Contains/box/Definitions/lm/resource.yaml:2:20
      |
    2 | on-package-change: restart
      |                    ^^^^^^^

    1 error; nothing was changed
    ");
}

/// A driver does not take over the instances of another driver.
#[test]
fn a_package_for_another_driver_is_used_after_a_replacement() {
    let env = repackaged(&SCRIPTS);
    env.edit(small::RESOURCE, "  script:", "  noop:");
    env.edit(small::RESOURCE, "effect: repeatable", "effect: once");
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"
    small: nothing to do
      package resource::box::1.0 of box:
        ~ drivers or their properties
        ~ Definitions/lm/resource.yaml
        ~ Lifecycle/script/scripts/Stop.sh
      = box keeps its old package; `up --replace box` re-creates it with the new one
    ");
    assert_eq!(env.json(&["plan", "small"])["changes"]["outdated"][0], "small__box");
    env.ok(&["up", "small"]);
    env.ok(&["heal", "small", "box"]);
    assert_eq!(env.trace(), ["Stop", "Start"], "its scripts are used");
    env.ok(&["up", "small", "--replace", "box", "--yes"]);
    assert_eq!(env.trace(), ["Stop", "Start", "Stop", "Uninstall"]);
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"small: nothing to do");
}

/// `down` deletes the packages of an assembly. A new assembly of the same name must not need these packages, even after
/// the replacement of one of its parts has failed.
#[test]
fn a_new_up_needs_no_version_from_before_a_down() {
    let env = TestEnv::up();
    let script = "h_bta/Contains/t_simple/Lifecycle/script/scripts/Install.sh";
    env.edit(script, "set -eu", "set -eu # another");
    env.ok(&["up", "h_bta"]);
    env.ok(&["down", "h_bta"]);
    env.ok(&["up", "h_bta"]);
    env.edit(script, "set -eu", "set -eu; exit 1");
    let replace = env.run(&["up", "h_bta", "--replace", "B__1", "--yes"]);
    assert_eq!(replace.code(), Some(1), "A stays what it was, and B__1 is lost");
    env.edit(script, "set -eu; exit 1", "set -eu");
    env.ok(&["up", "h_bta"]);
    env.ok(&["down", "h_bta"]);
}

/// An `up` adds a node, and `history` must list only this node as a change. The new node also shifts the index of a
/// part whose output another part reads. The recorded versions contain no outputs, so windlass compares references to
/// outputs. The shifted index must not make the reader count as changed.
#[test]
fn history_tells_of_nothing_that_has_stayed() {
    let env = TestEnv::new();
    let descriptor = "name: assembly::three::1.0
properties: {nodes: {default: '1'}, key: {default: a}}
composition:
  first: {type: 'resource::plain::1.0', cluster: {initial-quantity: '${nodes}'}}
  giver: {type: 'resource::giver::1.0', properties: {given: {value: '${key}'}}}
  reader: {type: 'resource::reader::1.0', properties: {read: {value: '${giver.out}'}}}
";
    env.write("three/assembly.yaml", descriptor);
    for (name, properties, driver) in [
        ("plain", "{}", "{}"),
        ("giver", "{given: {}, out: {read-only: true}}", "{properties: {outputs: {out: given}}}"),
        ("reader", "{read: {}}", "{}"),
    ] {
        let text = format!(
            "name: resource::{name}::1.0\nproperties: {properties}\nlifecycle: [Install, Uninstall]\ndefault-driver: {{noop: {driver}}}\n"
        );
        env.write(&format!("three/Contains/{name}/resource.yaml"), text);
    }
    env.ok(&["up", "three"]);
    env.ok(&["up", "three", "-p", "nodes=2"]);
    env.ok(&["up", "three", "-p", "nodes=2", "-p", "key=b", "--yes"]);
    let history = env.ok(&["history", "three"]).out();
    let (_, since) = history.split_once("\n\n").unwrap();
    assert_snapshot!(since, @"
    p2 up, completed WHEN assembly::three::1.0, 4 resources
      steps: 1 succeeded
      nodes: 2
      changes to the desired assembly:
      + first__2 added (resource::plain::1.0)

    p3 up, completed WHEN assembly::three::1.0, 4 resources
      steps: 4 succeeded
      key: b
      nodes: 2
      changes to the desired assembly:
      -/+ giver replaced
          given: a → b
      -/+ reader replaced
          read: (known once giver is installed)
    ");
}

/// A plan consists only of a removal, or only of a restart. The plan must list the affected part.
#[test]
fn a_plan_of_one_kind_of_change_shows_it() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    let removal = env.ok(&["plan", "h_bta", "-p", "numOfServers=1"]).stdout;
    assert!(removal.starts_with("  - B__2 removed\n"), "{removal}");
    assert!(removal.contains("\n1 to remove\n"), "{removal}");
    let kinds = |command: &[&str]| -> Vec<(String, String)> {
        let plan = env.json(command);
        let parts = plan["parts"].as_array().unwrap();
        let word = |part: &serde_json::Value, key: &str| part[key].as_str().unwrap().to_owned();
        parts.iter().map(|part| (word(part, "part"), word(part, "kind"))).collect()
    };
    assert_eq!(kinds(&["plan", "h_bta", "-p", "numOfServers=1"]), [("h_bta__B__2".into(), "removed".into())]);
    assert_eq!(kinds(&["heal", "h_bta", "A", "--dry-run"]), [("h_bta__A".into(), "restarted".into())]);
}

/// `cancel` asks the process of another command to stop. The process can be resumed.
#[test]
fn a_process_is_cancelled() {
    let scripts = [("Install", GATE), ("Start", "sleep 0"), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    let running = env.spawn(&["up", "small", "--grace", "1"]);
    until("the script has begun", || env.trace() == ["Install"]);
    assert_snapshot!(env.ok(&["ps"]).out(), @"   p1 small up WHEN in progress, run by `windlass up small` (process PID on HOST)");
    let dry = env.run(&["cancel", "small", "p1", "--dry-run", "--detailed-exitcode"]);
    assert_eq!((dry.code(), dry.stdout.trim()), (Some(3), "p1 would be asked to stop"), "{dry}");
    assert_snapshot!(env.ok(&["cancel", "small", "p1", "--dry-run", "--format", "json"]).out(), @r#"
    {
      "version": 1,
      "assembly": "small",
      "process": 1,
      "request": null,
      "done": false
    }
    "#);
    assert_snapshot!(env.ok(&["cancel", "small", "--dry-run"]).out(), @"p1 would be asked to stop");
    assert_snapshot!(env.ok(&["cancel", "small"]).out(), @"p1 is asked to stop; its running jobs may still end");
    let run = running.end();
    assert_eq!(run.code(), Some(130), "{run}");
    assert_eq!(env.trace(), ["Install"], "what ran was stopped, and nothing was started after");
    assert_snapshot!(env.refuses(&["cancel", "small", "p1"]), @"error[WL0557]: p1 has ended already: it is cancelled");
    assert_snapshot!(env.refuses(&["cancel", "small"]), @"error[WL0557]: p1 has ended already: it is cancelled");
    assert_snapshot!(env.refuses(&["cancel", "smal"]), @"error[WL0500]: there is no assembly `smal`; did you mean `small`?");
    assert_snapshot!(env.refuses(&["cancel", "small", "p9"]), @"error[WL0204]: `small` has no process p9; `windlass ps` lists all processes");
    let resumed_by = "\n  p1 up was cancelled; `windlass retry small` resumes it\n";
    let status = env.ok(&["status"]).stdout;
    assert!(status.contains(resumed_by), "{status}");
    assert_eq!(env.json(&["status"])["assemblies"][0]["cancelled"]["id"], 1);
    env.write(".windlass/volumes/state/go", "");
    let dry = env.run(&["retry", "small", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(dry.code(), Some(3), "{dry}");
    assert_eq!(env.trace(), ["Install"], "a dry run calls nothing");
    env.ok(&["retry", "small", "--parallelism", "1"]);
    assert!(!env.ok(&["status"]).stdout.contains("cancelled"));
    let dry = env.run(&["retry", "small", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(dry.code(), Some(0), "there is nothing to do any more: {dry}");
    assert_snapshot!(env.ok(&["ps"]).out(), @"
    p1 small up WHEN cancelled in LONG: it was stopped on request
    p2 small up WHEN completed in LONG
    ");
    assert_snapshot!(env.ok(&["ps", "show", "p2"]).out(), @"
    small
    p2 up completed in LONG WHEN
      succeeded box Uninstall LONG
        scripts/Uninstall.sh exited with code 0 LONG WHEN on admin@local (process)
      succeeded box Install LONG
        scripts/Install.sh exited with code 0 LONG WHEN on admin@local (process)
      succeeded box Start LONG
        scripts/Start.sh exited with code 0 LONG WHEN on admin@local (process)
    ");
    let shown = env.json(&["ps", "show", "p2"]);
    assert_eq!((&shown["version"], &shown["assembly"]), (&1.into(), &"small".into()), "{shown:#}");
    assert_eq!(shown["process"]["intent"], "up", "{shown:#}");
    assert_snapshot!(env.refuses(&["ps", "smal"]), @"error[WL0500]: there is no assembly `smal`; did you mean `small`?");
    assert_snapshot!(env.refuses(&["ps", "p2"]), @"
    error[WL0500]: there is no assembly `p2`; there is `small`
    note: `windlass ps show p2` shows a process
    ");
    assert_snapshot!(env.refuses(&["log", "p2"]), @"
    error[WL0500]: there is no assembly `p2`; there is `small`
    note: `windlass ps show p2` shows a process
    ");
    let tip = env.refuses(&["ps", "shwo", "p2"]);
    assert!(tip.contains("tip: to show one process, use windlass ps show PROCESS"), "{tip}");
    assert_snapshot!(env.refuses(&["ps", "show", "p9"]), @"error[WL0556]: there is no process p9; the last one is p2");
}

/// A retry after a failed adoption adopts the instance. It does not install a second one.
#[test]
fn a_failed_adoption_is_adopted_by_a_retry() {
    let env = TestEnv::small("effect: repeatable", &[("Adopt", "exit 1"), ("Install", "answer")]);
    assert_eq!(env.run(&["adopt", "small"]).code(), Some(1));
    assert_eq!(env.run(&["retry", "small"]).code(), Some(1));
    assert_eq!(env.run(&["retry", "small"]).code(), Some(1));
    assert_eq!(env.trace(), ["Adopt", "Adopt", "Adopt"]);
}

/// Existing instances are adopted: Install does not run, and all later transitions work.
#[test]
fn existing_parts_are_adopted() {
    let scripts =
        [("Adopt", "answer"), ("Install", "answer"), ("Stop", ""), ("Start", ""), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    assert_snapshot!(env.ok(&["adopt", "small"]).out(), @"
      + box adopted
    1 to add
    small: 1 step, up to 1 at once (p1 adopt)
       s1 box Adopt

    ok        box Adopt LONG

    done: small is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Adopt"]);
    env.ok(&["heal", "small", "box"]);
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Adopt", "Stop", "Start", "Stop", "Uninstall"]);
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    assert_snapshot!(env.refuses(&["adopt", "small"]), @"error[WL0513]: small/assembly.yaml:3:3: `box` can't be adopted: `resource::box::1.0` declares neither Adopt nor `queries`");
}

/// An instance that was removed externally is detected when it is observed.
#[test]
fn drift_is_shown() {
    let health = r#"if [ -e "$WINDLASS_VOLUME_STATE/gone" ]; then alive=false; else alive=true; fi
id=$(printf '%s\n' "$input" | sed -n '/^instances:$/{n;s/^ *"\{0,1\}\([a-z0-9]*\)"\{0,1\}:.*/\1/p;}')
printf 'instances:\n  "%s":\n    status:\n      flags:\n        active: %s\n        converging: false\n        failed: false\n' "$id" "$alive""#;
    let env = TestEnv::small(
        "effect: repeatable",
        &[("Install", "answer"), ("Integrity", health), ("Uninstall", "")],
    );
    env.ok(&["up", "small"]);
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"small: nothing to do");
    env.write(".windlass/volumes/state/gone", "");
    let drift = env.ok(&["plan", "small"]).stdout;
    let code = |args: &[&str]| env.run(&[&["plan", "small", "--detailed-exitcode"], args].concat()).code();
    assert_eq!((code(&["--no-refresh"]), code(&[])), (Some(0), Some(3)));
    assert!(drift.contains("! box: it no longer exists\n1 part checked, 0 as recorded\n"), "{drift}");
    assert!(drift.contains("+ box added again, it no longer exists\n1 to add\n"), "{drift}");
    assert_eq!(env.json(&["plan", "small"])["drift"][0]["well"], false);
    assert_eq!(env.json(&["status", "small"])["assemblies"][0]["state"], "Active", "nothing is recorded");
    env.write_small(
        "effect: repeatable",
        &[("Install", "true\nanswer"), ("Integrity", health), ("Uninstall", "")],
    );
    let drift = env.ok(&["plan", "small"]).stdout;
    assert!(drift.contains("+ box added again, it no longer exists, its package has changed\n"), "{drift}");
    env.ok(&["down", "small"]);
}

/// One run of a health check covers all instances of a type. An instance that makes the check fail is found
/// by checking halves.
#[test]
fn one_health_check_serves_many_instances() {
    let health = r#"if [ "${input#*"$(cat "$WINDLASS_VOLUME_STATE/bad" 2>/dev/null || echo none)"}" != "$input" ]; then exit 1; fi
echo instances:
printf '%s\n' "$input" | sed -n 's/^  \([a-z0-9]*\):.*$/  "\1": {$set: {status.flags.active: true}}/p'"#;
    let scripts = [("Install", "answer"), ("Integrity", health), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    env.edit("small/assembly.yaml", "quantity: 1", "quantity: 3");
    env.ok(&["up", "small"]);
    env.clear_trace();
    assert_snapshot!(env.ok(&["plan", "small"]).out(), @"small: nothing to do");
    assert_eq!(env.trace(), ["Integrity"]);

    let status = env.json(&["status", "small"]);
    let bad = status["assemblies"][0]["components"][0]["components"][1]["id"].as_str().unwrap().to_owned();
    env.write(".windlass/volumes/state/bad", bad);
    env.clear_trace();
    let drift = env.json(&["plan", "small"])["drift"].clone();
    let well: Vec<_> = drift.as_array().unwrap().iter().map(|part| part["well"].as_bool()).collect();
    assert_eq!(well, [Some(true), None, Some(true)], "{drift}");
    assert_eq!(env.trace(), ["Integrity"; 5], "all together, the halves, and those of the half that fails");
}

/// Repeating a failed scaling resumes it. The cluster does not grow a second time.
#[test]
fn a_failed_scaling_is_resumed() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "fail=Configure:2"]);
    for _ in 0..2 {
        assert_eq!(env.run(&["scale", "out", "h_bta", "B"]).code(), Some(1));
    }
    let status = env.json(&["status", "h_bta"]);
    assert_eq!(status["assemblies"][0]["parts"], serde_json::json!({"active": 2, "all": 3}));
    env.ok(&["up", "h_bta", "--yes"]);
    env.ok(&["scale", "out", "h_bta", "B"]);
    let status = env.json(&["status", "h_bta"]);
    assert_eq!(status["assemblies"][0]["parts"], serde_json::json!({"active": 4, "all": 4}));
}

/// A part that an upgrade could not remove is reported as long as it exists.
#[test]
fn leaving_parts_are_shown() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    env.location("fail: Uninstall:2");
    assert_eq!(env.run(&["scale", "in", "h_bta", "B", "--yes"]).code(), Some(1));
    assert_snapshot!(env.ok(&["status", "h_bta"]).out(), @"
    h_bta Active assembly::h_bta::1.0, AGE
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Active active, AGE
    └─ B Active
       └─ 1 Active active, AGE
      B__2 Inactive AGE, to be removed
        `Uninstall.sh` exited with code 1
      third-relationship created × 1
      output: A_output
    ");
}
