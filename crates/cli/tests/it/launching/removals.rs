//! Removals of applications and factories.

use insta::assert_snapshot;

use super::{cloud, machines, publish, trace};
use crate::env::{TestEnv, until};
use crate::proc::Process;

/// The answer of the launch script has an unknown signal, so the launch fails. The machine exists, and is destroyed.
#[test]
fn a_machine_whose_launch_has_a_wrong_answer_is_destroyed() {
    let env = cloud();
    env.edit(
        "scripts/vm/launch.py",
        "instanceId=instance)",
        "instanceId=instance, interfaces={\"compute\": {\"signals\": {\"ipp\": 1}}})",
    );
    publish(&env);
    let launch = env.run(&["app", "launch", "VM", "--name", "a", "-p", "configuration.id=i-a"]);
    assert_eq!(launch.code(), Some(1), "{launch}");
    assert!(launch.stdout.contains("ipp"), "{launch}");
    assert_eq!(env.json(&["status", "a"])["assemblies"][0]["application"]["natural_id"], "i-a");
    env.ok(&["app", "destroy", "a"]);
    assert_eq!(machines(&env), 0);
}

/// A factory with applications can't be removed, and no output or file contains its secret.
#[test]
fn a_factory_stays_as_long_as_its_applications() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    assert_snapshot!(env.refuses(&["app", "destroy", "factory"]), @"error[WL0504]: `factory` is referenced by `vm`, and it would be removed; take `vm` down first, or use `--force`");
    for command in [
        &["status", "factory"][..],
        &["log", "factory"],
        &["log", "vm"],
        &["status", "vm", "--format", "json"],
    ] {
        let run = env.ok(command);
        assert!(!run.out().contains("s3cr3t"), "{run}");
    }
    let forced = env.ok(&["app", "destroy", "factory", "--force", "--dry-run"]);
    assert_eq!(
        forced.stderr,
        "note: `vm` stays without its factory `factory`; destroy it first with `windlass app destroy vm`\n"
    );
    env.ok(&["app", "destroy", "vm", "factory"]);
}

/// The job of a destroy script is lost, and the health check finds the instance. The script runs again.
#[test]
fn a_lost_destroy_is_repeated() {
    let env = cloud();
    env.edit(
        "scripts/vm/destroy.py",
        "os.path.exists(path(id)) and",
        "os.path.exists(path(\"hold\")) and time.sleep(600)\n    os.path.exists(path(id)) and",
    );
    publish(&env);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.write("cloud/hold", "");
    let destroyed = || trace(&env).iter().filter(|line| line.starts_with("destroy")).count();
    let destroy = env.spawn(&["app", "destroy", "vm"]);
    until("the script has begun", || destroyed() == 1);
    destroy.kill();
    env.processes().iter().filter(|process| process.is_supervisor()).for_each(Process::kill);
    env.is_quiet();
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    assert_snapshot!(env.refuses(&["app", "command", "vm", "control.resize", "-a", "size=large"]), @"error[WL0762]: `vm` is being destroyed; finish that with `windlass app destroy vm` (`--latest` runs the scripts of the latest revision)");
    for args in [&["-p", "configuration.size=large"][..], &["--latest"]] {
        // The command also removes files of the killed supervisor.
        let run = env.run(&[&["app", "reconfigure", "vm"][..], args].concat());
        assert!(run.stderr.starts_with("error[WL0762]: `vm` is being destroyed"), "{run}");
    }
    assert_eq!((destroyed(), machines(&env)), (1, 1), "nothing has run again");
    env.ok(&["app", "destroy", "vm"]);
    assert_eq!((destroyed(), machines(&env)), (2, 0));
}

#[test]
fn a_wrong_name_destroys_nothing() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    for command in ["destroy", "forget"] {
        let run = env.run(&["app", command, "vm", "nobody"]);
        assert_eq!(run.code(), Some(2), "{run}");
    }
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["state"], "Active");
    assert_eq!(machines(&env), 1);
}

/// Makes the destroy script wait as long as the file `hold` exists. Then launches the application `a`, and creates the
/// file `hold`.
fn launched_with_a_slow_destroy(env: &TestEnv) {
    env.edit(
        "scripts/vm/destroy.py",
        "os.path.exists(path(id)) and",
        "while os.path.exists(path(\"hold\")): time.sleep(0.05)\n    os.path.exists(path(id)) and",
    );
    publish(env);
    env.ok(&[
        "app",
        "launch",
        "VM",
        "--name",
        "a",
        "-p",
        "configuration.id=i-a",
        "-p",
        "configuration.size=small",
    ]);
    env.write("cloud/hold", "");
}

/// Runs `app destroy a`, and kills this command while the destroy script waits.
fn kill_a_destruction(env: &TestEnv, with_its_job: bool) {
    let destroy = env.spawn(&["app", "destroy", "a"]);
    until("the script has begun", || trace(env).contains(&"destroy i-a".to_owned()));
    destroy.kill();
    if with_its_job {
        env.processes().iter().filter(|process| process.is_supervisor()).for_each(Process::kill);
        env.is_quiet();
    }
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
}

/// `app reconfigure` completes the records of a killed destruction. It neither destroys the instance nor launches it
/// again, whether or not the destroy script has ended.
#[test]
fn a_killed_destruction_is_not_undone_by_a_reconfiguration() {
    for (with_its_job, args) in
        [(false, &["--latest"][..]), (true, &["--latest"]), (true, &["-p", "configuration.size=large"])]
    {
        let env = cloud();
        launched_with_a_slow_destroy(&env);
        kill_a_destruction(&env, with_its_job);
        let refused = env.run(&[&["app", "reconfigure", "a"], args].concat());
        assert!(
            refused
                .stderr
                .contains("error[WL0762]: `a` is being destroyed; finish that with `windlass app destroy a`"),
            "{refused}"
        );
        let is_launch = |line: &&String| line.starts_with("launch");
        assert_eq!(trace(&env).iter().filter(is_launch).count(), 1, "{:?}", trace(&env));
        env.ok(&["app", "destroy", "a"]);
        assert_eq!(machines(&env), 0);
    }
}

/// `forget` of a single part is for assemblies with a descriptor.
#[test]
fn a_part_of_an_application_is_not_forgotten() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--name", "a"]);
    for options in [&[][..], &["--force"], &["--dry-run"]] {
        let refused = env.refuses(&[&["forget", "a", "vm", "--yes"], options].concat());
        assert!(
            refused.starts_with("error[WL0543]") && refused.contains("windlass app forget a"),
            "{refused}"
        );
    }
    env.ok(&["app", "check", "a"]);
}
