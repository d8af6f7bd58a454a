//! Launches, names and values of applications.

use insta::assert_snapshot;

use super::{cloud, machines, publish, trace};
use crate::env::{TestEnv, until};
use crate::run::Running;

#[test]
fn an_application_is_launched_checked_changed_and_destroyed() {
    let env = cloud();
    assert_snapshot!(env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]).out(), @r"
      + vm added (resource::vm::1)
    1 to add
    vm: 2 steps, up to 1 at once (p2 launch)
       s1 vm Install
       s2 vm Integrity

    ok        vm Install LONG
    ok        vm Integrity LONG

    done: vm is Active (LONG)
      compute.ip: 203.0.113.1
      compute.size: small
    ");
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.ip"], "203.0.113.1");

    assert_snapshot!(env.ok(&["app", "commands", "vm"]).out(), @r"
    control.backup(string key) => string phase => string file
    control.kill()
    control.resize(string size) => string was
    ");
    let run = env.ok(&["app", "command", "vm", "control.resize", "-a", "size=medium"]);
    assert!(run.out().ends_with("was: small\n"), "{run}");
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "medium");

    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    assert_snapshot!(env.ok(&["app", "check"]).out(), @"vm: unchanged, active");
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");
    assert_eq!(machines(&env), 1, "it is never launched again");

    assert_snapshot!(env.ok(&["app", "destroy", "vm"]).out(), @r"
      - vm removed
    1 to remove
    vm: 1 step, up to 1 at once (p5 destroy)
       s1 vm Uninstall

    ok        vm Uninstall LONG

    done: vm is destroyed (LONG)
    ");
    assert_eq!(machines(&env), 0);
    assert!(env.ok(&["history", "vm"]).out().contains("destroy"), "the history stays");
    env.is_quiet();
}

/// Each of several launches at the same time takes the next free name.
#[test]
fn simultaneous_launches_have_different_names() {
    let env = cloud();
    let launches: Vec<_> = (0..4).map(|_| env.spawn(&["app", "launch", "VM"])).collect();
    let runs: Vec<_> = launches.into_iter().map(Running::end).collect();
    for run in &runs {
        assert_eq!(run.code(), Some(0), "{run}");
    }
    let checked = env.json(&["app", "check"]);
    let names = checked["applications"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["vm", "vm-2", "vm-3", "vm-4"]);
}

