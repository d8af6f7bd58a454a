//! Ctrl-C: running scripts may finish, no new script starts, and the same command resumes the process.

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::{
    env::{GATE, TestEnv, until},
    run::Running,
};

/// Starts `up`, and waits until its first script has started.
fn begun(env: &TestEnv, options: &[&str]) -> Running {
    let up = env.spawn(&[&["up", "small"], options].concat());
    until("the script has begun", || env.trace() == ["Install"]);
    up
}

fn is_told(up: &Running) {
    until("windlass says that it stops", || up.stderr().contains("stopping"));
}

#[test]
fn a_stop_lets_running_scripts_end_and_starts_no_other() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", "")]);
        let mut command = std::process::Command::new("env");
        env.settle(&mut command);
        // The tests may run under `nohup`, which ignores SIGHUP.
        command.args([
            "--default-signal=HUP",
            env!("CARGO_BIN_EXE_windlass"),
            "up",
            "small",
            "--grace",
            "60",
        ]);
        let up = env.start(command);
        until("the script has begun", || env.trace() == ["Install"]);
        up.signal(signal);
        is_told(&up);
        env.write(".windlass/volumes/state/go", "");
        let run = up.end();
        assert_eq!(run.code(), Some(130), "{run}");
        env.is_quiet();
        assert_eq!(env.trace(), ["Install"]);
        if signal == Signal::INT {
            assert_snapshot!(run, @"
            exit 130
            ----- stdout -----
              + box added (resource::box::1.0)
            1 to add
            small: 2 steps, up to 1 at once (p1 up)
               s1 box Install
               s2 box Start

            ok        box Install LONG

            not done: up of small cancelled: it was stopped on request
              `windlass log small` lists the steps that ran; the same command resumes the process
            ----- stderr -----

            stopping: running jobs have 60 s to end; interrupt again to stop them now
            ");
            assert_snapshot!(env.ok(&["status"]).out(), @"
            small incomplete assembly::small::1.0, AGE
              p1 up was cancelled; `windlass retry small` resumes it
              0 of 1 Active
            └─ box Installed AGE
            ");
        }
        env.ok(&["up", "small"]);
        assert_eq!(env.trace(), ["Install", "Start"]);
    }
}

/// `exec` ends its job and exits when it is interrupted, or when its terminal is closed.
#[test]
fn a_stop_ends_the_job_of_exec() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let env = TestEnv::bare();
        let mut command = std::process::Command::new("env");
        env.settle(&mut command);
        // The tests may run under `nohup`, which ignores SIGHUP.
        command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_windlass"), "exec", "--"]);
        command.args(["sh", "-c", "echo begun; sleep 600"]);
        let exec = env.start(command);
        until("the job has begun", || exec.stdout() == "begun\n");
        exec.signal(signal);
        let run = exec.end();
        assert_eq!(run.code(), Some(130), "{run}");
        assert!(run.stderr.ends_with("the job was cancelled\n"), "{run}");
        env.is_quiet();
    }
}

/// `nohup windlass up` outlives its terminal.
#[test]
fn under_nohup_a_closed_terminal_stops_nothing() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", "")]);
    let mut command = std::process::Command::new("nohup");
    env.settle(&mut command);
    command.arg(env!("CARGO_BIN_EXE_windlass")).args(["up", "small"]);
    let up = env.start(command);
    until("the script has begun", || env.trace() == ["Install"]);
    up.signal(Signal::HUP);
    env.write(".windlass/volumes/state/go", "");
    let run = up.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert_eq!(env.trace(), ["Install", "Start"]);
}

