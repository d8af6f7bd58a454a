//! `up`, `plan` and `heal` check the health of parts before they plan.

use std::fs;

use crate::env::TestEnv;

const INSTALL: &str = r#"touch "$WINDLASS_VOLUME_STATE/part-$id"; answer"#;

/// The Integrity script, which reports a part as active if the file of the part exists. If the file `fail` exists, the
/// script fails.
const INTEGRITY: &str = r#"[ ! -e "$WINDLASS_VOLUME_STATE/fail" ] || { echo "no answer" >&2; exit 1; }
echo instances:
for id in $(printf '%s\n' "$input" | sed -n 's/^  \([a-z0-9]*\):.*$/\1/p'); do
    if [ -e "$WINDLASS_VOLUME_STATE/part-$id" ]; then active=true; else active=false; fi
    printf '  "%s": {status: {flags: {active: %s, converging: false, failed: false}}}\n' "$id" "$active"
done"#;

/// Returns a project with six parts that are up. The script Uninstall removes the files of all parts. If no part has a
/// file, the script fails.
fn six() -> TestEnv {
    let uninstall = r#"rm "$WINDLASS_VOLUME_STATE/part-"*"#;
    let scripts = [("Install", INSTALL), ("Integrity", INTEGRITY), ("Uninstall", uninstall)];
    let env = TestEnv::small("effect: repeatable", &scripts);
    env.edit("small/assembly.yaml", "quantity: 1", "quantity: 6");
    env.ok(&["up", "small"]);
    env.clear_trace();
    env
}

/// Removes the files of some parts, and returns their number.
fn lose(env: &TestEnv, parts: usize) -> usize {
    let folder = fs::read_dir(env.path(".windlass/volumes/state")).unwrap();
    let files = folder.map(|file| file.unwrap().path());
    let files = files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("part-"));
    files.take(parts).map(|file| fs::remove_file(file).unwrap()).count()
}

fn state(env: &TestEnv) -> String {
    env.json(&["status", "small"])["assemblies"][0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_total_outage_of_six_parts_ends_active_by_one_up() {
    let env = six();
    assert_eq!(lose(&env, 6), 6);
    let told = env.run(&["plan", "small", "--detailed-exitcode"]);
    assert_eq!((told.code(), state(&env).as_str()), (Some(3), "Active"), "{told}");
    assert!(
        told.stdout.contains("! box__6: it no longer exists\n6 parts checked, 0 as recorded\n"),
        "{told}"
    );
    assert!(told.stdout.contains("+ box__6 added again, it no longer exists\n6 to add\n"), "{told}");
    assert_eq!(env.trace(), ["Integrity"], "one job checks all");
    env.clear_trace();
    let up = env.ok(&["up", "small"]);
    assert!(up.stdout.contains("! box__6: it no longer exists"), "{up}");
    let count = |name: &str| env.trace().iter().filter(|line| *line == name).count();
    assert_eq!((count("Install"), count("Uninstall")), (6, 0), "{up}");
    assert_eq!(state(&env), "Active");
    assert_eq!(env.ok(&["plan", "small"]).out(), "small: nothing to do\n");
}

/// A saved plan contains the results of the health checks, and is refused if they have changed.
#[test]
fn a_saved_plan_is_refused_after_another_observation() {
    let env = six();
    env.ok(&["plan", "small", "-o", "well.plan"]);
    lose(&env, 1);
    env.ok(&["plan", "small", "-o", "lost.plan"]);
    let refused = env.run(&["apply", "well.plan"]);
    assert_eq!(refused.code(), Some(2), "{refused}");
    assert!(
        refused
            .stderr
            .contains("error[WL0510]: the plan for `small` is out of date: the conditions of `box__"),
        "{refused}"
    );
    assert_eq!(env.trace().iter().filter(|line| *line == "Install").count(), 0);
    env.ok(&["apply", "lost.plan"]);
    assert_eq!(env.trace().iter().filter(|line| *line == "Install").count(), 1);
}

/// All parts are lost, and the health check fails. windlass must then heal no part. One line must warn of all parts
/// without an answer.
#[test]
fn a_check_that_fails_heals_nothing() {
    let env = six();
    lose(&env, 6);
    env.write(".windlass/volumes/state/fail", "");
    for command in [&["up", "small"][..], &["plan", "small"], &["heal", "small", "--all"]] {
        let run = env.ok(command);
        let warnings = run.stderr.lines().filter(|line| line.starts_with("warning:"));
        let warnings: Vec<&str> = warnings.collect();
        assert!(
            matches!(&warnings[..], [one] if one.contains("box__1–6 (6): it can't be observed")),
            "{run}"
        );
        assert!(run.stdout.contains("nothing to "), "{run}");
    }
    // No change was found, but the parts were not checked. So the exit code is not 0.
    for command in [&["plan", "small"][..], &["up", "small", "--dry-run"]] {
        let run = env.run(&[command, &["--detailed-exitcode"]].concat());
        assert_eq!(run.code(), Some(1), "{run}");
        assert!(run.stderr.contains("parts that can't be checked may have changed"), "{run}");
    }
    assert_eq!(env.run(&["plan", "small", "--no-refresh", "--detailed-exitcode"]).code(), Some(0));
    env.clear_trace();
    let run = env.ok(&["up", "small", "--no-refresh"]);
    assert_eq!((env.trace(), run.stderr.contains("warning")), (Vec::new(), false), "{run}");
}

#[test]
fn a_heal_of_all_or_of_a_cluster_repairs_what_is_gone() {
    let env = six();
    for what in ["--all", "box"] {
        lose(&env, 2);
        env.clear_trace();
        env.ok(&["heal", "small", what]);
        assert_eq!(env.trace().iter().filter(|line| *line == "Install").count(), 2, "{what}");
        assert_eq!(state(&env), "Active");
    }
    assert!(env.ok(&["ps", "small"]).stdout.contains("heal --all"));
}

/// A part may turn out to be gone during a step. The next command creates it, even if it was not Active.
#[test]
fn an_inactive_part_that_is_gone_is_created_again() {
    let env = six();
    env.ok(&["set-state", "small", "Inactive", "--yes"]);
    assert_eq!(lose(&env, 2), 2);
    let failed = env.run(&["up", "small"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    env.clear_trace();
    env.ok(&["up", "small"]);
    assert_eq!(state(&env), "Active");
    let installed = env.trace().iter().filter(|call| call.starts_with("Install")).count();
    assert_eq!(installed, 2, "{:?}", env.trace());
}

/// A node of a cluster could not be started, so its relationship with a healthy part is missing. A heal of the cluster
/// must also restore this relationship.
#[test]
fn a_heal_of_a_cluster_restores_relationships_with_others() {
    let env = TestEnv::with("h_bta");
    let active = "    target-state: Active\n";
    env.edit("h_bta/assembly.yaml", active, &format!("{active}    target-state-modifier: post\n"));
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    env.location("fail: Start:2");
    assert_eq!(env.run(&["heal", "h_bta", "B__2"]).code(), Some(1));
    env.location("");
    env.clear_trace();
    env.ok(&["heal", "h_bta", "B"]);
    let trace = env.trace().join("\n");
    assert!(trace.contains("CreateRelationship3") && !trace.contains("Install"), "{trace}");
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(!status.contains("missing"), "{status}");
    env.ok(&["down", "h_bta"]);
}
