//! Launched applications. Python scripts manage virtual machines of a simulated cloud, which is a folder.

use insta::assert_snapshot;

use crate::env::{TestEnv, until};
use crate::proc::Process;
use crate::run::Running;

/// A manifest of virtual machines. The factory is `VM Factory`.
const VM: &str = r#"
application:
  interfaces:
    configuration: {"*": bind(vm#configuration.*)}
    compute: {"*": bind(vm#compute.*)}
    control: {"*": bind(vm#control.*)}
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
        factory.healthCheckScript: /vm/check.py
        factory.reconfigurationScript: /vm/reconfigure.py
        factory.commandScripts: {control.resize: /vm/resize.py, control.kill: /vm/destroy.py, control.backup: /vm/backup.py}
      interfaces:
        configuration: {size: configuration(string), id: configuration(string)}
        compute: {ip: publish-signal(string), size: publish-signal(string)}
        control:
          resize: receive-command(string size => string was)
          kill: receive-command()
          backup: receive-command(string key => string phase => string file)
"#;

const FACTORY: &str = r#"
application:
  interfaces:
    component: {"*": bind(factory#component.*)}
    configuration: {"*": bind(factory#configuration.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: VM
        component.discoveryScript: /vm/discover.py
        component.discoverySchedule: "0 0/5 * * * ? *"
      interfaces:
        configuration:
          cloud: configuration(string)
          token: {type: configuration(string), sensitive: true}
"#;

/// The shared part of the scripts. The configuration value `configuration.cloud` is the path of a folder. This folder
/// contains a file for each machine, and the file `trace`, in which the scripts log their runs. The scripts print JSON,
/// which is valid YAML, so they need no library.
const CLOUD: &str = r#"
import json, os, sys, time
given = json.load(sys.stdin)
factory = given["configuration"]
cloud = factory["configuration.cloud"]
assert factory["configuration.token"] == "s3cr3t-token", "the token is missing"

def path(id):
    return os.path.join(cloud, id)

def trace(what):
    with open(path("trace"), "a") as file:
        file.write(what + "\n")

def read(id):
    try:
        return json.load(open(path(id)))
    except FileNotFoundError:
        return None

def write(id, machine):
    json.dump(machine, open(path(id + ".new"), "w"))
    os.rename(path(id + ".new"), path(id))

def state(machine):
    if machine is None:
        return {"status": {"flags": {"active": False, "converging": False, "failed": False}}}
    return {
        "status": {"flags": {"active": True, "failed": "ill" in machine}, "message": machine.get("ill")},
        "interfaces": {"compute": {"signals": {"ip": machine["ip"], "size": machine["size"]}}},
    }

def answer(instances):
    print(json.dumps({"instances": instances}))
"#;

const LAUNCH: &str = r#"
answers = {}
for instance, request in given["launch"].items():
    own = request["configuration"]
    size = own.get("configuration.size", "small")
    if size == "refused":
        sys.exit("no such size")
    id = own.get("configuration.id", "i-" + instance[:6])
    made = [name for name in os.listdir(cloud) if name.startswith("i-")]
    if size == "slow":
        trace("begin")
        time.sleep(1)
    trace("launch " + id)
    if size == "half":
        write(id, {"ip": "203.0.113.77", "size": size})
        sys.exit("only half is made")
    if read(id) is None:
        write(id, {"ip": "203.0.113.%d" % (len(made) + 1), "size": size})
    answers[id] = dict(state(None if size == "dead" else read(id)), instanceId=instance)
answer(answers)
"#;

const DESTROY: &str = r#"
for id in given["instances"]:
    trace("destroy " + id)
    os.path.exists(path(id)) and os.remove(path(id))
answer({id: state(None) for id in given["instances"]})
"#;

/// The health check. If a backup has ended, the file `backup` contains its result. The check reports this result, and
/// deletes the file.
const CHECK: &str = r#"
trace("check " + " ".join(sorted(given["instances"])))
if os.path.exists(path("hang")):
    time.sleep(600)
if os.path.exists(path("warn")):
    print("W! the quota is low", "I! all is well", "no level", file=sys.stderr, sep="\n")
answers = {id: state(read(id)) for id in given["instances"] if not os.path.exists(path("silent-" + id))}
backup = read("backup")
if backup and backup["id"] in answers:
    answers[backup["id"]]["$pushAll"] = {"commands." + backup["command"]: backup["results"]}
    os.remove(path("backup"))
if os.path.exists(path("extra")):
    answers["i-extra"] = state(None)
answer(answers)
"#;

/// The script of the command `backup`. The backup ends later than the script.
const BACKUP: &str = r#"
answers = {}
for id, request in given["instances"].items():
    for command, call in request["commands"].items():
        trace("backup " + id + " " + command)
        started = {"$intermediate": True, "phase": "started"}
        answers[id] = {"$pushAll": {"commands." + command: [started]}}
answer(answers)
"#;

const RECONFIGURE: &str = r#"
answers = {}
for id, request in given["instances"].items():
    trace("reconfigure " + id)
    write(id, dict(read(id), size=request["configuration"]["configuration.size"]))
    answers[id] = state(read(id))
answer(answers)
"#;

const RESIZE: &str = r#"
answers = {}
for id, request in given["instances"].items():
    for command, call in request["commands"].items():
        was = read(id)["size"]
        write(id, dict(read(id), size=call["control"]["resize"]["size"]))
        answers[id] = dict(state(read(id)), **{"$pushAll": {"commands." + command: [{"was": was}]}})
answer(answers)
"#;

const DISCOVER: &str = r#"
trace("discover")
if os.path.exists(path("full")):
    sys.exit("no space left at " + str(time.time_ns()))
if os.path.exists(path("hang")):
    time.sleep(600)
if os.path.exists(path("slow")):
    time.sleep(2.5)
found = sorted(name for name in os.listdir(cloud) if name.startswith("i-") and not name.endswith(".new"))
trace("discovered")
answer({**{id: dict(state(read(id)), name="machine " + id) for id in found}, **(read("listed") or {})})
"#;

/// Returns a project with a cloud. The applications `VM` and `VM Factory` are published. The factory is launched as
/// `factory`, and is a service of the environment `default`.
fn cloud() -> TestEnv {
    cloud_discovered("0 0/5 * * * ? *")
}

/// Returns a project with a [`cloud`], whose factory runs discoveries at the times of a Quartz expression.
fn cloud_discovered(schedule: &str) -> TestEnv {
    cloud_in(TestEnv::bare(), schedule)
}

/// Adds a cloud to a project. The factory of the cloud runs discoveries at the times of the Quartz expression
/// `schedule`.
pub(crate) fn cloud_in(env: TestEnv, schedule: &str) -> TestEnv {
    env.write("windlass.yaml", "version: 1\nlocations:\n  here: {runtime: process, input: json}\n");
    env.write("vm.yaml", VM);
    env.write("factory.yaml", FACTORY.replace("0 0/5 * * * ? *", schedule));
    for (name, script) in [
        ("launch", LAUNCH),
        ("destroy", DESTROY),
        ("check", CHECK),
        ("reconfigure", RECONFIGURE),
        ("resize", RESIZE),
        ("backup", BACKUP),
        ("discover", DISCOVER),
    ] {
        env.script(&format!("scripts/vm/{name}.py"), format!("#!/usr/bin/env python3\n{CLOUD}\n{script}"));
    }
    env.write("cloud/trace", "");
    env.write("token", "s3cr3t-token");
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    publish(&env);
    env.ok(&["env", "service", "add", "default", "--location", "here"]);
    let folder = format!("configuration.cloud={}", env.path("cloud").display());
    let token = "configuration.token=@token";
    env.ok(&["app", "launch", "VM Factory", "--name", "factory", "-p", &folder, "-p", token]);
    env.ok(&["env", "service", "add", "default", "factory"]);
    env
}

/// Publishes `vm.yaml` with the present scripts as the next revision of the application.
fn publish(env: &TestEnv) {
    env.ok(&["app", "publish", "vm.yaml", "--name", "VM", "--scripts", "scripts"]);
}

pub(crate) fn trace(env: &TestEnv) -> Vec<String> {
    env.read("cloud/trace").lines().map(str::to_owned).collect()
}

fn machines(env: &TestEnv) -> usize {
    env.files().iter().filter(|file| file.starts_with("cloud/i-")).count()
}

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

/// The arguments of a command are not in alphabetical order. An export and an import must not change the application.
#[test]
fn an_application_is_exported_and_imported() {
    let env = cloud();
    env.edit(
        "vm.yaml",
        "receive-command(string key => string phase => string file)",
        "receive-command(string to, int keep => string file)",
    );
    publish(&env);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let before = env.json(&["status", "vm"]);
    env.ok(&["export", "vm"]);
    env.ok(&["import", "vm.export"]);
    assert_eq!(env.json(&["status", "vm"]), before);
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    env.ok(&["app", "destroy", "vm"]);
    assert_eq!(machines(&env), 0);
}

/// One run of the health check covers all applications of a factory. Applications that no longer exist are
/// removed, and records of unchanged applications are not written.
#[test]
fn a_check_covers_all_applications_of_a_factory() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "3"]);
    let machine = env.files().into_iter().find(|file| file.starts_with("cloud/i-")).unwrap();
    std::fs::remove_file(env.path(&machine)).unwrap();
    let before = trace(&env).len();
    let checked = env.json(&["app", "check"]);
    let results: Vec<&str> = checked["applications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|checked| checked["result"].as_str().unwrap())
        .collect();
    assert_eq!(results.iter().filter(|result| **result == "destroyed").count(), 1, "{checked}");
    assert_eq!(results.iter().filter(|result| **result == "unchanged").count(), 2, "{checked}");
    let checks: Vec<String> = trace(&env).split_off(before);
    assert_eq!(checks.len(), 1, "{checks:?}");
    assert_eq!(env.json(&["app", "check"])["applications"].as_array().unwrap().len(), 2);
}

/// The health check reports one of two machines as gone, and says nothing about the other machine. A health check that
/// finds no machine at all may be wrong. So windlass must keep both applications.
#[test]
fn an_application_is_kept_if_no_other_instance_is_found() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "2"]);
    let machines: Vec<String> = env.files().into_iter().filter(|file| file.starts_with("cloud/i-")).collect();
    env.write(&machines[0].replace("cloud/", "cloud/silent-"), "");
    std::fs::remove_file(env.path(&machines[1])).unwrap();
    let checked = env.run(&["app", "check"]);
    assert_eq!(checked.code(), Some(1), "{checked}");
    assert!(checked.stdout.contains("the health check finds no instance of `factory`"), "{checked}");
    for name in ["vm", "vm-2"] {
        env.ok(&["status", name]);
    }
}

/// A check finds none of the machines of a factory, as it would with the credentials of another account. windlass must
/// keep the applications until the operator names them in `app check`.
#[test]
fn applications_are_kept_if_no_instance_is_found() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "2"]);
    let machines: Vec<String> = env.files().into_iter().filter(|file| file.starts_with("cloud/i-")).collect();
    let texts: Vec<String> = machines.iter().map(|file| env.read(file)).collect();
    let lose = || machines.iter().for_each(|file| std::fs::remove_file(env.path(file)).unwrap());
    lose();
    let checked = env.run(&["app", "check"]);
    assert_eq!(checked.code(), Some(1), "{checked}");
    assert_snapshot!(checked.out(), @r"
    vm: failed: the health check finds no instance of `factory`, so the applications are kept; check the configuration of `factory`, or confirm that the instance is gone with `windlass app check vm`
    vm-2: failed: the health check finds no instance of `factory`, so the applications are kept; check the configuration of `factory`, or confirm that the instance is gone with `windlass app check vm-2`
    ");
    assert!(env.ok(&["status", "vm"]).out().contains("the health check finds no instance of `factory`"));
    machines.iter().zip(&texts).for_each(|(file, text)| env.write(file, text));
    assert_snapshot!(env.ok(&["app", "check"]).out(), @r"
    vm: changed, active
    vm-2: changed, active
    ");
    lose();
    assert_eq!(env.run(&["app", "check"]).code(), Some(1));
    assert_snapshot!(env.ok(&["app", "check", "vm", "vm-2"]).out(), @r"
    vm: destroyed
    vm-2: destroyed
    ");
    assert_eq!(env.run(&["status", "vm"]).code(), Some(2));
}

/// The machine of an open command disappears. `app command --wait` checks only this machine, so the check finds no
/// machine at all. windlass must doubt such a result, and keep the application.
#[test]
fn a_wait_for_a_result_removes_no_application() {
    let env = cloud();
    let begun = backup(&env, "k");
    env.ok(&["app", "launch", "VM"]);
    let machine = format!("cloud/{}", begun.0);
    let text = env.read(&machine);
    std::fs::remove_file(env.path(&machine)).unwrap();
    let waiting = env.spawn(&["app", "command", "--wait", &begun.1]);
    let doubt = "the health check finds no instance of `factory`, so the applications are kept";
    until("its absence is doubted", || env.run(&["status", "vm"]).stdout.contains(doubt));
    env.write(&machine, text);
    end_backup(&env, &begun, r#"[{"file": "f"}]"#);
    let run = waiting.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(run.stdout.ends_with("file: f\n"), "{run}");
}

/// A command of one application runs, so the daemon checks only the other application. The check finds no machine at
/// all. windlass must doubt such a result, and keep the application.
#[test]
fn the_daemon_keeps_applications_if_it_checks_only_one_of_them() {
    let env = cloud();
    let begin = "for id, request in given[\"instances\"].items():\n    for";
    let hold = "while os.path.exists(path(\"hold\")): time.sleep(0.05)\n";
    env.edit("scripts/vm/resize.py", begin, &format!("trace(\"resize\")\n{hold}{begin}"));
    publish(&env);
    env.ok(&["app", "launch", "VM", "--count", "2", "-p", "configuration.size=small"]);
    env.write("cloud/hold", "");
    let command = env.spawn(&["app", "command", "vm", "control.resize", "-a", "size=large"]);
    until("the command runs", || count(&env, "resize") > 0);
    command.kill();
    let machines: Vec<String> = env.files().into_iter().filter(|file| file.starts_with("cloud/i-")).collect();
    let texts: Vec<String> = machines.iter().map(|file| env.read(file)).collect();
    for machine in &machines {
        std::fs::remove_file(env.path(machine)).unwrap();
    }
    let daemon = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| daemon.stdout().contains(text);
    until("the check fails", || {
        assert!(!said("its scripts say that it is destroyed"), "{}", daemon.stdout());
        said("vm-2: the health check fails: the health check finds no instance of `factory`")
    });
    machines.iter().zip(&texts).for_each(|(file, text)| env.write(file, text));
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    until("it works again", || said("vm-2: the health check works again"));
    daemon.signal(rustix::process::Signal::TERM);
    let run = daemon.end();
    assert_eq!(run.code(), Some(0), "{run}");
}

/// A health check finds that the machine of an application is gone. During the check, the user destroys the
/// application, and launches another one with the same name. windlass must not apply the result to the new application.
#[test]
fn a_check_does_not_change_a_later_application_of_the_same_name() {
    let env = cloud();
    env.edit(
        "scripts/vm/check.py",
        "answer(answers)",
        "if \"i-old\" in answers and os.path.exists(path(\"hold\")):\n    trace(\"held\")\n    \
         while os.path.exists(path(\"hold\")): time.sleep(0.05)\nanswer(answers)",
    );
    publish(&env);
    let launch = |id: &str| env.ok(&["app", "launch", "VM", "-p", &format!("configuration.id={id}")]);
    launch("i-old");
    std::fs::remove_file(env.path("cloud/i-old")).unwrap();
    env.write("cloud/hold", "");
    let check = env.spawn(&["app", "check", "vm"]);
    until("the machine is checked", || count(&env, "held") > 0);
    env.ok(&["app", "destroy", "vm"]);
    launch("i-new");
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let run = check.end();
    assert_snapshot!(run.out(), @"vm: dropped: it was created again meanwhile");
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["application"]["natural_id"], "i-new");
    assert_snapshot!(env.ok(&["app", "check", "vm"]).out(), @"vm: unchanged, active");
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

/// If the output of a health check has no entry for an instance, its status and its failure stay.
#[test]
fn an_unanswered_check_changes_nothing() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-2"]);
    env.write("cloud/i-1", "{}");
    assert_eq!(env.run(&["app", "check", "vm"]).code(), Some(1));
    let failure =
        || env.json(&["status", "vm"])["assemblies"][0]["components"][0]["failure"]["message"].clone();
    let before = failure();
    assert!(before.as_str().unwrap().starts_with("the health check failed"), "{before}");
    env.write("cloud/silent-i-1", "");
    let checks = || trace(&env).iter().filter(|line| line.starts_with("check")).count();
    let count = checks();
    assert_snapshot!(env.ok(&["app", "check"]).out(), @r"
    vm: unchecked: the output of the health check has no entry for the instance
    vm-2: unchanged, active
    ");
    assert_eq!((failure(), checks()), (before, count + 2));
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

/// Line breaks in the texts of scripts are escaped, so that a script can't add lines to the output.
#[test]
fn texts_of_scripts_stay_in_their_lines() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    env.write(
        "cloud/i-1",
        r#"{"ip": "203.0.113.9\nvm: gone", "size": "big\nno", "ill": "full\nvm: destroyed"}"#,
    );
    assert_eq!(env.ok(&["app", "check"]).out(), "vm: changed, degraded: full\\nvm: destroyed\n");
    let status = env.ok(&["status", "vm"]).out();
    for line in ["  compute.ip: 203.0.113.9\\nvm: gone", "  compute.size: big\\nno"] {
        assert!(status.lines().any(|shown| shown == line), "{status}");
    }
    assert!(!status.lines().any(|line| line.starts_with("vm: ")), "{status}");
    env.write("cloud/i-1", r#"{"ip": "203.0.113.9", "size": "big\nno"}"#);
    let run = env.ok(&["app", "command", "vm", "control.resize", "-a", "size=small"]);
    assert!(run.out().ends_with("was: big\\nno\n"), "{run}");
}

/// The log contains the changes that a check has found. A check without changes writes nothing.
#[test]
fn what_a_check_has_found_is_logged() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    let found = |change: &str| {
        env.write("cloud/i-1", change);
        env.ok(&["app", "check"]);
        let log = env.json(&["log", "vm"]);
        let events = log["checks"].as_array().cloned().unwrap_or_default();
        let texts = events.iter().map(|event| format!("{} {}", event["severity"], event["message"]));
        texts.map(|text| text.replace('"', "")).collect::<Vec<_>>()
    };
    let moved = r#"{"ip": "203.0.113.9", "size": "small"}"#;
    let expected = ["INFO `compute.ip` is 203.0.113.9, and was 203.0.113.1"];
    assert_eq!(found(moved), expected);
    assert_eq!(found(moved), expected, "no change, no entry");
    // `prune` keeps the last event of the store, so another event is added first.
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["prune", "vm"]);
    assert_eq!(found(moved), expected, "it is young");
    assert_snapshot!(env.ok(&["prune", "vm", "--older", "0s"]).out(), @"vm: removed 1 entry of health checks");
    assert_eq!(found(moved), [""; 0]);
}

/// The script of a command reports that the machine is destroyed. windlass must remove the application.
#[test]
fn a_command_can_destroy() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["app", "command", "vm", "control.kill"]);
    assert_eq!(env.run(&["status", "vm"]).code(), Some(2));
    assert_eq!(trace(&env).last().map(|line| line.starts_with("destroy i-")), Some(true));
}

/// Launches a machine, and calls its command `control.backup` without waiting for the result. Returns the ids of the
/// machine and of the command.
fn backup(env: &TestEnv, key: &str) -> (String, String) {
    env.ok(&["app", "launch", "VM"]);
    env.write("key", key);
    let run = env.ok(&["app", "command", "vm", "control.backup", "-a", "key=@key", "--async"]);
    let begun = trace(env).into_iter().rfind(|line| line.starts_with("backup")).unwrap();
    let [_, id, command] = begun.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    assert!(run.out().contains(&format!("{command}: `control.backup` is open")), "{run}");
    (id, command)
}

/// Ends a backup, so that the next check reports its results.
fn end_backup(env: &TestEnv, (id, command): &(String, String), results: &str) {
    env.write("cloud/backup", format!(r#"{{"id": "{id}", "command": "{command}", "results": {results}}}"#));
}

/// An application has an open command, whose result an export would lose. windlass must refuse to export the
/// application without `--force`.
#[test]
fn an_open_command_is_not_lost_by_an_export() {
    let env = cloud();
    let begun = backup(&env, "k");
    let refused = env.refuses(&["export", "vm"]).replace(&begun.1, "COMMAND");
    assert_snapshot!(refused, @"error[WL0544]: `vm` has open commands, whose results an export would lose: `control.backup` (COMMAND); wait until `windlass app check vm` reports the results, or give them up with `--force`");
    assert!(env.refuses(&["export", "vm", "--dry-run"]).starts_with("error[WL0544]"));
    let status = &env.json(&["status", "vm"])["assemblies"][0]["application"]["commands"];
    assert_eq!(
        (&status[0]["id"], &status[0]["command"]),
        (&begun.1.as_str().into(), &"control.backup".into())
    );
    let waits = format!("`windlass app command --wait {}` waits for its result", begun.1);
    assert!(env.ok(&["status", "vm"]).out().contains(&waits));
    end_backup(&env, &begun, r#"[{"file": "f"}]"#);
    env.ok(&["app", "check"]);
    env.ok(&["export", "vm", "--dry-run"]);
    assert!(!env.ok(&["status", "vm"]).out().contains("--wait"), "the command has ended");
    backup(&env, "k");
    env.ok(&["export", "vm", "--force"]);
}

/// The final result of a command may come from a health check after the process of the command has ended. The
/// result is recorded, and the arguments of the command stay sealed until then.
#[test]
fn a_result_may_arrive_after_the_process_has_ended() {
    let env = cloud();
    let begun = backup(&env, "hunter22");
    assert_eq!(env.json(&["history", "vm"])["processes"][0]["status"], "completed", "the process has ended");
    end_backup(
        &env,
        &begun,
        r#"[{"$intermediate": true, "phase": "copied"}, {"file": "s3://b/hunter22.tar"}]"#,
    );
    assert_snapshot!(env.ok(&["app", "check"]).out(), @"vm: changed, active");
    let log = env.ok(&["log", "vm"]).out();
    for (text, times) in
        [("progress: phase: started", 1), ("progress: phase: copied", 1), ("result: file: s3://b/***.tar", 1)]
    {
        assert_eq!(log.matches(text).count(), times, "{text}: {log}");
    }
    let view = env.json(&["app", "command", "--wait", &begun.1]);
    assert_eq!(view["state"], "completed", "{view}");
    assert_eq!(view["results"][2]["file"], "s3://b/***.tar", "{view}");
    assert!(
        !env.ok(&["status", "vm", "--format", "json"]).out().contains("phase"),
        "it is not in the document"
    );

    end_backup(&env, &begun, r#"[{"file": "another"}]"#);
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "vm"]).out();
    assert!(log.contains("are ignored: no such command awaits them"), "{log}");
    assert_eq!(env.json(&["app", "command", "--wait", &begun.1])["results"].as_array().unwrap().len(), 3);
    env.is_quiet();
}

/// The discovery script lists a machine that is destroyed while the script runs. The machine is not adopted.
#[test]
fn an_instance_that_is_destroyed_during_a_discovery_stays_destroyed() {
    let env = cloud();
    env.edit(
        "scripts/vm/discover.py",
        "trace(\"discovered\")",
        "trace(\"listed\")\nwhile os.path.exists(path(\"hold\")): time.sleep(0.05)",
    );
    env.edit(
        "scripts/vm/discover.py",
        "state(read(id))",
        "state({\"ip\": \"203.0.113.9\", \"size\": \"small\"})",
    );
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    env.ok(&["app", "reconfigure", "factory", "--latest"]);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.write("cloud/hold", "");
    let discovery = env.spawn(&["app", "discover", "factory"]);
    until("the machine is listed", || trace(&env).contains(&"listed".to_owned()));
    env.ok(&["app", "destroy", "vm"]);
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let run = discovery.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(!run.out().contains("adopted"), "{run}");
    assert_eq!(env.json(&["status"])["assemblies"].as_array().unwrap().len(), 1);
}

/// An application is renamed before a command of the application has a result. windlass must still record the result,
/// and mask the secret in the result.
#[test]
fn a_result_finds_a_renamed_application() {
    let env = cloud();
    let begun = backup(&env, "hunter22");
    env.ok(&["rename", "vm", "box"]);
    end_backup(&env, &begun, r#"[{"file": "s3://b/hunter22.tar"}]"#);
    env.ok(&["app", "check"]);
    let view = env.json(&["app", "command", "--wait", &begun.1]);
    assert_eq!(view["state"], "completed", "{view}");
    assert_eq!(view["results"][1]["file"], "s3://b/***.tar", "{view}");
}

/// A result that contradicts the manifest is recorded, and the log contains a warning.
#[test]
fn wrong_results_are_warned_of() {
    let env = cloud();
    env.edit("vm.yaml", "=> string file)", "=> int file)");
    publish(&env);
    let begun = backup(&env, "k");
    end_backup(&env, &begun, r#"[{"file": "f", "size": 3}]"#);
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "vm"]).out();
    for warning in [
        "the field `file` of the result has a wrong type: `int` is expected, and this is text",
        "the field `size` of the result is not declared by the manifest",
    ] {
        assert!(
            log.contains(&format!("WARNING vm command `control.backup` ({}): {warning}", begun.1)),
            "{log}"
        );
    }
    assert_eq!(env.json(&["app", "command", "--wait", &begun.1])["results"][1]["file"], "f");
}

/// `app command` waits for the result of its command. `app command --wait` waits for the result of a command that was
/// called earlier. Ctrl-C must end only the waiting, not the command.
#[test]
fn a_command_is_awaited() {
    let env = cloud();
    let begun = backup(&env, "k");
    let waiting = env.spawn(&["app", "command", "--wait", &begun.1]);
    until("it waits", || waiting.stderr().contains("waiting for the result of `control.backup`"));
    waiting.signal(rustix::process::Signal::INT);
    let run = waiting.end();
    assert_eq!(run.code(), Some(130), "{run}");
    assert!(run.stderr.contains("stopped waiting; the command goes on"), "{run}");

    end_backup(&env, &begun, r#"[{"file": "f"}]"#);
    let run = env.ok(&["app", "command", "--wait", &begun.1]);
    assert_snapshot!(run.out(), @r"
    phase: started
    file: f
    ");

    let second = env.spawn(&["app", "command", "vm", "control.backup", "-a", "key=k", "--format", "json"]);
    until("it waits", || second.stderr().contains("waiting for the result"));
    let command = trace(&env).into_iter().rfind(|line| line.starts_with("backup")).unwrap();
    end_backup(&env, &(begun.0, command.split(' ').next_back().unwrap().to_owned()), "[{}]");
    let run = second.end();
    assert_eq!(run.code(), Some(0), "{run}");
    let view: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&view["state"], &view["command"]), (&"completed".into(), &"control.backup".into()), "{view}");
}

/// Waiting for a command ends if the application is destroyed in the meantime.
#[test]
fn waiting_ends_with_the_application() {
    let env = cloud();
    let (_, command) = backup(&env, "k");
    let waiting = env.spawn(&["app", "command", "--wait", &command]);
    until("it waits", || waiting.stderr().contains("waiting for the result"));
    env.ok(&["app", "destroy", "vm"]);
    let run = waiting.end();
    assert_eq!(run.code(), Some(1), "{run}");
    let end = format!("failed: `control.backup` ({command}): its application is destroyed\n");
    assert!(run.stdout.ends_with(&end), "{run}");
}

/// A command without a result expires. Waiting for a command with an unknown id is refused.
#[test]
fn a_command_expires() {
    let env = cloud();
    env.edit("windlass.yaml", "version: 1\n", "version: 1\ndrivers:\n  script: {result-timeout: 1s}\n");
    let (_, command) = backup(&env, "k");
    let run = env.run(&["app", "command", "--wait", &command]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.out().contains("expired: no final result of `control.backup`"), "{run}");
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "vm"]).out();
    assert_eq!(log.matches("no final result arrived in time").count(), 1, "{log}");
    assert_snapshot!(env.refuses(&["app", "command", "--wait", "nothing"]), @"error[WL0759]: there is no command `nothing`; the last 20 commands of each application are kept");
}

/// Runs `app check`. Returns the number of instances in each run of the check script, the largest number first.
fn groups(env: &TestEnv) -> Vec<usize> {
    let before = trace(env).len();
    env.run(&["app", "check"]);
    let checks = trace(env).split_off(before);
    let mut sizes: Vec<usize> = checks.iter().map(|line| line.split(' ').count() - 1).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes
}

/// A batch that fails is halved until the failing instance is alone. It is checked alone until its check
/// succeeds.
#[test]
fn a_bad_one_is_checked_alone_until_it_is_well() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "4"]);
    let machine = env.files().into_iter().find(|file| file.starts_with("cloud/i-")).unwrap();
    let before = env.read(&machine);
    env.write(&machine, "no machine");
    assert_eq!(groups(&env), [4, 2, 2, 1, 1]);
    assert_eq!(groups(&env), [3, 1]);
    env.write(&machine, before);
    assert_eq!(groups(&env), [3, 1]);
    assert_eq!(groups(&env), [4]);
}

