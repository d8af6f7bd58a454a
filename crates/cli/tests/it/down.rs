//! `down` removes an assembly, so that only the store remains.

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn down_leaves_nothing_but_the_store() {
    let env = TestEnv::with("h_bta");
    let before = env.files();
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    env.clear_trace();
    // `down` does not ask, so `--yes` changes nothing.
    assert_snapshot!(env.ok(&["down", "h_bta", "--yes", "--parallelism", "1"]), @"
    exit 0
    ----- stdout -----
      - A removed
      - B__1 removed
      - B__2 removed
      - relationship third-relationship removed (A to B)
    3 to remove, 1 relationship to change
    h_bta: 8 steps, up to 3 at once (p2 down)
       s1 B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3
       s2 B__1 Stop
       s3 B__2 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3
       s4 B__2 Stop
       s5 A    Stop
       s6 A    Uninstall
       s7 B__1 Uninstall
       s8 B__2 Uninstall

    ok        B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3 LONG
    ok        B__2 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3 LONG
    ok        B__1 Stop LONG
    ok        B__2 Stop LONG
    ok        A Stop LONG
    ok        A Uninstall LONG
    ok        B__1 Uninstall LONG
    ok        B__2 Uninstall LONG

    done: h_bta is down (LONG)
    ");
    assert_snapshot!(env.trace().join("\n"), @"
    CeaseRelationship3 h_bta__B__1 source=h_bta__A target=h_bta__B__1
    CeaseRelationship3 h_bta__A source=h_bta__A target=h_bta__B__1
    CeaseRelationship3 h_bta__B__2 source=h_bta__A target=h_bta__B__2
    CeaseRelationship3 h_bta__A source=h_bta__A target=h_bta__B__2
    Stop h_bta__B__1
    Stop h_bta__B__2
    Stop h_bta__A
    Uninstall h_bta__A
    Uninstall h_bta__B__1
    Uninstall h_bta__B__2
    ");
    env.is_quiet();
    let new: Vec<String> = env.files().into_iter().filter(|file| !before.contains(file)).collect();
    assert_eq!(new, [".windlass/key", ".windlass/state.db"]);

    assert_snapshot!(env.ok(&["status"]), @"
    exit 0
    ----- stdout -----
    there are no assemblies; `windlass up FILE` creates one
    ");
    let log = env.ok(&["log", "h_bta"]).out();
    assert!(log.starts_with("p1 up completed") && log.contains("p2 down completed"), "{log}");
    assert_snapshot!(env.refuses(&["status", "h_bta"]), @"
    error[WL0500]: there is no assembly `h_bta`; the store has no assemblies
    note: `h_bta` has been removed; `windlass log h_bta` shows its last processes
    ");
}

#[test]
fn down_runs_the_scripts_that_up_pinned() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    std::fs::remove_dir_all(env.path("h_bta")).unwrap();
    env.ok(&["down", "h_bta"]);
    assert!(!env.files().iter().any(|file| file.starts_with(".windlass/volumes/state/")));
}

/// A script that fails to remove its part is corrected on disk. With `--current-packages`, the corrected
/// script runs.
#[test]
fn current_packages_run_on_demand() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "exit 7")]);
    env.ok(&["up", "small"]);
    assert_eq!(env.run(&["down", "small"]).code(), Some(1));
    let script = env.files().into_iter().find(|file| file.ends_with("Uninstall.sh")).unwrap();
    env.edit(&script, "exit 7", "exit 0");
    assert_eq!(env.run(&["down", "small"]).code(), Some(1), "the pinned one still can't");
    env.ok(&["down", "small", "--current-packages", "small"]);
    assert!(env.refuses(&["status", "small"]).contains("there is no assembly"));
}

#[test]
fn an_assembly_comes_up_again_after_down() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    env.ok(&["down", "h_bta"]);
    let first = env.trace();
    env.clear_trace();
    env.ok(&["up", "h_bta"]);
    env.ok(&["down", "h_bta"]);
    let mut sorted = [first, env.trace()];
    sorted[0].sort();
    sorted[1].sort();
    assert_eq!(sorted[0], sorted[1]);
}

/// `down` runs for an assembly that was already removed. windlass must report success, so that a shell script can
/// repeat `down`. An unknown name must be an error.
#[test]
fn a_second_down_has_nothing_to_do() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.ok(&["up", "small"]);
    env.ok(&["down", "small"]);
    env.clear_trace();
    assert_snapshot!(env.ok(&["down", "small"]), @"
    exit 0
    ----- stderr -----
    note: `small` has been removed already; `windlass log small` shows its last processes
    ");
    assert_snapshot!(env.refuses(&["status", "small"]), @"
    error[WL0500]: there is no assembly `small`; the store has no assemblies
    note: `small` has been removed; `windlass log small` shows its last processes
    ");
    assert_eq!(env.json(&["down", "small"])["done"], true);
    assert_eq!(env.trace(), [""; 0]);
    // A `down` that was killed at its end has left empty folders.
    std::fs::create_dir_all(env.path(".windlass/jobs/.staging/1-1-0/18/tmp")).unwrap();
    env.ok(&["down", "small"]);
    assert!(!env.path(".windlass/jobs").exists(), "{:?}", env.files());
    assert_snapshot!(env.refuses(&["down", "smal"]), @"error[WL0500]: there is no assembly `smal`; the store has no assemblies");
}
