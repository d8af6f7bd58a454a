//! A secret in the configuration of a factory. All scripts of the factory's applications receive the secret, and print
//! it wherever they can. windlass must mask the secret in every output, record, argument and environment.

use std::fs;

use serde_json::Value;

use crate::env::{TestEnv, until};
use crate::run::Run;

/// The secret. It contains characters that JSON and YAML escape.
const SECRET: &str = r#"Tr0ub4dor&3"\hunter2"#;

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
        factory.launchScript: /launch.py
        factory.destroyScript: /destroy.py
        factory.healthCheckScript: /check.py
        factory.reconfigurationScript: /reconfigure.py
        factory.commandScripts: {control.reboot: /reboot.py}
      interfaces:
        configuration: {size: configuration(string)}
        compute: {url: publish-signal(string)}
        control: {reboot: receive-command(=> string result)}
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
        component.discoveryScript: /discover.py
        component.discoverySchedule: "* * * * * ? *"
      interfaces:
        configuration:
          home: configuration(string)
          token: {type: configuration(string), sensitive: true}
"#;

/// The content of all scripts. Each script learns its action from its own file name. The file `mode` selects how the
/// scripts fail.
const SCRIPT: &str = r#"#!/usr/bin/env python3
import json, os, sys
given = json.load(sys.stdin)
factory = given["configuration"]
home, token = factory["configuration.home"], factory["configuration.token"]
action = os.path.splitext(os.path.basename(sys.argv[0]))[0]
open(os.path.join(home, "seen"), "a").write(action + " " + token + "\n")

# The arguments and environments of this process and of its ancestors, windlass among them.
pid = os.getpid()
with open(os.path.join(home, "processes"), "ab") as file:
    while pid > 1:
        for what in ("cmdline", "environ"):
            file.write(open("/proc/%d/%s" % (pid, what), "rb").read())
        pid = int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1])

for level in ("E! ", "W! ", "I! ", ""):
    print(level + "the token is " + token, file=sys.stderr)
mode = open(os.path.join(home, "mode")).read()
host = open(os.path.join(home, "host")).read()
if mode == "exit":
    print(json.dumps({"instances": {"i-1": {"status": {"message": token}}}}))
    sys.exit("it fails with " + token)
if mode == "garbage":
    print("no: yaml: \"" + token)
    sys.exit(0)

def state():
    flags = token if mode == "protocol" else {"active": action != "destroy", "converging": False, "failed": False}
    return {
        "status": {"flags": flags, "message": "with " + token},
        "interfaces": {"compute": {"signals": {"url": "https://admin:" + token + "@" + host}}},
        "$pushAll": {"activityLog": [{"severity": "INFO", "message": "used " + token}]},
    }

answers = {}
for number, instance in enumerate(given.get("launch", {})):
    answers["i-" + instance[:6]] = dict(state(), instanceId=instance)
for id, request in given.get("instances", {}).items():
    answers[id] = state()
    for command in (request or {}).get("commands", {}):
        results = [{"$intermediate": True, "phase": token}, {"result": "done with " + token}]
        answers[id]["$pushAll"]["commands." + command] = results
if action == "discover":
    answers["i-outside"] = dict(state(), name="called " + token if mode == "named" else "found")
    if mode == "identified":
        answers["i-" + token] = state()
print(json.dumps({"instances": answers}))
"#;

/// Returns a project with one service: a factory whose configuration contains [`SECRET`].
fn vault() -> TestEnv {
    let env = TestEnv::bare();
    env.write("windlass.yaml", "version: 1\nlocations:\n  here: {runtime: process, input: json}\n");
    env.write("vm.yaml", VM);
    env.write("factory.yaml", FACTORY);
    for action in ["launch", "destroy", "check", "reconfigure", "reboot", "discover"] {
        env.script(&format!("scripts/{action}.py"), SCRIPT);
    }
    mode(&env, "well");
    fs::write(env.home().join("host"), "example").unwrap();
    fs::write(env.home().join("token"), SECRET).unwrap();
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    env.ok(&["app", "publish", "vm.yaml", "--name", "VM", "--scripts", "scripts"]);
    env.ok(&["env", "service", "add", "default", "--location", "here"]);
    let home = format!("configuration.home={}", env.home().display());
    let token = format!("configuration.token=@{}", env.home().join("token").display());
    env.ok(&["app", "launch", "VM Factory", "--name", "factory", "-p", &home, "-p", &token]);
    env.ok(&["env", "service", "add", "default", "factory"]);
    env
}

