//! `windlass simulate`: days of applications on a virtual clock.

use std::path::Path;

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::Value;

use crate::env::{TestEnv, copy};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/applications");

/// Returns a project with the applications of the fixtures.
fn fixtures() -> TestEnv {
    let env = TestEnv::bare();
    copy(Path::new(FIXTURES), &env.path(""));
    env
}

/// Returns a project with a factory and an application with shell scripts. Each machine is a file in the
/// folder `cloud`.
fn shell() -> TestEnv {
    let env = fixtures();
    let cloud = env.path("cloud");
    std::fs::create_dir(&cloud).unwrap();
    let environment = format!("    environment: {{CLOUD: {}}}\n", cloud.display());
    env.write(
        "windlass.yaml",
        format!("version: 1\nlocations:\n  here:\n    runtime: process\n    input: json\n{environment}"),
    );
    for (name, script) in [
        ("launch", LAUNCH),
        ("destroy", "printf 'instances: {}\\n'"),
        ("healthCheck", CHECK),
        ("discover", DISCOVER),
    ] {
        env.script(&format!("sh/vm/{name}.py"), format!("#!/bin/sh\n{script}\n"));
    }
    env
}

const LAUNCH: &str = r#"
id=$(sed 's/.*"launch":{"\([a-z0-9]*\)".*/\1/')
touch "$CLOUD/i-$id"
echo "{instances: {i-$id: {instanceId: $id, status: {flags: {active: true}}}}}""#;

const CHECK: &str = r#"
cat >/dev/null
echo check >>"$CLOUD/.checks"
echo "instances:"
for file in "$CLOUD"/*; do echo "  ${file##*/}: {status: {flags: {active: true}}}"; done"#;

const DISCOVER: &str = r#"
echo discover >>"$CLOUD/.searches"
echo "instances:"
echo "  i-found: {name: found outside}"
touch "$CLOUD/i-found""#;

/// Runs a simulation with `--format json`. Returns its events and its summary.
fn simulated(env: &TestEnv, args: &[&str]) -> (Vec<Value>, Value) {
    let args: Vec<&str> = ["simulate", "vm.yaml", "vm-factory.yaml", "--format", "json"]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    let run = env.ok(&args);
    let mut lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap();
    (lines, summary)
}

/// Returns the events as text: the offset in seconds, the application, the kind and the text.
fn told(events: &[Value]) -> Vec<String> {
    let text = |event: &Value| {
        let seconds = event["offset_ms"].as_u64().unwrap() / 1000;
        let word = |key: &str| event[key].as_str().unwrap().to_owned();
        format!("{seconds} {} {}: {}", word("application"), word("event"), word("text"))
    };
    events.iter().map(text).collect()
}

