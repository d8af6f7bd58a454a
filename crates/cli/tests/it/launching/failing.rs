//! Launches that fail, or are interrupted.

use insta::assert_snapshot;

use super::{cloud, count, machines, publish, trace};
use crate::env::{TestEnv, until};
use crate::proc::Process;

#[test]
fn a_launch_that_fails_is_recorded() {
    let env = cloud();
    let run = env.run(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=refused"]);
    assert_eq!(run.code(), Some(1), "{run}");
    let run = env.run(&["app", "launch", "VM", "--name", "b", "-p", "configuration.size=dead"]);
    assert!(run.out().contains("reported that the instance is not running"), "{run}");
    env.ok(&["app", "launch", "VM", "--name", "c", "-p", "configuration.id=i-taken"]);
    let run = env.run(&["app", "launch", "VM", "--name", "d", "-p", "configuration.id=i-taken"]);
    assert!(run.out().contains("the natural id `i-taken`, which `c` has"), "{run}");
    env.ok(&["app", "destroy", "d"]);
    assert!(!trace(&env).contains(&"destroy i-taken".to_owned()), "it is that of `c`");
    assert_eq!(env.json(&["app", "check", "c"])["applications"][0]["status"], "active");
}

/// `--count` asks for several launches, and one of them fails. windlass must not begin the remaining launches, and must
/// print their number.
#[test]
fn a_failed_launch_tells_how_many_do_not_begin() {
    let env = cloud();
    let run = env.run(&["app", "launch", "VM", "--count", "3", "-p", "configuration.id=i-taken"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(
        run.stderr.ends_with("launched 1 of 3 applications: 1 launch has not succeeded, and 1 not begun\n"),
        "{run}"
    );
    let run = env.run(&["app", "launch", "VM", "--count", "2", "-p", "configuration.sise=small"]);
    assert!(
        run.stderr.ends_with("launched 0 of 2 applications: 1 launch has not succeeded, and 1 not begun\n"),
        "{run}"
    );
}

/// The outcome of a lost launch is unknown. `app destroy --assume failed` must remove the application, without a second
/// call of the launch script.
#[test]
fn a_lost_launch_is_given_up() {
    let env = cloud();
    let launch = env.spawn(&["app", "launch", "VM", "-p", "configuration.size=slow"]);
    until("the script has begun", || trace(&env).contains(&"begin".to_owned()));
    launch.kill();
    env.processes().iter().filter(|process| process.is_supervisor()).for_each(Process::kill);
    env.is_quiet();
    let refused = env.run(&["app", "destroy", "vm"]);
    assert!(refused.stderr.starts_with("error[WL0514]: "), "{refused}");
    let dry = env.ok(&["app", "destroy", "vm", "--assume", "failed", "--dry-run"]);
    assert!(dry.out().contains("- vm removed"), "{dry}");
    env.ok(&["app", "destroy", "vm", "--assume", "failed"]);
    assert_eq!(env.json(&["status"])["assemblies"].as_array().unwrap().len(), 1, "the factory is left");
    assert!(!trace(&env).iter().any(|line| line.starts_with("launch")));
}

/// A line break in the message of a script adds no line to the output, so a script can't forge lines of windlass.
#[test]
fn a_failure_of_a_script_is_one_line() {
    let env = cloud();
    env.edit(
        "scripts/vm/launch.py",
        "\"size\": size})",
        "\"size\": size, \"ill\": \"no disk\\nok        forged\"})",
    );
    publish(&env);
    let launch = env.run(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    assert_eq!(launch.code(), Some(1), "{launch}");
    let shown = [&["log", "vm"][..], &["ps"], &["status"], &["status", "vm"]].map(|args| env.run(args));
    for run in [launch].iter().chain(&shown) {
        let is_forged = |line: &str| line.trim_start().starts_with("ok        forged");
        assert!(!run.stdout.lines().chain(run.stderr.lines()).any(is_forged), "{run}");
    }
    assert!(shown[0].stdout.contains("reported a failure: no disk\n"), "{}", shown[0]);
}

/// A killed launch is resumed: its script runs to its end, and does not run a second time.
#[test]
fn a_killed_launch_is_resumed() {
    let env = cloud();
    let launch = env.spawn(&["app", "launch", "VM", "-p", "configuration.size=slow"]);
    until("the script runs", || trace(&env).contains(&"begin".to_owned()));
    launch.kill();
    let check = env.run(&["app", "check", "vm"]);
    assert_eq!(check.code(), Some(1));
    assert_snapshot!(check.out(), @"vm: dropped: p2 launch has not ended; if it was interrupted, `windlass retry vm` resumes it");
    env.ok(&["retry", "vm"]);
    assert_eq!(trace(&env).iter().filter(|line| *line == "begin").count(), 1);
    assert_eq!(machines(&env), 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "slow");
    env.ok(&["app", "destroy", "vm"]);
    env.is_quiet();
}

/// Edits the scripts so that a launched machine is converging as long as the file `boot` exists.
fn booting(env: &TestEnv) {
    for script in ["launch", "check"] {
        env.edit(
            &format!("scripts/vm/{script}.py"),
            "\"failed\": \"ill\" in machine}",
            "\"failed\": \"ill\" in machine, \"converging\": os.path.exists(path(\"boot\"))}",
        );
    }
    env.write("cloud/boot", "");
    publish(env);
}

/// A stop ends the wait for a machine that boots. The next process waits for the same machine.
#[test]
fn a_stop_while_the_machine_boots_keeps_the_machine() {
    let env = cloud();
    booting(&env);
    let launch = env.spawn(&["app", "launch", "VM", "--name", "a"]);
    until("it is checked", || count(&env, "check") > 0);
    launch.signal(rustix::process::Signal::INT);
    let run = launch.end();
    assert_eq!(run.code(), Some(130), "{run}");
    let refused = env.refuses(&["app", "launch", "VM", "--name", "a"]);
    assert!(refused.contains("windlass retry a"), "{refused}");

    let checks = count(&env, "check");
    let retry = env.spawn(&["retry", "a"]);
    until("it is checked again", || count(&env, "check") > checks);
    retry.signal(rustix::process::Signal::INT);
    assert_eq!(retry.end().code(), Some(130));
    std::fs::remove_file(env.path("cloud/boot")).unwrap();
    env.ok(&["retry", "a"]);
    assert_eq!((count(&env, "launch"), count(&env, "destroy"), machines(&env)), (1, 0, 1));
    assert_eq!(env.json(&["status", "a"])["assemblies"][0]["state"], "Active");
    env.ok(&["app", "destroy", "a"]);
}

/// A machine may boot for longer than the timeout of its launch. The launch then fails, and the next process waits for
/// the same machine.
#[test]
fn a_timeout_while_the_machine_boots_keeps_the_machine() {
    let env = cloud();
    env.edit("windlass.yaml", "version: 1\n", "version: 1\ndrivers:\n  script: {timeout: 5s}\n");
    booting(&env);
    let run = env.run(&["app", "launch", "VM", "--name", "a"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.out().contains("it was still converging after 5 s"), "{run}");
    std::fs::remove_file(env.path("cloud/boot")).unwrap();
    env.ok(&["retry", "a"]);
    assert_eq!((count(&env, "launch"), count(&env, "destroy"), machines(&env)), (1, 0, 1));
}

/// The operator states the natural id of a machine whose launch is undecided. The id of another application is refused.
#[test]
fn a_stated_natural_id_of_another_application_is_refused() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--name", "other", "-p", "configuration.id=i-other"]);
    let launch = env.spawn(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=slow"]);
    until("the script has begun", || trace(&env).contains(&"begin".to_owned()));
    launch.kill();
    env.processes().iter().filter(|process| process.is_supervisor()).for_each(Process::kill);
    env.is_quiet();
    assert!(env.run(&["retry", "a"]).stderr.starts_with("error[WL0514]: "));
    for command in [&["retry", "a"][..], &["app", "destroy", "a"], &["app", "destroy", "a", "--dry-run"]] {
        let refused = env.refuses(&[command, &["--assume", "done", "--natural", "i-other"]].concat());
        assert!(refused.contains("the natural id `i-other` of `factory` belongs to `other`"), "{refused}");
        assert!(!refused.contains("note: "), "a note would belong to an answer that is used: {refused}");
    }
    assert_eq!((count(&env, "destroy"), machines(&env)), (0, 1));
    // The lines about the call belong to the application, so they are indented more than its line.
    let status = env.ok(&["status"]).out();
    let mut below = status.lines().skip_while(|line| !line.starts_with("    a "));
    assert_eq!(below.nth(1), Some("      vm Install: its outcome is unknown"), "{status}");
    assert!(below.next().unwrap().starts_with("        check it, then run `windlass retry a"), "{status}");

    env.write("cloud/i-own", r#"{"ip": "203.0.113.9", "size": "slow"}"#);
    let answered = env.ok(&["retry", "a", "--assume", "done", "--natural", "i-own"]);
    assert_snapshot!(answered.stderr, @"note: outputs `compute.ip` and `compute.size` of `vm` are unknown without `--published`; a health check may report them later");
    let run = env.run(&["app", "launch", "VM", "--name", "b", "-p", "configuration.id=i-own"]);
    assert!(run.out().contains("the natural id `i-own`, which `a` has"), "{run}");
}