fn mode(env: &TestEnv, mode: &str) {
    fs::write(env.home().join("mode"), mode).unwrap();
}

/// Returns the forms in which the secret could appear: the unchanged secret, the secret with JSON escapes, and the end
/// of the secret, which contains no character to escape.
fn forms() -> [String; 3] {
    let json = Value::from(SECRET).to_string();
    [SECRET.to_owned(), json.trim_matches('"').to_owned(), "hunter2".to_owned()]
}

fn has_secret(bytes: &[u8]) -> bool {
    forms().iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_bytes()))
}

/// Runs a command, and checks that its output does not contain the secret.
fn quiet(env: &TestEnv, args: &[&str]) -> Run {
    let run = env.run(args);
    assert!(!has_secret(run.stdout.as_bytes()), "windlass {}\n{run}", args.join(" "));
    assert!(!has_secret(run.stderr.as_bytes()), "windlass {}\n{run}", args.join(" "));
    run
}

/// Runs all commands that show the factory or its applications, with text and with JSON output.
fn shown(env: &TestEnv, names: &[&str]) {
    let mut commands: Vec<Vec<String>> = vec![vec!["status".to_owned()], vec!["ps".to_owned()]];
    for name in names {
        for command in ["status", "log", "history", "output", "job ls", "job show", "job replay"] {
            commands.push(command.split(' ').map(str::to_owned).chain([(*name).to_owned()]).collect());
        }
        let jobs = env.run(&["job", "ls", name, "--format", "json"]);
        let jobs = if jobs.code() == Some(0) { jobs.json()["jobs"].clone() } else { Value::Null };
        for id in jobs.as_array().into_iter().flatten().map(|job| job["id"].as_str().unwrap()) {
            for command in ["job show", "job replay"] {
                commands.push(command.split(' ').map(str::to_owned).chain([id.to_owned()]).collect());
            }
        }
    }
    for command in commands {
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        quiet(env, &args);
        quiet(env, &[&args[..], &["--format", "json"]].concat());
    }
}

/// Checks that no file of the project, and no argument or environment of a process, contains the secret.
fn is_nowhere(env: &TestEnv) {
    let files = env.files().into_iter().filter(|file| env.path(file).is_file());
    let leaks: Vec<String> = files.filter(|file| has_secret(&fs::read(env.path(file)).unwrap())).collect();
    assert_eq!(leaks, [""; 0]);
    assert!(!has_secret(&fs::read(env.home().join("processes")).unwrap()), "a process shows it");
}

/// Checks that the scripts of these actions have received the secret.
fn were_given(env: &TestEnv, actions: &[&str]) {
    let seen = fs::read_to_string(env.home().join("seen")).unwrap();
    for action in actions {
        assert!(seen.contains(&format!("{action} {SECRET}\n")), "{action} got another token: {seen}");
    }
}

