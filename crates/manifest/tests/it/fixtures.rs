//! Tests that check the example manifests. The tests compare the results, such as the role of a manifest, with the
//! expected results.

use windlass_manifest::{Role, check};

use crate::support::{fixture, fixtures, manifest, messages};

#[test]
fn examples_have_no_problem() {
    let mut files: Vec<_> =
        std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    assert_eq!(files.len(), 4);
    for file in files {
        assert_eq!(messages(&std::fs::read_to_string(&file).unwrap()), "", "{}", file.display());
    }
}

#[test]
fn an_application_has_scripts() {
    let manifest = manifest(&fixture("vm.yaml"));
    let checked = check(&manifest);
    let Some(Role::Application(application)) = &checked.role else { panic!("it is an application") };
    assert_eq!(application.component.to_string(), "vm");
    assert_eq!(application.factory.value, "VM Factory");
    assert_eq!(
        (&*application.launch.value, &*application.destroy.value),
        ("/vm/launch.py", "/vm/destroy.py")
    );
    assert_eq!(application.health_check.as_ref().unwrap().value, "/vm/healthCheck.py");
    let commands: Vec<String> =
        application.commands.iter().map(|(id, path)| format!("{id} {}", path.value)).collect();
    assert_eq!(commands, ["control.reboot /vm/reboot.py"]);
}

#[test]
fn a_factory_has_discovery_and_mappings() {
    let manifest = manifest(&fixture("petclinic-factory.yaml"));
    let checked = check(&manifest);
    let Some(Role::Factory(factory)) = &checked.role else { panic!("it is a factory") };
    let discovery = factory.discovery.as_ref().unwrap();
    assert_eq!(discovery.application.value, "PetClinic");
    assert_eq!(discovery.script.value, "/petclinic/discover.py");
    assert_eq!(discovery.schedule.value, "0 0/5 * * * ? *");
    let mappings: Vec<String> = factory.mappings.iter().map(ToString::to_string).collect();
    assert_eq!(mappings, ["vms.vm-by-id"]);
    let [connection] = &checked.connections[..] else { panic!("one connection: {:?}", checked.connections) };
    assert_eq!(connection.from.component.to_string(), "vm-factory");
    assert_eq!(connection.to.component.to_string(), "factory");
}

#[test]
fn built_in_pins_are_visible() {
    let manifest = manifest(&fixture("vm-factory.yaml"));
    let visible = check(&manifest).visible;
    let pins: Vec<String> = visible
        .pins()
        .map(|(id, pin)| format!("{id} {} {}", pin.kind.as_ref().unwrap(), pin.targets[0].pin))
        .collect();
    assert_eq!(
        pins,
        [
            "component.application configuration(string) component.application",
            "component.discoveryScript configuration(string) component.discoveryScript",
            "component.discoverySchedule configuration(string) component.discoverySchedule",
            "vms.vm-by-id publish-signal(map<string, string>) factory.instances",
            "configuration.region configuration(string) configuration.region",
            "configuration.cloud-secret configuration(string) configuration.cloud-secret",
        ]
    );
}