#[test]
fn a_day_without_scripts_and_answers_goes_well() {
    let env = fixtures();
    let before = env.files();
    assert_snapshot!(env.ok(&["simulate", "vm.yaml", "vm-factory.yaml"]).out(), @"
    +00:00:00 vm: its status is `active`, and was `-`
    +00:00:00 vm: is launched as vm: active

    from WHEN until WHEN (no scripts ran, and all would succeed)
      discover: 288 runs
      health-check: 1441 runs
      launch: 1 run
      1 launched, 0 adopted, 0 destroyed, 1 change
      applications at the end: 1 active
    ");
    assert_eq!(env.files(), before, "nothing is recorded");
}

/// With `--scripts`, real scripts run, and a discovery finds an instance that was created outside of
/// windlass.
#[test]
fn scripts_run_for_real() {
    let env = shell();
    let (events, summary) =
        simulated(&env, &["--scripts", "sh", "--for", "11m", "--count", "2", "--health", "300"]);
    let launched: Vec<&Value> = events.iter().filter(|event| event["event"] == "launched").collect();
    assert_eq!(launched.len(), 2, "{events:?}");
    let adopted: Vec<String> = told(&events).into_iter().filter(|text| text.contains(" adopted: ")).collect();
    assert_eq!(adopted, ["300 found-outside adopted: is adopted: vm-factory has found i-found"]);
    assert_eq!(env.read("cloud/.searches").lines().count(), 2);
    // Each launched application is first checked alone, and then all applications together.
    let checks = summary["scripts"]["health-check"]["runs"].as_u64().unwrap();
    assert_eq!(env.read("cloud/.checks").lines().count() as u64, checks);
    assert_eq!((&summary["applications"]["active"], &summary["adopted"]), (&3.into(), &1.into()));
    assert_eq!(summary["scripts"]["launch"], serde_json::json!({"runs": 2, "failed": 0}));
    env.is_quiet();
}

/// A file of answers contains late results of commands, failures, reconfigurations and removals, each with
/// its time.
#[test]
fn a_file_has_answers_and_actions() {
    let env = fixtures();
    env.write("answers.yaml", ANSWERS);
    let args = [
        "simulate",
        "vm.yaml",
        "vm-factory.yaml",
        "--answers",
        "answers.yaml",
        "--for",
        "12h",
        "--count",
        "2",
    ];
    let run = env.ok(&args);
    assert_snapshot!(run.out(), @"
    +00:00:00 vm: its status is `active`, and was `-`
    +00:00:00 vm: `compute.ip` is 203.0.113.7
    +00:00:00 vm: is launched as vm: active
    +00:00:00 vm-2: its status is `active`, and was `-`
    +00:00:00 vm-2: `compute.ip` is 203.0.113.7
    +00:00:00 vm-2: is launched as vm-2: active
    +00:30:00 vm-3: the launch failed: `launch.py` exited with code 1: the quota is used up
    +01:00:00 vm-3: its script says that it is destroyed
    +01:00:09 vm-2: the health check failed: `healthCheck.py` exited with code 1: connection refused
    +01:30:09 vm-2: the health check works again
    +02:00:00 vm: command `control.reboot` (simp167s1c0): progress: phase: stopping
    +02:00:00 vm: command `control.reboot` (simp167s1c0): its final result is awaited
    +02:05:09 vm: command `control.reboot` (simp167s1c0): result: result: booted
    +04:00:00 vm: is reconfigured
    +05:00:00 vm-2: its status is `-`, and was `active`
    +05:00:00 vm-2: its script says that it is destroyed
    +06:00:00 vm-9: destroy: there is no such application
    +07:00:00 lost-and-found: is adopted: vm-factory has found i-100
    +07:00:09 lost-and-found: its status is `active`, and was `-`
    +08:00:09 lost-and-found: its status is `degraded`, and was `active`: no disk
    +09:00:00 vm-factory: the discovery failed: the output of `discover.py` can't be used: stdout of discover.py:1:12: error[WL0019]: `[` is never closed
                    | instances: [
                    help: close it with `]`, or quote the text
    +10:00:00 vm-factory: the discovery works again
    +11:00:00 lost-and-found: its status is `-`, and was `degraded`
    +11:00:00 lost-and-found: its script says that it is destroyed

    from WHEN until WHEN (answers)
      command: 1 run
      destroy: 2 runs
      discover: 144 runs, 12 failed
      health-check: 753 runs, 31 failed
      launch: 3 runs, 1 failed
      reconfigure: 1 run
      2 launched, 1 adopted, 3 destroyed, 8 changes
      applications at the end: 1 active
    ");
    assert_eq!(env.ok(&args).stdout, run.stdout, "the same input gives the same bytes");
    let strict: Vec<&str> = args.iter().copied().chain(["--strict"]).collect();
    assert_eq!(env.run(&strict).code(), Some(1));
    let other: Vec<&str> = args.iter().copied().chain(["--seed", "2"]).collect();
    assert_ne!(env.ok(&other).stdout, "");
}

const ANSWERS: &str = r#"
version: 1
actions:
- {at: 30m, launch: VM}
- {at: 1h, destroy: vm-3}
- {at: 2h, command: control.reboot, application: vm, arguments: {force: true}}
- {at: 4h, reconfigure: vm, values: {configuration.instance-type: m3.large}}
- {at: 5h, destroy: vm-2}
- {at: 6h, destroy: vm-9}
answers:
- script: launch
  from: 30m
  fail: the quota is used up
- script: launch
  update: {status: {flags: {active: true}}, interfaces: {compute: {signals: {ip: 203.0.113.7}}}}
- {script: control.reboot, results: [{$intermediate: true, phase: stopping}]}
- {script: health-check, from: 2h5m, results: [{result: booted}]}
- {script: health-check, applications: [vm-2], from: 1h, until: 1h30m, fail: connection refused}
- script: health-check
  applications: [i-100]
  from: 8h
  update: {$set: {status.flags.failed: true, status.message: no disk}}
- {script: discover, from: 7h, until: 8h, instances: {i-100: {name: lost and found}}}
- {script: discover, from: 9h, until: 10h, stdout: "instances: ["}
- {script: discover, from: 11h, instances: {i-100: {status: {flags: {active: false}}}}}
"#;

/// An action after the end of the simulation has no effect, and gets a warning.
#[test]
fn an_action_may_be_too_late() {
    let env = fixtures();
    env.write(
        "answers.yaml",
        "version: 1\nactions:\n- {at: 1h, launch: VM}\n- {at: 3h, command: control.reboot, application: vm}\n",
    );
    let run = |time: &str| {
        env.ok(&["simulate", "vm.yaml", "vm-factory.yaml", "--answers", "answers.yaml", "--for", time])
    };
    assert_snapshot!(run("2h").stderr, @"
    warning[WL0783]: the simulation ends before this action, so the action has no effect
     --> answers.yaml:4:8
      |
    4 | - {at: 3h, command: control.reboot, application: vm}
      |        ^^
      |
      = help: choose an earlier time, or simulate a longer time with `--for`
    ");
    let in_time = run("3h");
    assert_eq!(in_time.stderr, "");
    assert!(in_time.stdout.contains("+03:00:00 vm: "), "{in_time}");
}

/// The schedules are the same as in the daemon: here a discovery every five minutes, and a health check every
/// minute.
#[test]
fn the_schedules_are_those_of_the_daemon() {
    let env = fixtures();
    let (_, summary) = simulated(&env, &[]);
    assert_eq!(summary["scripts"]["discover"]["runs"], 288);
    let checks = summary["scripts"]["health-check"]["runs"].as_u64().unwrap();
    assert!((1439..=1442).contains(&checks), "{checks}");
    let (_, summary) = simulated(&env, &["--for", "1h", "--from", "2026-01-31T08:15:00Z", "--health", "0"]);
    assert_eq!(summary["scripts"]["discover"]["runs"], 12);
    assert_eq!(summary["scripts"]["health-check"]["runs"], 1, "that of the launch");
    assert_eq!(summary["from"], "2026-01-31T08:15:00.000Z");
}

/// A discovery that takes longer than its period never runs twice at once. All times that it misses cause one
/// run.
#[test]
fn missed_times_count_as_one() {
    let env = fixtures();
    env.write(
        "answers.yaml",
        "version: 1\nanswers:\n- {script: discover, until: 10m, takes: 6m}\n- {script: health-check, takes: 59s}\n",
    );
    let (_, summary) = simulated(&env, &["--for", "1h", "--answers", "answers.yaml", "--health", "0"]);
    // The run of 5:00 ends at 11:00. Then the missed run of 10:00 begins. All later runs begin in time.
    assert_eq!(summary["scripts"]["discover"]["runs"], 12);
    assert_eq!(summary["missed"], 1);
    env.edit("answers.yaml", "until: 10m, takes: 6m", "takes: 9m");
    let (_, summary) = simulated(&env, &["--for", "1h", "--answers", "answers.yaml", "--health", "0"]);
    assert_eq!(summary["scripts"]["discover"]["runs"], 6, "{summary}");
}

/// A health check of several applications takes longer than its timeout, because one application is slow. windlass must
/// check the applications again in smaller groups, and report a failure only for the slow one.
#[test]
fn a_slow_script_times_out() {
    let env = fixtures();
    env.write(
        "answers.yaml",
        "version: 1\nanswers:\n- {script: health-check, applications: [vm-2], from: 10m, until: 20m, takes: 2m}\n",
    );
    let (events, summary) = simulated(&env, &["--for", "1h", "--answers", "answers.yaml", "--count", "3"]);
    let told: Vec<String> = told(&events).into_iter().filter(|text| text.contains("health check")).collect();
    let applications: Vec<&str> = told.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
    assert_eq!(applications, ["vm-2", "vm-2"], "{told:?}");
    assert!(told[0].contains("fails: ") && told[1].contains("works again"), "{told:?}");
    assert_eq!(summary["applications"]["active"], 3);
}

/// All health checks give the same answer, and the simulation normally skips equal answers. But a command ends at its
/// deadline only when an answer is applied. Therefore, the simulation must apply equal answers as long as a command is
/// open.
#[test]
fn a_command_without_results_expires_in_time() {
    let env = fixtures();
    env.write(
        "answers.yaml",
        "version: 1\nactions:\n- {at: 1h, command: control.reboot, application: vm, arguments: {force: true}}\n\
         answers:\n- {script: control.reboot, results: []}\n",
    );
    let (events, _) = simulated(&env, &["--for", "4h", "--answers", "answers.yaml"]);
    let told: Vec<String> = told(&events).into_iter().filter(|text| text.contains("command")).collect();
    assert_eq!(
        told,
        [
            "3600 vm command: command `control.reboot` (simp79s1c0): its final result is awaited",
            "7209 vm command: command `control.reboot` (simp79s1c0): no final result arrived in time",
        ]
    );
}

/// A problem that occurs repeatedly is reported as an event only once.
#[test]
fn a_repeated_failure_is_one_event() {
    let env = fixtures();
    env.write("answers.yaml", "version: 1\nanswers:\n- {script: discover, fail: no route}\n");
    let (events, summary) = simulated(&env, &["--answers", "answers.yaml"]);
    assert_eq!(summary["scripts"]["discover"], serde_json::json!({"runs": 288, "failed": 288}));
    assert_eq!(events.iter().filter(|event| event["event"] == "fails").count(), 1, "{events:?}");
}

/// Secrets of the configuration are masked.
#[test]
fn secrets_are_masked() {
    let env = fixtures();
    env.write(
        "answers.yaml",
        "version: 1\nanswers:\n- {script: launch, update: {status: {flags: {active: true}}, interfaces: {compute: {signals: \
         {ip: my-s3cr3t-word}}}}}\n",
    );
    let args =
        ["--answers", "answers.yaml", "--for", "1m", "-p", "configuration.login-password=my-s3cr3t-word"];
    let (events, _) = simulated(&env, &args);
    let told = told(&events);
    assert!(told.iter().any(|text| text.ends_with("`compute.ip` is ***")), "{told:?}");
}

#[rstest]
#[case::a_version("version: 2\n", "answers.yaml:1:10 error[WL0780]: the file of answers has version 2")]
#[case::an_unknown_key("version: 1\nanswer: []\n", "answers.yaml:2:1 error[WL0040]: unknown key `answer`")]
#[case::an_unknown_script(
    "version: 1\nanswers:\n- {script: healthcheck}\n",
    "answers.yaml:3:12 error[WL0780]: there is no script `healthcheck`"
)]
#[case::an_unknown_title(
    "version: 1\nactions:\n- {at: 1h, launch: Machine}\n",
    "answers.yaml:3:20 error[WL0780]: there is no application `Machine`"
)]
#[case::a_wrong_time(
    "version: 1\nactions:\n- {at: soon, destroy: vm}\n",
    "answers.yaml:3:8 error[WL0780]: `soon` is no time"
)]
#[case::two_intents(
    "version: 1\nactions:\n- {at: 1h, destroy: vm, launch: VM}\n",
    "answers.yaml:3:3 error[WL0780]: an action is one intent"
)]
#[case::a_stray_key(
    "version: 1\nanswers:\n- {script: destroy, id: x}\n",
    "answers.yaml:3:21 error[WL0780]: `id` belongs to `launch`"
)]
#[case::a_wrong_update(
    "version: 1\nanswers:\n- {script: health-check, update: {status: {flags: {activ: true}}}}\n",
    "answers.yaml:3:52 error[WL0780]: the update can't be used: `status.flags.activ`: no such path"
)]
#[case::two_answers(
    "version: 1\nanswers:\n- {script: discover, stdout: x, fail: y}\n",
    "answers.yaml:3:3 error[WL0780]: an answer is data, a text or a failure"
)]
#[case::a_cycle_without_length(
    "version: 1\nanswers:\n- {script: discover, every: 0, for: 1m}\n",
    "answers.yaml:3:29 error[WL0780]: a period of 0 has no length"
)]
#[case::half_a_cycle(
    "version: 1\nanswers:\n- {script: discover, every: 1h}\n",
    "answers.yaml:3:3 error[WL0780]: `every` and `for` belong together"
)]
fn a_wrong_file_is_refused(#[case] answers: &str, #[case] error: &str) {
    let env = fixtures();
    env.write("answers.yaml", answers);
    let refused = env.refuses(&["simulate", "vm.yaml", "vm-factory.yaml", "--answers", "answers.yaml"]);
    let mut lines = refused.lines();
    let (message, place) = (lines.next().unwrap(), lines.next().unwrap());
    assert_eq!(format!("{} {message}", place.trim().trim_start_matches("--> ")), error, "{refused}");
}

