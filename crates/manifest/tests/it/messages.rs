//! Snapshot tests of messages.

use insta::assert_snapshot;

use crate::support::{fixture, messages};

/// Returns the problems of the example `vm.yaml` after one of its texts is replaced.
fn vm(text: &str, by: &str) -> String {
    changed("vm.yaml", text, by)
}

fn changed(file: &str, text: &str, by: &str) -> String {
    let before = fixture(file);
    assert_eq!(before.matches(text).count(), 1, "{text}");
    messages(&before.replace(text, by))
}

#[test]
fn other_documents() {
    assert_snapshot!(messages(""), @"m.yaml:1:1: error[WL0600]: the document is empty, and a manifest is a mapping with `application`");
    assert_snapshot!(messages("- a\n"), @"m.yaml:1:1: error[WL0600]: a manifest is a mapping with `application`, and this is a list");
    assert_snapshot!(messages("# a\nname: assembly::shop::1.0\n"), @"m.yaml:2:1: error[WL0600]: a manifest is a mapping with `application`, and this is a mapping without it");
    assert_snapshot!(messages("application:\n"), @"m.yaml:1:13: error[WL0603]: `application` must be a mapping, and this is null");
    assert_snapshot!(messages("application: {type: scripted.Component}\n"), @"m.yaml:1:15: error[WL0604]: `application` is a composition: its component stands below `components`");
    assert_snapshot!(messages("application: {}\n"), @"m.yaml:1:1: error[WL0604]: `application` has no `components`");
}

