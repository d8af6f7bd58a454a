//! Discoveries: a factory finds instances, and windlass adopts them.

use insta::assert_snapshot;

use super::{cloud, cloud_discovered, count, machines, publish, trace};
use crate::env::{TestEnv, until};

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

/// The discovery reports a signal whose name is the factory's token. The manifest declares no such signal, so the
/// failure names it. The token is masked in the output and in the log.
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

/// Launches the factory `name` for the cloud in the folder `cloud`. The factory becomes a service of a new environment,
/// also called `name`.
pub(super) fn second_factory(env: &TestEnv, name: &str, cloud: &str) {
    let folder = format!("configuration.cloud={}", env.path(cloud).display());
    let token = "configuration.token=@token";
    env.ok(&["env", "create", name]);
    env.ok(&["env", "service", "add", name, "--location", "here"]);
    env.ok(&["app", "launch", "VM Factory", "--name", name, "--env", name, "-p", &folder, "-p", token]);
    env.ok(&["env", "service", "add", name, name]);
}

/// Two environments have factories with the same configuration, so both discoveries find the same machines. Each
/// machine is an application of one factory only. In a third environment, the factory has another cloud. An instance of
/// this cloud has the same natural id as one of the machines. windlass must adopt this instance only if the user passes
/// `--same-id`.
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
    assert_snapshot!(run.out(), @"i-one: new: the instance of `vm`, an application of the factory `factory`, has the same natural id; if they are one instance, remove one of the two factories; if they are two, adopt this one with `windlass app discover other --same-id 'i-one'`");
    assert_snapshot!(env.ok(&[&discover[..], &["--same-id", "i-one"]].concat()).out(), @"i-one: adopted, application `machine-i-one`");
    assert_snapshot!(env.ok(&discover).out(), @"i-one: known, application `machine-i-one`");
    // A launch of the twin may have made the machine.
    env.run(&["app", "launch", "VM", "--name", "half", "-p", "configuration.size=half"]);
    let run = env.run(&["app", "discover", "staging"]);
    assert!(run.out().contains("waits: the launch of `half` may have made it"), "{run}");
}

/// The configurations of two factories differ only in a secret map. windlass can't know whether both factories find the
/// same machines. If both find a machine with the same natural id, windlass must adopt the second machine only if the
/// user passes `--same-id`.
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

/// The discovery script of a twin lists a machine that is destroyed while the script runs. The machine is not adopted.
#[test]
fn a_machine_of_a_twin_that_is_destroyed_during_a_discovery_is_not_adopted() {
    let env = cloud();
    let hold = "trace(\"listed\")\nwhile os.path.exists(path(\"hold\")): time.sleep(0.05)";
    env.edit("scripts/vm/discover.py", "trace(\"discovered\")", hold);
    let listed = "state({\"ip\": \"203.0.113.9\", \"size\": \"small\"})";
    env.edit("scripts/vm/discover.py", "state(read(id))", listed);
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    second_factory(&env, "staging", "cloud");
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small", "--env", "default"]);
    env.write("cloud/hold", "");
    let discovery = env.spawn(&["app", "discover", "staging"]);
    until("the machine is listed", || trace(&env).contains(&"listed".to_owned()));
    env.ok(&["app", "destroy", "vm"]);
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let run = discovery.end();
    assert_eq!((run.code(), run.out().as_str()), (Some(0), ""), "{run}");
    assert_eq!(env.json(&["status"])["assemblies"].as_array().unwrap().len(), 2);
}

/// Returns the cloud with a second factory `other`, which finds the same machines and differs in one value. An
/// application of the first factory is being launched: the machine `i-one` exists, and the launch script runs until
/// the file `cloud/hold` is removed.
fn launching_elsewhere() -> (TestEnv, crate::run::Running) {
    let env = cloud();
    let hold =
        "    trace(\"made\")\n    while os.path.exists(path(\"hold\")): time.sleep(0.05)\n    answers[id] =";
    env.edit("scripts/vm/launch.py", "    answers[id] =", hold);
    publish(&env);
    std::os::unix::fs::symlink(env.path("cloud"), env.path("link")).unwrap();
    second_factory(&env, "other", "link");
    env.write("cloud/hold", "");
    let launch = ["app", "launch", "VM", "--name", "one", "--env", "default", "-p", "configuration.id=i-one"];
    let launch = env.spawn(&launch);
    until("the machine is made", || trace(&env).contains(&"made".to_owned()));
    (env, launch)
}

