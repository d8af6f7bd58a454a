//! Launched applications. Python scripts manage virtual machines of a simulated cloud, which is a folder.

mod checks;
mod commands;
mod discoveries;
mod exports;
mod failing;
mod launches;
mod reconfigurations;
mod removals;

use crate::env::TestEnv;

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

/// The scripts write a trace. Returns the number of its lines that begin with `what`.
fn count(env: &TestEnv, what: &str) -> usize {
    trace(env).iter().filter(|line| line.starts_with(what)).count()
}