/// The output of the health check contains an instance that was not in the input. windlass must ignore this instance,
/// and must log one warning.
#[test]
fn an_answer_that_was_not_asked_for_is_a_warning() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "2"]);
    env.write("cloud/extra", "");
    let checked = env.json(&["app", "check"]);
    for application in checked["applications"].as_array().unwrap() {
        assert_eq!(application["status"], "active", "{checked}");
    }
    let logs = env.ok(&["log", "vm"]).out() + &env.ok(&["log", "vm-2"]).out();
    assert_eq!(logs.matches("the instance `i-extra` was not requested").count(), 1, "{logs}");
}

/// The log of the factory contains the warnings and errors that a successful check wrote to stderr.
#[test]
fn stderr_of_checks_is_logged_by_level() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.write("cloud/warn", "");
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "factory"]).out();
    assert!(log.contains("WARNING factory the quota is low"), "{log}");
    assert!(!log.contains("all is well") && !log.contains("no level"), "{log}");
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

/// The scripts of a published revision have mistakes. After a correction, `app destroy --latest` runs the corrected
/// scripts. The advice after a failure names commands for applications, whatever command has failed.
#[test]
fn a_mistake_in_published_scripts_is_corrected() {
    let env = cloud();
    let (launch, destroy) = (env.read("scripts/vm/launch.py"), env.read("scripts/vm/destroy.py"));
    env.edit("scripts/vm/destroy.py", "import", "import sys; sys.exit(3)\nimport");
    publish(&env);
    env.ok(&["app", "launch", "VM", "--name", "a"]);
    env.edit("scripts/vm/launch.py", "import", "import sys; sys.exit(3)\nimport");
    publish(&env);
    let failed = env.run(&["app", "launch", "VM", "--name", "b"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    let advice = "`windlass app destroy b --latest` removes it; then launch it again";
    assert!(failed.stdout.contains("not done: launch of b failed: "), "{failed}");
    assert!(failed.stdout.contains(advice), "{failed}");
    assert!(env.run(&["retry", "b"]).stdout.contains(advice));
    for command in [&["app", "destroy", "a"][..], &["retry", "a"], &["down", "a"]] {
        let failed = env.run(command);
        assert_eq!(failed.code(), Some(1), "{failed}");
        assert!(failed.stdout.contains("not done: destroy of a failed: "), "{failed}");
        assert!(
            failed.stdout.contains("`windlass app destroy a --latest` runs them instead")
                && !failed.stdout.contains("FILE"),
            "{failed}"
        );
    }
    let still = env.run(&["app", "destroy", "a", "--latest"]);
    assert_eq!(still.code(), Some(1), "the latest revision has the mistake, too: {still}");
    assert!(still.stdout.contains("`windlass app destroy a --latest` resumes the process"), "{still}");

    env.write("scripts/vm/launch.py", launch);
    env.write("scripts/vm/destroy.py", destroy);
    publish(&env);
    assert_eq!(env.run(&["app", "destroy", "a"]).code(), Some(1), "its own revision has the mistake");
    let dry = env.ok(&["app", "destroy", "a", "--latest", "--dry-run"]);
    assert!(dry.out().contains("- vm removed"), "{dry}");
    env.ok(&["app", "destroy", "b", "a", "--latest"]);
    assert_eq!(machines(&env), 0);
    env.ok(&["app", "launch", "VM", "--name", "b"]);
}

/// After a failed reconfiguration, the status names the command that applies the values again.
#[test]
fn a_failed_reconfiguration_is_retried() {
    let env = cloud();
    env.edit(
        "scripts/vm/reconfigure.py",
        "    trace(\"reconfigure",
        "    os.path.exists(path(\"bad\")) and sys.exit(\"no space\")\n    trace(\"reconfigure",
    );
    publish(&env);
    env.ok(&["app", "launch", "VM"]);
    env.write("cloud/bad", "");
    let failed = env.run(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert!(failed.stdout.contains("not done: reconfigure of vm failed: "), "{failed}");
    for command in [&["status", "vm"][..], &["status"]] {
        let status = env.ok(command).out();
        assert!(status.contains("uncertain; `windlass retry vm` applies them again"), "{status}");
    }
    std::fs::remove_file(env.path("cloud/bad")).unwrap();
    env.ok(&["retry", "vm"]);
    env.ok(&["app", "check"]);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");
}

/// The revision of an application is no longer published. The errors must name the command that switches the
/// application to the latest revision.
#[test]
fn an_application_of_an_unpublished_revision_gets_the_latest() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.ok(&["app", "unpublish", "VM"]);
    publish(&env);
    env.ok(&["app", "unpublish", "VM Factory"]);
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    let larger = ["app", "reconfigure", "vm", "-p", "configuration.size=large"];
    assert_snapshot!(env.refuses(&larger), @"error[WL0650]: `vm` belongs to revision 1 of `VM`, which is no longer published; `windlass app reconfigure vm --latest` switches it to revision 2");
    assert_snapshot!(env.refuses(&["app", "discover", "factory"]), @"error[WL0650]: `factory` belongs to revision 1 of `VM Factory`, which is no longer published; `windlass app reconfigure factory --latest` switches it to revision 2");
    env.ok(&[&larger[..], &["--latest"]].concat());
    env.ok(&["app", "reconfigure", "factory", "--latest"]);
    env.ok(&["app", "discover", "factory"]);
}

/// A discovery whose output can't be used names the problem once, with its place.
#[test]
fn a_problem_of_a_discovery_is_named_once() {
    let env = cloud();
    env.edit(
        "scripts/vm/discover.py",
        "trace(\"discover\")",
        "print('{\"instances\": {\"i-1\": {}, \"i-1\": {}}}'); sys.exit(0)",
    );
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    env.ok(&["app", "reconfigure", "factory", "--latest"]);
    assert_snapshot!(env.run(&["app", "discover", "factory"]).stderr, @r#"
    error[WL0758]: the discovery of `factory` failed: the output of `discover.py` can't be used: stdout of discover.py:1:27: error[WL0010]: key `i-1` is given twice
        | {"instances": {"i-1": {}, "i-1": {}}}
        stdout of discover.py:1:16: first given here
        help: remove or rename one of the two
    "#);
}

/// People see the beginning of a long message of a status, and JSON output contains all of it. An empty message is not
/// printed.
#[test]
fn a_long_message_of_a_status_is_shortened() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    let ill = |text: &str| {
        env.write("cloud/i-1", format!(r#"{{"ip": "203.0.113.9", "size": "small", "ill": "{text}"}}"#));
    };
    ill(&"x".repeat(3000));
    let short = format!("degraded: {}… (3000 characters; `--format json` shows all)\n", "x".repeat(300));
    assert_eq!(env.ok(&["app", "check"]).out(), format!("vm: changed, {short}"));
    for command in [&["status"][..], &["status", "vm"]] {
        let status = env.ok(command).out();
        assert!(status.contains("xxx… (3000 characters; ") && !status.contains(&"x".repeat(301)), "{status}");
    }
    assert!(env.ok(&["status", "--format", "json"]).out().contains(&"x".repeat(3000)));
    ill("");
    assert_eq!(env.ok(&["app", "check"]).out(), "vm: changed, degraded\n");
    let status = env.ok(&["status", "vm"]).out();
    assert!(!status.contains(", ,") && !status.contains(" ,"), "{status}");
}

/// The launch script reports a secret of the factory as the name of an instance. The launch must fail, and the message
/// must tell which configuration value is the secret.
#[test]
fn a_name_with_a_secret_of_the_factory_is_refused() {
    let env = cloud();
    env.edit(
        "scripts/vm/launch.py",
        "instanceId=instance)",
        "instanceId=instance, name=factory[\"configuration.token\"])",
    );
    publish(&env);
    let failed = env.run(&["app", "launch", "VM"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    let why =
        "the name of the instance holds the value of `configuration.token` of its factory, which is secret";
    assert!(failed.stdout.contains(why), "{failed}");
}

/// A stop ends a health check that hangs.
#[test]
fn a_stop_ends_a_check() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.write("cloud/hang", "");
    let before = trace(&env).len();
    let check = env.spawn(&["app", "check"]);
    until("it runs", || trace(&env).len() > before);
    check.signal(rustix::process::Signal::INT);
    let run = check.end();
    assert_eq!(run.code(), Some(130), "{run}");
    assert!(
        run.stderr.ends_with("stopped on request before the checks ended; nothing is recorded of them\n"),
        "{run}"
    );
}

/// The configuration of the factory is read at each call.
#[test]
fn a_changed_factory_counts_at_once() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    std::fs::rename(env.path("cloud"), env.path("moved")).unwrap();
    let folder = format!("configuration.cloud={}", env.path("moved").display());
    env.ok(&["app", "reconfigure", "factory", "-p", &folder]);
    env.ok(&["app", "check", "vm"]);
    env.ok(&["app", "destroy", "vm"]);
    assert!(env.read("moved/trace").lines().any(|line| line.starts_with("destroy i-")));
}

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
fn daemon_until(env: &TestEnv, text: &str, times: usize) {
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

/// A queued reconfiguration contains all values of the application. If a value changes before it runs, the daemon refuses
/// it, because it would restore the old value.
#[test]
fn a_queued_reconfiguration_undoes_no_other_change() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let [large, huge] = ["configuration.size=large", "configuration.size=huge"];
    let vm = ["app", "reconfigure", "vm"];
    env.ok(&[&vm[..], &["-p", large, "--queue"]].concat());
    let refused = env.refuses(&[&vm[..], &["-p", "configuration.id=i-2", "--queue"]].concat());
    assert_snapshot!(refused, @"error[WL0762]: q3 of `vm` is pending, and this reconfiguration would undo its change; execute q3 with `windlass run`, or withdraw it with `windlass cancel vm q3`, and repeat the command");
    env.ok(&[&vm[..], &["-p", "configuration.id=i-3"]].concat());
    let refused = "`vm` has changed since this reconfiguration was requested";
    daemon_until(&env, refused, 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "small");
    env.ok(&[&vm[..], &["-p", large]].concat());
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");

    // The next revision differs only in a comment.
    env.ok(&[&vm[..], &["-p", huge, "--queue"]].concat());
    env.edit("vm.yaml", "application:\n", "application: # the second one\n");
    publish(&env);
    env.ok(&[&vm[..], &["--latest"]].concat());
    daemon_until(&env, refused, 1);
    let status = &env.json(&["status", "vm"])["assemblies"][0];
    let found = (&status["application"]["revision"], &status["outputs"]["compute.size"]);
    assert_eq!(found, (&2.into(), &"large".into()));

    // Nothing has changed since this request.
    env.ok(&[&vm[..], &["-p", huge, "--queue"]].concat());
    env.ok(&["app", "check"]);
    daemon_until(&env, " completed", 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "huge");
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

/// An application has no script for changes. windlass must refuse a new value, and must not launch the application
/// again with this value.
#[test]
fn a_value_that_no_script_changes_is_refused() {
    let env = cloud();
    env.edit("vm.yaml", "        factory.reconfigurationScript: /vm/reconfigure.py\n", "");
    publish(&env);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    assert_snapshot!(env.refuses(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]), @"error[WL0754]: `vm` has no reconfiguration script, so `configuration.size` can't change; destroy it and launch it with the new value, or add `factory.reconfigurationScript` to its manifest");
    env.edit(
        "vm.yaml",
        "/vm/check.py\n",
        "/vm/check.py\n        factory.reconfigurationScript: /vm/reconfigure.py\n",
    );
    publish(&env);
    env.ok(&["app", "reconfigure", "vm", "--latest", "-p", "configuration.size=large"]);
    assert_eq!(trace(&env).iter().filter(|line| line.starts_with("launch")).count(), 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");
}

/// After Ctrl-C, windlass waits for the script of a command, and the script succeeds. windlass must report the command
/// as completed. If it reported a cancelled command, the user would call the command again.
#[test]
fn a_command_that_ends_after_a_stop_is_done() {
    let env = cloud();
    env.edit(
        "scripts/vm/resize.py",
        "answers = {}",
        "answers = {}\ntrace(\"resize\")\nwhile os.path.exists(path(\"hold\")): time.sleep(0.05)",
    );
    publish(&env);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.write("cloud/hold", "");
    let command = env.spawn(&["app", "command", "vm", "control.resize", "-a", "size=large"]);
    until("the script has begun", || trace(&env).contains(&"resize".to_owned()));
    command.signal(rustix::process::Signal::INT);
    until("the stop is noticed", || command.stderr().contains("interrupt again"));
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let run = command.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(run.out().ends_with("was: small\n"), "{run}");
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

/// `app reconfigure` never launches an application again, even after a failed launch or a failed destruction.
#[test]
fn without_an_instance_nothing_is_reconfigured() {
    let env = cloud();
    env.run(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=refused"]);
    env.ok(&["app", "launch", "VM", "--name", "b", "-p", "configuration.size=small"]);
    env.ok(&["app", "launch", "VM", "--name", "c", "-p", "configuration.size=small"]);
    env.edit("scripts/vm/destroy.py", "import", "import sys; sys.exit(3)\nimport");
    publish(&env);
    env.ok(&["app", "reconfigure", "b", "--latest"]);
    assert_eq!(env.run(&["app", "destroy", "b"]).code(), Some(1));
    assert!(env.ok(&["status", "b"]).out().starts_with("b Inactive (not destroyed) "), "nothing was removed");
    let checked = env.run(&["app", "check", "a"]);
    assert_eq!(checked.code(), Some(1), "a named application must be checked: {checked}");
    assert_snapshot!(checked.out(), @"a: unchecked: it is Failed; `windlass retry a` resumes its last process");
    env.ok(&["app", "check"]);
    let before = trace(&env);
    let reconfigure =
        |name: &str, args: &[&str]| env.refuses(&[&["app", "reconfigure", name][..], args].concat());
    let larger = ["-p", "configuration.size=large"];
    assert_snapshot!(reconfigure("a", &larger), @"error[WL0762]: the launch of `a` has not succeeded, so it can't be reconfigured; repeat the launch with `windlass retry a`, or remove it with `windlass app destroy a` (`--latest` runs the scripts of the latest revision)");
    assert_snapshot!(reconfigure("b", &larger), @"error[WL0762]: `b` is being destroyed; finish that with `windlass app destroy b` (`--latest` runs the scripts of the latest revision)");
    env.edit("vm.yaml", "        factory.reconfigurationScript: /vm/reconfigure.py\n", "");
    env.edit("vm.yaml", "{size: configuration(string), ", "{");
    publish(&env);
    assert_snapshot!(reconfigure("c", &["--latest"]), @"error[WL0762]: the change would replace the instance of `c`; destroy it with `windlass app destroy c`, and launch it again");
    assert_eq!(trace(&env), before);
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

/// A dry run of a reconfiguration shows the change, and a queued reconfiguration waits for the daemon. Both run no script.
#[test]
fn a_reconfiguration_is_planned_and_queued() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let before = trace(&env);
    let larger = ["app", "reconfigure", "vm", "-p", "configuration.size=large"];
    let planned = env.run(&[&larger[..], &["--dry-run", "--detailed-exitcode"]].concat());
    assert_eq!(planned.code(), Some(3), "{planned}");
    assert_snapshot!(planned.out(), @r"
      ~ vm changed
          configuration.size: small → large
    1 to change
    vm: 1 step, up to 1 at once
       s1 vm Reconfigure
    longest chain: s1
    ");
    let queued = env.ok(&[&larger[..], &["--queue"]].concat());
    assert!(queued.out().starts_with("vm: reconfigure is queued for `windlass run`"), "{queued}");
    assert!(
        env.refuses(&[&larger[..], &["--dry-run", "-o", "plan"]].concat())
            .contains("can't be saved as a plan")
    );
    assert_eq!(trace(&env), before);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "small");
}

/// A later revision of a manifest may have other configuration values. The instance stays.
#[test]
fn a_revision_with_another_configuration_is_applied() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.edit("vm.yaml", "{size: configuration(string), ", "{flavour: configuration(string), ");
    env.edit("scripts/vm/reconfigure.py", "configuration.size", "configuration.flavour");
    publish(&env);
    let run = env.ok(&["app", "reconfigure", "vm", "--latest", "-p", "configuration.flavour=large"]);
    let dropped =
        "warning[WL0640]: revision 2 has no parameter `configuration.size`, so its value is dropped\n";
    assert!(run.stderr.contains(dropped), "{run}");
    assert_eq!(trace(&env).iter().filter(|line| line.starts_with("launch")).count(), 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");
}

/// `app reconfigure --latest` runs the reconfiguration script only if a value or this script has changed.
#[test]
fn a_revision_with_the_same_reconfiguration_runs_no_script() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let runs = || trace(&env).iter().filter(|line| line.starts_with("reconfigure ")).count();
    let latest = || {
        publish(&env);
        env.ok(&["app", "reconfigure", "vm", "--latest"]);
        runs()
    };
    env.edit("vm.yaml", "application:\n", "application: # the second one\n");
    env.edit("scripts/vm/destroy.py", "import", "import re\nimport");
    assert_eq!(latest(), 0);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["application"]["revision"], 2);
    env.edit("scripts/vm/reconfigure.py", "import", "import re\nimport");
    assert_eq!(latest(), 1);
    assert_eq!(latest(), 1);
    env.edit("vm.yaml", "application: # the second one\n", "application:\n");
    publish(&env);
    env.ok(&["app", "reconfigure", "vm", "--latest", "-p", "configuration.size=large"]);
    assert_eq!(runs(), 2);
}

/// A command is called without an argument that its manifest declares.
#[test]
fn a_missing_argument_of_a_command_is_a_warning() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let run = env.ok(&["app", "command", "vm", "control.backup", "--async"]);
    assert!(
        run.stderr.contains(
            "warning[WL0756]: `control.backup` declares the argument `key`, which is not given\n |\n = help: pass `-a key=VALUE`\n"
        ),
        "{run}"
    );
    let run = env.ok(&["app", "command", "vm", "control.backup", "-a", "key=k", "--async"]);
    assert!(!run.stderr.contains("warning"), "{run}");
}

/// A malformed entry in the output of a discovery concerns only its own instance.
#[test]
fn a_malformed_entry_of_a_discovery_affects_no_other() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-own"]);
    env.write("cloud/listed", r#"{"i-own": {"name": null}, "i-1": 7, "i-2": {"name": "two"}, "i\n3": {}}"#);
    let discovered = |options: &[&str]| {
        let run = env.run(&[&["app", "discover", "factory"], options].concat());
        assert_eq!(run.code(), Some(1), "{run}");
        // The place is before the problem.
        let shown = run.out();
        let shown = shown.lines().filter(|line| !line.starts_with(' '));
        let without_place = |line: &str| match line.split_once(" stdout of") {
            Some((head, problem)) => format!("{head} {}", problem.split_once("]: ").unwrap().1),
            None => line.to_owned(),
        };
        shown.map(without_place).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(discovered(&["--dry-run"]), @r#"
    i-own: known, application `vm`: the output of `discover.py` can't be used: instance `i-own`: `name`: expected a string, found null
    i-1: new: the output of `discover.py` can't be used: instance `i-1`: expected a map of fields and operators, found a number
    i-2: new
    i\n3: new: the output of `discover.py` can't be used: the id "i\n3" of the instance contains a control character
    "#);
    assert_snapshot!(discovered(&[]), @r#"
    i-own: known, application `vm`: the output of `discover.py` can't be used: instance `i-own`: `name`: expected a string, found null
    i-1: new: the output of `discover.py` can't be used: instance `i-1`: expected a map of fields and operators, found a number
    i-2: adopted, application `two`
    i\n3: new: the output of `discover.py` can't be used: the id "i\n3" of the instance contains a control character
    "#);
    let log = env.json(&["log", "vm"]);
    assert_snapshot!(log["checks"][0]["message"].as_str().unwrap(), @"the health check failed: the output of `discover.py` can't be used: instance `i-own`: `name`: expected a string, found null");
    assert_snapshot!(env.ok(&["app", "check", "vm"]).out(), @"vm: changed, active");
}

/// The discovery reports a signal whose name is the factory's token. The manifest declares no such signal, so the failure
/// names it. The token is masked in the output and in the log.
#[test]
fn a_failed_discovery_shows_no_secret() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-own"]);
    let signal = r#"{"interfaces": {"compute": {"signals": {"s3cr3t-token": 1}}}}"#;
    env.write("cloud/listed", format!(r#"{{"i-own": {signal}, "i-new": {signal}}}"#));
    let dry = env.run(&["app", "discover", "factory", "--dry-run"]);
    assert_eq!(dry.code(), Some(1), "{dry}");
    assert_snapshot!(dry.out(), @r"
    i-own: known, application `vm`: its updates are not valid: `interfaces.compute.signals.***`: no such path
    i-new: new
    ");
    let run = env.run(&["app", "discover", "factory"]);
    assert_snapshot!(run.out(), @r"
    i-own: known, application `vm`: its updates are not valid: `interfaces.compute.signals.***`: no such path
    i-new: new: its updates are not valid: `interfaces.compute.signals.***`: no such path
    ");
    let log = env.ok(&["log", "vm"]).stdout;
    assert!(log.contains("`interfaces.compute.signals.***`: no such path"), "{log}");
}

/// Another store may manage an exported application. So a discovery must adopt the instance of this application only
/// with `--exported`.
#[test]
fn the_instance_of_an_exported_application_is_not_adopted() {
    let env = cloud();
    for (id, file) in [("i-one", "vm.export"), ("i-two", "second.export")] {
        env.ok(&["app", "launch", "VM", "-p", &format!("configuration.id={id}")]);
        // Both applications have the name `vm`, one after the other.
        env.ok(&["export", "vm", "-o", file]);
    }
    second_factory(&env, "staging", "cloud");
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @"
    i-one: exported: it is the instance of `vm`, which was exported to `vm.export`; take it back with `windlass import vm.export`, or, if no other store manages it, adopt it with `windlass app discover factory --exported`
    i-two: exported: it is the instance of `vm`, which was exported to `second.export`; take it back with `windlass import second.export`, or, if no other store manages it, adopt it with `windlass app discover factory --exported`
    ");
    let twin = env.ok(&["app", "discover", "staging"]).out();
    assert_eq!(twin.matches(": exported: ").count(), 2, "{twin}");

    env.ok(&["import", "vm.export"]);
    let found = env.ok(&["app", "discover", "factory"]).out();
    assert!(found.contains("i-one: known, application `vm`\n"), "{found}");
    env.ok(&["app", "forget", "vm", "--yes"]);

    env.ok(&["rename", "factory", "machines"]);
    let found = env.ok(&["app", "discover", "machines"]).out();
    assert!(found.contains("i-one: adopted, application `machine-i-one`\ni-two: exported: "), "{found}");
    let asked = ["app", "discover", "machines", "--exported"];
    assert_snapshot!(env.ok(&[&asked[..], &["--dry-run"]].concat()).out(), @"
    i-one: known, application `machine-i-one`
    i-two: new
    ");
    assert_snapshot!(env.ok(&asked).out(), @"
    i-one: known, application `machine-i-one`
    i-two: adopted, application `machine-i-two`
    ");
    env.ok(&["app", "forget", "machine-i-two", "--yes"]);
    let found = env.ok(&["app", "discover", "machines"]).out();
    assert!(found.contains("i-two: adopted, application `machine-i-two`"), "{found}");
}

/// The applications of a factory are exported, and then the factory is removed. Another factory with the same manifest may
/// find their instances, and must not adopt them.
#[test]
fn an_exported_instance_outlives_its_factory() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    env.ok(&["export", "vm"]);
    second_factory(&env, "staging", "cloud");
    env.write("cloud2/trace", "");
    env.write("cloud2/i-one", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    second_factory(&env, "other", "cloud2");
    assert_snapshot!(env.ok(&["app", "discover", "other", "--dry-run"]).out(), @"i-one: exported: the instance of `vm`, an application of the factory `factory`, has the same natural id, and was exported to `vm.export`; if no other store manages this instance, adopt it with `windlass app discover other --exported`");
    env.ok(&["env", "service", "rm", "default", "factory"]);
    env.ok(&["app", "destroy", "factory"]);
    let found = env.ok(&["app", "discover", "staging"]).out();
    assert_snapshot!(found, @"i-one: exported: it is the instance of `vm`, which was exported to `vm.export`, and its factory `factory` no longer exists; if no other store manages it, adopt it with `windlass app discover staging --exported`");
    // Another factory with the name of the removed one makes no difference.
    second_factory(&env, "factory", "cloud2");
    assert_eq!(env.ok(&["app", "discover", "staging"]).out(), found);
    assert_snapshot!(env.ok(&["app", "discover", "staging", "--exported"]).out(), @"i-one: adopted, application `machine-i-one`");
    env.ok(&["app", "forget", "machine-i-one", "--yes"]);
    assert_snapshot!(env.ok(&["app", "discover", "staging"]).out(), @"i-one: adopted, application `machine-i-one`");
}

/// After an export, the factory of the application gets another configuration. Its former twin still finds the instance,
/// and must not adopt it.
#[test]
fn an_exported_instance_does_not_depend_on_configurations() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    second_factory(&env, "staging", "cloud");
    env.ok(&["export", "vm"]);
    env.write("cloud2/trace", "");
    let elsewhere = format!("configuration.cloud={}", env.path("cloud2").display());
    env.ok(&["app", "reconfigure", "factory", "-p", &elsewhere]);
    let found = env.ok(&["app", "discover", "staging"]).out();
    assert!(found.starts_with("i-one: exported: "), "{found}");
    // The statement of the user concerns this discovery only: the factory may get its old configuration again.
    env.ok(&["app", "discover", "staging", "--exported"]);
    env.ok(&["app", "forget", "machine-i-one", "--yes"]);
    assert_eq!(env.ok(&["app", "discover", "staging"]).out(), found);
}

/// A launch gives the instance of an exported application to a new application, which is then forgotten. The next
/// discovery must adopt the instance, despite the export.
#[test]
fn a_launch_takes_over_an_exported_instance() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    env.ok(&["export", "vm"]);
    env.ok(&["app", "launch", "VM", "--name", "second", "-p", "configuration.id=i-one"]);
    env.ok(&["app", "forget", "second", "--yes"]);
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @"i-one: adopted, application `machine-i-one`");
}

/// An import finds the factory of an application after the factory was renamed, even if another factory now has the old
/// name.
#[test]
fn an_application_is_imported_after_its_factory_was_renamed() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    env.ok(&["export", "vm"]);
    env.ok(&["rename", "factory", "machines"]);
    second_factory(&env, "factory", "cloud2");
    env.ok(&["import", "vm.export", "--dry-run"]);
    env.ok(&["import", "vm.export"]);
    assert_snapshot!(env.ok(&["app", "discover", "machines"]).out(), @"i-one: known, application `vm`");
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    env.ok(&["app", "destroy", "vm"]);
    assert_eq!(machines(&env), 0);
}

/// A discovered instance that was created outside of windlass becomes an application. An application whose
/// instance is no longer found stays.
#[test]
fn what_a_factory_finds_is_adopted() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-own"]);
    env.write("cloud/i-other", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    assert_snapshot!(env.ok(&["app", "discover", "factory", "--dry-run"]).out(), @r"
    i-other: new
    i-own: known, application `vm`
    ");
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @r"
    i-other: adopted, application `machine-i-other`
    i-own: known, application `vm`
    ");
    let adopted = &env.json(&["status", "machine-i-other"])["assemblies"][0];
    assert_eq!(adopted["outputs"]["compute.size"], "huge");
    env.edit("cloud/i-other", "huge", "tiny");
    std::fs::remove_file(env.path("cloud/i-own")).unwrap();
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @r"
    i-other: changed, application `machine-i-other`
    i-own: gone, application `vm`
    ");
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @r"
    i-other: known, application `machine-i-other`
    i-own: gone, application `vm`
    ");
    env.ok(&["app", "forget", "machine-i-other", "--yes"]);
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @r"
    i-other: adopted, application `machine-i-other`
    i-own: gone, application `vm`
    ");
    env.ok(&["app", "destroy", "machine-i-other"]);
    assert_eq!(machines(&env), 0);
    env.is_quiet();
}

/// The values of the manifest describe instances that the launch script creates. An adopted machine may have other
/// values, and keeps them until a reconfiguration sets others.
#[test]
fn a_reconfiguration_of_an_adopted_machine_sets_only_the_values_that_were_given() {
    let env = cloud();
    env.edit(
        "vm.yaml",
        "  components:\n",
        "  configuration: {configuration.size: small, configuration.id: i-default}\n  components:\n",
    );
    let keep = "size=request[\"configuration\"][\"configuration.size\"]";
    env.edit("scripts/vm/reconfigure.py", keep, "last=request[\"configuration\"]");
    publish(&env);
    env.write("cloud/i-other", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    env.ok(&["app", "discover", "factory"]);
    let last = || {
        let machine: serde_json::Value = serde_json::from_str(&env.read("cloud/i-other")).unwrap();
        machine["last"].to_string()
    };
    env.ok(&["app", "reconfigure", "machine-i-other", "-p", "configuration.id=i-7"]);
    assert_snapshot!(last(), @r#"{"configuration.id":"i-7"}"#);
    // The next revision and its new values do not change this either.
    env.edit("vm.yaml", "configuration.size: small", "configuration.size: tiny");
    publish(&env);
    env.ok(&["app", "reconfigure", "machine-i-other", "--latest"]);
    assert_snapshot!(last(), @r#"{"configuration.id":"i-7"}"#);
    env.ok(&["app", "reconfigure", "machine-i-other", "-p", "configuration.size=large"]);
    assert_snapshot!(last(), @r#"{"configuration.id":"i-7","configuration.size":"large"}"#);
    // A launched machine gets the values of the manifest.
    env.ok(&["app", "launch", "VM", "--name", "own"]);
    env.ok(&["app", "reconfigure", "own", "-p", "configuration.size=large"]);
    let own: serde_json::Value = serde_json::from_str(&env.read("cloud/i-default")).unwrap();
    assert_snapshot!(own["last"].to_string(), @r#"{"configuration.id":"i-default","configuration.size":"large"}"#);
}

/// A location is renamed in `windlass.yaml`, but an environment and an application still use the old name. The errors
/// of later commands must tell how to correct this.
#[test]
fn a_renamed_location_is_declared_again() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=small"]);
    let before = env.read("windlass.yaml");
    env.edit("windlass.yaml", "  here:", "  there:");
    assert_snapshot!(env.refuses(&["app", "launch", "VM", "--dry-run"]), @"error[WL0751]: scripts of the environment `default` run at the location `here`, which `windlass.yaml` does not declare (there are `there`); choose another by `windlass env service add default --location NAME --replace`");
    env.ok(&["env", "service", "add", "default", "--location", "there", "--replace"]);
    let larger = ["app", "reconfigure", "a", "-p", "configuration.size=large"];
    assert_snapshot!(env.refuses(&larger), @"error[WL0513]: `vm` can't be placed: `windlass.yaml` declares no location `here`; did you mean `there`? Existing parts keep their location: if it was removed or renamed, declare `here` again");
    let destroyed = env.run(&["app", "destroy", "a"]);
    assert!(destroyed.stdout.contains("declare `here` again"), "{destroyed}");
    env.write(
        "windlass.yaml",
        format!("{before}{}", before.replace("version: 1\nlocations:\n  here:", "  there:")),
    );
    env.ok(&["app", "destroy", "a"]);
    assert_eq!(machines(&env), 0);
}

/// A secret may be a map or a list. A reconfiguration of another value keeps it.
#[test]
fn a_reconfiguration_keeps_secret_maps_and_lists() {
    let env = cloud();
    env.edit(
        "vm.yaml",
        "id: configuration(string)}",
        "id: configuration(string), login: {type: configuration(object), sensitive: true}, \
         keys: {type: configuration(list<string>), sensitive: true}}",
    );
    let keep = "size=request[\"configuration\"][\"configuration.size\"]";
    env.edit("scripts/vm/reconfigure.py", keep, "last=request[\"configuration\"]");
    publish(&env);
    env.write(
        "secrets.yaml",
        "configuration.login: {user: me, password: hunter22}\nconfiguration.keys: [first-key, second-key]\n",
    );
    env.ok(&["app", "launch", "VM", "--params", "secrets.yaml", "-p", "configuration.id=i-1"]);
    let last = || {
        let machine: serde_json::Value = serde_json::from_str(&env.read("cloud/i-1")).unwrap();
        machine["last"].to_string()
    };
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    assert_snapshot!(last(), @r#"{"configuration.id":"i-1","configuration.keys":["first-key","second-key"],"configuration.login":{"password":"hunter22","user":"me"},"configuration.size":"large"}"#);
    env.write("secrets.yaml", "configuration.login: {user: me, password: hunter33}\n");
    env.ok(&["app", "reconfigure", "vm", "--params", "secrets.yaml"]);
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=huge"]);
    assert_snapshot!(last(), @r#"{"configuration.id":"i-1","configuration.keys":["first-key","second-key"],"configuration.login":{"password":"hunter33","user":"me"},"configuration.size":"huge"}"#);
    for command in [&["history", "vm", "--format", "json"][..], &["status", "vm", "--format", "json"]] {
        let run = env.ok(command);
        assert!(!run.stdout.contains("hunter") && !run.stdout.contains("first-key"), "{run}");
    }
}

/// Launches the factory `name` for the cloud in the folder `cloud`. The factory becomes a service of a new environment,
/// also called `name`.
fn second_factory(env: &TestEnv, name: &str, cloud: &str) {
    let folder = format!("configuration.cloud={}", env.path(cloud).display());
    let token = "configuration.token=@token";
    env.ok(&["env", "create", name]);
    env.ok(&["env", "service", "add", name, "--location", "here"]);
    env.ok(&["app", "launch", "VM Factory", "--name", name, "--env", name, "-p", &folder, "-p", token]);
    env.ok(&["env", "service", "add", name, name]);
}

/// Two environments have factories with the same configuration, so both discoveries find the same machines. Each machine
/// is an application of one factory only. A factory of another cloud may use the same natural id, if the user states this.
#[test]
fn a_machine_belongs_to_one_factory() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    second_factory(&env, "staging", "cloud");
    env.write("cloud/i-new", r#"{"ip": "203.0.113.8", "size": "huge"}"#);
    let run = env.run(&["app", "discover", "staging"]);
    assert_eq!(run.code(), Some(1));
    assert_snapshot!(run.out(), @"
    i-new: adopted, application `machine-i-new`
    i-one: new: it is the instance of `vm`, an application of the factory `factory` with the same configuration; remove one of the two factories, or change its configuration with `windlass app reconfigure`
    ");
    env.write("cloud2/trace", "");
    env.write("cloud2/i-one", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    second_factory(&env, "other", "cloud2");
    let discover = ["app", "discover", "other"];
    let run = env.run(&discover);
    assert_eq!(run.code(), Some(1));
    assert_snapshot!(run.out(), @"i-one: new: the instance of `vm`, an application of the factory `factory`, has the same natural id; if they are one instance, remove one of the two factories; if they are two, adopt this one with `windlass app discover other --same-id i-one`");
    assert_snapshot!(env.ok(&[&discover[..], &["--same-id", "i-one"]].concat()).out(), @"i-one: adopted, application `machine-i-one`");
    assert_snapshot!(env.ok(&discover).out(), @"i-one: known, application `machine-i-one`");
    // A launch of the twin may have made the machine.
    env.run(&["app", "launch", "VM", "--name", "half", "-p", "configuration.size=half"]);
    let run = env.run(&["app", "discover", "staging"]);
    assert!(run.out().contains("waits: the launch of `half` may have made it"), "{run}");
}

/// The configurations of two factories differ only in a secret map. windlass can't know whether both factories find the
/// same machines. So it must permit both factories to have an application with the same natural id, if the user states that
/// they are two machines.
#[test]
fn factories_with_different_secret_maps_are_no_twins() {
    let env = cloud();
    env.edit(
        "factory.yaml",
        "          token:",
        "          login: {type: configuration(object), sensitive: true}\n          token:",
    );
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    for account in ["one", "other"] {
        env.write(account, format!("configuration.login: {{user: {account}}}\n"));
    }
    env.ok(&["app", "reconfigure", "factory", "--latest", "--params", "one"]);
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    second_factory(&env, "staging", "cloud");
    env.ok(&["app", "reconfigure", "staging", "--params", "one"]);
    let run = env.run(&["app", "discover", "staging"]);
    assert!(run.out().contains("i-one: new: it is the instance of `vm`"), "{run}");
    let stated = ["app", "discover", "staging", "--same-id", "i-one"];
    assert_eq!(env.run(&stated).out(), run.out(), "the statement has no effect on a twin");
    env.ok(&["app", "reconfigure", "staging", "--params", "other"]);
    let run = env.run(&["app", "discover", "staging"]);
    assert!(run.out().contains("i-one: new: the instance of `vm`, an application of"), "{run}");
    assert_snapshot!(env.ok(&stated).out(), @"i-one: adopted, application `machine-i-one`");
}

/// The discoveries of two factories with the same configuration run at the same time, as under a daemon. Both find a
/// new machine, and only one of them adopts it.
#[test]
fn of_two_discoveries_at_once_one_adopts() {
    let env = cloud();
    second_factory(&env, "staging", "cloud");
    env.write("cloud/i-new", r#"{"ip": "203.0.113.8", "size": "huge"}"#);
    env.edit(
        "scripts/vm/discover.py",
        "trace(\"discovered\")",
        "trace(\"discovered\")\nwhile os.path.exists(path(\"hold\")): time.sleep(0.05)",
    );
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    for factory in ["factory", "staging"] {
        env.ok(&["app", "reconfigure", factory, "--latest"]);
    }
    env.write("cloud/hold", "");
    let both = ["factory", "staging"].map(|factory| env.spawn(&["app", "discover", factory]));
    until("both have listed", || trace(&env).iter().filter(|line| *line == "discovered").count() == 2);
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    for discovery in both {
        discovery.end();
    }
    let status = env.json(&["status"]);
    assert_eq!(
        status["assemblies"].as_array().unwrap().len(),
        3,
        "two factories and the machine: {status:#}"
    );
}

/// A changed secret stays changed: later reconfigurations keep its last value.
#[test]
fn a_changed_secret_stays_changed() {
    let env = cloud();
    for script in ["launch", "check"] {
        env.edit(&format!("scripts/vm/{script}.py"), "== \"s3cr3t-token\"", "== \"third\"");
    }
    publish(&env);
    for token in ["second", "third"] {
        env.write("token", token);
        env.ok(&["app", "reconfigure", "factory", "-p", "configuration.token=@token"]);
        env.ok(&["app", "reconfigure", "factory", "--latest"]);
    }
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
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

/// A discovery finds a machine that a failed launch may have created. The discovery must not adopt this machine as long
/// as the launch can be resumed.
#[test]
fn what_a_failed_launch_has_made_is_not_adopted() {
    let env = cloud();
    let run = env.run(&["app", "launch", "VM", "--name", "half", "-p", "configuration.size=half"]);
    assert!(run.out().contains("`windlass retry half` resumes the process"), "{run}");
    let run = env.run(&["app", "discover", "factory"]);
    assert!(run.out().contains("waits: the launch of `half` may have made it"), "{run}");
    env.run(&["app", "launch", "VM", "--name", "none", "-p", "configuration.size=refused"]);
    let run = env.run(&["app", "discover", "factory"]);
    assert!(run.out().contains("waits: one of the launches of `half`, `none` may have made it"), "{run}");
    env.ok(&["app", "forget", "none", "--yes"]);
    let run = env.run(&["app", "launch", "VM", "--name", "half"]);
    assert!(run.stderr.contains("`windlass retry half` resumes a launch"), "{run}");
    env.ok(&["app", "forget", "half", "--yes"]);
    assert!(env.ok(&["app", "discover", "factory"]).out().contains("adopted"));
}

#[test]
fn a_stop_ends_a_discovery_that_hangs() {
    let env = cloud();
    env.write("cloud/hang", "");
    let discovery = env.spawn(&["app", "discover", "factory"]);
    until("it runs", || trace(&env).contains(&"discover".to_owned()));
    discovery.signal(rustix::process::Signal::INT);
    let run = discovery.end();
    assert_eq!(run.code(), Some(130), "{run}");
}

/// `windlass run` checks applications. It also runs the discovery of a factory at the times of the factory's schedule.
#[test]
fn the_daemon_checks_and_discovers() {
    let env = cloud_discovered("0/2 * * * * ? *");
    env.ok(&["app", "launch", "VM", "--name", "first"]);
    env.ok(&["app", "launch", "VM", "--name", "second"]);
    let daemon = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| daemon.stdout().contains(text);
    let machine = |name: &str| {
        let found =
            env.files().into_iter().filter(|file| file.starts_with("cloud/i-") && !file.contains(".new"));
        found.into_iter().find(|file| env.read(file).contains(name)).unwrap()
    };

    let broken = machine("203.0.113.1");
    let before = env.read(&broken);
    env.write(&broken, "no machine");
    until("the check fails", || said("first: the health check fails:"));
    assert!(said("json.decoder.JSONDecodeError"), "the message contains stderr");
    assert!(env.ok(&["status", "first"]).out().contains("the health check failed"), "status tells it");
    assert!(!said("second: the health check fails"), "each is judged alone");
    env.write(&broken, &before);
    until("it works again", || said("first: the health check works again"));
    assert_eq!(daemon.stdout().matches("the health check fails").count(), 1, "it is told once");
    let log = env.ok(&["log", "first"]).out();
    assert_eq!(
        log.matches("ERROR vm the health check failed: `check.py` exited with code 1").count(),
        1,
        "{log}"
    );

    let ill = before.replacen('{', r#"{"ill": "the disk is full", "#, 1);
    env.write(&broken, ill);
    until("its status is reported", || said("first: degraded: the disk is full"));
    env.write(&broken, &before);
    until("it is active again", || said("first: active"));
    assert!(!said("second: active"), "a status that has not changed is not reported");

    std::fs::remove_file(env.path(&machine("203.0.113.2"))).unwrap();
    until("it is destroyed", || said("second: its scripts say that it is destroyed"));
    until("its records are gone", || env.run(&["status", "second"]).code() == Some(2));

    env.write("cloud/i-outside", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    until("it is adopted", || said("adopts i-outside, which factory has found"));
    assert_eq!(
        env.json(&["status", "machine-i-outside"])["assemblies"][0]["outputs"]["compute.size"],
        "huge"
    );
    std::fs::remove_file(env.path("cloud/i-outside")).unwrap();
    until("it is checked, too", || env.run(&["status", "machine-i-outside"]).code() == Some(2));

    daemon.signal(rustix::process::Signal::TERM);
    let run = daemon.end();
    assert_eq!(run.code(), Some(0), "{run}");
}

/// After a factory was renamed, a running daemon checks the factory's applications and runs its discovery.
#[test]
fn the_daemon_follows_a_renamed_factory() {
    let env = cloud_discovered("0/2 * * * * ? *");
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    let daemon = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| daemon.stdout().contains(text);
    until("it is checked", || count(&env, "check") > 1);
    until("it is renamed", || env.run(&["rename", "factory", "machines"]).code() == Some(0));
    let before = env.read("cloud/i-1");
    env.write("cloud/i-1", before.replacen('{', r#"{"ill": "the disk is full", "#, 1));
    until("its status is reported", || said("vm: degraded: the disk is full"));
    env.write("cloud/i-2", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    until("it is adopted", || said("adopts i-2, which machines has found"));
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(daemon.end().code(), Some(0));
}

/// A discovery fails several times, each time with a different text on stderr. Then it succeeds several times. The
/// daemon must report only the first failure and the first success.
#[test]
fn the_daemon_reports_a_failing_discovery_once_and_its_recovery_once() {
    let env = cloud_discovered("0/1 * * * * ? *");
    env.write("cloud/full", "");
    let daemon = env.spawn(&["run", "--health", "0"]);
    until("several discoveries have failed", || count(&env, "discover") >= 4);
    std::fs::remove_file(env.path("cloud/full")).unwrap();
    until("it works again", || daemon.stdout().contains("factory: the discovery works again"));
    let listed = count(&env, "discover");
    until("it is done once more", || count(&env, "discover") > listed + 1);
    daemon.signal(rustix::process::Signal::TERM);
    let run = daemon.end();
    for line in ["factory: the discovery fails:", "factory: the discovery works again"] {
        assert_eq!(run.stdout.matches(line).count(), 1, "{run}");
    }
}

/// The daemon holds the factory during a discovery. So a change of the factory becomes a request, which the
/// daemon executes afterwards.
#[test]
fn a_factory_that_discovers_is_changed_afterwards() {
    let env = cloud_discovered("0/2 * * * * ? *");
    env.write("cloud/slow", "");
    let daemon = env.spawn(&["run", "--health", "0"]);
    let count = |what: &str| trace(&env).iter().filter(|line| *line == what).count();
    until("a discovery runs", || count("discover") > count("discovered"));
    let running = count("discover");
    std::fs::create_dir(env.path("moved")).unwrap();
    let folder = format!("configuration.cloud={}", env.path("moved").display());
    let run = env.ok(&["app", "reconfigure", "factory", "-p", &folder]);
    assert!(run.out().contains("done: factory"), "{run}");
    assert!(count("discovered") >= running, "the discovery that ran has ended before");
    std::fs::write(env.path("moved/i-other"), r#"{"ip": "203.0.113.9", "size": "huge"}"#).unwrap();
    until("the next one has the new value", || daemon.stdout().contains("adopts i-other"));
    daemon.signal(rustix::process::Signal::TERM);
    let run = daemon.end();
    assert_eq!(run.code(), Some(0), "{run}");
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

fn count(env: &TestEnv, what: &str) -> usize {
    trace(env).iter().filter(|line| line.starts_with(what)).count()
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

/// The first health check of a launched machine fails, so the machine does not become Active. `retry` must repeat only
/// the health check, and not the launch.
#[test]
fn a_machine_whose_first_check_has_failed_is_retried() {
    let env = cloud();
    env.edit(
        "scripts/vm/check.py",
        "trace(\"check \"",
        "os.path.exists(path(\"bad\")) and sys.exit(\"no answer\")\ntrace(\"check \"",
    );
    publish(&env);
    env.write("cloud/bad", "");
    assert_eq!(
        env.run(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=small"]).code(),
        Some(1)
    );
    std::fs::remove_file(env.path("cloud/bad")).unwrap();
    assert_snapshot!(env.refuses(&["app", "reconfigure", "a", "-p", "configuration.size=large"]), @"error[WL0762]: `a` is Inactive, so it can't be reconfigured; complete its last process with `windlass retry a` first");
    assert_eq!(env.run(&["app", "check", "a"]).code(), Some(1));
    env.ok(&["retry", "a"]);
    env.ok(&["app", "reconfigure", "a", "-p", "configuration.size=large"]);
    env.ok(&["app", "check", "a"]);
    assert_eq!((count(&env, "launch"), count(&env, "destroy")), (1, 0));
}

/// The output of the health check has no entry for a launched machine. The launch must print a warning.
#[test]
fn a_launch_warns_of_an_unanswered_check() {
    let env = cloud();
    env.write("cloud/silent-i-1", "");
    let run = env.ok(&["app", "launch", "VM", "--name", "a", "-p", "configuration.id=i-1"]);
    let warning =
        "warning   vm: it was not checked: the output of the health check has no entry for the instance";
    assert!(run.out().contains(warning), "{run}");
}
