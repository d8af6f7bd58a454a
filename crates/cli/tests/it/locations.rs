//! The location at which the scripts of a part run, when `windlass.yaml` changes.

use insta::assert_snapshot;
use rstest::rstest;
use rustix::process::Signal;

use crate::env::{TestEnv, until};

const SCRIPTS: &str = "app/Contains/box/Lifecycle/script/scripts";

/// Returns a project with the assembly `app`. Each script of its only part `box` writes its name and the variable
/// `PLACE` of its location to the trace.
fn app(windlass_yaml: &str) -> TestEnv {
    let env = TestEnv::bare();
    env.write("windlass.yaml", windlass_yaml);
    env.write(
        "app/assembly.yaml",
        "name: assembly::app::1.0\ncomposition:\n  box: {type: 'resource::box::1.0', properties: {size: {value: small}}}\n",
    );
    env.write(
        "app/Contains/box/resource.yaml",
        "name: resource::box::1.0
properties: {size: {volatile: true}, deploymentLocation: {volatile: true}}
lifecycle: [Install, Start, Integrity, Reconfigure, Stop, Uninstall]
commands: {backup: {}}
default-driver: {script: {properties: {style: plain, effect: repeatable}}}
",
    );
    let trace = env.trace_file().display().to_string();
    for name in ["Install", "Start", "Integrity", "Reconfigure", "Stop", "Uninstall", "backup"] {
        let body = format!("#!/bin/sh\necho \"{name} ${{PLACE-host}}\" >>'{trace}'\n");
        env.script(&format!("{SCRIPTS}/{name}.sh"), body);
    }
    env
}

const FARM: &str = "version: 1\nlocations:\n  farm: {runtime: process, environment: {PLACE: farm}}\n";

/// A part that names no location is created at the only location of `windlass.yaml`. It stays there when
/// `windlass.yaml` declares further locations.
#[test]
fn a_further_location_moves_no_part() {
    let env = app(FARM);
    env.ok(&["up", "app"]);
    env.edit("windlass.yaml", FARM, &format!("{FARM}  other: {{runtime: process}}\n"));
    env.clear_trace();
    assert_eq!(env.run(&["plan", "app", "--detailed-exitcode"]).code(), Some(0));
    env.ok(&["call", "app", "box", "backup"]);
    env.edit("app/assembly.yaml", "small", "large");
    env.ok(&["up", "app"]);
    // A new instance gets the location of the rule for new parts.
    env.ok(&["up", "app", "--replace", "box", "--yes"]);
    env.ok(&["down", "app"]);
    assert_eq!(
        env.changes(),
        [
            "backup farm",
            "Reconfigure farm",
            "Stop farm",
            "Uninstall farm",
            "Install host",
            "Start host",
            "Stop host",
            "Uninstall host"
        ]
    );
}

/// If `windlass.yaml` no longer declares the location of a part, no script of the part runs anywhere else.
#[test]
fn a_part_of_an_undeclared_location_is_left_alone() {
    let env = app(FARM);
    env.ok(&["up", "app"]);
    env.clear_trace();
    env.edit("windlass.yaml", "farm:", "barn:");
    assert_snapshot!(env.refuses(&["up", "app", "--no-refresh"]), @"error[WL0513]: app/Contains/box/resource.yaml:2:38: `box` can't be placed: its instance is at the location `farm`, which `windlass.yaml` does not declare; declare `farm` again in `windlass.yaml`, or name another location in the component's `deploymentLocation`");
    let down = env.run(&["down", "app"]);
    assert_eq!(down.code(), Some(1), "{down}");
    assert!(down.stdout.contains("its instance is at the location `farm`, which"), "{down}");
    // A folder without `windlass.yaml` has other locations, too.
    std::fs::remove_file(env.path("windlass.yaml")).unwrap();
    assert_snapshot!(env.refuses(&["up", "app", "--no-refresh"]), @"error[WL0513]: app/Contains/box/resource.yaml:2:38: `box` can't be placed: its instance is at the location `farm`, which this project does not declare; declare `farm` again in `windlass.yaml`, or name another location in the component's `deploymentLocation`");
    assert_eq!(env.trace(), [""; 0]);
    env.write("windlass.yaml", FARM);
    env.ok(&["down", "app"]);
    assert_eq!(env.trace(), ["Stop farm", "Uninstall farm"]);
}

/// A part of a project without `windlass.yaml` stays on this host when the project gets a location.
#[test]
fn the_first_location_moves_no_part() {
    let env = app(FARM);
    std::fs::remove_file(env.path("windlass.yaml")).unwrap();
    env.ok(&["up", "app"]);
    env.write("windlass.yaml", FARM);
    env.ok(&["up", "app"]);
    // The part moves when its descriptor names the location.
    env.edit("app/assembly.yaml", "{size:", "{deploymentLocation: {value: farm}, size:");
    env.ok(&["up", "app"]);
    env.edit("app/assembly.yaml", "{deploymentLocation: {value: farm}, size:", "{size:");
    env.ok(&["up", "app"]);
    env.ok(&["down", "app"]);
    assert_eq!(
        env.changes(),
        ["Install host", "Start host", "Reconfigure farm", "Reconfigure farm", "Stop farm", "Uninstall farm"]
    );
}

