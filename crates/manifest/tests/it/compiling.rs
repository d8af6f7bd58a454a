//! Tests of the topologies to which manifests are compiled.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::{Value, json};
use windlass_manifest::{Compiled, check, pins};
use windlass_model::Topology;
use windlass_model::resolve::{Answer, NothingYet, Resolver};
use windlass_model::template::Template;

use crate::support::{fixture, launched, manifest, show};

/// Compiles a text as the application `m`, with parameters.
fn compiled(text: &str, parameters: &[(&str, Value)]) -> Compiled {
    let manifest = manifest(text);
    let checked = check(&manifest);
    assert!(!checked.diagnostics.has_errors(), "{}", checked.diagnostics);
    let parameters: BTreeMap<String, Value> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    launched(&checked, &parameters)
}

fn template(template: &Template) -> String {
    match template {
        Template::Null => "null".to_owned(),
        Template::Text(parts) => parts.iter().map(ToString::to_string).collect(),
        Template::List(items) => {
            format!("[{}]", items.iter().map(self::template).collect::<Vec<_>>().join(", "))
        }
        Template::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", self::template(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Shows a topology, or the problems if there is none.
fn shown(compiled: &Compiled) -> String {
    let Some(topology) = &compiled.topology else { return show(&compiled.diagnostics) };
    let mut out = String::new();
    for element in topology.elements() {
        let transitions = element.transitions.iter().flat_map(|one| [" ", one.as_str()]).collect::<String>();
        writeln!(out, "{} {} {:?}{}", element.name, element.descriptor, element.kind, transitions).unwrap();
        for (name, property) in &element.properties {
            let flags = [
                (property.read_only, " read-only"),
                (property.volatile, " volatile"),
                (property.sensitive, " sensitive"),
            ];
            let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
            let value =
                property.value.as_ref().map(|value| format!(" = {}", template(value))).unwrap_or_default();
            writeln!(out, "  {name}{flags}{value}").unwrap();
        }
    }
    out
}

#[test]
fn an_application_is_an_assembly_of_one_resource() {
    let compiled = compiled(&fixture("vm.yaml"), &[]);
    assert_snapshot!(shown(&compiled), @"
    m assembly::vm::3 Assembly
      configuration.instance-type volatile = m1.small
      configuration.disks volatile
      configuration.login-password volatile sensitive
      compute.ip read-only = ${m__vm.compute.ip}
    m__vm resource::vm::3 Resource Install Integrity Reconfigure Uninstall
      configuration.instance-type volatile = ${m.configuration.instance-type}
      configuration.disks volatile = ${m.configuration.disks}
      configuration.login-password volatile sensitive = ${m.configuration.login-password}
      compute.ip read-only
    ");
    let topology = compiled.topology.unwrap();
    let stored: Topology = serde_json::from_str(&serde_json::to_string(&topology).unwrap()).unwrap();
    assert_eq!(stored, topology);
    let origin = stored.root().unwrap().properties["compute.ip"].origin.clone().unwrap();
    assert_eq!(origin.to_string(), "m.yaml:7:7");
}

#[test]
fn parameters_replace_values_and_secrets_leave() {
    let given = [
        ("configuration.instance-type", json!("m3.large")),
        ("configuration.disks", json!(["10", 20])),
        ("configuration.login-password", json!("hunter2")),
    ];
    let compiled = compiled(&fixture("vm.yaml"), &given);
    assert_snapshot!(shown(&compiled), @"
    m assembly::vm::3 Assembly
      configuration.instance-type volatile = m3.large
      configuration.disks volatile = [10, 20]
      configuration.login-password volatile sensitive = ***
      compute.ip read-only = ${m__vm.compute.ip}
    m__vm resource::vm::3 Resource Install Integrity Reconfigure Uninstall
      configuration.instance-type volatile = ${m.configuration.instance-type}
      configuration.disks volatile = ${m.configuration.disks}
      configuration.login-password volatile sensitive = ${m.configuration.login-password}
      compute.ip read-only
    ");
    let secrets: Vec<(String, &str)> =
        compiled.secrets.iter().map(|(name, value)| (name.to_string(), value.expose().as_str())).collect();
    assert_eq!(secrets, [("secret:m:given/1".to_owned(), "hunter2")]);
    assert!(!format!("{compiled:?}").contains("hunter2"));
}

#[test]
fn a_list_may_be_given_as_text() {
    let shown_with = |disks| shown(&compiled(&fixture("vm.yaml"), &[("configuration.disks", disks)]));
    assert_eq!(shown_with(json!("[10, 20]")), shown_with(json!([10, 20])));
}

#[test]
fn wrong_parameters_are_refused() {
    let given = [
        ("configuration.instance-tpye", json!("m3.large")),
        ("compute.ip", json!("203.0.113.1")),
        ("configuration.disks", json!(["many"])),
        ("configuration.login-password", json!(["hunter2"])),
        ("size", json!(1)),
    ];
    assert_snapshot!(shown(&compiled(&fixture("vm.yaml"), &given)), @"
    error[WL0615]: the value of the parameter `configuration.disks` does not fit: `int` is expected, and this is text
    error[WL0615]: the value of the parameter `configuration.login-password` does not fit: `string` is expected, and this is a list
    error[WL0640]: the application has no parameter `compute.ip`
        help: there are `configuration.instance-type`, `configuration.disks` and `configuration.login-password`
    error[WL0640]: the application has no parameter `configuration.instance-tpye`
        help: did you mean `configuration.instance-type`?
    error[WL0640]: the application has no parameter `size`
        help: there are `configuration.instance-type`, `configuration.disks` and `configuration.login-password`
    ");
}

#[test]
fn a_factory_has_no_transitions() {
    assert_snapshot!(shown(&compiled(&fixture("petclinic-factory.yaml"), &[])), @"
    m assembly::vm::3 Assembly
      component.application = PetClinic
      component.discoveryScript = /petclinic/discover.py
      component.discoverySchedule = 0 0/5 * * * ? *
      configuration.registry
    m__factory resource::vm::3 Resource
      configuration.registry = ${m.configuration.registry}
    ");
}

/// The value of the outermost composition counts. A pin that no composition exposes keeps its component's
/// value.
#[test]
fn outer_values_replace_inner_ones() {
    let text = r#"
application:
  interfaces: {input: {one: bind(main#input.one)}}
  configuration: {input.one: outermost}
  components:
    main:
      interfaces: {input: {one: "bind(vm#input.one)", two: "bind(vm#input.two)"}}
      configuration: {input.one: middle, input.two: middle}
      components:
        vm:
          type: scripted.Component
          configuration:
            factory.name: VM Factory
            factory.launchScript: /vm/launch.py
            factory.destroyScript: /vm/destroy.py
            input.one: inner
            input.two: inner
            input.three: inner
          interfaces:
            input: {one: configuration(string), two: configuration(string), three: configuration(string)}
"#;
    assert_snapshot!(shown(&compiled(text, &[])), @"
    m assembly::vm::3 Assembly
      input.one = outermost
    m__vm resource::vm::3 Resource Install Uninstall
      input.one = ${m.input.one}
      input.two = middle
      input.three = inner
    ");
}

#[test]
fn components_of_other_types_are_not_launched() {
    let text = fixture("petclinic.yaml") + "    web:\n      type: workflow.Instance\n";
    assert_snapshot!(shown(&compiled(&text, &[])), @"m.yaml:18:13: error[WL0620]: component `web` is of type `workflow.Instance`, which windlass does not launch");
}

/// Shows the pins of the scripted component of a text, each with the ids that expose it.
fn pins_of(text: &str) -> String {
    let manifest = manifest(text);
    let pins = pins(&check(&manifest)).unwrap();
    let mut shown = String::new();
    for (id, pin) in pins.iter() {
        write!(shown, "{id}: {}", pin.kind).unwrap();
        if let Some(label) = &pin.label {
            write!(shown, " \"{label}\"").unwrap();
        }
        shown.push_str(if pin.sensitive { " sensitive" } else { "" });
        for (name, value) in &pin.defaults {
            write!(shown, " {name}={value}").unwrap();
        }
        for id in &pin.exposed {
            write!(shown, " as {id}").unwrap();
        }
        shown.push('\n');
    }
    shown
}

#[test]
fn pins_have_direction_type_and_the_ids_that_expose_them() {
    assert_snapshot!(pins_of(&fixture("vm.yaml")), @r#"
    compute.ip: publish-signal(string) as compute.ip
    configuration.disks: configuration(list<int>) as configuration.disks
    configuration.instance-type: configuration(string) "Size" as configuration.instance-type
    configuration.login-password: configuration(string) sensitive as configuration.login-password
    control.reboot: receive-command(bool force => string phase => string result) as control.reboot
    "#);
    assert_snapshot!(pins_of(&fixture("petclinic-factory.yaml")), @"
    configuration.registry: configuration(string) as configuration.registry
    factory.instances: publish-signal(map<string, string>) as pets.petclinic-by-id
    vms.vm-by-id: consume-signal(map<string, string>)
    ");
}

#[test]
fn a_command_pin_has_the_defaults_of_its_arguments() {
    let text = "
        application:
          interfaces: {admin: {again: bind(vm#control.reboot)}}
          components:
            vm:
              type: scripted.Component
              configuration: {factory.name: F, factory.launchScript: /l, factory.destroyScript: /d}
              interfaces:
                control:
                  reboot:
                    type: receive-command(bool force, string why, int after)
                    arguments: {force: {default: yes}, why: {default: 1.10}, after: {default: later}}
    ";
    assert_snapshot!(pins_of(text), @r#"control.reboot: receive-command(bool force, string why, int after) force=true why="1.10" as admin.again"#);
}

/// An application may expose a pin under two ids. If a parameter sets either id, the component must receive the value
/// of this parameter.
#[test]
fn a_pin_that_is_exposed_twice() {
    let text = "application:
  interfaces:
    a: {size: bind(vm#compute.size)}
    b: {size: bind(vm#compute.size)}
  components:
    vm:
      type: scripted.Component
      configuration: {factory.name: F, factory.launchScript: /l, factory.destroyScript: /d, compute.size: small}
      interfaces: {compute: {size: configuration(string)}}
";
    for id in ["a.size", "b.size"] {
        let compiled = compiled(text, &[(id, json!("large"))]);
        let topology = compiled.topology.unwrap();
        let mut resolver = Resolver::new(&topology, &NothingYet);
        let value = resolver.property(&"m__vm".parse().unwrap(), &"compute.size".parse().unwrap());
        assert!(matches!(&value, Ok(Answer::Known(known)) if known.value == "large"), "{id}: {value:?}");
    }
    let both = |b| shown(&compiled(text, &[("a.size", json!("large")), ("b.size", json!(b))]));
    assert_snapshot!(both("huge"), @"error[WL0615]: the parameters `a.size` and `b.size` set the same value of `vm`, but they differ; give both the same value");
    assert!(!both("large").contains("error"));
}