/// The scripts succeed, and print the secret wherever the protocol allows it. windlass must mask the secret everywhere.
#[test]
fn the_secret_of_a_factory_shows_nowhere() {
    let env = vault();
    quiet(&env, &["app", "launch", "VM"]);
    quiet(&env, &["app", "check", "--format", "json"]);
    quiet(&env, &["app", "command", "vm", "control.reboot"]);
    quiet(&env, &["app", "command", "vm", "control.reboot", "--format", "json"]);
    quiet(&env, &["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    for failure in ["named", "identified"] {
        mode(&env, failure);
        quiet(&env, &["app", "discover", "factory", "--dry-run"]);
        let found = quiet(&env, &["app", "discover", "factory", "--format", "json"]);
        assert!(found.stdout.contains("holds a secret of the factory"), "{found}");
        is_nowhere(&env);
    }
    mode(&env, "well");
    quiet(&env, &["app", "discover", "factory"]);
    were_given(&env, &["launch", "check", "reboot", "reconfigure", "discover"]);
    let status = env.json(&["status"]);
    let names: Vec<&str> =
        status["assemblies"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "the found one is an application: {status}");
    shown(&env, &names);
    is_nowhere(&env);
    for name in names.iter().filter(|name| **name != "factory") {
        assert_eq!(quiet(&env, &["app", "destroy", name]).code(), Some(0));
    }
    shown(&env, &names);
    is_nowhere(&env);
}

/// A signal contains the secret, so windlass stores the value of the signal encrypted. The document of the instance
/// contains only a reference. The value changes, but the reference stays the same. The next health check or discovery
/// must report the change, and later ones must report no change.
#[test]
fn a_new_value_of_a_sealed_signal_is_recorded() {
    let env = vault();
    quiet(&env, &["app", "discover", "factory"]);
    let result = |args: &[&str]| quiet(&env, &[&["app"], args].concat()).out().trim().to_owned();
    fs::write(env.home().join("host"), "host2").unwrap();
    let changed = "i-outside: changed, application `found`";
    assert_eq!(result(&["discover", "factory", "--dry-run"]), changed);
    assert_eq!(result(&["discover", "factory"]), changed);
    assert_eq!(result(&["discover", "factory"]), "i-outside: known, application `found`");
    fs::write(env.home().join("host"), "host3").unwrap();
    assert_eq!(result(&["check"]), "found: changed, active: with ***");
    assert_eq!(result(&["check"]), "found: unchanged, active: with ***");
    is_nowhere(&env);
}

/// The scripts fail in several ways, and their error output contains the secret. windlass must mask the secret
/// everywhere.
#[test]
fn a_failure_does_not_show_the_secret_of_a_factory() {
    let env = vault();
    env.ok(&["app", "launch", "VM"]);
    for failure in ["exit", "garbage", "protocol"] {
        mode(&env, failure);
        let launch = ["app", "launch", "VM", "--name", failure];
        assert_eq!(quiet(&env, &launch).code(), Some(1), "{failure}");
        assert_eq!(quiet(&env, &["app", "check", "vm"]).code(), Some(1), "{failure}");
        assert_eq!(quiet(&env, &["app", "command", "vm", "control.reboot"]).code(), Some(1), "{failure}");
        quiet(&env, &["app", "discover", "factory"]);
        quiet(&env, &["app", "reconfigure", "vm", "-p", &format!("configuration.size={failure}")]);
        shown(&env, &["factory", "vm", failure]);
        is_nowhere(&env);
    }
    were_given(&env, &["launch", "check", "reboot", "discover"]);
}

/// A health check and a discovery fail, and later work again. The daemon must report this, and must not show the secret
/// of the factory.
#[test]
fn a_daemon_does_not_show_the_secret_of_a_factory() {
    let env = vault();
    env.ok(&["app", "launch", "VM"]);
    for format in ["human", "json"] {
        let daemon = env.spawn(&["run", "--health", "1", "--format", format]);
        mode(&env, "exit");
        until("the check fails", || daemon.stdout().contains("health check"));
        until("the discovery fails", || daemon.stdout().contains("discovery"));
        mode(&env, "well");
        until("both work again", || {
            let said = daemon.stdout();
            said.matches("works again").count() + said.matches("check-works").count() >= 2
        });
        daemon.signal(rustix::process::Signal::TERM);
        let run = daemon.end();
        assert!(!has_secret(run.stdout.as_bytes()) && !has_secret(run.stderr.as_bytes()), "{run}");
    }
    is_nowhere(&env);
}
