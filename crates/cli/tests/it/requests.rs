//! Requests to the daemon: their order, queue, withdrawal, refusal, and resumption after a crash.

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::env::{TestEnv, until};
use crate::run::Running;
use crate::small::SCRIPTS;

/// Returns a script that waits for a file, and removes it.
fn gate(name: &str) -> String {
    format!(
        "until [ -e \"$WINDLASS_VOLUME_STATE/{name}\" ]; do sleep 0.01; done; rm \"$WINDLASS_VOLUME_STATE/{name}\""
    )
}

/// Returns an assembly of one part, whose Start waits for the file `start` and whose Stop waits for the file
/// `stop`.
fn gated() -> TestEnv {
    TestEnv::small(
        "effect: repeatable",
        &[("Install", "answer"), ("Start", &gate("start")), ("Stop", &gate("stop")), ("Uninstall", "answer")],
    )
}

/// Returns the project of [`gated`], and a daemon that is healing the part `box`. The scripts Stop and Start of `box`
/// wait for the files `stop` and `start`.
fn healing() -> (TestEnv, Running) {
    let env = gated();
    env.open("start");
    env.ok(&["up", "small"]);
    env.ok(&["heal", "small", "box", "--queue"]);
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it heals", || keeper.stdout().contains("heal box"));
    (env, keeper)
}

/// Returns the assembly of [`gated`], and a daemon that has received SIGTERM during a heal. The daemon waits for the
/// Stop of the box.
fn stopping() -> (TestEnv, Running) {
    let (env, keeper) = healing();
    until("it stops the box", || env.trace().last().is_some_and(|last| last == "Stop"));
    keeper.signal(Signal::TERM);
    until("it waits for the script", || keeper.stderr().contains("have 10 s to end"));
    (env, keeper)
}

impl TestEnv {
    fn open(&self, gate: &str) {
        self.write(&format!(".windlass/volumes/state/{gate}"), "");
    }
}

/// Other commands do not remove the volume of a running job, even if the volume is still empty.
#[test]
fn other_commands_leave_the_volumes_of_a_running_job() {
    let env = gated();
    let up = env.spawn(&["up", "small"]);
    until("Start waits", || env.trace().last().is_some_and(|line| line == "Start"));
    env.ok(&["plan", "small", "--name", "other"]);
    env.ok(&["exec", "--", "true"]);
    assert!(env.path(".windlass/volumes/state").is_dir());
    env.open("start");
    assert_eq!(up.end().code(), Some(0));
}