#[test]
fn pins() {
    assert_snapshot!(vm("list<int>", "lsit<int>"), @"
    m.yaml:29:32: error[WL0605]: there is no type `lsit`
        help: did you mean `list`?
    ");
    assert_snapshot!(vm("configuration(list<int>)", "list<int>"), @"
    m.yaml:29:18: error[WL0605]: there is no pin of the kind `list`
        help: there are `configuration`, `publish-signal`, `consume-signal`, `receive-command` and `send-command`
    ");
    assert_snapshot!(vm("configuration(list<int>)", "int"), @"
    m.yaml:29:18: error[WL0605]: there is no pin of the kind `int`
        help: a pin has a kind around its type: `configuration(int)`
    ");
    assert_snapshot!(vm("configuration(list<int>)", "'configuration(list<int)'"), @"m.yaml:29:41: error[WL0605]: expected `>` here, and found `)`");
    assert_snapshot!(vm("string phase => string result", "string phase => string phase, int phase"), @"m.yaml:34:83: error[WL0605]: `phase` is declared twice");
    assert_snapshot!(vm("publish-signal(string)", "consume-signal(string)"), @"
    m.yaml:32:15: error[WL0623]: a `scripted.Component` has no pin `consume-signal(string)`
        help: it has `configuration(…)`, `publish-signal(…)` and `receive-command(…)`
    ");
    assert_snapshot!(vm("ip: publish-signal(string)", "ip: {type: publish-signal(string), sensitive: true}"), @"m.yaml:32:46: error[WL0616]: only configuration pins are `sensitive`, and `ip` is a `publish-signal`");
    assert_snapshot!(vm("ip: publish-signal(string)", "ip: {type: publish-signal(string), sensitve: true, labels: {}}"), @"
    m.yaml:32:46: error[WL0602]: pin `ip` has no `sensitve`
        help: did you mean `sensitive`?
    m.yaml:32:62: warning[WL0602]: pin `ip` has no `labels`; it is ignored
        help: it has `type`, `name`, `suggestions`, `arguments`, `results` and `sensitive`
    ");
    assert_snapshot!(vm("{type: configuration(string), sensitive: true}", "configuration(string)"), @"
    m.yaml:30:11: warning[WL0633]: `login-password` is named like a secret, and is stored and shown as plain text
        help: write `{type: configuration(string), sensitive: true}`
    ");
}

#[test]
fn values() {
    assert_snapshot!(vm("configuration.instance-type: m1.small", "configuration.instance-tpye: m1.small"), @"
    m.yaml:11:5: error[WL0611]: the application has no pin `configuration.instance-tpye`
        help: did you mean `configuration.instance-type`?
    ");
    assert_snapshot!(vm("configuration.instance-type: m1.small", "compute.ip: 203.0.113.1"), @"m.yaml:11:5: error[WL0616]: only configuration pins have a value, and `compute.ip` is a `publish-signal`");
    assert_snapshot!(vm("configuration.instance-type: m1.small", "configuration.disks: [1, two]"), @"m.yaml:11:26: error[WL0615]: the value of `configuration.disks` does not fit: `int` is expected, and this is text");
    assert_snapshot!(vm("configuration.instance-type: m1.small", "configuration.login-password: [hunter2]"), @"m.yaml:11:35: error[WL0615]: the value of `configuration.login-password` does not fit: `string` is expected, and this is a list");
    assert_snapshot!(vm("configuration.instance-type: m1.small", "configuration: {instance-type: m1.small}"), @"
    m.yaml:11:5: error[WL0608]: `configuration` is not the id of a pin, which is `interface.pin`
        help: write each pin on a line of its own: `configuration.instance-type: …`
    ");
    assert_snapshot!(vm("factory.healthCheckScript", "factory.healthcheckScript"), @"
    m.yaml:19:9: error[WL0611]: component `vm` has no pin `factory.healthcheckScript`
        help: did you mean `factory.healthCheckScript`?
    ");
}

#[test]
fn scripts() {
    assert_snapshot!(vm("        factory.launchScript: /vm/launch.py\n        factory.destroyScript: /vm/destroy.py\n", ""), @"
    m.yaml:13:5: error[WL0622]: the component has no `factory.destroyScript`
        help: give the path of a script, as `factory.destroyScript: /vm/destroy.py`
    m.yaml:13:5: error[WL0622]: the component has no `factory.launchScript`
        help: give the path of a script, as `factory.launchScript: /vm/launch.py`
    ");
    assert_snapshot!(vm("factory.launchScript: /vm/launch.py", "factory.launchScript:"), @"
    m.yaml:13:5: error[WL0622]: the component has no `factory.launchScript`
        help: give the path of a script, as `factory.launchScript: /vm/launch.py`
    ");
    assert_snapshot!(vm("control.reboot: /vm/reboot.py", "control.rebot: /vm/reboot.py"), @"
    m.yaml:22:11: error[WL0625]: the component has no command `control.rebot`
        help: did you mean `control.reboot`?
    m.yaml:34:11: warning[WL0626]: command `control.reboot` has no script, so it can't be called
        help: add it to `factory.commandScripts`, as `control.reboot: /scripts/reboot.py`
    ");
    assert_snapshot!(vm("control.reboot: /vm/reboot.py", "control.reboot: ''"), @"m.yaml:22:11: error[WL0622]: command `control.reboot` has no path of a script");
    assert_snapshot!(vm("control.reboot: /vm/reboot.py", "compute.ip: /vm/ip.py"), @"
    m.yaml:22:11: error[WL0625]: the component has no command `compute.ip`
        help: there is `control.reboot`
    m.yaml:34:11: warning[WL0626]: command `control.reboot` has no script, so it can't be called
        help: add it to `factory.commandScripts`, as `control.reboot: /scripts/reboot.py`
    ");
    let two = fixture("vm.yaml") + "    other: {type: scripted.ComponentFactory}\n";
    assert_snapshot!(messages(&two), @"
    m.yaml:35:19: error[WL0621]: a manifest has one scripted component, and this is another: scripted.ComponentFactory
        m.yaml:14:13: the first one
    ");
}

#[test]
fn binds() {
    assert_snapshot!(vm("bind(vm#compute.*)", "bind(vmm#compute.*)"), @"
    m.yaml:7:17: error[WL0610]: there is no component `vmm`
        help: did you mean `vm`?
    ");
    assert_snapshot!(vm("bind(vm#compute.*)", "bind(vm#compte.*)"), @"
    m.yaml:7:17: error[WL0611]: component `vm` has no interface `compte`
        help: did you mean `compute`?
    ");
    assert_snapshot!(vm("\"*\": bind(vm#compute.*)", "ip: bind(vm#compute.pi)"), @"
    m.yaml:7:16: error[WL0611]: interface `compute` of component `vm` has no pin `pi`
        help: did you mean `ip`?
    ");
    assert_snapshot!(vm("\"*\": bind(vm#compute.*)", "ip: bind(vm#compute.*)"), @r#"
    m.yaml:7:16: error[WL0607]: `ip` is one pin, and `vm#compute.*` stands for all pins of an interface
        help: name the pin, or write `"*"` as the key
    "#);
    assert_snapshot!(vm("\"*\": bind(vm#compute.*)", "\"*\": bind(vm#compute.ip)"), @r#"
    m.yaml:7:17: error[WL0607]: `"*"` stands for all pins of an interface, and `vm#compute.ip` is one pin
        help: end it with `.*`
    "#);
    assert_snapshot!(vm("\"*\": bind(vm#compute.*)", "ip: 'bind(vm#compute.ip, vm#control.reboot)'"), @"
    m.yaml:7:32: error[WL0613]: only configuration pins are bound to several pins; a signal or a command has one
        help: expose it under a name of its own
    ");
    assert_snapshot!(vm("\"*\": bind(vm#compute.*)", "ip: publish-signal(string)"), @"
    m.yaml:7:11: error[WL0606]: pin `ip` of a composition exposes a pin of a component, and this is a type
        help: write `bind(component#interface.ip)`
    ");
    assert_snapshot!(vm("disks: configuration(list<int>)", "disks: bind(vm#compute.ip)"), @"
    m.yaml:29:18: error[WL0606]: pin `disks` of a component has a type, and this is `bind(…)`
        help: only a composition, which has `components`, exposes pins by `bind(…)`
    ");
    assert_snapshot!(vm("\"*\": bind(vm#compute.*)", "\"*\": 'bind(vm#compute.*, vm#compute.*)'"), @"
    m.yaml:7:32: error[WL0612]: `ip` comes from `vm#compute.*` and from `vm#compute.*`
        help: say which counts: `ip: bind(vm#compute.ip)`
    ");
    assert_snapshot!(vm("\"*\": bind(vm#configuration.*)", "both: 'bind(vm#configuration.disks, vm#configuration.instance-type)'"), @"
    m.yaml:5:43: warning[WL0614]: `vm#configuration.instance-type` is `configuration(string)`, and the pin before it is `configuration(list<int>)`
    m.yaml:11:5: error[WL0611]: the application has no pin `configuration.instance-type`
        help: there is `configuration.both`
    ");
}

/// A part that could not be read counts as present, so no second problem is reported about it.
#[test]
fn a_mistake_has_one_message() {
    assert_snapshot!(vm("configuration(list<int>)", "configuration(lst<int>)"), @"
    m.yaml:29:32: error[WL0605]: there is no type `lst`
        help: did you mean `list`?
    ");
    assert_snapshot!(vm("type: scripted.Component", "typo: scripted.Component"), @"
    m.yaml:13:5: error[WL0604]: component `vm` has neither `type` nor `components`
        help: a component that scripts manage has `type: scripted.Component`
    ");
}

#[test]
fn factories() {
    let factory = |text: &str, by: &str| changed("petclinic-factory.yaml", text, by);
    assert_snapshot!(factory("0 0/5 * * * ? *", "0/30 * * * * ? *"), @"
    m.yaml:16:38: warning[WL0630]: discovery runs more than once a minute
        help: each run starts a script; `0 0/5 * * * ? *` is every five minutes
    ");
    assert_snapshot!(factory("0 0/5 * * * ? *", "0 0 4 30 2 ?"), @"
    m.yaml:16:38: error[WL0636]: the schedule never fires, because the calendar has no such date
        help: name a date that occurs, such as `0 0 4 L * ?`: the last day of each month, at 04:00
    ");
    assert!(factory("0 0/5 * * * ? *", "0/10 0 0 30 2 ?").contains("WL0636"));
    assert_snapshot!(factory("0 0/5 * * * ? *", "*/5 * * * *"), @"
    m.yaml:16:38: error[WL0631]: the schedule is no Quartz expression: expected 6 or 7 fields, found 5
        help: other crons begin with the minute: write `0 */5 * * * ?`
    ");
    assert_snapshot!(factory("        component.application: PetClinic\n", ""), @"
    m.yaml:14:36: error[WL0627]: discovery needs three values, and `component.application` is missing
        help: give all three of `component.application`, `component.discoveryScript` and `component.discoverySchedule`, or none
    ");
    assert_snapshot!(factory("component.application", "factory.application"), @"
    m.yaml:14:9: warning[WL0628]: `factory.application` is read as `component.application`
        help: write `component.application`
    ");
    assert_snapshot!(factory("        component.application: PetClinic\n", "        component.application: PetClinic\n        factory.application: Other\n"), @"
    m.yaml:15:9: warning[WL0628]: `factory.application` is ignored, since `component.application` is there too
        help: remove it
    ");
    assert_snapshot!(factory("    component:\n      \"*\": bind(factory#component.*)\n", ""), @r#"
    m.yaml:9:5: error[WL0629]: the factory does not expose its interface `component`, so it is not recognised as one
        help: add to `interfaces` of the application: `component: {"*": bind(factory#component.*)}`
    "#);
    assert_snapshot!(factory("\"*\": bind(factory#component.*)", "application: bind(factory#component.application)"), @r#"
    m.yaml:11:5: error[WL0629]: the factory does not expose its interface `component`, so it is not recognised as one
        help: add to `interfaces` of the application: `component: {"*": bind(factory#component.*)}`
    "#);
    assert_snapshot!(factory("  bindings:\n  - [factory, vm-factory]\n", ""), @"
    m.yaml:21:11: warning[WL0632]: nothing is bound to the mapping `vms.vm-by-id`, so references through it stay open
        help: bind the factory to a `reference.Service` that has `vms.vm-by-id` as `publish-signal(map<string, string>)`
    ");
    assert_snapshot!(factory("[factory, vm-factory]", "[factory, vm-factroy]"), @"
    m.yaml:28:15: error[WL0610]: there is no component `vm-factroy`
        help: did you mean `vm-factory`?
    ");
    assert_snapshot!(factory("[factory, vm-factory]", "[factory#vms, vm-factory#vm]"), @"
    m.yaml:28:19: error[WL0611]: component `vm-factory` has no interface `vm`
        help: did you mean `vms`?
    ");
    assert_snapshot!(factory("[factory, vm-factory]", "[factory]"), @"m.yaml:28:5: error[WL0609]: a binding has two sides, and this has 1");
    assert_snapshot!(factory("- [factory, vm-factory]", "- factory: vm-factory"), @"m.yaml:28:5: error[WL0603]: a binding must be a list, and this is a mapping");
    assert_snapshot!(factory("- [factory, vm-factory]", "- [factory, {a: b}]"), @"m.yaml:28:15: error[WL0603]: a side of a binding must be text, and this is a mapping");
    assert_snapshot!(factory("vm-by-id: publish-signal(map<string, string>)", "vm-by-id: publish-signal(map<string, object>)"), @"m.yaml:28:5: warning[WL0614]: `vm-by-id` is `consume-signal(map<string, string>)` in `factory` and `publish-signal(map<string, object>)` in `vm-factory`; they are not joined");
    assert_snapshot!(factory("consume-signal(map<string, string>)", "consume-signal(map<string, object>)"), @"
    m.yaml:21:21: error[WL0623]: a `scripted.ComponentFactory` has no pin `consume-signal(map<string, object>)`
        help: it has `configuration(…)` and `consume-signal(map<string, string>)`
    m.yaml:28:5: warning[WL0614]: `vm-by-id` is `consume-signal(map<string, object>)` in `factory` and `publish-signal(map<string, string>)` in `vm-factory`; they are not joined
    ");
    assert_snapshot!(factory("registry: configuration(string)", "registry: publish-signal(string)"), @"
    m.yaml:19:21: error[WL0623]: a `scripted.ComponentFactory` has no pin `publish-signal(string)`
        help: it has `configuration(…)` and `consume-signal(map<string, string>)`
    ");
}
