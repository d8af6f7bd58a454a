//! Undecided calls: a `once` script was killed in the middle, and only the user can tell whether it was done.

use insta::assert_snapshot;

use crate::{
    env::{GATE, TestEnv, until},
    small::RESOURCE,
};

/// Runs `up` until the script Install has started, and kills the command and the script. Without the file `go`, the
/// script hangs. The function then writes this file, so the scripts of later commands do not hang.
fn cut_in_the_middle(env: &TestEnv) {
    env.cut_when(&["up", "small"], &["Install"]);
    env.write(".windlass/volumes/state/go", "");
}

/// Returns a project with a part whose `Install` was killed.
fn cut() -> TestEnv {
    let pay = r#"answer; [ -e "$WINDLASS_VOLUME_STATE/go" ] || exec sleep 600"#;
    let env = TestEnv::small("effect: once", &[("Install", pay), ("Start", ""), ("Uninstall", "")]);
    cut_in_the_middle(&env);
    env
}

#[test]
fn an_undecided_call_blocks_until_it_is_answered() {
    let env = cut();
    assert_snapshot!(env.run(&["up", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box Install (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(env.run(&["down", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box Install (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(env.run(&["retry", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box Install (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(env.ok(&["status"]), @"
    exit 0
    ----- stdout -----
    small incomplete assembly::small::1.0, AGE
      0 of 1 Active
      box Install: its outcome is unknown
        check it, then run `windlass retry small --assume done`, `not-done` or `failed`
    └─ box Absent AGE
         the outcome of Install is unknown: its job ended while windlass did not watch it, and left no result
    ");
    assert_snapshot!(env.ok(&["log", "small"]), @"
    exit 0
    ----- stdout -----
    p1 up failed in LONG WHEN
      it was interrupted: the process that executed it exited
      needs a decision box Install LONG
        scripts/Install.sh still running, or lost WHEN on admin@local (process)
    ");
    let status = env.json(&["status", "small"]);
    assert_eq!(status["assemblies"][0]["undecided"][0]["action"], "Install");
    assert_eq!(env.trace(), ["Install"]);
    env.ok(&["retry", "small", "--assume", "done", "--natural", "b-1"]);
    env.run(&["down", "small"]);
}

/// A dry run of `retry` asks the same question as the real command, and shows the consequences of an answer.
/// It does not record the answer.
#[test]
fn an_answer_can_be_tried() {
    let env = cut();
    let trying = |answer: &str| {
        let id: &[&str] = if answer == "done" { &["--natural", "b-1"] } else { &[] };
        env.run(&[&["retry", "small", "--assume", answer, "--dry-run"], id].concat())
    };
    assert_snapshot!(trying("done"), @"
    exit 2
    ----- stderr -----
    error[WL0516]: `small` was interrupted, and a dry run does not determine the outcome of its open calls; resume it first: `windlass retry small`
    ");
    // A cancellation is refused, because no command runs the process.
    assert_snapshot!(env.refuses(&["cancel", "small", "p1"]), @"error[WL0558]: p1 was interrupted and is not running; resume it with `windlass retry small` or the same command");
    let asked = env.run(&["retry", "small"]);
    for ask in [["up", "small"], ["down", "small"], ["retry", "small"]] {
        let dry = env.run(&[&ask[..], &["--dry-run"]].concat());
        assert_eq!((dry.code(), &dry.stderr), (asked.code(), &asked.stderr), "{ask:?}");
    }
    assert_snapshot!(trying("done").out(), @"
      ~ box changed, Installed → Active
    1 to change
    small: 1 step, up to 1 at once
       s1 box Start
          needs box is Inactive first
          after all parts are Inactive
    and 1 step that only changes a state
    longest chain: s1
    ");
    assert_snapshot!(trying("not-done").out(), @"
      + box added (resource::box::1.0)
    1 to add
    small: 2 steps, up to 1 at once
       s1 box Install
       s2 box Start
          needs box is Inactive first
          after all parts are Inactive
    and 1 step that only changes a state
    longest chain: s1 → s2
    ");
    assert_snapshot!(trying("failed").out(), @"
      -/+ box replaced, it has failed
    1 to replace
    small: 3 steps, up to 1 at once
       s1 box Uninstall
       s2 box Install
          needs box is Absent first
          after unhealthy parts are cleaned up
       s3 box Start
          needs box is Inactive first
          after all parts are Inactive
    and 1 step that only changes a state
    longest chain: s1 → s2 → s3
    ");
    assert_eq!(env.trace(), ["Install"]);
    assert_eq!(env.run(&["retry", "small"]).stderr, asked.stderr, "nothing was answered");
    env.ok(&["retry", "small", "--assume", "failed"]);
    assert_eq!(env.trace(), ["Install", "Uninstall", "Install", "Start"]);
}

/// A launch script chooses a natural id. If the id is lost, the user is asked for it, because no script can
/// find the instance without it.
#[test]
fn the_id_of_a_lost_launch_is_asked_for() {
    let env = cut();
    env.run(&["up", "small"]);
    assert_snapshot!(env.run(&["retry", "small", "--assume", "done"]), @"
    exit 2
    ----- stderr -----
    error[WL0523]: the output of the launch script of `box` is lost, and with it the id of the instance; find that id, then run `windlass retry small --assume done --of box --natural ID`; it is `INSTANCE` if the script chose none
    ");
    assert_eq!(env.trace(), ["Install"]);
    env.ok(&["retry", "small", "--assume", "done", "--natural", "b-1"]);
    assert_eq!(env.json(&["status", "small"])["assemblies"][0]["components"][0]["natural"], "b-1");
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Install", "Start", "Uninstall"]);
}

#[test]
fn a_call_answered_as_done_does_not_run_again() {
    let env = cut();
    assert_snapshot!(env.run(&["retry", "small", "--assume", "done", "--natural", "b-1"]), @"
    exit 0
    ----- stdout -----
    undecided box Install: its outcome is unknown
    info      box: the operator reported Install as done
      ~ box changed, Installed → Active
    1 to change
    small: 1 step, up to 1 at once (p2 up, resumes p1)
       s1 box Start

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
fn a_call_answered_as_not_done_runs_again() {
    let env = cut();
    assert_snapshot!(env.run(&["retry", "small", "--assume", "not-done"]), @"
    exit 0
    ----- stdout -----
    undecided box Install: its outcome is unknown
    info      box: the operator reported Install as not done
      + box added (resource::box::1.0)
    1 to add
    small: 2 steps, up to 1 at once (p2 up, resumes p1)
       s1 box Install
       s2 box Start

    ok        box Install LONG
    ok        box Start LONG

    done: small is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Install", "Install", "Start"]);
    env.ok(&["down", "small"]);
}

#[test]
fn a_call_answered_as_failed_is_cleared_away_first() {
    let env = cut();
    assert_snapshot!(env.run(&["retry", "small", "--assume", "failed"]), @"
    exit 0
    ----- stdout -----
    undecided box Install: its outcome is unknown
    info      box: the operator reported Install as failed
      -/+ box replaced, it has failed
    1 to replace
    small: 3 steps, up to 1 at once (p2 up, resumes p1)
       s1 box Uninstall
       s2 box Install
       s3 box Start

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
    error[WL0800]: the following required arguments were not provided:
      --assume <ANSWER>

    Usage: windlass retry --assume <ANSWER> --of <PART|CALL> <NAME>

    For more information, try '--help'.
    ");
    assert_snapshot!(env.run(&["retry", "small", "--assume", "done", "--of", "bx"]), @"
    exit 2
    ----- stderr -----
    error[WL0554]: `small` has no part `bx`; did you mean `box`?
    ");
    env.ok(&["retry", "small", "--assume", "done", "--of", "box", "--natural", "b-1"]);
    assert_eq!(env.trace(), ["Install", "Start"]);
    env.ok(&["down", "small"]);
}

/// Calls of parts that are being removed are decided one by one, because two killed Stops may have ended
/// differently.
#[test]
fn parts_that_are_leaving_are_answered_for_one_by_one() {
    let stop = r#"[ -e "$WINDLASS_VOLUME_STATE/go" ] || exec sleep 600"#;
    let scripts = [("Install", "answer"), ("Start", ""), ("Stop", stop), ("Uninstall", "")];
    let env = TestEnv::small("effect: once", &scripts);
    env.edit("small/assembly.yaml", "composition:", "properties: {nodes: {default: 3}}\ncomposition:");
    env.edit("small/assembly.yaml", "quantity: 1", "quantity: '${nodes}'");
    env.ok(&["up", "small"]);
    env.clear_trace();
    env.cut_when(&["up", "small", "-p", "nodes=1", "--yes"], &["Stop", "Stop"]);
    env.write(".windlass/volumes/state/go", "");
    env.clear_trace();
    assert_snapshot!(env.run(&["up", "small", "-p", "nodes=1", "--yes"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box__2 Stop (started WHEN): its job ended while windlass did not watch it, and left no result
      box__3 Stop (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`; `--of PART` reports one part at a time
    ");
    // Each printed command decides only the call above it, even if the status shows no other part.
    let advice = |args: &[&str]| {
        let status = env.ok(args).stdout;
        let lines: Vec<&str> =
            status.lines().filter(|line| line.contains("check it")).map(str::trim).collect();
        lines.join("\n")
    };
    assert_snapshot!(advice(&["status"]), @"
    check it, then run `windlass retry small --of box__2 --assume done`, `not-done` or `failed`
    check it, then run `windlass retry small --of box__3 --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(advice(&["status", "small", "box__3"]), @"check it, then run `windlass retry small --of box__3 --assume done`, `not-done` or `failed`");
    assert_snapshot!(env.run(&["retry", "small", "--assume", "done", "--of", "box__2"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box__3 Stop (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_eq!(env.trace(), [""; 0]);
    env.ok(&["retry", "small", "--assume", "not-done", "--of", "box__3"]);
    // Only the part whose Stop was not done is stopped again.
    let mut trace = env.trace();
    trace.sort();
    assert_eq!(trace, ["Stop", "Uninstall", "Uninstall"]);
    env.ok(&["down", "small"]);
}

/// The question about an operation names the relationship and its two nodes.
#[test]
fn an_operation_is_shown_with_its_relationship_and_pair() {
    let join = r#"[ -e "$WINDLASS_VOLUME_STATE/go" ] || exec sleep 600"#;
    let env = TestEnv::small("effect: once", &[("Install", "answer"), ("Join", join), ("Uninstall", "")]);
    env.edit(RESOURCE, "  Join: {}\n", "");
    env.edit(RESOURCE, "lifecycle:", "operations: {Join: {}}\nlifecycle:");
    env.write(
        "small/assembly.yaml",
        "name: assembly::small::1.0
composition:
  db: {type: resource::box::1.0}
  web: {type: resource::box::1.0}
relationships:
  reads:
    source-capabilities: [db.data]
    target-requirements: [web.data]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Join]}
",
    );
    env.cut_when(&["up", "small"], &["Install", "Install", "Join"]);
    env.write(".windlass/volumes/state/go", "");
    assert_snapshot!(env.run(&["up", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      web Join of reads, db → web (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    assert_snapshot!(env.ok(&["status"]).out(), @"
    small incomplete assembly::small::1.0, AGE
      1 of 2 Active
      web Join of reads, db → web: its outcome is unknown
        check it, then run `windlass retry small --assume done`, `not-done` or `failed`
    ├─ db Active AGE
    └─ web Inactive AGE
         the outcome of Join is unknown: its job ended while windlass did not watch it, and left no result
    ");
    let undecided = &env.json(&["status"])["assemblies"][0]["undecided"][0];
    assert_eq!((&undecided["relationship"], &undecided["action"]), (&"reads".into(), &"Join".into()));
    assert_eq!(undecided["pair"]["source"], "small__db");
    assert_eq!(undecided["pair"]["target"], "small__web");
    env.ok(&["retry", "small", "--assume", "done"]);
    assert_eq!(env.trace(), ["Install", "Install", "Join"]);
    env.ok(&["down", "small"]);
}

/// Two lost calls of one part can have different outcomes, so each is answered by its id.
#[test]
fn two_calls_of_one_part_are_answered_one_by_one() {
    // The script ends its supervisor, so its outcome is lost.
    let join = r#"[ -e "$WINDLASS_VOLUME_STATE/go" ] || kill -9 $PPID"#;
    let env = TestEnv::small("effect: once", &[("Install", "answer"), ("Join", join), ("Uninstall", "")]);
    env.edit(RESOURCE, "  Join: {}\n", "");
    env.edit(RESOURCE, "lifecycle:", "operations: {Join: {}}\nlifecycle:");
    env.write(
        "small/assembly.yaml",
        "name: assembly::small::1.0
composition:
  api: {type: resource::box::1.0}
  web: {type: resource::box::1.0}
  lb: {type: resource::box::1.0}
relationships:
  serves:
    source-capabilities: [api.data]
    target-requirements: [lb.data]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Join]}
  shows:
    source-capabilities: [web.data]
    target-requirements: [lb.data]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Join]}
",
    );
    let up = env.run(&["up", "small"]).stdout;
    let advice = "  check them, then run `windlass retry small --assume done`, `not-done` or `failed`; \
                  `windlass status small` prints a command for each of them\n";
    assert!(up.ends_with(advice), "{up}");
    let undecided = env.json(&["status", "small"])["assemblies"][0]["undecided"].clone();
    let calls: Vec<&str> =
        undecided.as_array().unwrap().iter().map(|call| call["call"].as_str().unwrap()).collect();
    let [serves, shows] = calls[..] else { panic!("{undecided}") };
    assert_snapshot!(env.run(&["up", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      lb Join of serves, api → lb (started WHEN; call STORE-p1-s4-c0): its supervisor died before it ended
      lb Join of shows, web → lb (started WHEN; call STORE-p1-s5-c0): its supervisor died before it ended
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`; `--of PART` reports one part at a time, `--of CALL` one call
    ");
    assert_snapshot!(env.ok(&["status"]).out(), @"
    small incomplete assembly::small::1.0, AGE
      2 of 3 Active
      lb Join of serves, api → lb: its outcome is unknown
        check it, then run `windlass retry small --of STORE-p1-s4-c0 --assume done`, `not-done` or `failed`
      lb Join of shows, web → lb: its outcome is unknown
        check it, then run `windlass retry small --of STORE-p1-s5-c0 --assume done`, `not-done` or `failed`
    ├─ api Active AGE
    ├─ web Active AGE
    └─ lb Inactive AGE
         the outcome of Join is unknown: its supervisor died before it ended
    ");
    env.write(".windlass/volumes/state/go", "");
    env.run(&["retry", "small", "--assume", "done", "--of", serves]);
    env.clear_trace();
    env.ok(&["retry", "small", "--assume", "not-done", "--of", shows]);
    assert_eq!(env.trace(), ["Join"]);
    env.ok(&["down", "small"]);
}

#[test]
fn without_a_question_there_is_no_answer() {
    let env = TestEnv::small("effect: once", &[("Install", "answer"), ("Uninstall", "")]);
    assert_snapshot!(env.refuses(&["retry", "small", "--assume", "done"]), @"error[WL0500]: there is no assembly `small`: the folder `PROJECT` has no state; run windlass in the folder of the project, or name the state's database by `--state`");
    env.ok(&["up", "small"]);
    assert_snapshot!(env.refuses(&["retry", "small", "--assume", "done"]), @"error[WL0515]: `small` has no undecided call; run `windlass retry small` without `--assume`");
    assert_snapshot!(env.ok(&["retry", "small"]), @"
    exit 0
    ----- stdout -----
    small: nothing to call (p2 up)

    done: small is Active (LONG)
    ");
}

/// Returns a project as [`cut`] does. In addition, `box` publishes an address and a key, and `reader`
/// receives both.
fn cut_with_reader() -> TestEnv {
    let pay = r#"answer; [ -e "$WINDLASS_VOLUME_STATE/go" ] || exec sleep 600"#;
    let env = TestEnv::small("effect: once", &[("Install", pay), ("Uninstall", "")]);
    env.edit(
        RESOURCE,
        "lifecycle:",
        "properties: {address: {read-only: true}, key: {read-only: true, type: password}}\nlifecycle:",
    );
    env.write(
        "small/assembly.yaml",
        "name: assembly::small::1.0
composition:
  box: {type: 'resource::box::1.0'}
  reader:
    type: resource::reader::1.0
    properties: {address: {value: '${box.address}'}, key: {value: '${box.key}'}}
",
    );
    let reader = "small/Contains/reader";
    env.write(
        &format!("{reader}/resource.yaml"),
        "name: resource::reader::1.0
properties: {address: {}, key: {type: password}}
lifecycle: [Install]
default-driver: {script: {properties: {effect: repeatable}}}
",
    );
    env.script(
        &format!("{reader}/Lifecycle/script/scripts/Install.sh"),
        r#"#!/bin/sh
set -eu
input=$(cat)
trace=$(printf '%s\n' "$input" | sed -n 's/^ *location.trace: "\(.*\)"$/\1/p')
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;}')
printf '%s\n' "$input" | sed -n 's/^ *properties.\(.*: ".*"\)$/\1/p' >>"$trace"
printf 'instances:\n  "%s":\n    instanceId: "%s"\n' "$id" "$id"
"#,
    );
    cut_in_the_middle(&env);
    env.clear_trace();
    env
}

/// An answer of `done` includes the outputs, from which other parts are created. A secret stays secret.
#[test]
fn outputs_of_a_lost_call_are_given_by_the_user() {
    let env = cut_with_reader();
    env.write("key.txt", "hunter22\n");
    let retry = |rest: &[&str]| env.run(&[&["retry", "small"], rest].concat());
    assert_snapshot!(retry(&["--assume", "done", "--published", "adress=10.0.0.5"]), @"
    exit 2
    ----- stderr -----
    error[WL0520]: `box` does not publish `adress`; its outputs are `address` and `key`
    ");
    assert_snapshot!(retry(&["--assume", "failed", "--published", "address=10.0.0.5"]), @"
    exit 2
    ----- stderr -----
    error[WL0520]: `--published` requires `--assume done`
    ");
    assert_snapshot!(retry(&["--assume", "done", "--published", "address"]), @"
    exit 2
    ----- stderr -----
    error[WL0800]: `--published address` has no `=`: write `--published name=value`, `--published name=@FILE` or `--published name=-`
    ");
    assert_snapshot!(retry(&["--published", "address=10.0.0.5"]), @"
    exit 2
    ----- stderr -----
    error[WL0800]: the following required arguments were not provided:
      --assume <ANSWER>

    Usage: windlass retry --assume <ANSWER> --published <KEY=VALUE> <NAME>

    For more information, try '--help'.
    ");
    assert_eq!(env.trace(), Vec::<String>::new(), "what is refused changes nothing");
    let done = [
        "--assume",
        "done",
        "--of",
        "box",
        "--natural",
        "b-1",
        "--published",
        "address=10.0.0.5",
        "--published",
        "key=@key.txt",
    ];
    assert_snapshot!(retry(&done), @"
    exit 0
    ----- stdout -----
    info      box: the operator reported Install as done
      ~ box changed, Installed → Active
      + reader added (resource::reader::1.0)
    1 to add, 1 to change
    small: 1 step, up to 2 at once (p2 up)
       s1 reader Install

    ok        reader Install LONG

    done: small is Active (LONG)
    ");
    let mut given = env.trace();
    given.sort();
    assert_eq!(given, ["address: \"10.0.0.5\"", "key: \"hunter22\""]);
    let status = env.json(&["status", "small"]);
    let outputs = &status["assemblies"][0]["components"][0]["outputs"];
    assert_eq!(outputs, &serde_json::json!({"address": "10.0.0.5", "key": "***"}));
    let seen = format!("{}{}", env.ok(&["log", "small"]), env.ok(&["status"]));
    assert!(!seen.contains("hunter22"), "{seen}");
    env.ok(&["down", "small"]);
}

/// Outputs of an earlier Install do not count as outputs of a lost, repeated Install.
#[test]
fn earlier_outputs_are_not_taken_for_those_of_a_lost_call() {
    let pay = r#"printf 'instances: {"%s": {interfaces: {properties: {signals: {address: 10.0.0.1}}}}}\n' \
    "$(printf '%s\n' "$input" | sed -n '/^instances:$/{n;s/^ *\(.*\):.*/\1/p;}' | tr -d '"')"
[ ! -e "$WINDLASS_VOLUME_STATE/stop" ] || exec sleep 600"#;
    let scripts = [
        ("Create", "answer"),
        ("Install", pay),
        ("Start", ""),
        ("Stop", ""),
        ("Uninstall", r#"until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#),
        ("Delete", ""),
    ];
    let env = TestEnv::small("effect: once", &scripts);
    env.edit(RESOURCE, "lifecycle:", "properties: {size: {}, address: {read-only: true}}\nlifecycle:");
    env.write(
        "small/assembly.yaml",
        "name: assembly::small::1.0
properties: {size: {default: 1}, address: {read-only: true, value: '${box.address}'}}
composition: {box: {type: 'resource::box::1.0', properties: {size: {value: '${size}'}}}}
",
    );
    assert!(env.ok(&["up", "small"]).stdout.contains("address: 10.0.0.1"));
    env.clear_trace();
    // The change to another version is interrupted and rolled back; then there is no second Create.
    let other = env.spawn(&["up", "small", "-p", "size=2", "--grace", "60", "--yes"]);
    until("it is uninstalled", || env.trace() == ["Stop", "Uninstall"]);
    other.signal(rustix::process::Signal::INT);
    until("it stops", || other.stderr().contains("stopping"));
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(other.end().code(), Some(130));
    env.write(".windlass/volumes/state/stop", "");
    env.cut_when(&["up", "small"], &["Stop", "Uninstall", "Install"]);
    assert_snapshot!(env.ok(&["retry", "small", "--assume", "done"]), @"
    exit 0
    ----- stdout -----
    undecided box Install: its outcome is unknown
    info      box: the operator reported Install as done
      ~ box changed, Installed → Active
    1 to change
    small: 1 step, up to 1 at once (p4 up, resumes p3)
       s1 box Start

    ok        box Start LONG

    done: small is Active (LONG)
    ----- stderr -----
    note: output `address` of `box` is unknown without `--published`; unless its report is found, parts that read it wait until you re-create `box` with `windlass up … --replace box`
    ");
    assert_snapshot!(env.ok(&["status"]), @"
    exit 0
    ----- stdout -----
    small Active assembly::small::1.0, AGE
    └─ box Active AGE
    ");
}

/// The operator states that an interrupted call is done, but supplies only some of its outputs, in a file. windlass
/// must report the unknown output. If the operator passes a secret output on the command line, windlass must warn.
#[test]
fn unknown_outputs_are_reported() {
    let env = cut_with_reader();
    env.write("told.yaml", "address: 10.0.0.5\n");
    assert_snapshot!(env.run(&["retry", "small", "--assume", "done", "--natural", "b-1", "--published-from", "told.yaml"]), @"
    exit 2
    ----- stderr -----
    note: output `key` of `box` is unknown without `--published`; unless its report is found, parts that read it wait until you re-create `box` with `windlass up … --replace box`
    error[WL0538]: `small__box` is installed and has published no property `key`; correct its package if necessary, and re-create it with `windlass up --replace box`
    ");
    let lost = env.ok(&["up", "small", "--replace", "box", "--dry-run"]);
    assert!(lost.stdout.contains("box replaced"), "{lost}");
    let env = cut_with_reader();
    let open = ["--published", "key=hunter22", "--published", "address=a"];
    let run = env.ok(&[&["retry", "small", "--assume", "done", "--natural", "b-1"], &open[..]].concat());
    assert_snapshot!(run.stderr, @"
    warning[WL0153]: `key` is a secret, and its value was passed on the command line
     |
     = help: use `--published key=@FILE`, `--published key=-` or `--published-from FILE`
    ");
}

/// Only the command is killed: its supervisor lets the script finish, and the next `up` uses its result.
#[test]
fn a_script_that_outlives_the_command_counts() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", "")]);
    let up = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install"]);
    up.kill();
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Start"]);
}

/// After an interruption, the location lacks a secret. The call stays open, and its result is found as soon as the
/// secret is there again. The script does not run a second time.
#[test]
fn a_call_without_its_location_stays_open() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", "")]);
    env.edit("windlass.yaml", "    properties:\n", "    properties:\n      token: {file: token}\n");
    env.write("token", "hunter22");
    let up = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install"]);
    up.kill();
    env.write(".windlass/volumes/state/go", "");
    std::fs::remove_file(env.path("token")).unwrap();
    assert_snapshot!(env.run(&["up", "small"]), @"
    exit 2
    ----- stderr -----
    error[WL0545]: these calls were interrupted, and windlass can't determine their outcome at present:
      box Install (started WHEN): the property `token` of the location `admin@local` is to be read from `PROJECT/token`: no such file or directory
    correct the cause, and repeat the command; if that is impossible, check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    env.write("token", "hunter22");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Start"]);
}

/// The secret of the location is lost for ever. The operator states that the interrupted script has done nothing.
/// windlass must record this statement, although it refuses the next step because of the lost secret.
#[test]
fn a_call_whose_location_is_lost_is_answered() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", "")]);
    env.edit("windlass.yaml", "    properties:\n", "    properties:\n      token: {file: token}\n");
    env.write("token", "hunter22");
    env.cut_when(&["up", "small"], &["Install"]);
    std::fs::remove_file(env.path("token")).unwrap();
    let answered = env.run(&["retry", "small", "--assume", "not-done"]);
    assert!(answered.stderr.starts_with("error[WL0513]"), "{answered}");
    env.write("token", "another");
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install", "Install", "Start"]);
}

/// Two calls were interrupted. Their location lacks a secret, so windlass can't determine their outcomes. An answer
/// about one part must decide only the call of this part. The other call must stay open.
#[test]
fn an_answer_about_one_part_decides_no_other_call() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", "")]);
    env.edit("windlass.yaml", "    properties:\n", "    properties:\n      token: {file: token}\n");
    env.write("token", "hunter22");
    env.edit("small/assembly.yaml", "quantity: 1", "quantity: 2");
    env.cut_when(&["up", "small"], &["Install", "Install"]);
    std::fs::remove_file(env.path("token")).unwrap();
    assert_snapshot!(env.run(&["retry", "small", "--assume", "not-done", "--of", "box__1"]), @"
    exit 1
    ----- stderr -----
    error[WL0545]: the answer is recorded; but these calls were interrupted, and windlass can't determine their outcome at present:
      box__2 Install (started WHEN): the property `token` of the location `admin@local` is to be read from `PROJECT/token`: no such file or directory
    correct the cause, and run `windlass retry small`; if that is impossible, check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    env.write("token", "hunter22");
    env.write(".windlass/volumes/state/go", "");
    assert_snapshot!(env.run(&["up", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box__2 Install (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    env.ok(&["retry", "small", "--assume", "not-done"]);
    assert_eq!(env.trace().iter().filter(|line| *line == "Install").count(), 4);
}