#[test]
fn manifests_that_do_not_fit_are_refused() {
    let env = fixtures();
    assert_snapshot!(env.refuses(&["simulate", "vm.yaml"]), @"
    error[WL0781]: no factory `VM Factory` is given
      --> vm.yaml:16:23
       |
    16 |         factory.name: VM Factory
       |                       ^^^^^^^^^^
       |
       = help: add its manifest to the command; `TITLE=FILE` gives a file another title

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["simulate", "vm.yaml", "vm.yaml", "vm-factory.yaml"]), @"
    error[WL0781]: there are two manifests with the title `VM`
     --> vm.yaml:2:1
      |
    2 | application:
      | ^^^^^^^^^^^
      |
      = help: give one of them another title: `TITLE=FILE`

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["simulate", "vm.yaml", "vm-factory.yaml", "-p", "configuration.regio=eu"]), @"
    error[WL0640]: no manifest has the parameter `configuration.regio`
     |
     = help: did you mean `configuration.region`?

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["simulate", "vm.yaml", "vm-factory.yaml", "--for", "tomorrow"]), @"
    error[WL0800]: invalid value 'tomorrow' for '--for <DURATION>': expected a time such as 30s, AGE, 1h30m or 1d

    For more information, try '--help'.
    ");
    // An argument `TITLE=FILE` sets the title of the manifest.
    env.write("machine.yaml", env.read("vm.yaml"));
    env.ok(&["simulate", "VM=machine.yaml", "vm-factory.yaml", "--for", "1m"]);
}