/// The daemon works on an assembly, and another command submits a request for this assembly. The daemon must execute
/// the request afterwards. The command must print the steps of the daemon's process as if the command itself executed
/// these steps.
#[test]
fn requests_for_a_held_assembly_are_executed_in_turn() {
    let (env, keeper) = healing();
    let second = env.spawn(&["set-state", "small", "Inactive"]);
    until("it waits", || second.stderr().contains("holds `small`"));
    assert_snapshot!(env.ok(&["ps"]).out(), @"
    p1 small up                 WHEN completed in LONG
    p3 small heal box           WHEN in progress, run by `windlass run` (process PID on HOST)
    q4 small set-state Inactive WHEN pending, requested by `windlass set-state small Inactive` (process PID on HOST)
    ");
    for gate in ["stop", "start"] {
        env.open(gate);
        until("it was taken", || !env.path(&format!(".windlass/volumes/state/{gate}")).exists());
    }
    env.open("stop");
    assert_snapshot!(second.end(), @"
    exit 0
    ----- stdout -----
    small: 1 step, up to 1 at once (p5 set-state Inactive)
       s1 box Stop

    ok        box Stop LONG

    done: small is Inactive (LONG)
    ----- stderr -----
    `windlass run` (process PID on HOST) holds `small` and executes this request in turn, as q4
    ");
    keeper.signal(Signal::INT);
    assert_snapshot!(keeper.end(), @"
    exit 0
    ----- stdout -----
    listening for metrics at PROJECT/.windlass/metrics.sock
    WHEN small: heal box (q2), requested by `windlass heal small box` (process PID on HOST)
    WHEN small: p3 completed
    WHEN small: set-state Inactive (q4), requested by `windlass set-state small Inactive` (process PID on HOST)
    WHEN small: p5 completed
    ----- stderr -----

    stopping
    ");
    assert!(env.ok(&["status"]).stdout.contains("Inactive"));
    // The request is no longer open, and the processes are on record.
    assert!(!env.ok(&["ps"]).stdout.contains("pending"));
}

/// A queued request waits for the daemon, with the packages and secrets from the time of its submission.
#[test]
fn a_queued_request_is_executed_by_the_next_daemon() {
    let env = gated();
    let queued = env.ok(&["up", "small", "--queue"]);
    assert_snapshot!(queued.out(), @"small: up is queued for `windlass run`, as q1; `windlass cancel small q1` withdraws it");
    assert_eq!(env.json(&["ps"])["requests"][0]["intent"], "up");
    assert_eq!(env.json(&["ps", "show", "q1"])["status"], "pending");
    // The script from the time of the request runs.
    env.script(&format!("{SCRIPTS}/Install.sh"), "#!/bin/sh\nexit 7\n");
    env.open("start");
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it is up", || keeper.stdout().contains("p2 completed"));
    keeper.signal(Signal::TERM);
    keeper.end();
    assert!(env.ok(&["status"]).stdout.contains("Active"));
    let shown = env.ok(&["ps", "show", "q1"]).stdout;
    assert!(shown.contains("begun as p2") && shown.contains("succeeded box Start"), "{shown}");
}

/// A command whose request is refused exits with its usual code. The log contains the refusal.
#[test]
fn a_refused_request_is_reported() {
    let (env, keeper) = healing();
    let second = env.spawn(&["rollback", "small", "--yes"]);
    until("it waits", || second.stderr().contains("holds `small`"));
    for gate in ["stop", "start"] {
        env.open(gate);
    }
    assert_snapshot!(second.end(), @"
    exit 2
    ----- stderr -----
    `windlass run` (process PID on HOST) holds `small` and executes this request in turn, as q4
    error[WL0561]: `small` has no earlier version to roll back to; `windlass history small` lists its versions
    ");
    keeper.signal(Signal::INT);
    keeper.end();
    assert_snapshot!(env.ok(&["log", "small", "--last", "1"]).out(), @"
    p3 heal box completed in LONG WHEN
      succeeded box Stop LONG
        scripts/Stop.sh exited with code 0 LONG WHEN on admin@local (process)
      succeeded box Start LONG
        scripts/Start.sh exited with code 0 LONG WHEN on admin@local (process)

    q4 rollback refused WHEN
      `small` has no earlier version to roll back to; `windlass history small` lists its versions
    ");
}

/// A waiting command withdraws its request when interrupted; `cancel` withdraws queued requests.
#[test]
fn a_pending_request_can_be_withdrawn() {
    let (env, keeper) = healing();
    let second = env.spawn(&["down", "small"]);
    until("it waits", || second.stderr().contains("holds `small`"));
    second.signal(Signal::INT);
    let second = second.end();
    assert_eq!(second.code(), Some(130), "{second}");
    env.ok(&["set-state", "small", "Inactive", "--queue"]);
    let pending = env.json(&["ps"])["requests"].clone();
    let [last] = &pending.as_array().unwrap()[..] else { panic!("{pending}") };
    let id = format!("q{}", last["id"]);
    assert_eq!(env.ok(&["cancel", "small", &id, "--dry-run"]).out(), format!("{id} would be withdrawn\n"));
    assert_eq!(env.ok(&["cancel", "small", &id]).out(), format!("{id} is withdrawn\n"));
    let shown = env.json(&["ps", "show", &id]);
    assert_eq!((&shown["version"], &shown["status"]), (&1.into(), &"withdrawn".into()), "{shown:#}");
    assert!(env.refuses(&["ps", "show", "q99"]).starts_with("error[WL0559]: there is no request q99;"));
    let again = env.run(&["cancel", "small", &id]);
    assert_eq!(again.code(), Some(2), "{again}");
    assert!(again.stderr.contains("is no longer pending: it is withdrawn"), "{again}");
    for gate in ["stop", "start"] {
        env.open(gate);
    }
    until("it has healed", || keeper.stdout().contains("completed"));
    keeper.signal(Signal::INT);
    let keeper = keeper.end();
    assert!(!keeper.stdout.contains("down"), "{keeper}");
}

/// Without an id, `cancel` withdraws no request. It names the pending one.
#[test]
fn a_pending_request_is_named() {
    let env = gated();
    env.ok(&["up", "small", "--queue"]);
    assert_snapshot!(env.refuses(&["cancel", "small"]), @"error[WL0557]: no process of `small` is running; `windlass cancel small q1` withdraws its pending request");
    env.ok(&["cancel", "small", "q1"]);
    assert_snapshot!(env.refuses(&["cancel", "small"]), @"error[WL0500]: there is no assembly `small`; the store has no assemblies");
}

/// Interrupting a waiting command stops only its own process: the daemon continues with other requests.
#[test]
fn cancelling_one_process_does_not_stop_the_daemon() {
    let env = gated();
    env.open("start");
    env.ok(&["up", "small"]);
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it watches", || keeper.stdout().contains("listening for metrics"));
    env.ok(&["heal", "small", "box", "--queue"]);
    until("it heals", || env.trace().last().is_some_and(|last| last == "Stop"));
    let process = env.json(&["ps"])["processes"].as_array().unwrap().last().unwrap()["id"].to_string();
    env.ok(&["cancel", "small", &process]);
    env.open("stop");
    until("it is cancelled", || keeper.stdout().contains("cancelled"));
    env.open("start");
    env.ok(&["set-state", "small", "Active", "--queue"]);
    until("it does what is asked next", || keeper.stdout().contains("completed"));
    keeper.signal(Signal::INT);
    keeper.end();
}

/// The daemon executes requests for different assemblies concurrently.
#[test]
fn a_slow_assembly_does_not_delay_another() {
    let env = gated();
    env.ok(&["up", "small", "--name", "slow", "--queue"]);
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it starts the slow one", || env.trace().last().is_some_and(|last| last == "Start"));
    env.script(&format!("{SCRIPTS}/Start.sh"), crate::small::HEAD);
    env.ok(&["up", "small", "--name", "fast", "--queue"]);
    until("the other one is up", || keeper.stdout().contains("fast: p"));
    until("the other one is up", || env.json(&["status", "fast"])["assemblies"][0]["state"] == "Active");
    assert_ne!(env.json(&["status", "slow"])["assemblies"][0]["state"], "Active");
    env.open("start");
    until("the slow one is up", || env.json(&["status", "slow"])["assemblies"][0]["state"] == "Active");
    keeper.signal(Signal::TERM);
    let keeper = keeper.end();
    assert_eq!(keeper.code(), Some(0), "{keeper}");
}

/// A new daemon resumes the process of a killed daemon, and waiting commands report this.
#[test]
fn a_killed_daemon_resumes_its_process() {
    let env = gated();
    let gates = ["start", "stop", "start"];
    env.open("start");
    env.ok(&["up", "small"]);
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it watches", || keeper.stdout().contains("listening for metrics"));
    env.ok(&["heal", "small", "box", "--queue"]);
    until("it stops the box", || env.trace().last().is_some_and(|last| last == "Stop"));
    let waiting = env.spawn(&["set-state", "small", "Installed", "--yes"]);
    until("it waits", || waiting.stderr().contains("holds `small`"));
    keeper.kill();
    // No daemon is left, so the waiting command resumes the open process and then runs its own request.
    for gate in &gates[1..] {
        env.open(gate);
    }
    env.open("stop");
    let waited = waiting.end();
    assert_eq!(waited.code(), Some(0), "{waited}");

    // A process without a waiting command is resumed by the next daemon.
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it watches", || keeper.stdout().contains("listening for metrics"));
    env.ok(&["set-state", "small", "Active", "--queue"]);
    until("it starts the box", || env.trace().last().is_some_and(|last| last == "Start"));
    keeper.kill();
    env.open("start");
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it has gone on", || keeper.stdout().contains("completed"));
    assert!(keeper.stdout().contains("which was interrupted"), "{}", keeper.stdout());
    keeper.signal(Signal::INT);
    keeper.end();
    assert!(env.ok(&["status"]).stdout.contains("Active"));
}

/// SIGTERM stops a daemon that is healing a part. The next daemon must complete the healing.
#[test]
fn a_stopped_daemon_leaves_its_process_to_the_next_daemon() {
    let (env, keeper) = stopping();
    env.open("stop");
    let stopped = keeper.end();
    assert_eq!(stopped.code(), Some(0), "{stopped}");
    let left = "small: p3 is interrupted; the next `windlass run` resumes it";
    assert!(stopped.stdout.contains(left), "{stopped}");
    assert_eq!(env.trace().last().map(String::as_str), Some("Stop"));

    env.open("start");
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it has gone on", || keeper.stdout().contains("completed"));
    assert!(keeper.stdout().contains("resumes p3"), "{}", keeper.stdout());
    keeper.signal(Signal::INT);
    keeper.end();
    assert_eq!(env.trace()[2..], ["Stop", "Start"]);
}

/// SIGTERM stops a daemon that is healing a part, and a user cancels the healing. The next daemon must not resume the
/// healing.
#[test]
fn a_cancelled_process_of_a_stopped_daemon_is_not_resumed() {
    let (env, keeper) = stopping();
    env.ok(&["cancel", "small"]);
    env.open("stop");
    let stopped = keeper.end();
    assert!(stopped.stdout.contains("p3 is interrupted"), "{stopped}");

    env.open("start");
    env.ok(&["up", "small", "--name", "other", "--queue"]);
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it has executed the request", || keeper.stdout().contains("completed"));
    keeper.signal(Signal::INT);
    let keeper = keeper.end();
    assert!(!keeper.stdout.contains("resumes"), "{keeper}");
    assert!(keeper.stdout.contains("small: p3 cancelled"), "{keeper}");
}

/// A daemon was killed during a healing, and a user then cancels the healing. The next daemon must not resume it.
#[test]
fn an_interrupted_process_of_a_daemon_can_be_cancelled() {
    let (env, keeper) = healing();
    until("it stops the box", || env.trace().last().is_some_and(|last| last == "Stop"));
    keeper.kill();
    let listed = env.json(&["ps", "small"])["processes"].clone();
    let of_heal = listed.as_array().unwrap().iter().find(|process| process["id"] == 3).unwrap().clone();
    assert_eq!((&of_heal["status"], &of_heal["interrupted"]), (&"in-progress".into(), &true.into()));
    env.ok(&["cancel", "small"]);
    for gate in ["start", "stop"] {
        env.open(gate);
    }
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it has ended the process", || keeper.stdout().contains("small: p3 cancelled"));
    keeper.signal(Signal::INT);
    let keeper = keeper.end();
    assert!(!keeper.stdout.contains("resumes"), "{keeper}");
}

/// If a process can't be resumed at present, the daemon says so once, leaves the process open, and tries again.
#[test]
fn a_process_that_can_not_be_resumed_yet_is_resumed_later() {
    let env = gated();
    env.open("start");
    env.ok(&["up", "small"]);
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it watches", || keeper.stdout().contains("listening for metrics"));
    env.ok(&["set-state", "small", "Inactive", "--queue", "--yes"]);
    until("it stops the box", || env.trace().last().is_some_and(|last| last == "Stop"));
    keeper.kill();
    // The runtime can't read its jobs.
    let (jobs, away) = (env.path(".windlass/jobs"), env.path("jobs"));
    std::fs::rename(&jobs, &away).unwrap();
    std::fs::write(&jobs, "").unwrap();
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it reports the process", || keeper.stderr().contains("can't be resumed now"));
    assert!(!keeper.stdout().contains("which was interrupted"), "{}", keeper.stdout());
    std::fs::remove_file(&jobs).unwrap();
    std::fs::rename(&away, &jobs).unwrap();
    until("it resumes the process", || {
        env.open("stop");
        keeper.stdout().contains("completed")
    });
    let stdout = keeper.stdout();
    assert!(stdout.contains("which was interrupted"), "{stdout}");
    let stderr = keeper.stderr();
    assert_eq!(stderr.matches("can't be resumed now").count(), 1, "{stderr}");
    keeper.signal(Signal::INT);
    keeper.end();
}
