//! Failures of a component: independent parts continue, and the next `up` makes only the missing calls.

use insta::assert_snapshot;

use crate::env::{GATE, TestEnv, until};

#[test]
fn one_of_four_nodes_fails_and_is_repaired_alone() {
    let env = TestEnv::with("h_bta");
    env.location("fail: Configure:1");
    let up = ["up", "h_bta", "-p", "numOfServers=4", "--parallelism", "1"];
    let run = env.run(&up);
    assert_snapshot!(run, @"
    exit 1
    ----- stdout -----
      + A added (resource::h_simple::1.0)
      + B__1 added (resource::t_simple::1.0)
      + B__2 added (resource::t_simple::1.0)
      + B__3 added (resource::t_simple::1.0)
      + B__4 added (resource::t_simple::1.0)
    5 to add
    h_bta: 19 steps, up to 5 at once (p1 up)
       s1 A    Install
       s2 B__1 Install
       s3 B__2 Install
       s4 B__3 Install
       s5 B__4 Install
       s6 A    Configure
       s7 B__1 Configure
       s8 B__2 Configure
       s9 B__3 Configure
      s10 B__4 Configure
      s11 A    Start, Integrity
      s12 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
      s13 B__1 Start, Integrity
      s14 B__2 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
      s15 B__2 Start, Integrity
      s16 B__3 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
      s17 B__3 Start, Integrity
      s18 B__4 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
      s19 B__4 Start, Integrity

    ok        A Install LONG
    ok        B__1 Install LONG
    ok        B__2 Install LONG
    ok        B__3 Install LONG
    ok        B__4 Install LONG
    ok        A Configure LONG
    failed    B__1 Configure: `Configure.sh` exited with code 1
              | Configure of h_bta__B__1 fails, as it was told to
    skipped   B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3: B__1 Configure did not succeed
    skipped   B__1 Start, Integrity: B__1 Configure did not succeed
    ok        B__2 Configure LONG
    ok        B__3 Configure LONG
    ok        B__4 Configure LONG
    ok        A Start, Integrity LONG
    info      B__2: h_bta__A and h_bta__B__2 are related
    info      A: h_bta__A and h_bta__B__2 are related
    ok        B__2 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    info      B__3: h_bta__A and h_bta__B__3 are related
    info      A: h_bta__A and h_bta__B__3 are related
    ok        B__3 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    ok        B__2 Start, Integrity LONG
    ok        B__3 Start, Integrity LONG
    info      B__4: h_bta__A and h_bta__B__4 are related
    info      A: h_bta__A and h_bta__B__4 are related
    ok        B__4 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    ok        B__4 Start, Integrity LONG

    not done: up of h_bta failed: 1 step failed, and 2 that need it were not started
      `windlass log h_bta` lists the steps that ran; the same command resumes the process
    ----- stderr -----
    warning[WL0170]: `B` has several nodes; the value of the lowest one, `B__1`, is taken
      --> h_bta/assembly.yaml:18:12
       |
    18 |     value: ${B.output}
       |            ^^^^^^^^^^^
    ");
    assert_snapshot!(env.ok(&["status"]).out(), @"
    h_bta incomplete assembly::h_bta::1.0, AGE
      4 of 5 Active
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Active active, AGE
    └─ B Installed
       ├─ 1 Installed AGE
       │    `Configure.sh` exited with code 1
       │    | Configure of h_bta__B__1 fails, as it was told to
       ├─ 2 Active active, AGE
       ├─ 3 Active active, AGE
       └─ 4 Active active, AGE
      third-relationship created × 3
      output: A_output
    ");
    assert_snapshot!(env.ok(&["log", "h_bta", "B__1"]).out(), @"
    p1 up failed in LONG WHEN
      1 step failed, and 2 that need it were not started
      succeeded B__1 Install LONG
        scripts/Install.sh exited with code 0 LONG WHEN on admin@local (process)
      failed B__1 Configure LONG
        `Configure.sh` exited with code 1
        scripts/Configure.sh exited with code 1 LONG WHEN on admin@local (process)
          | Configure of h_bta__B__1 fails, as it was told to
      skipped B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
        B__1 Configure did not succeed
      skipped B__1 Start, Integrity
        B__1 Configure did not succeed
    ");

    env.location("");
    env.clear_trace();
    assert_snapshot!(env.ok(&[&up[..], &["--no-refresh"]].concat()).out(), @"
      ~ B__1 changed, Installed → Active
    1 to change
    h_bta: 3 steps, up to 1 at once (p2 up)
       s1 B__1 Configure
       s2 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
       s3 B__1 Start, Integrity

    ok        B__1 Configure LONG
    info      B__1: h_bta__A and h_bta__B__1 are related
    info      A: h_bta__A and h_bta__B__1 are related
    ok        B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    ok        B__1 Start, Integrity LONG

    done: h_bta is Active (LONG)
      output: A_output
    ");
    assert_snapshot!(env.trace().join("\n"), @"
    Configure h_bta__B__1
    CreateRelationship3 h_bta__B__1 source=h_bta__A target=h_bta__B__1
    CreateRelationship3 h_bta__A source=h_bta__A target=h_bta__B__1
    Start h_bta__B__1
    Integrity h_bta__B__1
    ");
    assert_snapshot!(env.ok(&["status"]).out(), @"
    h_bta Active assembly::h_bta::1.0, AGE
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Active active, AGE
    └─ B Active
       ├─ 1 Active active, AGE
       ├─ 2 Active active, AGE
       ├─ 3 Active active, AGE
       └─ 4 Active active, AGE
      third-relationship created × 4
      output: A_output
    ");
}

#[test]
fn steps_that_need_a_failed_part_are_skipped() {
    let env = TestEnv::with("h_bta");
    let run = env.run(&["up", "h_bta", "-p", "fail=Start:A", "--parallelism", "1"]);
    assert_snapshot!(run.out(), @"
      + A added (resource::h_simple::1.0)
      + B__1 added (resource::t_simple::1.0)
    2 to add
    h_bta: 7 steps, up to 2 at once (p1 up)
       s1 A    Install
       s2 B__1 Install
       s3 A    Configure
       s4 B__1 Configure
       s5 A    Start, Integrity
       s6 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
       s7 B__1 Start, Integrity

    ok        A Install LONG
    ok        B__1 Install LONG
    ok        A Configure LONG
    ok        B__1 Configure LONG
    failed    A Start, Integrity: `Start.sh` exited with code 1
              | Start of h_bta__A fails, as it was told to
    skipped   B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3: A Start, Integrity did not succeed
    skipped   B__1 Start, Integrity: A Start, Integrity did not succeed

    not done: up of h_bta failed: 1 step failed, and 2 that need it were not started
      `windlass log h_bta` lists the steps that ran; the same command resumes the process
    ");
    assert_eq!(run.code(), Some(1));
    // `down` can remove everything that was left behind.
    env.ok(&["down", "h_bta"]);
    assert!(!env.files().iter().any(|file| file.starts_with(".windlass/volumes/state/")));
}

#[test]
fn an_operation_that_fails_is_undone_and_made_again() {
    let env = TestEnv::with("h_bta");
    env.location("fail: CreateRelationship3:A");
    let run = env.run(&["up", "h_bta", "--parallelism", "1"]);
    assert_snapshot!(run.out(), @"
      + A added (resource::h_simple::1.0)
      + B__1 added (resource::t_simple::1.0)
    2 to add
    h_bta: 7 steps, up to 2 at once (p1 up)
       s1 A    Install
       s2 B__1 Install
       s3 A    Configure
       s4 B__1 Configure
       s5 A    Start, Integrity
       s6 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
       s7 B__1 Start, Integrity

    ok        A Install LONG
    ok        B__1 Install LONG
    ok        A Configure LONG
    ok        B__1 Configure LONG
    ok        A Start, Integrity LONG
    info      B__1: h_bta__A and h_bta__B__1 are related
    failed    B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3: `CreateRelationship3.sh` exited with code 1
              | CreateRelationship3 of h_bta__A fails, as it was told to
    skipped   B__1 Start, Integrity: B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 did not succeed

    not done: up of h_bta failed: 1 step failed, and 1 that needs it was not started
      `windlass log h_bta` lists the steps that ran; the same command resumes the process
    ");
    assert!(env.ok(&["status"]).stdout.contains("\n  third-relationship half-created: A → B__1\n"));
    env.location("");
    env.clear_trace();
    let plan = env.ok(&["up", "h_bta", "--dry-run", "--no-refresh"]);
    assert!(plan.stdout.contains("s1 B__1 Undo third-relationship: source.CeaseRelationship3"), "{plan}");
    env.ok(&["up", "h_bta", "--no-refresh"]);
    assert_snapshot!(env.trace().join("\n"), @"
    CeaseRelationship3 h_bta__A source=h_bta__A target=h_bta__B__1
    CreateRelationship3 h_bta__A source=h_bta__A target=h_bta__B__1
    Start h_bta__B__1
    Integrity h_bta__B__1
    ");
}

/// A relationship that was ceased at only one of its ends is shown, in text and JSON.
#[test]
fn a_half_ceased_relationship_is_shown_and_ceased_by_the_next_down() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    env.location("fail: CeaseRelationship3:A");
    let run = env.run(&["down", "h_bta", "--parallelism", "1"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(env.ok(&["status"]).stdout.contains("\n  third-relationship half-ceased: A → B__1\n"));
    let relationship = &env.json(&["status", "h_bta"])["assemblies"][0]["relationships"][0];
    let pair = serde_json::json!([{"source": "h_bta__A", "target": "h_bta__B__1"}]);
    assert_eq!(relationship["half_ended"], pair, "{relationship:#}");
    assert_eq!(relationship["made"], 0, "{relationship:#}");
    env.location("");
    env.clear_trace();
    env.ok(&["down", "h_bta"]);
    let ceased = env.trace().iter().filter(|call| call.starts_with("CeaseRelationship3")).count();
    assert_eq!(ceased, 1, "the operation that had succeeded is not called again: {:?}", env.trace());
}

/// A relationship that was added to the descriptor and is not created yet is shown, although both ends are
/// ready.
#[test]
fn a_missing_relationship_is_shown() {
    let env = TestEnv::with("h_bta");
    let whole = env.read("h_bta/assembly.yaml");
    env.write("h_bta/assembly.yaml", whole.split("\nrelationships:").next().unwrap().to_owned() + "\n");
    env.ok(&["up", "h_bta"]);
    env.write("h_bta/assembly.yaml", whole);
    env.ok(&["up", "h_bta", "--target", "A"]);
    let status = env.ok(&["status"]).stdout;
    assert!(status.starts_with("h_bta incomplete "), "{status}");
    assert!(status.contains("\n  third-relationship missing: A → B__1\n"), "{status}");
    let assembly = env.json(&["status", "h_bta"])["assemblies"][0].clone();
    assert_eq!(assembly["incomplete"], true, "{assembly:#}");
    let relationship = &assembly["relationships"][0];
    let pair = serde_json::json!([{"source": "h_bta__A", "target": "h_bta__B__1"}]);
    assert_eq!(relationship["missing"], pair, "{relationship:#}");
    env.ok(&["up", "h_bta"]);
    let status = env.ok(&["status"]).stdout;
    assert!(status.contains("\n  third-relationship created × 1\n"), "{status}");
}

#[test]
fn a_down_that_fails_goes_on_from_there() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    env.location("fail: Uninstall:A");
    let run = env.run(&["down", "h_bta", "--parallelism", "1"]);
    assert_snapshot!(run, @"
    exit 1
    ----- stdout -----
      - A removed
      - B__1 removed
      - relationship third-relationship removed (A to B)
    2 to remove, 1 relationship to change
    h_bta: 5 steps, up to 2 at once (p2 down)
       s1 B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3
       s2 B__1 Stop
       s3 A    Stop
       s4 A    Uninstall
       s5 B__1 Uninstall

    ok        B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3 LONG
    ok        B__1 Stop LONG
    ok        A Stop LONG
    failed    A Uninstall: `Uninstall.sh` exited with code 1
              | Uninstall of h_bta__A fails, as it was told to
    ok        B__1 Uninstall LONG

    not done: down of h_bta failed: 1 step failed
      `windlass log h_bta` lists the steps that ran; the same command resumes the process, with the pinned scripts
      `windlass down h_bta --current-packages FILE` runs the current scripts of a descriptor instead
    ");
    assert_snapshot!(env.ok(&["status"]).out(), @"
    h_bta partly removed assembly::h_bta::1.0, AGE
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Inactive AGE
    │    `Uninstall.sh` exited with code 1
    │    | Uninstall of h_bta__A fails, as it was told to
    └─ B Absent
       └─ 1 Absent AGE
      output: A_output
    ");
    env.location("");
    env.clear_trace();
    env.ok(&["down", "h_bta"]);
    assert_snapshot!(env.trace().join("\n"), @"Uninstall h_bta__A");
}

/// A new value that a part has not received is applied by the next `up`. The part may have missed it because
/// a script failed, or because `--target` excluded the part.
#[test]
fn a_value_that_a_part_was_not_given_is_given_by_the_next_up() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    let fails = ["up", "h_bta", "-p", "fail=Reconfigure:1"];
    let run = env.run(&fails);
    assert!(run.stdout.contains("failed    B__1 Reconfigure"), "{run}");
    let changes = |arguments: &[&str]| {
        let run = env.ok(arguments);
        let changes = run.stdout.lines().take_while(|line| line.starts_with("  "));
        changes.collect::<Vec<_>>().join("\n")
    };
    let again = [&fails[..], &["--dry-run"]].concat();
    assert_snapshot!(changes(&again), @r#"
      ~ B__1 changed, its last Reconfigure did not succeed
          fail: "" → Reconfigure:1
    "#);
    assert_snapshot!(changes(&["up", "h_bta"]), @r#"
      ~ A changed
          fail: Reconfigure:1 → ""
      ~ B__1 changed, its last Reconfigure did not succeed
    "#);
    let other = ["up", "h_bta", "-p", "pause=0.1"];
    env.ok(&[&other[..], &["--target", "A"]].concat());
    assert_snapshot!(changes(&[&other[..], &["--dry-run"]].concat()), @"
      ~ B__1 changed
          pause: 0 → 0.1
    ");
    assert_snapshot!(changes(&["up", "h_bta", "--dry-run"]), @"
      ~ A changed
          pause: 0.1 → 0
    ");
}

/// A script reports a message that has several lines. windlass must indent the further lines, so that no line looks
/// like a message of windlass.
#[test]
fn a_message_of_several_lines_stays_together() {
    let install = r#"answer; printf '    $pushAll: {activityLog: [{severity: WARNING, message: "one\\ndone: two"}]}\n'"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", install), ("Uninstall", "")]);
    let run = env.ok(&["up", "small"]);
    assert!(run.stdout.contains("warning   box: one\n          | done: two\n"), "{run}");
    let log = env.ok(&["log", "small"]);
    assert!(log.stdout.contains("WARNING box one\n      | done: two\n"), "{log}");
}

/// Only the end of a failed script's output is printed. `windlass log` shows all of the stored output.
#[test]
fn only_the_end_of_what_a_script_wrote_is_shown() {
    let fails = "i=0; while [ $i -lt 60 ]; do i=$((i + 1)); echo line $i >&2; done; exit 1";
    let env = TestEnv::small("effect: repeatable", &[("Install", fails), ("Uninstall", "")]);
    let shown = |text: &str| text.lines().filter(|line| line.contains("| line ")).count();
    assert_eq!(shown(&env.run(&["up", "small"]).stdout), 20);
    let status = env.ok(&["status"]);
    assert_eq!(shown(&status.stdout), 20, "{status}");
    assert!(status.stdout.contains("| […]") && status.stdout.contains("| line 60"), "{status}");
    assert_eq!(shown(&env.ok(&["log", "small"]).stdout), 60);
}

/// A failure that a script reported does not affect the next call, which reports its own result or none.
#[test]
fn an_earlier_reported_failure_does_not_fail_the_next_call() {
    let id = r#"id=$(printf '%s\n' "$input" | sed -n '/^instances:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;}')"#;
    let complain = r#"mkdir "${trace%/*}/complained" 2>/dev/null || exit 0
printf 'instances:\n  "%s":\n    $set: {status.flags.failed: true, status.message: out of disk}\n' "$id""#;
    let start = format!("{id}\n{complain}");
    let scripts = [("Install", "answer"), ("Start", start.as_str()), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    assert!(env.run(&["up", "small"]).stdout.contains("`Start.sh` reported a failure: out of disk"));
    assert_eq!(env.json(&["status", "small"])["assemblies"][0]["components"][0]["status"], "failed");
    env.ok(&["up", "small"]);
    env.ok(&["down", "small"]);

    let install = "answer\nprintf '    status: {flags: {failed: true, converging: true}}\\n'";
    let env = TestEnv::small("effect: repeatable", &[("Install", install), ("Uninstall", "")]);
    assert_eq!(env.run(&["up", "small"]).code(), Some(1));
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Install", "Uninstall"]);
}

/// The leftovers of a failed Install are removed by Uninstall, regardless of how Install failed.
#[test]
fn an_install_that_failed_in_any_way_is_uninstalled() {
    let make = r#"touch "${trace%/*}/thing"; "#;
    let ends = ["exit 1", "sleep 600", "kill -KILL $$", "echo '{garbage'", "echo 'instances: {another: {}}'"];
    for end in ends {
        let (install, remove) = (format!("{make}{end}"), r#"rm "${trace%/*}/thing""#);
        let driver = "effect: repeatable, timeout: 1s";
        for command in [["down", "small"], ["up", "small"]] {
            let env = TestEnv::small(driver, &[("Install", &install), ("Uninstall", remove)]);
            let thing = env.trace_file().with_file_name("thing");
            assert_eq!(env.run(&["up", "small"]).code(), Some(1), "{end}");
            assert!(thing.exists(), "{end}");
            env.script(
                &format!("{}/Install.sh", crate::small::SCRIPTS),
                format!("{}answer\n", crate::small::HEAD),
            );
            env.ok(&command);
            let expected: &[&str] = match command[0] {
                "down" => &["Install", "Uninstall"],
                _ => &["Install", "Uninstall", "Install"],
            };
            assert_eq!(env.trace(), expected, "{end}");
            assert!(!thing.exists(), "{end}");
        }
    }
}

/// Returns a component whose scripts fail if a file with their name exists in the project's folder.
fn fragile() -> TestEnv {
    let fails = "[ ! -e \"${trace%/*}/fails-${name%.sh}\" ] || exit 1";
    let install = format!("{fails}\nanswer");
    let declared = ["Configure", "Start", "Integrity", "Stop", "Uninstall"].map(|name| (name, fails));
    let scripts: Vec<(&str, &str)> = [("Install", install.as_str())].into_iter().chain(declared).collect();
    let env = TestEnv::small("effect: repeatable", &scripts);
    env.location("");
    env
}

impl TestEnv {
    /// Lets the scripts of a transition fail, or succeed again.
    fn fails(&self, transition: &str, fails: bool) {
        let mark = self.trace_file().with_file_name(format!("fails-{transition}"));
        if fails { std::fs::write(mark, "").unwrap() } else { std::fs::remove_file(mark).unwrap() }
    }
}

#[test]
fn a_part_that_may_run_is_stopped_before_its_removal() {
    for transition in ["Start", "Integrity"] {
        let env = fragile();
        env.fails(transition, true);
        assert_eq!(env.run(&["up", "small"]).code(), Some(1));
        env.clear_trace();
        let down = env.ok(&["down", "small"]);
        assert_eq!(env.trace(), ["Stop", "Uninstall"], "after {transition}: {}", down.out());
    }
}

/// A failed Stop leaves a complete instance, which may contain data. It is stopped again, and never uninstalled
/// without consent.
#[test]
fn a_part_whose_stop_failed_is_not_uninstalled() {
    for command in
        [&["up", "small"][..], &["heal", "small", "box"], &["heal", "small", "--all"], &["retry", "small"]]
    {
        let env = fragile();
        env.ok(&["up", "small"]);
        env.fails("Stop", true);
        assert_eq!(env.run(&["heal", "small", "box"]).code(), Some(1));
        env.clear_trace();
        assert_eq!(env.run(command).code(), Some(1));
        assert_eq!(env.trace(), ["Stop"], "{command:?}");
        env.fails("Stop", false);
        env.clear_trace();
        env.ok(command);
        assert_eq!(env.trace(), ["Stop", "Start", "Integrity"], "{command:?}");
    }
}

/// A part was complete before its Stop failed. As for any complete part, windlass must remove this part from the
/// assembly only with the user's consent.
#[test]
fn a_part_whose_stop_failed_is_removed_only_with_consent() {
    let env = fragile();
    env.ok(&["up", "small"]);
    env.fails("Stop", true);
    assert_eq!(env.run(&["heal", "small", "box"]).code(), Some(1));
    env.edit("small/assembly.yaml", "  box:", "  other:");
    env.clear_trace();
    let refused = env.refuses(&["up", "small"]);
    assert!(refused.contains("WL0541") && refused.contains("`box` (removed)"), "{refused}");
    assert_eq!(env.trace(), [""; 0]);
    env.fails("Stop", false);
    env.ok(&["up", "small", "--yes"]);
}

/// If the Stop of a part always fails, the operator can replace the part. A removal repeats the Stop.
#[test]
fn a_part_that_cannot_be_stopped_is_replaced_with_consent_and_removed() {
    let env = fragile();
    env.ok(&["up", "small"]);
    env.fails("Stop", true);
    let heal = env.run(&["heal", "small", "box"]);
    assert_eq!(heal.code(), Some(1));
    assert!(heal.stdout.contains("`windlass up FILE --replace PART` re-creates it"), "{heal}");
    let replace = ["up", "small", "--replace", "box"];
    let refused = env.refuses(&replace);
    assert!(refused.contains("WL0541") && refused.contains("`box`"), "{refused}");
    env.clear_trace();
    env.ok(&[&replace[..], &["--yes"]].concat());
    assert_eq!(env.trace(), ["Uninstall", "Install", "Configure", "Start", "Integrity"]);
    env.clear_trace();
    for _ in 0..2 {
        assert_eq!(env.run(&["down", "small"]).code(), Some(1));
    }
    assert_eq!(env.trace(), ["Stop", "Stop"]);
    env.fails("Stop", false);
    env.clear_trace();
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Stop", "Uninstall"]);
}

#[test]
fn a_half_removed_part_is_replaced_by_the_next_up() {
    let env = fragile();
    env.ok(&["up", "small"]);
    env.fails("Uninstall", true);
    assert_eq!(env.run(&["down", "small"]).code(), Some(1));
    env.fails("Uninstall", false);
    env.clear_trace();
    let up = env.ok(&["up", "small"]);
    assert!(up.out().contains("box replaced, its removal is incomplete"), "{}", up.out());
    assert_eq!(env.trace(), ["Uninstall", "Install", "Configure", "Start", "Integrity"]);
}

#[test]
fn a_part_half_removed_by_a_crash_is_replaced() {
    let gate = r#"echo $$ >"$WINDLASS_VOLUME_STATE/pid"; until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;
    let scripts = [("Install", "answer"), ("Start", ""), ("Stop", ""), ("Uninstall", gate)];
    let env = TestEnv::small("effect: repeatable", &scripts);
    env.ok(&["up", "small"]);
    let down = env.spawn(&["down", "small"]);
    let pid = ".windlass/volumes/state/pid";
    until("the script has begun", || {
        std::fs::read_to_string(env.path(pid)).is_ok_and(|pid| pid.ends_with('\n'))
    });
    down.signal(rustix::process::Signal::KILL);
    down.end();
    let script = env.read(pid).trim().parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(script, rustix::process::Signal::KILL).unwrap();
    env.write(".windlass/volumes/state/go", "");
    env.clear_trace();
    let up = env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Uninstall", "Install", "Start"], "{}", up.out());
}

/// A hint does not suggest an option that the user has already given.
#[test]
fn a_hint_names_no_option_that_was_used() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "exit 3")]);
    env.ok(&["up", "small"]);
    let plain = env.run(&["down", "small"]);
    assert!(plain.stdout.contains("--current-packages"), "{plain}");
    let current = env.run(&["down", "small", "--current-packages", "small"]);
    assert!(current.code() == Some(1) && !current.stdout.contains("--current-packages"), "{current}");
}

#[test]
fn the_history_names_the_process_that_a_retry_resumes() {
    let env = TestEnv::small("effect: repeatable", &[("Install", GATE), ("Uninstall", "")]);
    env.edit("small/assembly.yaml", "composition:", "properties: {note: {}}\ncomposition:");
    env.write("note", "one\ntwo\n");
    env.cut_when(&["up", "small", "-p", "note=@note"], &["Install"]);
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["retry", "small"]);
    assert_snapshot!(env.ok(&["history", "small"]), @"
    exit 0
    ----- stdout -----
    p1 up, failed WHEN assembly::small::1.0, 1 resource
      steps: 1 succeeded
      note: one
        two
      changes to the desired assembly:
      + box added (resource::box::1.0)

    p2 up (resumes p1), completed WHEN
      no steps on record
    ");
}

/// An operation of a part fails, but the part stays Active. A later `up` repeats the operation with success. The status
/// must then no longer show the failure.
#[test]
fn the_status_forgets_the_failure_of_an_operation_that_was_repaired() {
    let env = TestEnv::with("h_bta");
    let script = "h_bta/Contains/h_simple/Lifecycle/script/scripts/CreateRelationship3.sh";
    env.edit(
        script,
        "set -eu\n",
        "set -eu\ntest -e \"$WINDLASS_VOLUME_STATE/go\" || { echo not yet >&2; exit 1; }\n",
    );
    assert_eq!(env.run(&["up", "h_bta"]).code(), Some(1));
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.contains("─ A Active") && status.contains("| not yet"), "{status}");
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "h_bta"]);
    let status = env.ok(&["status", "h_bta"]).stdout;
    assert!(status.starts_with("h_bta Active") && !status.contains("not yet"), "{status}");
}

/// The package of a part declares an output, and the driver does not publish it. The message of each later `up` names
/// the command that helps after the package is corrected.
#[test]
fn a_part_that_has_not_published_an_output_is_re_created() {
    let env = TestEnv::new();
    env.write(
        "shop/assembly.yaml",
        "name: assembly::shop::1.0
properties: {peer: {read-only: true, value: '${back.seen}'}}
composition:
  front: {type: resource::front::1.0}
  back: {type: resource::back::1.0, properties: {peer: {value: '${front.address}'}}}
",
    );
    let front = |driver: &str| {
        let text = format!(
            "name: resource::front::1.0
properties: {{host: {{default: web}}, address: {{read-only: true}}}}
lifecycle: [Install, Uninstall]
default-driver: {{noop: {driver}}}
"
        );
        env.write("shop/Contains/front/resource.yaml", text);
    };
    front("{}");
    env.write(
        "shop/Contains/back/resource.yaml",
        "name: resource::back::1.0
properties: {peer: {}, seen: {read-only: true}}
lifecycle: [Install, Uninstall]
default-driver: {noop: {properties: {outputs: {seen: peer}}}}
",
    );
    assert_snapshot!(env.run(&["up", "shop"]), @"
    exit 1
    ----- stdout -----
      + front added (resource::front::1.0)
      + back added (resource::back::1.0)
    2 to add
    shop: 2 steps, up to 2 at once (p1 up)
       s1 front Install
       s2 back  Install

    failed    back Install: its property `peer`: `shop__front` is installed and has published no property `address`; correct its package if necessary, and re-create it with `windlass up --replace front`

    not done: up of shop failed: 1 step failed
      `windlass log shop` lists the steps that ran; the same command resumes the process
    ");
    assert_snapshot!(env.run(&["up", "shop"]), @"
    exit 2
    ----- stderr -----
    error[WL0538]: `shop__front` is installed and has published no property `address`; correct its package if necessary, and re-create it with `windlass up --replace front`
    ");
    front("{properties: {outputs: {address: host}}}");
    assert_snapshot!(env.run(&["up", "shop"]), @"
    exit 2
    ----- stderr -----
    error[WL0538]: `shop__front` is installed and has published no property `address`; correct its package if necessary, and re-create it with `windlass up --replace front`
    ");
    assert_snapshot!(env.ok(&["up", "shop", "--replace", "front", "--yes"]), @"
    exit 0
    ----- stdout -----
      -/+ front replaced, its package has changed
      + back added (resource::back::1.0)
      package resource::front::1.0 of front:
        ~ drivers or their properties
        ~ resource.yaml
    1 to add, 1 to replace
    shop: 3 steps, up to 2 at once (p2 up)
       s1 front Uninstall
       s2 front Install
       s3 back  Install

    ok        front Install LONG
    ok        back Install LONG
    ok        front Uninstall nothing to call

    done: shop is Active (LONG)
      peer: web
    ");
}
