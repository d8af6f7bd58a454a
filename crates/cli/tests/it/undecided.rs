//! A script that must not run twice is cut in the middle: nobody but a person can tell whether it happened.

use insta::assert_snapshot;

use crate::{
    env::{TestEnv, until},
    proc::Process,
};

/// Brings `small` up until its `Install` has begun, and cuts everything: the command, the supervisor, the script.
fn cut() -> TestEnv {
    let pay = r#"answer; [ -e "$WINDLASS_VOLUME_STATE/go" ] || exec sleep 600"#;
    let env = TestEnv::small("effect: once", &[("Install", pay), ("Start", ""), ("Uninstall", "")]);
    let up = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install"]);
    up.kill();
    env.processes().iter().filter(|process| process.is_supervisor()).for_each(Process::kill);
    env.is_quiet();
    env.write(".windlass/volumes/state/go", "");
    env
}

#[test]
fn it_is_asked_for_and_nothing_happens_before() {
    let env = cut();
    assert_snapshot!(env.run(&["up", "small"]), @"
    exit 1
    ----- stderr -----
    error: it is not known whether this was done, and doing it twice may do harm:
      box Install (started WHEN)
    look, then say so with `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(env.run(&["down", "small"]), @"
    exit 1
    ----- stderr -----
    error: it is not known whether this was done, and doing it twice may do harm:
      box Install (started WHEN)
    look, then say so with `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(env.run(&["retry", "small"]), @"
    exit 1
    ----- stderr -----
    error: it is not known whether this was done, and doing it twice may do harm:
      box Install (started WHEN)
    look, then say so with `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(env.ok(&["status"]), @"
    exit 0
    ----- stdout -----
    small Absent assembly::small::1.0, AGE
      0 of 1 Active
      box Install: not known whether it was done
        look, then `windlass retry small --assume done`, `not-done` or `failed`
    └─ box Absent AGE
         whether Install was done is not known: its job ended while nobody watched, and left no result
    ");
    assert_snapshot!(env.ok(&["log", "small"]), @"
    exit 0
    ----- stdout -----
    p1 up failed in LONG WHEN
      it was interrupted: whoever ran it is gone
      needs a decision box Install LONG
        scripts/Install.sh still running, or lost WHEN on admin@local (process)
    ");
    let status = env.json(&["status", "small"]);
    assert_eq!(status["assemblies"][0]["undecided"][0]["action"], "Install");
    assert_eq!(env.trace(), ["Install"]);
    env.ok(&["retry", "small", "--assume", "done"]);
    env.run(&["down", "small"]);
}

#[test]
fn what_is_said_to_be_done_is_not_done_again() {
    let env = cut();
    assert_snapshot!(env.run(&["retry", "small", "--assume", "done"]), @"
    exit 0
    ----- stdout -----
    undecided box Install: nobody knows whether it was done
    info      box: it is assumed that Install was done
    small: 1 step, up to 1 at once (p2 up, goes on from p1)
       s2 box Start

    ok        box Start LONG

    done: small is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Install", "Start"]);
    assert_snapshot!(env.ok(&["status"]).out(), @"
    small Active assembly::small::1.0, AGE
    └─ box Active AGE
    ");
}

#[test]
fn what_is_said_not_to_be_done_is_done_again() {
    let env = cut();
    assert_snapshot!(env.run(&["retry", "small", "--assume", "not-done"]), @"
    exit 0
    ----- stdout -----
    undecided box Install: nobody knows whether it was done
    info      box: it is assumed that Install was not done
    small: 2 steps, up to 1 at once (p2 up, goes on from p1)
       s1 box Install
       s3 box Start

    ok        box Install LONG
    ok        box Start LONG

    done: small is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Install", "Install", "Start"]);
    env.ok(&["down", "small"]);
}

#[test]
fn what_is_said_to_have_failed_is_cleared_away_first() {
    let env = cut();
    assert_snapshot!(env.run(&["retry", "small", "--assume", "failed"]), @"
    exit 0
    ----- stdout -----
    undecided box Install: nobody knows whether it was done
    info      box: it is assumed that Install has failed
      ~ box repaired
    small: 3 steps, up to 1 at once (p2 up, goes on from p1)
       s1 box Uninstall
       s2 box Install
       s4 box Start

    ok        box Uninstall LONG
    ok        box Install LONG
    ok        box Start LONG

    done: small is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Install", "Uninstall", "Install", "Start"]);
    env.ok(&["down", "small"]);
}

#[test]
fn one_part_is_answered_for() {
    let env = cut();
    assert_snapshot!(env.refuses(&["retry", "small", "--of", "box"]), @"
    error: the following required arguments were not provided:
      --assume <ANSWER>

    Usage: windlass retry --assume <ANSWER> --of <PART> <NAME>

    For more information, try '--help'.
    ");
    assert_snapshot!(env.run(&["retry", "small", "--assume", "done", "--of", "bx"]), @"
    exit 2
    ----- stderr -----
    error: `small` has no part `bx`; did you mean `box`?
    ");
    env.ok(&["retry", "small", "--assume", "done", "--of", "box"]);
    assert_eq!(env.trace(), ["Install", "Start"]);
    env.ok(&["down", "small"]);
}

#[test]
fn without_a_question_there_is_no_answer() {
    let env = TestEnv::small("effect: once", &[("Install", "answer"), ("Uninstall", "")]);
    assert_snapshot!(env.refuses(&["retry", "small", "--assume", "done"]), @"error: there is no assembly `small`; none is up");
    env.ok(&["up", "small"]);
    assert_snapshot!(env.refuses(&["retry", "small", "--assume", "done"]), @"error: nothing of `small` waits for a decision; use `retry` without `--assume`");
    assert_snapshot!(env.ok(&["retry", "small"]), @"
    exit 0
    ----- stdout -----
    small: nothing to call (p2 up)

    done: small is Active (LONG)
    ");
}

/// Only the command is cut: its supervisor lets the script end, and the next `up` counts what it finds.
#[test]
fn a_script_that_outlives_the_command_counts() {
    let gate = r#"answer; until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;
    let env = TestEnv::small("effect: once", &[("Install", gate), ("Start", "")]);
    let up = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install"]);
    up.kill();
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Start"]);
}