/// A change of a location after the plan was saved makes the plan out of date.
#[rstest]
#[case::a_variable("PLACE: farm", "PLACE: barn", "`locations.farm` of `windlass.yaml` has changed")]
#[case::the_runtime(
    "runtime: process",
    "runtime: docker, image: x",
    "`locations.farm` of `windlass.yaml` has changed"
)]
#[case::a_new_name(
    "farm: {",
    "barn: {",
    "`locations.barn` of `windlass.yaml` was added, `locations.farm` of `windlass.yaml` was removed"
)]
#[case::another_location(
    "  farm: {",
    "  barn: {}\n  farm: {",
    "`locations.barn` of `windlass.yaml` was added"
)]
#[case::a_driver(
    "locations:",
    "drivers: {script: {timeout: 1m}}\nlocations:",
    "`drivers.script` of `windlass.yaml` was added"
)]
fn a_saved_plan_depends_on_the_locations(#[case] from: &str, #[case] to: &str, #[case] why: &str) {
    let env = app(FARM);
    env.ok(&["plan", "app", "-o", "app.plan"]);
    env.edit("windlass.yaml", from, to);
    let refused = env.refuses(&["apply", "app.plan"]);
    assert!(refused.trim_end().ends_with(&format!("is out of date: {why}; save a new plan")), "{refused}");
    env.edit("windlass.yaml", to, from);
    env.ok(&["apply", "app.plan"]);
}

/// Comments, layout, order and the values of secrets may change. A plan of an earlier build is not compared with
/// `windlass.yaml`.
#[test]
fn a_saved_plan_depends_on_the_content_of_windlass_yaml_alone() {
    let farm = "version: 1\nlocations:\n  farm: {runtime: process, properties: {password: one, token: {file: token}}}\n";
    let env = app(farm);
    env.write("token", "one");
    env.ok(&["plan", "app", "-o", "app.plan"]);
    env.write(
        "windlass.yaml",
        "locations:
  farm:
    properties: {token: {file: token}, password: two} # a comment
    runtime: process
retention: {keep: 7}
version: 1
",
    );
    env.write("token", "two");
    env.ok(&["apply", "app.plan"]);
}

/// An assembly without a `windlass.yaml` of its own uses that of the working folder, and so does `down`.
#[test]
fn the_working_folder_configures_an_assembly_of_another_folder() {
    let env = app(FARM);
    env.write("envs/prod/windlass.yaml", FARM);
    std::fs::remove_file(env.path("windlass.yaml")).unwrap();
    for args in [&["up", "../../app"] as &[&str], &["down", "app"]] {
        let run = env.run_in("envs/prod", args);
        assert_eq!(run.code(), Some(0), "{run}");
    }
    assert_eq!(env.changes(), ["Install farm", "Start farm", "Stop farm", "Uninstall farm"]);
    assert!(env.path("envs/prod/.windlass").exists() && !env.path(".windlass").exists());
}

/// The daemon uses a changed `windlass.yaml` for the next intents. If the file is invalid or missing, the daemon reports
/// this once, and keeps the old content.
#[test]
fn the_daemon_reads_a_changed_file() {
    let env = app(FARM);
    let daemon = env.spawn(&["run"]);
    until("the daemon listens", || daemon.stdout().contains("listening"));
    let mut ended = 0;
    let mut up = |args: &[&str]| {
        env.clear_trace();
        env.ok(&[&["up", "app", "--yes", "--queue"], args].concat());
        ended += 1;
        until("the process has ended", || daemon.stdout().matches(" completed").count() == ended);
        env.changes()
    };
    assert_eq!(up(&[]), ["Install farm", "Start farm"]);
    // An editor replaces the file atomically, so the daemon never reads a part of it.
    let save = |text: &str| {
        env.write("windlass.yaml.new", text);
        std::fs::rename(env.path("windlass.yaml.new"), env.path("windlass.yaml")).unwrap();
    };
    save(&FARM.replace("PLACE: farm", "PLACE: barn"));
    assert_eq!(up(&["--replace", "box"]), ["Stop barn", "Uninstall barn", "Install barn", "Start barn"]);
    let refused = || daemon.stderr().matches("its old content still applies").count();
    save("version: 1\nlocations: {farm: {runtime: proces}}\n");
    until("the daemon has read the invalid file", || refused() == 1);
    std::fs::remove_file(env.path("windlass.yaml")).unwrap();
    until("the daemon misses the file", || refused() == 2);
    save(FARM);
    assert_eq!(up(&["--replace", "box"]), ["Stop farm", "Uninstall farm", "Install farm", "Start farm"]);
    daemon.signal(Signal::TERM);
    let run = daemon.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert_eq!(run.stdout.matches("`windlass.yaml` has changed; the next").count(), 2, "{run}");
    assert_eq!(run.stderr.matches("its old content still applies").count(), 2, "{run}");
    env.ok(&["down", "app"]);
}
