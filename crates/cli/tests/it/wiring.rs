//! References between applications: web applications on virtual machines, with the example manifests and
//! scripts.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{TestEnv, copy, until};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/applications");

/// Returns a project with the applications `VM` and `PetClinic`, and their factories. The factory of machines is
/// launched, and is a service of the environment.
fn project() -> TestEnv {
    let env = TestEnv::bare();
    copy(Path::new(EXAMPLES), &env.path(""));
    let cloud = env.path("cloud").display().to_string();
    let location = json!({"runtime": "process", "input": "json", "environment": {"CLOUD": cloud}});
    env.write("windlass.yaml", json!({"version": 1, "locations": {"here": location}}).to_string());
    env.write("secret", "hunter2");
    for (file, title) in [
        ("vm-factory", "VM Factory"),
        ("vm", "VM"),
        ("petclinic-factory", "PetClinic Factory"),
        ("petclinic", "PetClinic"),
    ] {
        env.ok(&["app", "publish", &format!("{file}.yaml"), "--name", title, "--scripts", "scripts"]);
    }
    env.ok(&["env", "service", "add", "default", "--location", "here"]);
    machines(&env, "vms");
    env
}

/// Launches a factory of machines, and makes it a service.
fn machines(env: &TestEnv, name: &str) {
    let secret = "configuration.cloud-secret=@secret";
    env.ok(&["app", "launch", "VM Factory", "--name", name, "-p", secret]);
    env.ok(&["env", "service", "add", "default", name]);
}

/// Launches the factory of web applications, and makes it a service.
fn pets(env: &TestEnv) {
    env.ok(&["app", "launch", "PetClinic Factory", "--name", "pets"]);
    env.ok(&["env", "service", "add", "default", "pets"]);
}

/// Publishes the factory of web applications with a change in its manifest, and launches it as `pets` does.
fn edited_pets(env: &TestEnv, from: &str, to: &str) {
    env.edit("petclinic-factory.yaml", from, to);
    let file = ["petclinic-factory.yaml", "--name", "PetClinic Factory", "--scripts", "scripts"];
    env.ok(&[&["app", "publish"][..], &file].concat());
    pets(env);
}

fn status(env: &TestEnv, name: &str) -> Value {
    env.json(&["status", name])["assemblies"][0].clone()
}

/// Returns the references of an application, each as `component state application`.
fn references(env: &TestEnv, name: &str) -> Vec<String> {
    let status = status(env, name);
    let references = status["application"]["references"].as_array().unwrap();
    let line = |of: &Value| {
        let application = of["application"].as_str().unwrap_or("-");
        format!("{} {} {application}", of["component"].as_str().unwrap(), of["state"].as_str().unwrap())
    };
    references.iter().map(line).collect()
}

/// Returns the natural id of an application.
fn natural(env: &TestEnv, name: &str) -> String {
    status(env, name)["application"]["natural_id"].as_str().unwrap().to_owned()
}