/// Several launches are queued at the same time. Each launch must reserve the next free name.
#[test]
fn simultaneous_queued_launches_have_different_names() {
    let env = cloud();
    let launches: Vec<_> = (0..6).map(|_| env.spawn(&["app", "launch", "VM", "--queue"])).collect();
    for run in launches.into_iter().map(Running::end) {
        assert_eq!(run.code(), Some(0), "{run}");
    }
    daemon_until(&env, " completed", 6);
    let status = env.json(&["status"]);
    let names = status["assemblies"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["factory", "vm", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6"]);
}

#[test]
fn the_environment_sets_pins_of_a_launch() {
    let env = cloud().with_variable("WINDLASS_PARAM_CONFIGURATION_SIZE", "huge");
    let size = |name: &str| env.json(&["status", name])["assemblies"][0]["outputs"]["compute.size"].clone();
    env.ok(&["app", "launch", "VM"]);
    assert_eq!(size("vm"), "huge");
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    assert_eq!(size("vm-2"), "small");
    env.ok(&["app", "reconfigure", "vm-2", "--latest"]);
    assert_eq!(size("vm-2"), "small", "a reconfiguration keeps the value");
}

/// A parameter can't set a value that the manifest alone determines, such as the schedule of discoveries.
#[test]
fn a_parameter_sets_no_built_in_pin() {
    let env = cloud().with_variable("WINDLASS_PARAM_COMPONENT_DISCOVERYSCHEDULE", "0 0 4 * * ?");
    let schedule = "component.discoverySchedule=0 0 4 * * ?";
    assert_snapshot!(env.refuses(&["app", "launch", "VM Factory", "--name", "second", "-p", schedule]), @r"
    error[WL0640]: a launch can't set `component.discoverySchedule`: its value comes from the manifest alone
     |
     = help: change the value in the manifest, and publish the manifest again

    1 error; nothing was changed
    ");
    env.ok(&["app", "launch", "VM Factory", "--name", "second", "--dry-run"]);
    assert_eq!(env.refuses(&["app", "reconfigure", "factory", "-p", schedule]).lines().count(), 5);
    env.ok(&["app", "reconfigure", "factory", "--latest"]);
}

#[test]
fn a_secret_in_the_environment_is_warned_of() {
    let env = cloud().with_variable("WINDLASS_PARAM_CONFIGURATION_TOKEN", "s3cr3t-token");
    let run = env.ok(&["app", "launch", "VM Factory", "--dry-run"]);
    let warning = "`configuration.token` is a secret, and its value was passed in the environment";
    assert!(run.stderr.contains(warning), "{run}");
}

#[test]
fn launches_and_removals_are_not_saved_as_plans() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    for command in [["launch", "VM"], ["destroy", "vm"]] {
        let refusal = env.refuses(&[&["app"], &command[..], &["--dry-run", "-o", "saved.plan"]].concat());
        assert_eq!(
            refusal,
            "error[WL0576]: this command can't be saved as a plan; omit `-o`, and `--dry-run` alone shows the plan\n"
        );
    }
}

/// The input and output of calls are kept sealed. `job replay` reads the output again, and changes nothing.
#[test]
fn jobs_are_kept_and_replayed() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.ok(&["app", "command", "vm", "control.resize", "-a", "size=medium"]);
    let jobs = env.json(&["job", "ls", "vm"]);
    let actions: Vec<&str> =
        jobs["jobs"].as_array().unwrap().iter().map(|job| job["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["control.resize", "Integrity", "Install"]);
    let shown = env.json(&["job", "show", jobs["jobs"][2]["job"].as_str().unwrap()]);
    assert!(shown["input"].as_str().unwrap().contains("\"configuration.size\":\"small\""), "{shown}");
    assert!(shown["input"].as_str().unwrap().contains("***"), "{shown}");
    assert!(shown["stdout"].as_str().unwrap().contains("203.0.113.1"), "{shown}");
    assert!(!shown.to_string().contains("s3cr3t"), "{shown}");

    let before = env.ok(&["status", "vm", "--format", "json"]).out();
    let replayed = env.json(&["job", "replay", jobs["jobs"][2]["id"].as_str().unwrap()]);
    let changes = &replayed["applications"][0]["changes"];
    assert_eq!(changes["$set"]["interfaces.compute.signals.size"], "small", "{replayed}");
    assert_eq!(env.ok(&["status", "vm", "--format", "json"]).out(), before);

    let machine = env.files().into_iter().find(|file| file.starts_with("cloud/i-")).unwrap();
    env.write(&machine, "no machine");
    env.run(&["app", "check"]);
    let shown = env.ok(&["job", "show", "factory"]).out();
    assert!(shown.contains("Integrity of vm: `check.py` exited with code 1"), "{shown}");
    assert!(shown.contains("JSONDecodeError"), "{shown}");
    let replayed = env.run(&["job", "replay", "factory"]);
    assert_eq!(replayed.code(), Some(1), "{replayed}");
    assert!(env.ok(&["log", "factory"]).out().contains("the health check of `vm` failed"));

    assert_snapshot!(env.refuses(&["job", "show", "nothing"]), @"error[WL0760]: no input and output of `nothing` are kept; `windlass job ls NAME` lists the kept jobs of an application or a factory");
    assert!(env.refuses(&["app", "forget", "vm"]).contains("agree to it with `--yes`"));
    assert!(env.ok(&["app", "forget", "vm", "--dry-run"]).out().contains("vm would be forgotten"));
    env.ok(&["app", "show", "vm"]);
    env.ok(&["app", "forget", "vm", "--yes"]);
    assert_eq!(env.run(&["job", "show", jobs["jobs"][2]["id"].as_str().unwrap()]).code(), Some(2));
}

/// The processes of an application have the names of their intents: launch and reconfigure.
#[test]
fn processes_are_launches_and_reconfigurations() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    let history = env.json(&["history", "vm"]);
    let intents: Vec<&str> = history["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|process| process["intent"].as_str().unwrap())
        .collect();
    assert_eq!(intents, ["launch", "reconfigure"], "{history}");

    let larger = ["app", "reconfigure", "vm", "-p", "configuration.size=huge", "--queue"];
    assert!(env.ok(&larger).out().starts_with("vm: reconfigure is queued"));
    env.ok(&["cancel", "vm", "q4"]);
    assert!(
        env.ok(&["app", "launch", "VM", "--name", "b", "--queue"]).out().starts_with("b: launch is queued")
    );
    env.ok(&["cancel", "b", "q5"]);
    assert!(env.ok(&["app", "destroy", "vm", "--queue"]).out().starts_with("vm: destroy is queued"));
    assert_eq!(env.json(&["ps"])["requests"][0]["intent"], "destroy");
    daemon_until(&env, "vm: p7 completed", 1);
    let log = env.ok(&["log", "vm"]).out();
    for line in ["q4 reconfigure withdrawn", "p7 destroy completed"] {
        assert!(log.contains(line), "{log}");
    }
}

/// After a factory was renamed, its applications, the environment and the secret configuration use the new
/// name.
#[test]
fn a_factory_gets_another_name() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    assert_snapshot!(env.ok(&["rename", "factory", "machines"]).out(), @"
    factory is now machines; nothing was called
      the records of vm have the new name
      the environment default has the new name
      change it later with `windlass app reconfigure machines`
    ");
    assert_snapshot!(env.ok(&["rename", "vm", "vm-1"]).out(), @"
    vm is now vm-1; nothing was called
      change it later with `windlass app reconfigure vm-1`
    ");
    assert_eq!(env.json(&["env", "show", "default"])["services"][0]["name"], "machines");
    assert_eq!(env.json(&["app", "check", "vm-1"])["applications"][0]["status"], "active");
    let taken = env.run(&["app", "launch", "VM", "--name", "b", "-p", "configuration.id=i-1"]);
    assert!(taken.out().contains("the natural id `i-1`, which `vm-1` has"), "{taken}");
    env.ok(&["app", "launch", "VM", "--name", "c"]);
    env.ok(&["app", "reconfigure", "vm-1", "-p", "configuration.size=large"]);
    assert_eq!(machines(&env), 2, "it is never launched again");
    env.ok(&["app", "destroy", "b", "c", "vm-1", "machines"]);
}

/// A queued launch reserves its name. Other commands that would create an assembly with this name are refused.
#[test]
fn a_queued_launch_reserves_its_name() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--queue"]);
    let launch = ["app", "launch", "VM", "--name", "vm"];
    for options in [&[][..], &["--queue"], &["--dry-run"]] {
        let refused = env.refuses(&[&launch, options].concat());
        assert!(refused.starts_with("error[WL0752]: the name `vm` is reserved by"), "{refused}");
    }
    env.write("vm.assembly.yaml", "name: assembly::vm::1.0\ncomposition: {}\n");
    for command in [&["up"][..], &["plan"], &["adopt"]] {
        let refused = env.refuses(&[command, &["vm.assembly.yaml", "--name", "vm"]].concat());
        assert!(refused.starts_with("error[WL0501]: the name `vm` is reserved by"), "{refused}");
    }
    daemon_until(&env, " completed", 1);
    assert_eq!(machines(&env), 1);
    assert_eq!(env.json(&["history", "vm"])["processes"].as_array().unwrap().len(), 1);
}

/// Runs the daemon until its output contains `times` occurrences of `text`.
pub(super) fn daemon_until(env: &TestEnv, text: &str, times: usize) {
    let daemon = env.spawn(&["run", "--health", "0"]);
    until(text, || daemon.stdout().matches(text).count() == times);
    daemon.signal(rustix::process::Signal::INT);
    assert_eq!(daemon.end().code(), Some(0));
}

/// A queued launch reserves the name of its application. No later launch or discovery may take this name.
#[test]
fn queued_launches_have_different_names() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--queue"]);
    env.ok(&["app", "launch", "VM", "--queue"]);
    env.ok(&["app", "launch", "VM", "--queue", "--count", "2"]);
    let dry = env.ok(&["app", "launch", "VM", "--dry-run"]);
    assert!(dry.out().contains("vm-5: 2 steps"), "{dry}");
    env.ok(&["app", "launch", "VM"]);
    env.write("cloud/listed", r#"{"i-2": {"name": "vm"}}"#);
    let discovered = env.ok(&["app", "discover", "factory"]);
    assert!(discovered.out().contains("i-2: adopted, application `vm-6`"), "{discovered}");
    daemon_until(&env, " completed", 4);
    let status = env.json(&["status"]);
    let names = status["assemblies"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["factory", "vm", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6"]);
}

#[test]
fn wrong_input_changes_nothing() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["env", "create", "empty"]);
    let mut said = String::new();
    for args in [
        &["launch", "VN"][..],
        &["launch", "VM", "--env", "empty"],
        &["launch", "VM Factory", "--env", "empty"],
        &["launch", "VM", "--name", "vm"],
        &["launch", "VM", "-p", "configuration.sise=1"],
        &["command", "vm", "control.resise"],
        &["command", "vm", "control.resize", "-a", "sise=1"],
        &["destroy", "nothing"],
    ] {
        said += &env.refuses(&[&["app"], args].concat());
        said.push('\n');
    }
    assert_snapshot!(said, @r"
    error[WL0650]: no application or factory `VN` is published; did you mean `VM`?

    error[WL0750]: `VM` needs the factory `VM Factory`, and the environment `empty` has no such service; launch it, and add it by `windlass env service add empty NAME`

    error[WL0751]: the environment `empty` has no location for scripts; add one by `windlass env service add empty --location LOCATION`

    error[WL0752]: there is an assembly `vm` already; `windlass retry vm` resumes a launch that was interrupted or has failed, and `--name` chooses another name

    error[WL0640]: the application has no parameter `configuration.sise`
     |
     = help: did you mean `configuration.size`?

    1 error; nothing was changed

    error[WL0755]: `vm` has no command `control.resise`; did you mean `control.resize`?

    error[WL0756]: `control.resize` takes no argument `sise`; did you mean `size`?

    error[WL0500]: there is no assembly `nothing`; there are `factory`, `vm`
    ");
}

/// An application has no scripts that stop or start its instance. So it can't be restarted or set to another state,
/// not even after a failed destruction.
#[test]
fn an_application_has_no_other_states() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let before = trace(&env);
    assert_snapshot!(env.refuses(&["set-state", "vm", "Inactive"]), @"error[WL0543]: `set-state Inactive` is for assemblies with a descriptor, and `vm` is a launched application; check it with `windlass app check vm`, change it with `windlass app reconfigure vm`, or remove it with `windlass app destroy vm`");
    assert_snapshot!(env.refuses(&["heal", "vm", "--all"]), @"error[WL0543]: `heal --all` is for assemblies with a descriptor, and `vm` is a launched application; check it with `windlass app check vm`, change it with `windlass app reconfigure vm`, or remove it with `windlass app destroy vm`");
    env.edit("scripts/vm/destroy.py", "import", "import sys; sys.exit(3)\nimport");
    publish(&env);
    env.ok(&["app", "reconfigure", "vm", "--latest"]);
    assert_eq!(env.run(&["app", "destroy", "vm"]).code(), Some(1));
    assert!(env.refuses(&["set-state", "vm", "Active"]).starts_with("error[WL0543]"));
    let is_launch = |line: &&String| line.starts_with("launch");
    assert_eq!(trace(&env).iter().filter(is_launch).count(), before.iter().filter(is_launch).count());
}