/// A machine that an unfinished launch of another factory has made is not adopted.
#[test]
fn what_a_launch_of_another_factory_makes_is_not_adopted() {
    let (env, launch) = launching_elsewhere();
    let discovered = env.run(&["app", "discover", "other"]);
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    assert_snapshot!(discovered.out(), @"i-one: waits: the launch of `one` may have made it; finish it with `windlass retry one`, or end it with `windlass app destroy one`; if it is another instance, adopt it with `windlass app discover other --same-id 'i-one'`");
    let launch = launch.end();
    assert_eq!(launch.code(), Some(0), "{launch}");
    assert!(env.run(&["app", "discover", "other"]).out().contains("has the same natural id"));
}

/// The user states that a machine is not the one of an unfinished launch of another factory, and the machine is adopted.
/// The launch then reports the same natural id. It succeeds, and the log contains a warning.
#[test]
fn a_launch_gets_the_id_of_a_machine_of_another_cloud() {
    let (env, launch) = launching_elsewhere();
    assert_snapshot!(env.ok(&["app", "discover", "other", "--same-id", "i-one"]).out(), @"i-one: adopted, application `machine-i-one`");
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let launch = launch.end();
    assert_eq!(launch.code(), Some(0), "{launch}");
    let log = env.ok(&["log", "one"]);
    let warning = "`machine-i-one`, an application of the factory `other`, has the same natural id `i-one`; if they are \
                   one instance,";
    assert!(log.out().contains(warning), "{log}");
}

/// Two factories of one manifest find overlapping sets of machines, all with the same name. Their discoveries run at
/// the same time. Each machine becomes one application.
#[test]
fn of_two_discoveries_at_once_one_adopts_each_of_many_machines_of_one_name() {
    let env = cloud();
    for at in 0..30 {
        env.write(&format!("cloud/i-{at:02}"), r#"{"ip": "203.0.113.8", "size": "huge"}"#);
    }
    let hold = "found = found[1:] if cloud.endswith('link') else found\ntrace(\"discovered\")\nwhile \
                os.path.exists(path(\"hold\")): time.sleep(0.005)";
    env.edit("scripts/vm/discover.py", "trace(\"discovered\")", hold);
    env.edit("scripts/vm/discover.py", "name=\"machine \" + id", "name=\"web\"");
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    env.ok(&["app", "reconfigure", "factory", "--latest"]);
    std::os::unix::fs::symlink(env.path("cloud"), env.path("link")).unwrap();
    second_factory(&env, "other", "link");
    env.write("cloud/hold", "");
    let both = ["factory", "other"].map(|factory| env.spawn(&["app", "discover", factory]));
    until("both have listed", || trace(&env).iter().filter(|line| *line == "discovered").count() == 2);
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let runs = both.map(|discovery| discovery.end().to_string());
    let adopted = |id: &str| {
        let line = format!("{id}: adopted");
        runs.iter().filter(|run| run.contains(&line)).count()
    };
    let doubled: Vec<String> = (0..30).map(|at| format!("i-{at:02}")).filter(|id| adopted(id) > 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}\n{}\n{}", runs[0], runs[1]);
}

/// The launch script of a twin reports the machine of an application of the first factory. The launch fails.
#[test]
fn a_launch_of_a_twin_does_not_get_a_machine_of_the_first() {
    let env = cloud();
    second_factory(&env, "staging", "cloud");
    env.ok(&["app", "launch", "VM", "--name", "one", "--env", "default", "-p", "configuration.id=i-one"]);
    let second = ["app", "launch", "VM", "--name", "two", "--env", "staging", "-p", "configuration.id=i-one"];
    let run = env.run(&second);
    assert_eq!(run.code(), Some(1), "{run}");
    let failure = run.to_string().lines().find(|line| line.contains("natural id")).map(str::to_owned);
    assert_snapshot!(failure.unwrap_or_default(), @"failed    vm Install: its driver reports the natural id `i-one`, which `one` has, an application of the factory `factory` with the same configuration; if the launch made something new, nothing manages it");
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