#[test]
fn a_job_that_outlasts_the_grace_is_stopped() {
    let env = TestEnv::small("effect: repeatable", &[("Install", GATE), ("Start", "")]);
    let up = begun(&env, &["--grace", "0"]);
    up.signal(Signal::INT);
    let run = up.end();
    assert_snapshot!(run, @"
    exit 130
    ----- stdout -----
      + box added (resource::box::1.0)
    1 to add
    small: 2 steps, up to 1 at once (p1 up)
       s1 box Install
       s2 box Start

    stopped   box Install
    skipped   box Start: box Install did not succeed

    not done: up of small cancelled: it was stopped on request
      `windlass log small` lists the steps that ran; the same command resumes the process
    ----- stderr -----

    stopping
    ");
    env.is_quiet();
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Install", "Start"]);
}

/// Signals at the same time count as one, because a wrapper may signal both the process and its group.
#[test]
fn signals_at_the_same_time_are_one() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", "")]);
    let up = begun(&env, &["--grace", "3600"]);
    for _ in 0..3 {
        up.signal(Signal::INT);
    }
    is_told(&up);
    env.write(".windlass/volumes/state/go", "");
    let run = up.end();
    assert!(run.stdout.contains("ok        box Install"), "{run}");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Start"]);
}

#[test]
fn a_second_signal_stops_at_once_what_would_not_hear() {
    let deaf =
        r#"answer; trap "" TERM; [ -e "$WINDLASS_VOLUME_STATE/go" ] || while :; do sleep 600 || :; done"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", deaf), ("Start", "")]);
    let mut up = begun(&env, &["--grace", "3600"]);
    up.signal(Signal::INT);
    is_told(&up);
    until("it ends", || {
        let has_ended = up.has_ended();
        if !has_ended {
            up.signal(Signal::INT);
        }
        has_ended
    });
    let run = up.end();
    assert_eq!(run.code(), Some(130), "{run}");
    env.is_quiet();
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Install", "Start"]);
}

/// A `once` script that was killed halfway leaves its call undecided.
#[test]
fn stopping_what_must_not_be_done_twice_leaves_a_question() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Uninstall", "")]);
    let up = begun(&env, &["--grace", "0"]);
    up.signal(Signal::INT);
    let run = up.end();
    assert_snapshot!(run, @"
    exit 130
    ----- stdout -----
      + box added (resource::box::1.0)
    1 to add
    small: 1 step, up to 1 at once (p1 up)
       s1 box Install

    undecided box Install: its outcome is unknown

    not done: up of small cancelled: it was stopped on request
      check it, then run `windlass retry small --assume done`, `not-done` or `failed`
    ----- stderr -----

    stopping
    ");
    assert_eq!(env.run(&["up", "small"]).code(), Some(1));
    env.ok(&["retry", "small", "--assume", "done", "--natural", "b-1"]);
}

