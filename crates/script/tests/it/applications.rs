//! Tests of applications. They check each byte of the input documents of scripts, and how the driver interprets the
//! answers of the scripts.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_driver::contract::{Purpose, Query};
use windlass_driver::{Call, Driver, Failure, Location, Observation, Package, Question, Report, Settled};
use windlass_executor::{Captured, End, Outcome, Timestamp};
use windlass_model::record::PackageFile;
use windlass_model::resolve::Resolved;
use windlass_model::{Action, Transition};
use windlass_script::{Script, application_package};

use crate::place::{Canned, Place};
use crate::world::{self, With, shown};

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
        factory.healthCheckScript: /vm/healthCheck.py
        factory.reconfigurationScript: /vm/reconfigure.py
        factory.commandScripts: {control.reboot: /vm/reboot.py}
      interfaces:
        configuration: {instanceType: configuration(string), disks: configuration(int)}
        compute: {ip: publish-signal(string)}
        control: {reboot: receive-command(bool force)}
"#;

const VM_FACTORY: &str = r#"
application:
  interfaces:
    component: {"*": bind(factory#component.*)}
    vms: {vm-by-id: bind(factory#factory.instances)}
    configuration: {"*": bind(factory#configuration.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: VM
        component.discoveryScript: /vm/discover.py
        component.discoverySchedule: "0 0/5 * * * ? *"
      interfaces:
        configuration: {awsAccessKey: configuration(string), awsSecretKey: configuration(string)}
"#;

const PETCLINIC: &str = r#"
application:
  interfaces:
    petclinic: {"*": bind(petclinic#petclinic.*)}
  components:
    petclinic:
      type: scripted.Component
      configuration:
        factory.name: PetClinic Factory
        factory.launchScript: /petclinic/launch.py
        factory.destroyScript: /petclinic/destroy.py
        factory.healthCheckScript: /petclinic/healthCheck.py
      interfaces:
        petclinic: {entrypoint: publish-signal(string)}
"#;

/// The instance ids of the requests. Instance ids of windlass begin with a letter.
const VM_ID: &str = "a6e6e3c8b171d3b57dd3f348";
const CLINIC_ID: &str = "a6e79f37954cc4440350814e";

/// Returns the package of a manifest. Each of its scripts prints `output`.
fn package(manifest: &str, output: &str) -> Package {
    let read = windlass_manifest::read(&windlass_source::Source::new("manifest.yaml", manifest));
    let manifest = read.manifest.unwrap();
    let checked = windlass_manifest::check(&manifest);
    assert!(!checked.diagnostics.has_errors(), "{:?}", checked.diagnostics);
    let names = ["launch", "destroy", "healthCheck", "reconfigure", "reboot", "discover"];
    let folders = ["vm", "petclinic"];
    let file = |path: String| {
        let content = format!("#!/bin/sh\ncat <<'END'\n{output}\nEND\n").into_bytes();
        PackageFile { path, executable: true, content }
    };
    let files = folders.iter().flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}.py")));
    let (role, pins) = (checked.role.clone().unwrap(), windlass_manifest::pins(&checked).unwrap());
    application_package("resource::vm::1".parse().unwrap(), &role, pins, files.map(file).collect())
}

fn configuration(values: &[(&str, &str)]) -> BTreeMap<String, Resolved> {
    values.iter().map(|(name, value)| ((*name).to_owned(), Resolved::plain(*value))).collect()
}

fn vm_factory() -> BTreeMap<String, Resolved> {
    configuration(&[("configuration.awsAccessKey", "XXX"), ("configuration.awsSecretKey", "YYY")])
}

fn clinic_factory() -> BTreeMap<String, Resolved> {
    configuration(&[("configuration.registry", "http://petclinic.etcd.io/")])
}

/// Returns a call of an application. The location of the call has the property `region`, and the driver must not pass
/// this property to any script.
fn call(word: &str, package: Package) -> Call {
    let location = BTreeMap::from([("region".to_owned(), json!("eu-1"))]);
    Call { configuration: vm_factory(), ..world::call(word, package, location) }
}

fn command(package: Package) -> Call {
    let binding = package.bindings().commands["control.reboot"][0].clone();
    let action = Action::Command("control.reboot".parse().unwrap());
    Call { action, binding, ..call("Install", package) }
}

/// Runs a call with a real script. Returns the input of the script, and the report of the call.
async fn run(call: Call) -> (String, Report) {
    let place = Place::new();
    let report = Script::default().perform(&place, &[call]).await.remove(0).unwrap();
    (place.jobs().remove(0).1, report)
}

async fn observed(calls: &[Call]) -> (String, Vec<(Observation, Report)>) {
    let place = Place::new();
    let observed = Script::default().observe(&place, calls).await;
    let observed = observed.into_iter().map(|one| one.unwrap()).map(|one| (one.observation, one.report));
    let observed = observed.collect();
    (place.jobs().remove(0).1, observed)
}

async fn printed(call: Call, stdout: &str) -> Result<Report, Failure> {
    let mut outcome = Outcome::new(End::Exited(0), Timestamp::from_millis(0));
    outcome.stdout = Captured::whole(stdout.as_bytes());
    Script::default().perform(&Canned(outcome), &[call]).await.remove(0)
}

fn query(package: Package, configuration: BTreeMap<String, Resolved>) -> Query {
    Query {
        binding: package.bindings().queries[0].clone(),
        package: package.into(),
        location: Location::local("here").into(),
        configuration,
        properties: BTreeMap::new(),
        purpose: Purpose::Inventory,
    }
}

async fn found(query: &Query) -> (String, Vec<(String, Option<String>, Value)>) {
    let place = Place::new();
    let found = Script::default().discover(&place, query).await.unwrap();
    let found =
        found.into_iter().map(|found| (found.natural, found.name, found.report.unwrap().updates)).collect();
    (place.jobs().remove(0).1, found)
}

#[tokio::test]
async fn discovery_of_vms() {
    let output = "instances:\n  i-123123:\n  i-456446:";
    let (input, found) = found(&query(package(VM_FACTORY, output), vm_factory())).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.awsAccessKey: "XXX"
      configuration.awsSecretKey: "YYY"
    "#);
    let ids = ["i-123123", "i-456446"].map(|id| (id.to_owned(), None, Value::Null));
    assert_eq!(found, ids);
}

/// The output of a script contains a valid instance, and instances that violate the protocol. A search for all
/// instances of a factory must still return the valid instance. A search for the target of a reference must fail.
#[tokio::test]
async fn an_instance_that_violates_the_protocol_affects_no_other() {
    let output = "instances:\n  i-1: {name: null}\n  i-2: {name: two}\n  i-3: 7\n  '':\n  \"i\\n4\":";
    let inventory = query(package(VM_FACTORY, output), vm_factory());
    let found = Script::default().discover(&Place::new(), &inventory).await.unwrap();
    let reports: Vec<String> = found
        .into_iter()
        .map(|found| match found.report {
            Ok(report) => format!("{}: {}", found.natural, report.updates),
            Err(failure) => format!("{}: {failure}", found.natural),
        })
        .collect();
    insta::assert_snapshot!(reports.join("\n"), @r#"
    i-1: the output of `discover.py` can't be used: instance `i-1`: `name`: expected a string, found null
    i-2: {"name":"two"}
    i-3: the output of `discover.py` can't be used: instance `i-3`: expected a map of fields and operators, found a number
    : the output of `discover.py` can't be used: the id "" of the instance is empty
    i
    4: the output of `discover.py` can't be used: the id "i\n4" of the instance contains a control character
    "#);
    let reference = Query { purpose: Purpose::Reference, ..inventory };
    let failure = Script::default().discover(&Place::new(), &reference).await.unwrap_err();
    insta::assert_snapshot!(failure.message, @"the output of `discover.py` can't be used: instance `i-1`: `name`: expected a string, found null (and 3 more)");
}

#[tokio::test]
async fn a_launch_chooses_an_id_for_people() {
    for (id, what) in [
        ("''", r#""" of the instance is empty"#),
        (r#""i\t1""#, r#""i\t1" of the instance contains a control character"#),
    ] {
        let stdout = format!("instances:\n  {id}: {{instanceId: {}}}", world::INSTANCE);
        let failure = printed(call("Install", package(VM, "")), &stdout).await.unwrap_err();
        assert_eq!(failure.message, format!("the output of `launch.py` can't be used: the id {what}"));
    }
}

#[tokio::test]
async fn launch_of_a_vm() {
    let output = format!(
        "instances:\n  i-789789:\n    instanceId: {VM_ID}\n    $set:\n      status.flags.active: true\n    \
         interfaces:\n      compute:\n        signals:\n          ip: 203.0.113.1"
    );
    let mut call = call("Install", package(VM, &output)).property("configuration.instanceType", "m1.small");
    call.instance = VM_ID.parse().unwrap();
    call.properties.insert("deploymentLocation".parse().unwrap(), Resolved::plain("here"));
    let (input, report) = run(call).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.awsAccessKey: "XXX"
      configuration.awsSecretKey: "YYY"
    launch:
      a6e6e3c8b171d3b57dd3f348:
        configuration:
          configuration.instanceType: "m1.small"
    "#);
    assert_eq!((report.natural.as_deref(), report.settled), (Some("i-789789"), Settled::Yes));
    let updates = json!({
        "$set": {"status.flags.active": true}, "instanceId": VM_ID,
        "interfaces": {"compute": {"signals": {"ip": "203.0.113.1"}}},
    });
    assert_eq!(report.updates, updates);
}

#[tokio::test]
async fn health_check_of_a_vm() {
    let output = "instances:\n  i-789789:\n    $set:\n      status.flags.active: true\n    interfaces:\n      \
                  compute:\n        signals:\n          ip: 203.0.113.1";
    let (input, seen) = observed(&[call("Integrity", package(VM, output)).natural("i-789789")]).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.awsAccessKey: "XXX"
      configuration.awsSecretKey: "YYY"
    instances:
      i-789789: null
    "#);
    assert_eq!(seen[0].0, Observation::Reached);
}

#[tokio::test]
async fn health_check_of_several() {
    let package = package(VM, "");
    let calls = ["i-1", "i-2"].map(|id| call("Integrity", package.clone()).natural(id));
    insta::assert_snapshot!(observed(&calls).await.0, @r#"
    configuration:
      configuration.awsAccessKey: "XXX"
      configuration.awsSecretKey: "YYY"
    instances:
      i-1: null
      i-2: null
    "#);
}

#[tokio::test]
async fn reconfiguration_of_a_vm() {
    let output = "instances:\n  i-789789:\n    status:\n      flags:\n        active: false\n        \
                  converging: true\n        failed: false";
    let call = call("Reconfigure", package(VM, output)).natural("i-789789");
    let call = call.property("configuration.instanceType", "m3.large").property("configuration.disks", "2");
    let (input, report) = run(call).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.awsAccessKey: "XXX"
      configuration.awsSecretKey: "YYY"
    instances:
      i-789789:
        configuration:
          configuration.disks: 2
          configuration.instanceType: "m3.large"
    "#);
    assert_eq!(report.settled, Settled::Converging);
}

#[tokio::test]
async fn destroy_of_a_vm() {
    let output = "instances:\n  i-789789:\n    status:\n      flags:\n        active: false\n        \
                  converging: false\n        failed: false";
    let call = call("Uninstall", package(VM, output)).natural("i-789789");
    let (input, report) = run(call.property("configuration.instanceType", "m1.small")).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.awsAccessKey: "XXX"
      configuration.awsSecretKey: "YYY"
    instances:
      i-789789: null
    "#);
    assert_eq!(report.settled, Settled::Gone);
}

#[tokio::test]
async fn command_on_a_vm() {
    let output =
        "instances:\n  i-789789:\n    $pushAll:\n      commands.st1p1s3c1:\n      - {rebooted: true}";
    let call = command(package(VM, output)).natural("i-789789").argument("force", true);
    let (input, report) = run(call).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.awsAccessKey: "XXX"
      configuration.awsSecretKey: "YYY"
    instances:
      i-789789:
        commands:
          st1p1s3c1:
            control:
              reboot:
                force: true
    "#);
    assert_eq!(report.updates, json!({"$pushAll": {"commands.st1p1s3c1": [{"rebooted": true}]}}));
}

#[tokio::test]
async fn discovery_of_clinics() {
    let factory = VM_FACTORY.replace("/vm/", "/petclinic/").replace("awsAccessKey", "registry");
    let output = "instances:\n  pearl-white-petclinic:\n  dark-blue-petclinic:";
    let (input, found) = found(&query(package(&factory, output), clinic_factory())).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.registry: "http://petclinic.etcd.io/"
    "#);
    let names: Vec<String> = found.into_iter().map(|(id, ..)| id).collect();
    assert_eq!(names, ["pearl-white-petclinic", "dark-blue-petclinic"]);
}

const CLINIC: &str = "    interfaces:
      petclinic:
        signals:
          entrypoint: http://203.0.113.1/
    components:
      haproxy-vm:
        reference:
          mapping: vms.vm-by-id
          key:     i-789789
      tomcat-vm:
        reference:
          mapping: vms.vm-by-id
          key:     i-123123
";

#[tokio::test]
async fn launch_of_a_clinic() {
    let output = format!(
        "instances:\n  flaring-green-petclinic:\n    instanceId: {CLINIC_ID}\n    $set:\n      \
         status.flags.active: true\n{CLINIC}"
    );
    let mut call = call("Install", package(PETCLINIC, &output));
    (call.instance, call.configuration) = (CLINIC_ID.parse().unwrap(), clinic_factory());
    let (input, report) = run(call).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.registry: "http://petclinic.etcd.io/"
    launch:
      a6e79f37954cc4440350814e:
        configuration: {}
    "#);
    assert_eq!(report.natural.as_deref(), Some("flaring-green-petclinic"));
    let haproxy = &report.updates["components"]["haproxy-vm"]["reference"];
    assert_eq!(haproxy, &json!({"mapping": "vms.vm-by-id", "key": "i-789789"}));
}

#[tokio::test]
async fn health_check_and_destroy_of_a_clinic() {
    let check =
        format!("instances:\n  pearl-white-petclinic:\n    $set:\n      status.flags.active: true\n{CLINIC}");
    let mut call_of = call("Integrity", package(PETCLINIC, &check)).natural("pearl-white-petclinic");
    call_of.configuration = clinic_factory();
    let (input, seen) = observed(&[call_of]).await;
    insta::assert_snapshot!(input, @r#"
    configuration:
      configuration.registry: "http://petclinic.etcd.io/"
    instances:
      pearl-white-petclinic: null
    "#);
    assert_eq!(seen[0].0, Observation::Reached);

    let gone = "instances:\n  pearl-white-petclinic:\n    status:\n      flags:\n        active: false\n        \
                converging: false\n        failed: false";
    let mut call_of = call("Uninstall", package(PETCLINIC, gone)).natural("pearl-white-petclinic");
    call_of.configuration = clinic_factory();
    let (again, report) = run(call_of).await;
    assert_eq!(again, input);
    assert_eq!(report.settled, Settled::Gone);
}

/// A destroy script, or the health check after it, succeeds without a report that the instance is gone. The driver must
/// then report that the destroy is still converging.
#[tokio::test]
async fn only_a_script_says_that_an_application_is_destroyed() {
    let destroy = || call("Uninstall", package(VM, "")).natural("i-1");
    for stdout in ["", "instances: {i-1: {$set: {status.flags.active: false}}}"] {
        assert_eq!(printed(destroy(), stdout).await.unwrap().settled, Settled::Converging, "{stdout}");
        let call = Call { package: package(VM, stdout).into(), question: Question::Settled, ..destroy() };
        assert_eq!(observed(&[call]).await.1[0].0, Observation::Converging, "{stdout}");
    }
    // After the loss of its job, an instance that is still there shows that the script has not destroyed it.
    let active = "instances: {i-1: {status: {flags: {active: true}}}}";
    let call = Call { package: package(VM, active).into(), question: Question::Done, ..destroy() };
    assert!(matches!(observed(&[call]).await.1[0].0, Observation::Differs(_)));
    let gone = "instances: {i-1: {status: {flags: {active: false}}}}";
    let call = Call { package: package(VM, gone).into(), ..destroy() };
    assert_eq!(observed(&[call]).await.1[0].0, Observation::Reached);
    let report = printed(command(package(VM, "")).natural("i-1"), gone).await.unwrap();
    assert_eq!(report.settled, Settled::Gone, "a command can destroy");
    let found = found(&query(package(VM_FACTORY, gone), vm_factory())).await.1;
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn a_launch_answers_its_request_with_an_instance_that_runs() {
    let launch = |stdout: &str| {
        printed(call("Install", package(VM, "")), stdout.replace("ID", world::INSTANCE).leak())
    };
    let mut said = String::new();
    for stdout in [
        "",
        "instances: {i-1: {status: {flags: {active: true}}}}",
        "instances: {i-1: {instanceId: ID, status: {flags: {active: false}}}}",
        "instances: {i-1: {instanceId: ID, interfaces: {compute: {signals: {pi: 1}}}}}",
        "instances: {i-1: {instanceId: ID, interfaces: {compute: {signals: {ip: [1]}}}}}",
    ] {
        said.push_str(&shown(&launch(stdout).await.unwrap_err()));
        said.push_str("\n\n");
    }
    insta::assert_snapshot!(said, @r"
    Protocol: the output of `launch.py` can't be used: the output has no entry for the instance `abcdefghijkmnpqrstuvwxyz`
    ---
    error[WL0423]: the output has no entry for the instance `abcdefghijkmnpqrstuvwxyz`
        help: name it as `instanceId` of the instance that was launched

    Protocol: the output of `launch.py` can't be used: the instance `i-1` has no `instanceId`
    ---
    stdout of launch.py:1:13: error[WL0423]: the instance `i-1` has no `instanceId`
        | instances: {i-1: {status: {flags: {active: true}}}}
        help: write `instanceId: abcdefghijkmnpqrstuvwxyz`

    Failed: `launch.py` reported that the instance is not running

    Protocol: the output of `launch.py` can't be used: instance `i-1`: `interfaces.compute.signals.pi`: no such path
    ---
    stdout of launch.py:1:90: error[WL0422]: instance `i-1`: `interfaces.compute.signals.pi`: no such path
        | instances: {i-1: {instanceId: abcdefghijkmnpqrstuvwxyz, interfaces: {compute: {signals: {pi: 1}}}}}
        help: did you mean `interfaces.compute.signals.ip`?

    Protocol: the output of `launch.py` can't be used: instance `i-1`: `interfaces.compute.signals.ip`: expected a value of type `string`, found a list
    ---
    stdout of launch.py:1:94: error[WL0422]: instance `i-1`: `interfaces.compute.signals.ip`: expected a value of type `string`, found a list
        | instances: {i-1: {instanceId: abcdefghijkmnpqrstuvwxyz, interfaces: {compute: {signals: {ip: [1]}}}}}
    ");
}

/// A package does not contain the launch script. The driver must run the script at this path in the image.
#[tokio::test]
async fn a_script_of_the_image_is_run_by_its_path() {
    let pinned = package(VM, "");
    let pins = pinned.pins().unwrap().clone();
    let without = Package::new(pinned.name().clone(), pinned.bindings().clone(), Vec::new()).with_pins(pins);
    assert_eq!(Script::default().check(&without), []);
    for (package, program) in [(pinned, "vm/launch.py"), (without, "/vm/launch.py")] {
        let place = Place::new();
        drop(Script::default().perform(&place, &[call("Install", package)]).await);
        assert_eq!(place.last_job().program, program);
    }
}

/// A location selects the adapter `/invoke.py`. The driver must start the adapter, and must pass the path and the input
/// document of the script to it. The driver must read the answer from `results` in the adapter's output.
#[tokio::test]
async fn an_adapter_runs_the_script() {
    let at = |word: &str| {
        let scripting = [("adapter", "invoke"), ("launch-key", "launch-instances"), ("input", "json")];
        let scripting = scripting.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let location = Location { scripting, ..Location::local("here") };
        Call { location: location.into(), ..call(word, package(VM, "")) }
    };
    let place = Place::new();
    drop(Script::default().perform(&place, &[at("Install")]).await);
    assert_eq!(place.last_job().program, "/invoke.py");
    insta::assert_snapshot!(place.jobs()[0].1, @r#"{"arguments":{"configuration":{"configuration.awsAccessKey":"XXX","configuration.awsSecretKey":"YYY"},"launch":{"abcdefghijkmnpqrstuvwxyz":{"configuration":{}}},"launch-instances":{"abcdefghijkmnpqrstuvwxyz":{"configuration":{}}}},"script":"vm/launch.py"}"#);
    let results = format!("results: {{instances: {{i-7: {{instanceId: {}}}}}}}", world::INSTANCE);
    assert_eq!(printed(at("Install"), &results).await.unwrap().natural.as_deref(), Some("i-7"));
    let report = printed(at("Reconfigure").natural("i-7"), "").await.unwrap();
    assert_eq!(report, Report::settled());
}

#[test]
fn the_package_declares_the_scripts_of_its_manifest() {
    let package = package(VM, "");
    let driver = Script::default();
    assert_eq!(driver.check(&package), []);
    for (transition, is_declared) in [
        (Transition::Install, true),
        (Transition::Integrity, true),
        (Transition::Reconfigure, true),
        (Transition::Uninstall, true),
        (Transition::Start, false),
    ] {
        let nature = driver.nature(&package, &Action::Transition(transition));
        assert_eq!(nature.is_some(), is_declared, "{transition}");
    }
}