/// A web application refers to its machines by their natural ids, which are resolved to instances of their
/// factory.
#[test]
fn an_application_refers_to_machines_by_their_natural_ids() {
    let env = project();
    pets(&env);
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["app", "launch", "PetClinic"]);
    let vm = natural(&env, "vm");
    assert_eq!(references(&env, "petclinic"), ["vm-1 resolved vm"]);
    assert_eq!(status(&env, "vms")["outputs"], json!({"vms.vm-by-id": {&vm: "vm"}}));
    let output = env.ok(&["output", "vms", "vms.vm-by-id", "--raw"]).stdout;
    assert_eq!(output.trim(), json!({&vm: "vm"}).to_string());
    let services = &status(&env, "pets")["application"]["services"];
    assert_eq!((&services[0]["component"], &services[0]["service"]), (&json!("vm-factory"), &json!("vms")));
    let shown = env.ok(&["status", "petclinic"]).out().replace(&vm, "i-VM");
    assert!(shown.contains("vm-1 is vm (vms.vm-by-id i-VM)"), "{shown}");

    assert_snapshot!(env.refuses(&["app", "destroy", "vm"]), @"error[WL0504]: `vm` is referenced by `petclinic`, and it would be removed; take `petclinic` down first, or use `--force`");
    assert_snapshot!(env.refuses(&["app", "forget", "vm"]), @"error[WL0504]: `vm` is referenced by `petclinic`, and its records would be removed; take `petclinic` down first, or use `--force`");
    env.refuses(&["app", "destroy", "vm", "--dry-run"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 resolved vm"], "a refusal changes nothing");
    env.ok(&["app", "destroy", "vm", "--force"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling vm"]);
    let shown = env.ok(&["status"]).out();
    assert!(shown.contains(", 1 reference dangling"), "{shown}");
    env.refuses(&["app", "destroy", "pets"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling vm"], "a refused removal forgets no target");
    env.ok(&["app", "destroy", "petclinic"]);
    env.is_quiet();
}

/// A factory is no longer a service of the environment. The references of the factory and of its applications must stay
/// resolved. windlass must therefore refuse to remove the applications to which these references point.
#[test]
fn references_of_a_factory_that_is_no_service_prevent_removals() {
    let env = project();
    pets(&env);
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["app", "launch", "PetClinic"]);
    env.ok(&["env", "service", "rm", "default", "pets"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 resolved vm"]);
    assert_eq!(status(&env, "vm")["referenced_by"], json!(["petclinic"]));
    for removal in [&["app", "destroy", "vm"][..], &["app", "forget", "vm"], &["export", "vm"]] {
        assert!(env.refuses(removal).contains("WL0504]: `vm` is referenced by `petclinic`"), "{removal:?}");
    }
    env.ok(&["app", "destroy", "vm", "--force"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling vm"]);
    assert_eq!(status(&env, "pets")["application"]["services"][0]["state"], "resolved");
    assert!(env.refuses(&["app", "destroy", "vms"]).contains("WL0504]: `vms` is referenced by `pets`"));
}

/// The instance of a reference is unknown at first. When windlass finds the instance, it must resolve the reference.
/// The reference must become dangling when a script reports the instance as destroyed.
#[test]
fn references_are_resolved_anew_on_each_change() {
    let env = project();
    pets(&env);
    env.write("cloud/vms/i-1.json", r#"{"ip": "203.0.113.1"}"#);
    env.ok(&["app", "launch", "PetClinic"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 pending -"]);
    let why = &status(&env, "petclinic")["application"]["references"][0]["why"];
    assert_eq!(why, "`vms` has no instance `i-1`");
    env.ok(&["app", "discover", "vms"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 resolved i-1"]);
    std::fs::remove_file(env.path("cloud/vms/i-1.json")).unwrap();
    assert_eq!(env.ok(&["app", "check", "i-1"]).out().trim(), "i-1: destroyed");
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling i-1"]);
    env.write("cloud/vms/i-1.json", r#"{"ip": "203.0.113.1"}"#);
    env.ok(&["app", "discover", "vms"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 resolved i-1"]);
    env.is_quiet();
}

/// When the daemon removes an application that a health check has found destroyed, references to it become
/// dangling.
#[test]
fn the_daemon_leaves_dangling_references() {
    let env = project();
    pets(&env);
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["app", "launch", "PetClinic"]);
    let daemon = env.spawn(&["run", "--health", "1"]);
    std::fs::remove_file(env.path(&format!("cloud/vms/{}.json", natural(&env, "vm")))).unwrap();
    until("it is removed", || env.run(&["status", "vm"]).code() == Some(2));
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(daemon.end().code(), Some(0));
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling vm"]);
}

/// An application has a dangling reference, and its factory is renamed. The reference must stay dangling. It must also
/// stay so when another factory gets the old name.
#[test]
fn dangling_references_follow_a_renamed_factory() {
    let env = project();
    pets(&env);
    env.write("cloud/vms/i-1.json", r#"{"ip": "203.0.113.1"}"#);
    env.ok(&["app", "discover", "vms"]);
    env.ok(&["app", "launch", "PetClinic"]);
    env.ok(&["app", "forget", "i-1", "--yes", "--force"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling i-1"]);
    env.ok(&["rename", "pets", "clinics"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling i-1"]);
    pets(&env);
    env.ok(&["app", "launch", "PetClinic", "--name", "later", "--factory", "pets"]);
    assert_eq!(references(&env, "later"), ["vm-1 pending -"]);
    // The old name of the factory is free again, and so are its references.
    env.ok(&["app", "destroy", "later", "pets"]);
    env.ok(&["prune", "pets", "--keep", "0", "--older", "0s"]);
    env.ok(&["rename", "clinics", "pets"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 dangling i-1"]);
    env.is_quiet();
}

/// If windlass refuses a service, the error names only the pins that the service lacks.
#[test]
fn a_service_may_lack_one_of_several_pins() {
    let env = project();
    edited_pets(
        &env,
        "          vm-by-id: publish-signal(map<string, string>)\n",
        "          vm-by-id: publish-signal(map<string, string>)\n        pets:\n          petclinic-by-id: publish-signal(map<string, string>)\n",
    );
    let refused = env.refuses(&["env", "bind", "default", "pets", "vm-factory", "pets"]);
    assert_snapshot!(refused, @"error[WL0659]: `pets` does not expose `vms.vm-by-id`, which `vm-factory` needs; no service of the environment fits");
}

/// If several factories fit a reference, `env bind` chooses one.
#[test]
fn of_several_candidates_one_is_chosen() {
    let env = project();
    pets(&env);
    machines(&env, "vms-us");
    env.write("cloud/vms/i-1.json", r#"{"ip": "203.0.113.1"}"#);
    env.ok(&["app", "discover", "vms-us"]);
    assert_snapshot!(env.refuses(&["app", "launch", "VM"]), @"error[WL0761]: `VM` needs the factory `VM Factory`, and `vms` and `vms-us` are services of the environment `default`; choose one with `--factory NAME`");
    assert_snapshot!(env.refuses(&["app", "launch", "VM", "--factory", "pets"]), @"error[WL0761]: `VM` needs the factory `VM Factory`, and `vms` and `vms-us` are services of the environment `default`; choose one with `--factory NAME`; `pets` is none of them");
    env.ok(&["app", "launch", "PetClinic"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 pending -"]);
    assert_snapshot!(env.ok(&["env", "show"]).stdout, @r"
    default
      scripting service: here
      service pets of PetClinic Factory, a factory
      service vms of VM Factory, a factory
      service vms-us of VM Factory, a factory
      pets.vm-factory is pending: `vms` and `vms-us` fit `vm-factory`; choose one with `windlass env bind default pets vm-factory NAME`
    ");
    let wrong = env.refuses(&["env", "bind", "default", "pets", "vm-factry", "vms"]);
    assert!(wrong.contains("error[WL0653]: the manifest of `pets` has no `reference.Service` `vm-factry`; did you mean `vm-factory`?"), "{wrong}");
    assert_snapshot!(env.refuses(&["env", "bind", "default", "pets", "vm-factory", "pets"]), @"error[WL0659]: `pets` does not expose `vms.vm-by-id`, which `vm-factory` needs; these services fit: `vms`, `vms-us`");
    env.ok(&["env", "bind", "default", "pets", "vm-factory", "vms-us"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 resolved i-1"]);
    env.ok(&["env", "bind", "default", "pets", "vm-factory", "vms"]);
    assert_eq!(references(&env, "petclinic"), ["vm-1 pending -"]);

    assert_snapshot!(env.refuses(&["app", "destroy", "vms"]), @"error[WL0504]: `vms` is referenced by `pets`, and it would be removed; take `pets` down first, or use `--force`");
    env.ok(&["app", "destroy", "vms", "--force"]);
    assert_eq!(status(&env, "pets")["application"]["services"][0]["state"], "dangling");
    assert_snapshot!(env.ok(&["env", "show"]).stdout, @r"
    default
      scripting service: here
      service pets of PetClinic Factory, a factory
      service vms of VM Factory, a factory, which has been removed; `windlass env service rm default vms` drops the service
      service vms-us of VM Factory, a factory
      pets.vm-factory is dangling: the chosen service `vms` of `vm-factory` has gone; choose another with `windlass env bind default pets vm-factory NAME`, or remove the choice with `windlass env bind default pets vm-factory --remove`
    ");
    env.ok(&["env", "bind", "default", "pets", "vm-factory", "--remove"]);
    assert_eq!(status(&env, "pets")["application"]["services"][0]["service"], "vms-us");
    env.is_quiet();
}

/// A factory with a required reference can launch applications only if the reference is resolved. If the
/// referenced factory was removed, the error names the remedy.
#[test]
fn a_required_reference_is_resolved_before_a_launch() {
    let env = project();
    edited_pets(
        &env,
        "      interfaces:\n        configuration:",
        "      required: [vms]\n      interfaces:\n        configuration:",
    );
    env.ok(&["env", "service", "rm", "default", "vms"]);
    assert_snapshot!(env.refuses(&["app", "launch", "PetClinic"]), @"error[WL0770]: `PetClinic` needs the interface of `vms.vm-by-id`, which its factory `pets` requires: no service of the environment `default` fits `vm-factory`; add one with `windlass env service add default NAME`");
    env.ok(&["env", "service", "add", "default", "vms"]);
    env.ok(&["app", "launch", "PetClinic"]);
    env.ok(&["app", "destroy", "petclinic", "pets"]);
    assert_snapshot!(env.refuses(&["app", "launch", "PetClinic"]), @"error[WL0750]: `PetClinic` needs the factory `PetClinic Factory`, and the service `pets` of the environment `default` has been removed; launch it again by `windlass app launch 'PetClinic Factory' --env default --name pets`, or drop the service by `windlass env service rm default pets`");
}

/// Applications are listed by environment and factory, and similar ones share a line.
#[test]
fn the_status_groups_applications() {
    let env = project();
    pets(&env);
    env.ok(&["app", "launch", "VM", "--count", "3"]);
    env.ok(&["app", "launch", "VM", "--name", "big", "-p", "configuration.instance-type=m3.large"]);
    let vm = natural(&env, "big");
    let ip = status(&env, "big")["outputs"]["compute.ip"].as_str().unwrap().to_owned();
    assert_snapshot!(env.ok(&["status", "big"]).out().replace(&vm, "i-VM").replace(&ip, "IP"), @r"
    big Active assembly::vm::1, AGE
      VM revision 1, environment default, factory vms, natural id i-VM
      configuration.instance-type: m3.large
    └─ vm Active active, AGE
      compute.ip: IP
    ");
    env.ok(&["app", "launch", "PetClinic"]);
    let broken = natural(&env, "vm-2");
    env.write(&format!("cloud/vms/{broken}.json"), "no machine");
    env.run(&["app", "check", "vm-2"]);
    let listed = env.ok(&["status"]).out();
    let listed: Vec<&str> = listed.lines().filter(|line| !line.contains(" | ")).collect();
    assert_snapshot!(listed.join("\n"), @r"
    environment default
      pets PetClinic Factory revision 1 Active AGE
        petclinic PetClinic revision 1 Active active, AGE
      vms VM Factory revision 1 Active AGE
        big, vm, vm-3 VM revision 1 × 3 Active active, AGE
        vm-2 VM revision 1 Active active, AGE
          the health check failed: `healthCheck.py` exited with code 1
    ");
    let factory = env.ok(&["status", "vms"]).out();
    assert_snapshot!(factory.split("vms.vm-by-id").next().unwrap(), @r"
    vms Active assembly::vm-factory::1, AGE
      VM Factory revision 1, environment default
      component.application: VM
      component.discoverySchedule: 0 0/5 * * * ? *
      component.discoveryScript: /vm/discover.py
      configuration.cloud-secret: ***
    └─ factory Active AGE
      referenced by big, pets, vm, vm-2, vm-3
    ");
    let machine = references(&env, "petclinic").remove(0).replace("vm-1 resolved ", "");
    assert_eq!(status(&env, &machine)["referenced_by"], json!(["petclinic"]));
}

/// An environment with launched applications can't be removed.
#[test]
fn an_environment_with_applications_stays() {
    let env = project();
    env.ok(&["env", "create", "staging"]);
    env.ok(&["env", "service", "add", "staging", "--location", "here"]);
    env.ok(&["env", "service", "add", "staging", "vms"]);
    env.ok(&["app", "launch", "VM", "--env", "staging"]);
    env.ok(&["env", "service", "rm", "staging", "vms"]);
    assert_snapshot!(env.refuses(&["env", "rm", "staging"]), @"error[WL0655]: the environment `staging` has applications: `vm`; destroy them first with `windlass app destroy NAME`");
    env.ok(&["app", "destroy", "vm"]);
    env.ok(&["env", "rm", "staging"]);
}

/// An export contains the natural id and the document of an application. An import restores them, unless
/// another application has the natural id in the meantime.
#[test]
fn an_application_moves_with_its_natural_id() {
    let env = project();
    pets(&env);
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["app", "launch", "PetClinic"]);
    assert_snapshot!(env.refuses(&["export", "vm"]), @"error[WL0504]: `vm` is referenced by `petclinic`, and it would leave this store; export `petclinic` first, or use `--force`");
    env.ok(&["app", "destroy", "petclinic"]);
    let before = status(&env, "vm");
    let vm = natural(&env, "vm");
    env.ok(&["export", "vm"]);
    env.ok(&["app", "discover", "vms", "--exported"]);
    let refused = env.refuses(&["import", "vm.export"]).replace(&vm, "i-VM");
    assert!(refused.contains("the natural id `i-VM` of `vms` belongs to `i-VM`"), "{refused}");
    env.ok(&["app", "forget", &vm, "--yes"]);
    env.ok(&["import", "vm.export"]);
    let after = status(&env, "vm");
    for key in ["application", "outputs"] {
        assert_eq!(before[key], after[key]);
    }
    assert_eq!(status(&env, "vms")["outputs"], json!({"vms.vm-by-id": {&vm: "vm"}}));
    assert!(env.ok(&["app", "discover", "vms"]).out().contains("known, application `vm`"));
    env.ok(&["app", "destroy", "vm"]);
    assert!(!env.path(&format!("cloud/vms/{vm}.json")).exists());
    env.is_quiet();
}

/// The shell completes titles, applications and factories.
#[test]
fn names_of_applications_are_completed() {
    let env = project();
    env.ok(&["app", "launch", "VM"]);
    let offers = |words: &[&str]| env.run(&[&["complete-names"], words].concat()).stdout;
    assert_eq!(offers(&["app", "launch", "pet"]), "petclinic\npetclinic-factory\n");
    assert_eq!(offers(&["app", "check", ""]), "vm\n");
    assert_eq!(offers(&["app", "discover", ""]), "vms\n");
    assert_eq!(offers(&["app", "destroy", "vm", ""]), "vm\nvms\n");
}