#[test]
fn down_can_be_interrupted_too() {
    let gate = r#"until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;
    let env = TestEnv::small("effect: once", &[("Install", "answer"), ("Stop", gate), ("Uninstall", "")]);
    env.ok(&["up", "small"]);
    let down = env.spawn(&["down", "small", "--grace", "60"]);
    until("the script has begun", || env.trace() == ["Install", "Stop"]);
    down.signal(Signal::INT);
    is_told(&down);
    env.write(".windlass/volumes/state/go", "");
    assert_snapshot!(down.end(), @"
    exit 130
    ----- stdout -----
      - box removed
    1 to remove
    small: 2 steps, up to 1 at once (p2 down)
       s1 box Stop
       s2 box Uninstall

    ok        box Stop LONG

    not done: down of small cancelled: it was stopped on request
      `windlass log small` lists the steps that ran; the same command resumes the process
    ----- stderr -----

    stopping: running jobs have 60 s to end; interrupt again to stop them now
    ");
    assert_eq!(env.trace(), ["Install", "Stop"]);
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Install", "Stop", "Uninstall"]);
}

/// An interrupted Install may have created an instance partly, so the next command removes the instance.
#[test]
fn an_interrupted_install_is_cleared_away() {
    for (next, then) in
        [("up", ["Install", "Uninstall", "Install"].as_slice()), ("down", &["Install", "Uninstall"])]
    {
        let env = TestEnv::small("effect: repeatable", &[("Install", GATE), ("Uninstall", "")]);
        let up = begun(&env, &["--grace", "0"]);
        up.signal(Signal::INT);
        assert_eq!(up.end().code(), Some(130));
        if next == "up" {
            assert_snapshot!(env.ok(&["status"]).out(), @"
            small Failed assembly::small::1.0, AGE
              p1 up was cancelled; `windlass retry small` resumes it
              0 of 1 Active
            └─ box Failed AGE
                 it was stopped on request
            ");
        }
        env.write(".windlass/volumes/state/go", "");
        env.ok(&[next, "small"]);
        assert_eq!(env.trace(), then);
    }
}

/// A partly stopped part is stopped again and started; it is not re-created.
#[test]
fn a_part_interrupted_while_stopping_is_started_again() {
    let gate = r#"until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;
    let scripts = [("Install", "answer"), ("Start", ""), ("Stop", gate), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    env.ok(&["up", "small"]);
    let down = env.spawn(&["down", "small", "--grace", "0"]);
    until("the script has begun", || env.trace() == ["Install", "Start", "Stop"]);
    down.signal(Signal::INT);
    assert_eq!(down.end().code(), Some(130));
    assert_snapshot!(env.ok(&["status"]).out(), @"
    small Broken (partly removed) assembly::small::1.0, AGE
      p2 down was cancelled; `windlass retry small` resumes it
    └─ box Broken AGE
         it was stopped on request
    ");
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Start", "Stop", "Stop", "Start"]);
}

#[test]
fn a_start_that_succeeded_before_the_stop_is_not_repeated() {
    let gate = r#"until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;
    let scripts =
        [("Install", "answer"), ("Start", ""), ("Integrity", gate), ("Stop", ""), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    let up = env.spawn(&["up", "small", "--grace", "0"]);
    until("the script has begun", || env.trace() == ["Install", "Start", "Integrity"]);
    up.signal(Signal::INT);
    assert_eq!(up.end().code(), Some(130));
    env.write(".windlass/volumes/state/go", "");
    env.clear_trace();
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Integrity"]);
}

/// Steps of four relationships wait for one server. A stop ends the waiting steps, and then the command.
#[test]
fn steps_that_wait_for_an_element_end_with_a_stop() {
    let nodes = ["-p", "numOfServers=4", "-p", "pause=0.1"];
    let up = [["up", "h_bta"].as_slice(), &nodes].concat();
    let other = [up.as_slice(), &["-p", "data=other", "--yes"]].concat();
    let stops = [Stop::Signal(Signal::INT), Stop::Signal(Signal::TERM), Stop::Cancel];
    let cases = [
        ParkedCase { before: &[], command: &up, operation: "CreateRelationship3" },
        ParkedCase { before: &[&up], command: &["heal", "h_bta", "A"], operation: "CeaseRelationship3" },
        ParkedCase {
            before: &[&up, &other],
            command: &["rollback", "h_bta", "--yes"],
            operation: "CeaseRelationship3",
        },
        ParkedCase { before: &[&up], command: &["down", "h_bta"], operation: "CeaseRelationship3" },
    ];
    for (number, ParkedCase { before, command, operation }) in cases.into_iter().enumerate() {
        let env = TestEnv::with("h_bta");
        for command in before {
            env.ok(command);
        }
        env.clear_trace();
        let running = env.spawn(&[command, &["--grace", "60"]].concat());
        until("the relationships queue", || env.trace().iter().any(|call| call.starts_with(operation)));
        match stops[number % stops.len()] {
            Stop::Signal(signal) => running.signal(signal),
            Stop::Cancel => {
                let process = env.json(&["status", "h_bta"])["assemblies"][0]["process"]["id"].to_string();
                env.ok(&["cancel", "h_bta", &process]);
            }
        }
        let run = running.end();
        assert_eq!(run.code(), Some(130), "{command:?}: {run}");
        env.is_quiet();
        env.ok(command);
        let status = env.run(&["status"]).stdout;
        let is_up = status.contains("third-relationship created × ");
        assert_eq!(is_up, command[0] != "down", "{command:?}: {status}");
    }
}

/// A test case: a command whose steps wait for an element.
struct ParkedCase<'a> {
    /// The commands to run before.
    before: &'a [&'a [&'a str]],
    command: &'a [&'a str],
    /// The operation that the command calls first.
    operation: &'static str,
}

/// A way to stop a command.
#[derive(Clone, Copy)]
enum Stop {
    Signal(Signal),
    Cancel,
}

/// After a stop at any time, started scripts finish, and no further script starts.
#[test]
fn a_stop_at_any_time_ends_soon_and_the_same_command_goes_on() {
    for millis in [0, 20, 60, 120, 250, 500] {
        let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", "")]);
        let up = env.spawn(&["up", "small", "--grace", "60"]);
        let began = std::time::Instant::now();
        until("its time has come", || began.elapsed().as_millis() >= millis);
        up.signal(Signal::INT);
        let run = up.end();
        // A signal that arrives before windlass listens for it kills the process.
        assert!(matches!(run.code(), None | Some(0 | 130)), "{run}");
        if let Some((_, after)) = run.stderr.split_once("stopping") {
            assert!(!after.contains("error["), "{run}");
        }
        env.is_quiet();
        env.ok(&["up", "small"]);
        // Started scripts were allowed to finish, so each script has run exactly once.
        assert_eq!(env.trace(), ["Install", "Start"]);
    }
}

/// The Install script of an instance that is not ready at once.
const BOOT: &str = "answer\nprintf '    status: {flags: {converging: true}}\\n'";

/// The Integrity script, which reports the instance as ready when the file `ready` exists.
const BOOTED: &str = r#"echo instances:
for id in $(printf '%s\n' "$input" | sed -n 's/^  \([a-z0-9]*\):.*$/\1/p'); do
    if [ -e "$WINDLASS_VOLUME_STATE/ready" ]; then up=true; wait=false; else up=false; wait=true; fi
    printf '  "%s": {status: {flags: {active: %s, converging: %s, failed: false}}}\n' "$id" "$up" "$wait"
done"#;

/// The user stops `up` during its wait for an instance that is not ready yet. A second `up` must wait for the instance
/// again. If `down` follows instead, `down` must remove the instance at once.
#[test]
fn a_stop_keeps_an_instance_that_is_not_ready() {
    for command in [["up", "small"], ["down", "small"]] {
        let scripts = [("Install", BOOT), ("Integrity", BOOTED), ("Start", ""), ("Uninstall", "")];
        let env = TestEnv::small("effect: once, timeout: 1h", &scripts);
        let up = env.spawn(&["up", "small"]);
        until("the instance is observed", || env.trace().contains(&"Integrity".to_owned()));
        up.signal(Signal::INT);
        let run = up.end();
        assert!(run.stdout.contains("stopped   box Install\n"), "{run}");
        let again = if command[0] == "up" {
            assert_snapshot!(env.ok(&["status"]).out(), @"
            small incomplete assembly::small::1.0, AGE
              p1 up was cancelled; `windlass retry small` resumes it
              0 of 1 Active
            └─ box Absent converging, AGE
            ");
            let plan = env.ok(&["plan", "small"]);
            assert!(plan.stderr.contains("note: p1 up was interrupted, and its last calls"), "{plan}");
            env.write(".windlass/volumes/state/ready", "");
            "box Install"
        } else {
            "its instance was not ready when its removal began"
        };
        let run = env.ok(&command);
        assert!(run.stdout.contains(again), "{run}");
        let trace: Vec<_> = env.trace().into_iter().filter(|script| script != "Integrity").collect();
        let expected: &[&str] =
            if command[0] == "up" { &["Install", "Start"] } else { &["Install", "Uninstall"] };
        assert_eq!(trace, expected);
    }
}
