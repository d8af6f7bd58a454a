//! Tests messages by theme.

use insta::assert_snapshot;
use windlass_descriptor::Missing;

use crate::support::{World, messages};

/// Returns an assembly with the reference `net`, and a relationship between `a` and `b`. `body` is added to
/// the relationship.
fn related(body: &str) -> String {
    format!(
        "name: assembly::shop::1.0
composition:
  a: {{type: resource::web::1.0}}
  b: {{type: resource::web::1.0}}
references:
  net: {{type: resource::net::1.0}}
relationships:
  joined:
{body}"
    )
}

fn world() -> World {
    World::of(&[
        "name: resource::web::1.0\nproperties: {url: {read-only: true}}\nlifecycle: [Install]\noperations: {Join: {}, Leave: {}}\n",
    ])
    .existing("resource::net::1.0", "n", &[("id", "1")])
}

#[test]
fn not_a_descriptor() {
    assert_snapshot!(messages("- a\n- b\n"), @"a.yaml:1:1: error[WL0100]: a descriptor is a mapping with a `name`, and this is a list");
    assert_snapshot!(messages("just text\n"), @"a.yaml:1:1: error[WL0100]: a descriptor is a mapping with a `name`, and this is text");
    assert_snapshot!(messages("# nothing\n"), @"
    error[WL0100]: `a.yaml` is empty
        help: a descriptor begins with its name, such as `name: assembly::shop::1.0`
    ");
}

/// The document is not a descriptor. windlass must report one error, instead of the dozens of errors that reading it as
/// a descriptor would cause.
#[test]
fn other_documents_are_refused_with_their_kind() {
    assert_snapshot!(messages("# A shop\n\nSells: books\n* one\n```yaml\nname: assembly::shop::1.0\n```\n`more` {\n"), @"
    a.yaml:5:1: error[WL0100]: this is not a descriptor: it looks like a page of Markdown
        help: put the descriptor that stands between its fences, if one does, into a file of its own
    ");
    assert_snapshot!(messages("apiVersion: v1\nkind: Service\nmetadata: {name: shop}\n---\napiVersion: v1\n"), @"
    a.yaml:2:1: error[WL0100]: this is not a descriptor: it looks like a Kubernetes manifest (`kind: Service`)
        help: a resource whose scripts apply and delete it can be part of an assembly
    ");
    assert_snapshot!(messages("name: shop\nversion: '3'\nservices:\n  web: {image: nginx}\n"), @"
    a.yaml:3:1: error[WL0100]: this is not a descriptor: it looks like a compose file of containers
        help: a resource whose scripts run `docker compose` with it can be part of an assembly
    ");
    assert_snapshot!(messages("#!/bin/sh\nset -eu\nif [ -x a ]; then echo \"b: c\"; fi\n"), @"
    a.yaml:1:1: error[WL0100]: this is not a descriptor: it looks like a script for `/bin/sh`
        help: a script belongs to the package of a resource, and runs when an assembly with it comes up
    ");
    assert_snapshot!(messages("- hosts: all\n  tasks: []\n"), @"
    a.yaml:1:3: error[WL0100]: this is not a descriptor: it looks like a playbook of Ansible
        help: a resource whose scripts run it can be part of an assembly
    ");
    assert_snapshot!(messages("<?xml version='1.0'?>\n<a/>\n"), @"
    a.yaml:1:1: error[WL0100]: this is not a descriptor: it looks like XML or HTML
        help: name the file that begins with `name: assembly::…`, or the folder it is in
    ");
    assert_snapshot!(messages("colour: red\nsize: 3\n'weight': 5\nshape: round\n"), @"
    a.yaml:1:1: error[WL0100]: this is not a descriptor: it looks like a document of another sort, with `colour`, `size`, `weight`, …
        help: name the file that begins with `name: assembly::…`, or the folder it is in
    ");
    assert_snapshot!(messages("Dear reader: hello\nAnd then: more\n"), @"
    a.yaml:1:1: error[WL0100]: this is not a descriptor: it looks like text
        help: name the file that begins with `name: assembly::…`, or the folder it is in
    ");
    assert_snapshot!(messages("int main(void) {\n\treturn 0;\n}\n"), @"a.yaml:1:1: error[WL0100]: a descriptor is a mapping with a `name`, and this is text");
    assert_snapshot!(messages("{\"version\":1,\"kind\":\"windlass plan\",\"digest\":\"sha256:1\",\"content\":{}}\n"), @"
    a.yaml:1:14: error[WL0100]: this is not a descriptor: it looks like a saved plan
        help: `windlass apply FILE` carries it out
    ");
    assert_snapshot!(messages("application:\n  components: {vm: {type: scripted.Component}}\n"), @"
    a.yaml:1:1: error[WL0100]: this is not a descriptor: it looks like an application manifest
        help: `windlass check` checks it; an assembly is needed here
    ");
}

/// One key of the language is enough to read a document as a descriptor.
#[test]
fn a_broken_descriptor_keeps_its_errors() {
    for text in [
        "compositon: {web: {type: resource::web::1.0}}\nfoo: 1\nbar: 2\n",
        "nmae: x\nrelationships: []\na: 1\nb: 2\n",
        "name: assembly::shop::v1.0\nservices: {web: {image: nginx}}\napiVersion: 1\nkind: Service\n",
        "name: assembly::shop::1.0\n\tcomposition: {\n  a: [b\n",
        "default-driver: {noop: {}}\n}\n",
        "name: shop\nversion: 1\n",
    ] {
        let said = messages(text);
        assert!(!said.contains("WL0100") && said.contains("error"), "{text}: {said}");
    }
}

#[test]
fn names() {
    assert_snapshot!(messages("description: nameless\n"), @"
    a.yaml:1:1: error[WL0102]: the descriptor has no `name`
        help: begin it with a name, as `name: resource::shop::1.0`; a `lmproject.yml` above it gives one too
    ");
    assert_snapshot!(messages("name: shop\n"), @"a.yaml:1:7: error[WL0101]: `shop` is not of the form `kind::name::version`, such as `assembly::shop::1.0`");
    assert_snapshot!(messages("name: assembly-template::shop::1.0\n"), @"
    a.yaml:1:7: warning[WL0108]: this is a descriptor of the kind `assembly-template`, of which windlass makes nothing
        help: it is left unchecked; windlass reads `assembly` and `resource`
    ");
    assert_snapshot!(messages("name: assembly::my__shop::1.0\n"), @"a.yaml:1:7: error[WL0101]: the assembly name `my__shop` has `__`, which separates the parts of an instance's name");
    assert_snapshot!(messages("name: assembly::shop::v1\n"), @"
    a.yaml:1:7: error[WL0101]: `v1` is not a version: expected numbers with dots between them, such as `1.0` or `2.1.3`
        help: did you mean `1`?
    ");
    assert_snapshot!(messages(&format!("name: assembly::{}::1.0\n", "a".repeat(51))), @"a.yaml:1:7: error[WL0101]: the assembly name `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` has 51 characters, 50 are allowed");
    assert_snapshot!(messages("name: [a]\n"), @"a.yaml:1:7: error[WL0104]: `name` must be text, and this is a list");
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
properties:
  a b: {}
  c.d: {}
composition:
  1a: {type: resource::web::1.0}
  source: {type: resource::web::1.0}
  a__b: {type: resource::web::1.0}
"
    ), @"
    a.yaml:3:3: error[WL0101]: the property name `a b` has blanks or control characters
    a.yaml:4:3: error[WL0101]: the property name `c.d` has a dot, which separates component and property
    a.yaml:6:3: error[WL0101]: the component name `1a` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`
    a.yaml:7:3: error[WL0101]: the component name `source` is reserved for `${source.…}`
    a.yaml:8:3: error[WL0101]: the component name `a__b` has `__`, which separates the parts of an instance's name
    ");
}

#[test]
fn unknown_keys() {
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
propertys: {}
colour: red
: blue
composition:
  a: {type: resource::web::1.0, quantitty: 2, meta-type: x}
relationships: {}
"
    ), @"
    a.yaml:2:1: error[WL0103]: an assembly descriptor has no `propertys`
        help: did you mean `properties`?
    a.yaml:3:1: warning[WL0103]: an assembly descriptor has no `colour`; it is ignored
    a.yaml:4:2: warning[WL0103]: an assembly descriptor has an entry with an empty key; it is ignored
    a.yaml:6:13: warning[WL0140]: the descriptor of `a`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:6:33: error[WL0103]: a component has no `quantitty`
        help: did you mean `quantity`?
    a.yaml:6:47: warning[WL0103]: a component has no `meta-type`; it is ignored
    ");
    assert_snapshot!(messages("name: resource::web::1.0\nlifecycle: [Instal]\ndefault_driver: {}\n"), @"
    a.yaml:2:13: error[WL0146]: there is no transition `Instal`
        help: did you mean `Install`?
    a.yaml:3:1: warning[WL0103]: `default_driver` is read as `default-driver`
        help: write `default-driver`
    ");
}

/// A misspelt key is an error, because the intended value is missing. Another unknown key is only a warning,
/// because it may belong to another tool.
#[test]
fn misspelt_keys_are_errors_and_other_words_are_not() {
    assert_snapshot!(messages(
        "name: resource::web::1.0
propertis: {}
contacts: {}
properties:
  a: {typ: string, requierd: true, hint: x, readonly: true}
lifecycle:
  Instal: {}
  Launch: {}
  Start: {drivesr: {}}
  CreateInfrastructure: {}
  Upgrade: {}
operations:
  Join: {propreties: {}}
default-driver:
  script: {selctor: {}, colour: red}
metrics:
  load: {type: 'metric::integrity', publication-perod: 3}
policies:
  heal: {type: 'policy::heal', metrik: load, metric: load, properties: {smothing: 3, haste: 2}}
"
    ), @"
    a.yaml:2:1: error[WL0103]: a resource descriptor has no `propertis`
        help: `properties` is there already; remove one of the two
    a.yaml:3:1: warning[WL0103]: a resource descriptor has no `contacts`; it is ignored
    a.yaml:5:7: error[WL0103]: a property has no `typ`
        help: did you mean `type`?
    a.yaml:5:20: error[WL0103]: a property has no `requierd`
        help: did you mean `required`?
    a.yaml:5:36: warning[WL0103]: a property has no `hint`; it is ignored
    a.yaml:5:45: warning[WL0103]: `readonly` is read as `read-only`
        help: write `read-only`
    a.yaml:7:3: error[WL0146]: there is no transition `Instal`
        help: did you mean `Install`?
    a.yaml:8:3: error[WL0146]: there is no transition `Launch`
        help: the transitions are Create, Install, Configure, Start, Integrity, Reconfigure, Stop, Uninstall, Delete, Adopt
    a.yaml:9:11: error[WL0103]: a transition has no `drivesr`
        help: did you mean `drivers`?
    a.yaml:10:3: warning[WL0146]: `CreateInfrastructure` is a transition of older descriptors; it is ignored
    a.yaml:11:3: warning[WL0146]: `Upgrade` is a transition of later descriptors; it is ignored
    a.yaml:13:10: error[WL0103]: an operation has no `propreties`
        help: did you mean `properties`?
    a.yaml:15:12: error[WL0103]: a driver has no `selctor`
        help: did you mean `selector`?
    a.yaml:15:25: warning[WL0103]: a driver has no `colour`; it is ignored
    a.yaml:17:37: error[WL0103]: a metric has no `publication-perod`
        help: did you mean `publication-period`?
    a.yaml:19:32: error[WL0103]: a policy has no `metrik`
        help: `metric` is there already; remove one of the two
    a.yaml:19:73: error[WL0136]: a policy has no setting `smothing`
        help: did you mean `smoothing`?
    a.yaml:19:86: warning[WL0136]: a policy has no setting `haste`; it is ignored
    ");
    assert_snapshot!(world().messages(&related("    source-capabilities: [a.x]
    target-requirements: [b.y]
    source-state: Active
    target-stat: Active
    lifecycle: {Creat: [], Undo: []}
")), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:8:3: error[WL0131]: the relationship `joined` has no `target-state`
        help: write `Installed`, `Inactive` or `Active`
    a.yaml:12:5: error[WL0103]: a relationship has no `target-stat`
        help: did you mean `target-state`?
    a.yaml:13:17: error[WL0103]: the lifecycle of a relationship has no `Creat`
        help: did you mean `Create`?
    a.yaml:13:28: error[WL0103]: the lifecycle of a relationship has no `Undo`
        help: it has `Create` and `Cease`
    ");
    // In a short word, fewer edits count as a misspelling.
    assert_snapshot!(messages("name: resource::web::1.0\nproperties:\n  a: {kind: string, tape: b}\n"), @"
    a.yaml:3:7: warning[WL0103]: a property has no `kind`; it is ignored
    a.yaml:3:21: error[WL0103]: a property has no `tape`
        help: did you mean `type`?
    ");
}

#[test]
fn types() {
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
composition:
  none: {}
  null_body:
  range: {type: resource::web::^1.0}
  short: {type: web}
  tool: {type: '$lmctl:/contains:/web:/descriptor_name'}
  list: {type: [a]}
references:
  none: {}
  short: {type: net}
  range: {type: resource::net::^x}
  tool: {type: '$lmctl:/contains:/web:/descriptor_name'}
"
    ), @"
    a.yaml:3:3: error[WL0105]: the component `none` has no `type`
        help: name its descriptor, as `type: resource::web_server::1.0`
    a.yaml:4:3: error[WL0118]: the component `null_body` is empty
        help: name its descriptor, as `type: resource::web_server::1.0`
    a.yaml:5:17: error[WL0106]: the component `range` is made from a range of versions, `^1.0`
        help: name one version; ranges are for `references`
    a.yaml:6:17: error[WL0106]: `web` is not of the form `kind::name::version`, such as `assembly::shop::1.0`
    a.yaml:7:16: warning[WL0143]: `$lmctl:/contains:/web:/descriptor_name` is a placeholder of `lmctl`, and no name of a descriptor
        help: it has a meaning where a `lmproject.yml` above the file lists what it contains; else name the descriptor, as `resource::web::1.0`
    a.yaml:8:16: error[WL0104]: `type` must be text, and this is a list
    a.yaml:10:3: error[WL0105]: the reference `none` has no `type`
        help: name its descriptor, as `type: assembly::storage::^1.0`
    a.yaml:10:3: error[WL0107]: `none` is a component already
        a.yaml:3:3: the component
        help: give one of them another name
    a.yaml:11:3: error[WL0107]: `short` is a component already
        a.yaml:6:3: the component
        help: give one of them another name
    a.yaml:11:17: error[WL0106]: `net` is not of the form `kind::name::version`, as `assembly::shop::^1.0` is
    a.yaml:12:3: error[WL0107]: `range` is a component already
        a.yaml:5:3: the component
        help: give one of them another name
    a.yaml:12:17: error[WL0106]: `^x` is not a range of versions: `^` needs a number after it
    a.yaml:13:3: error[WL0107]: `tool` is a component already
        a.yaml:7:3: the component
        help: give one of them another name
    a.yaml:13:16: warning[WL0143]: `$lmctl:/contains:/web:/descriptor_name` is a placeholder of `lmctl`, and no name of a descriptor
        help: it has a meaning where a `lmproject.yml` above the file lists what it contains; else name the descriptor, as `resource::web::1.0`
    ");
}

#[test]
fn a_component_and_a_reference_with_the_same_name() {
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
composition: {web: {type: resource::web::1.0}}
references: {web: {type: resource::web::1.0}}
"
    ), @"
    a.yaml:2:27: warning[WL0140]: the descriptor of `web`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:3:14: error[WL0107]: `web` is a component already
        a.yaml:2:15: the component
        help: give one of them another name
    a.yaml:3:26: note[WL0144]: the reference `web` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    ");
}

#[test]
fn templates() {
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
properties:
  empty: {value: '${}'}
  blank: {value: 'x ${ a } y'}
  open: {value: 'x ${a'}
  dots: {value: '${a..b}'}
  inside: {value: '${a${b}}'}
"
    ), @"
    a.yaml:3:19: error[WL0110]: `${}` is not a reference
        help: write `${property}` or `${component.property}`, without blanks
    a.yaml:4:21: error[WL0110]: `${ a }` is not a reference
        help: write `${property}` or `${component.property}`, without blanks
    a.yaml:5:20: error[WL0110]: `${` has no closing `}`
    a.yaml:6:18: error[WL0110]: `${a..b}` is not a reference
        help: write `${property}` or `${component.property}`, without blanks
    a.yaml:7:20: error[WL0110]: `${a${b}` is not a reference
        help: write `${property}` or `${component.property}`, without blanks
    ");
}

#[test]
fn references_to_unknown_names() {
    assert_snapshot!(world().messages(
        "name: assembly::shop::1.0
properties:
  region: {default: x}
  own: {value: '${regoin}'}
  field: {value: '${instance.nam}'}
  part: {value: '${a.ulr}'}
  nobody: {value: '${c.url}'}
  ends: {value: '${source.url} ${target.name}'}
composition:
  a: {type: resource::web::1.0}
references:
  net: {type: resource::net::1.0}
"
    ), @"
    a.yaml:4:17: error[WL0111]: `${regoin}` names no property of this descriptor
        help: did you mean `region`?
    a.yaml:5:19: error[WL0111]: `${instance.nam}`: an instance has no `nam`
        help: did you mean `name`?
    a.yaml:6:18: error[WL0111]: `a` has no property `ulr`
        a.yaml:10:3: declared here
        help: did you mean `url`?
    a.yaml:7:20: error[WL0112]: `${c.url}` names no component `c`
        help: there are `a` and `net`
    a.yaml:8:18: error[WL0114]: `${source.url}` has a meaning only in the properties of a relationship
    a.yaml:8:32: error[WL0114]: `${target.name}` has a meaning only in the properties of a relationship
    a.yaml:12:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    ");
    assert_snapshot!(messages("name: assembly::shop::1.0\nproperties: {a: {value: '${b.c}'}}\n"), @"
    a.yaml:2:26: error[WL0112]: `${b.c}` names no component `b`
        help: the assembly has no components and no references
    ");
    assert_snapshot!(messages("name: resource::web::1.0\nproperties: {a: {value: '${b.c}'}}\n"), @"
    a.yaml:2:26: error[WL0111]: `${b.c}` names no property of this descriptor
        help: declare it in `properties`, or give the value here
    ");
}

#[test]
fn flags() {
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
properties:
  a: {required: maybe}
  b: {required: true, read-only: true}
  c: {value: 1, default: 2}
"
    ), @"
    a.yaml:3:17: error[WL0125]: `required` must be `true` or `false`
    a.yaml:4:3: error[WL0124]: `b` is required and read-only, so it can never be given the value it lacks
        help: remove `required`, or promote an output to it, as `value: ${web.url}`
    a.yaml:5:26: warning[WL0123]: the `default` is never used, since `value` decides
        a.yaml:5:14: the value
    ");
}

#[test]
fn ends_of_relationships() {
    assert_snapshot!(world().messages(&related(
        "    source-capabilities: [a, c.x, net, '1.x']
    target-requirements: [net.x, b.y]
    source-state: Active
    target-state: Active
"
    )), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:9:27: warning[WL0130]: `a` is a component, so its capability should be named: `a.<name>`
    a.yaml:9:30: error[WL0112]: `c.x` is at the source end, and there is no component `c`
        help: there are `a`, `b` and `net`
    a.yaml:9:40: error[WL0130]: the component name `1` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`
    a.yaml:10:27: error[WL0130]: `net` is a reference, and a reference can be a source only
        help: this assembly does not change existing instances
    ");
    assert_snapshot!(world().messages(&related("    source-state: Active\n    target-state: Active\n")), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:8:3: error[WL0130]: the relationship `joined` has no `source-capabilities`
    a.yaml:8:3: error[WL0130]: the relationship `joined` has no `target-requirements`
    ");
    assert_snapshot!(world().messages(&related(
        "    source-capabilities: a.x
    target-requirements: {b: x}
    source-state: Active
    target-state: Active
"
    )), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:10:26: error[WL0104]: an entry of `target-requirements` must be text, and this is a mapping
    ");
}

#[test]
fn states() {
    let ends = "    source-capabilities: [a.x]\n    target-requirements: [b.x]\n";
    assert_snapshot!(world().messages(&related(ends)), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:8:3: error[WL0131]: the relationship `joined` has no `source-state`
        help: write `Installed`, `Inactive` or `Active`
    a.yaml:8:3: error[WL0131]: the relationship `joined` has no `target-state`
        help: write `Installed`, `Inactive` or `Active`
    ");
    assert_snapshot!(world().messages(&related(&format!(
        "{ends}    source-state: active\n    target-state: Broken\n    target-state-modifier: before\n"
    ))), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:11:19: error[WL0131]: `active` is no state that can be asked for: one of Installed, Inactive, Active
        help: did you mean `Active`?
    a.yaml:12:19: error[WL0131]: `Broken` is no state that can be asked for: one of Installed, Inactive, Active
    a.yaml:13:28: error[WL0131]: `before` is no state modifier: one of pre, post
    ");
}

#[test]
fn operations() {
    let ends = "    source-capabilities: [a.x]\n    target-requirements: [b.x]\n    source-state: Active\n    target-state: Active\n";
    assert_snapshot!(world().messages(&related(&format!(
        "{ends}    lifecycle:
      Create: [source.Join, b.Joi, c.Join, Join, target.]
      Cease: target.Leave
      Created: [source.Join]
"
    ))), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:14:29: error[WL0132]: the descriptor of `b` declares no operation `Joi`
        a.yaml:4:3: the component
        help: did you mean `Join`?
    a.yaml:14:36: error[WL0132]: `c.Join` names no operation of an end of the relationship
        help: write `source.<operation>` or `target.<operation>`
    a.yaml:14:44: error[WL0132]: `Join` names no operation of an end of the relationship
        help: write `source.<operation>` or `target.<operation>`
    a.yaml:14:50: error[WL0132]: `target.` names no operation of an end of the relationship
        help: write `source.<operation>` or `target.<operation>`
    a.yaml:15:14: error[WL0104]: the operations of a relationship must be a list, and this is text
        help: write `[target.Leave]`
    a.yaml:16:7: error[WL0103]: the lifecycle of a relationship has no `Created`
        help: `Create` is there already; remove one of the two
    ");
    assert_snapshot!(world().messages(&related(
        "    source-capabilities: [net]
    target-requirements: [b.x]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [source.Join, net.Join, target.Join]}
"
    )), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:13:26: error[WL0132]: the reference `net` is `n` of the project, which has no operation `Join`
        help: it has none; call an operation of the target
    a.yaml:13:39: error[WL0132]: the reference `net` is `n` of the project, which has no operation `Join`
        help: it has none; call an operation of the target
    ");
}

#[test]
fn properties_of_ends() {
    assert_snapshot!(world().messages(&related(
        "    source-capabilities: [a.x]
    target-requirements: [b.x]
    source-state: Active
    target-state: Active
    properties:
      fine: {value: '${source.url} ${source.name} ${target.id} ${target.index}'}
      ip: {value: '${source.ulr}'}
"
    )), @"
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:15:20: error[WL0111]: `a` has no property `ulr`
        a.yaml:3:3: declared here
        help: did you mean `url`?
    ");
}

/// An error about a component is reported once for all its capabilities.
#[test]
fn two_capabilities_of_one_component() {
    let ends = |sources: &str, targets: &str| {
        world().messages(&related(&format!(
            "    source-capabilities: [{sources}]
    target-requirements: [{targets}]
    source-state: Active
    target-state: Active
    properties:
      ip: {{value: '${{source.ulr}}'}}
    lifecycle: {{Create: [target.Nope]}}
"
        )))
    };
    let once = ends("a.x", "b.x");
    assert!(once.contains("has no property `ulr`") && once.contains("`Nope`"), "{once}");
    assert_eq!(ends("a.x, a.x", "b.x, b.x"), once);
}

#[test]
fn policies() {
    assert_snapshot!(world().messages(
        "name: assembly::shop::1.0
composition:
  a: {type: resource::web::1.0}
  b: {type: resource::web::1.0, cluster: {maximum-nodes: 3}}
policies:
  fine: {type: 'policy::scale', metric: a.load, target: b, properties: {smoothing: {value: 3}}}
  one: {type: 'policy::scale', metric: c.load, target: a}
  two: {type: 'policy::scale', metric: a.load, target: bb, properties: {smoothing: '${nothing}'}}
"
    ), @"
    a.yaml:6:41: error[WL0135]: the descriptor of `a` declares no metric `load`
        a.yaml:3:3: the component
        help: it declares none; add it to `metrics` there
    a.yaml:7:40: error[WL0112]: the metric `c.load` of the policy `one` is of no component
        help: there are `a` and `b`
    a.yaml:7:56: error[WL0133]: the policy `one` scales `a`, which has no `cluster`
        a.yaml:3:3: the component
        help: give it a `cluster` with the bounds between which it may scale
    a.yaml:8:40: error[WL0135]: the descriptor of `a` declares no metric `load`
        a.yaml:3:3: the component
        help: it declares none; add it to `metrics` there
    a.yaml:8:56: error[WL0112]: the policy `two` scales `bb`, which is no component
        help: did you mean `b`?
    a.yaml:8:85: error[WL0111]: `${nothing}` names no property of this descriptor
        help: declare it in `properties`, or give the value here
    ");
}

#[test]
fn descriptors_missing_from_the_catalog() {
    let text = "name: assembly::shop::1.0\ncomposition: {w: {type: resource::wbe::1.0}}\n";
    assert_snapshot!(world().check(text, Missing::Tolerated), @"
    a.yaml:2:25: warning[WL0140]: the descriptor of `w`, `resource::wbe::1.0`, is not in the catalog; what depends on it is not checked
        help: did you mean `resource::web::1.0`?
    ");
    assert_snapshot!(world().check(text, Missing::Refused), @"
    a.yaml:2:25: error[WL0140]: the descriptor of `w`, `resource::wbe::1.0`, is not in the catalog
        help: did you mean `resource::web::1.0`?
    ");
}

#[test]
fn invalid_endpoints() {
    let ends = |source: &str, target: &str| {
        format!(
            "    source-capabilities: {source}\n    target-requirements: {target}\n    source-state: Active\n    target-state: Active\n"
        )
    };
    assert_snapshot!(messages(&related(&ends("[]", "[b.x, ]"))), @"
    a.yaml:3:13: warning[WL0140]: the descriptor of `a`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:4:13: warning[WL0140]: the descriptor of `b`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:9:26: error[WL0130]: the relationship `joined` has no entry in `source-capabilities`, so it relates nothing
    ");
    assert_snapshot!(messages(&related(&ends("[a.y]", "[b.x, null]"))), @"
    a.yaml:3:13: warning[WL0140]: the descriptor of `a`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:4:13: warning[WL0140]: the descriptor of `b`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:6:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:10:32: error[WL0118]: an entry of `target-requirements` is empty
        help: name a component, as `web.url`, or remove the entry
    ");
}

#[test]
fn a_key_that_is_there_already_is_not_turned_into_its_neighbour() {
    let text = "name: assembly::shop::1.0
composition:
  a: {type: resource::web::1.0, cluster: {minimumnodes: 1, minimum-nodes: 1}}
metrics: {l: {source-metric: a.load}}
policies:
  grow:
    type: policy::scale
    metric: l
    target: a
    properties: {scalein_threshold: 3, scaleIn_threshold: 10, smoothing: 2}
";
    assert_snapshot!(messages(text), @"
    a.yaml:3:13: warning[WL0140]: the descriptor of `a`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:3:43: error[WL0103]: a cluster has no `minimumnodes`
        help: `minimum-nodes` is there already; remove one of the two
    a.yaml:10:18: error[WL0136]: a policy has no setting `scalein_threshold`
        help: `scaleIn_threshold` is there already; remove one of the two
    ");
}

#[test]
fn numbers_of_nodes_that_read_unknown_values() {
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
properties:
  late: {value: '${later}0'}
  later: {value: '${a.count}'}
  given: {default: '${a.count}'}
composition:
  a: {type: resource::web::1.0, quantity: '${late}'}
  b: {type: resource::web::1.0, cluster: {maximum-nodes: '${given}'}}
"
    ), @"
    a.yaml:7:13: warning[WL0140]: the descriptor of `a`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:7:44: error[WL0120]: `quantity` depends on a component through `${late}`: it must be known before any is made
        a.yaml:4:19: the component is read here
    a.yaml:8:13: warning[WL0140]: the descriptor of `b`, `resource::web::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    ");
}

#[test]
fn values_for_what_decides_itself() {
    let text = "name: assembly::shop::1.0
composition:
  a: {type: resource::web::1.0, properties: {url: {value: mine}}}
  b: {type: resource::web::1.0, properties: {url: {read-only: true}}}
";
    assert_snapshot!(world().check(text, Missing::Tolerated), @"
    a.yaml:3:59: warning[WL0171]: `url` decides its value itself, so the one given here is ignored
        0.yaml:2:14: declared here
    ");
}

#[test]
fn a_part_of_a_property_can_not_be_read() {
    assert_snapshot!(messages(
        "name: assembly::shop::1.0
properties:
  size: {type: map, default: {width: 1}}
  width: {value: '${size.width}'}
"
    ), @"
    a.yaml:4:19: error[WL0112]: `${size.width}` names no component `size`
        help: `size` is a property, and `${size}` is the whole of it; no part of a value can be read
    ");
}

#[test]
fn a_suggestion_compares_the_middle_part_of_a_descriptor_name() {
    let text = |kind: &str| format!("name: assembly::shop::1.0\ncomposition: {{a: {{type: '{kind}'}}}}\n");
    let world = World::of(&[
        "name: resource::web::1.0\nlifecycle: [Install]\n",
        "name: resource::web::2.0\nlifecycle: [Install]\n",
        "name: resource::balancer::1.0\nlifecycle: [Install]\n",
    ]);
    assert_snapshot!(world.check(&text("resource::web::1.5"), Missing::Tolerated), @"
    a.yaml:2:25: warning[WL0140]: the descriptor of `a`, `resource::web::1.5`, is not in the catalog; what depends on it is not checked
        help: did you mean `resource::web::2.0`?
    ");
    assert_snapshot!(world.check(&text("assembly::web::1.0"), Missing::Tolerated), @"
    a.yaml:2:25: warning[WL0140]: the descriptor of `a`, `assembly::web::1.0`, is not in the catalog; what depends on it is not checked
        help: did you mean `resource::web::1.0`?
    ");
    assert_snapshot!(world.check(&text("resource::balancre::3.0"), Missing::Tolerated), @"
    a.yaml:2:25: warning[WL0140]: the descriptor of `a`, `resource::balancre::3.0`, is not in the catalog; what depends on it is not checked
        help: did you mean `resource::balancer::1.0`?
    ");
    assert_snapshot!(world.check(&text("resource::gone::1.0"), Missing::Tolerated), @"
    a.yaml:2:25: warning[WL0140]: the descriptor of `a`, `resource::gone::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    ");
    assert_snapshot!(world.check(&text("[[ execution_id ]]"), Missing::Tolerated), @"
    a.yaml:2:25: error[WL0106]: `[[ execution_id ]]` is not of the form `kind::name::version`, such as `assembly::shop::1.0`
        help: a placeholder of a template means nothing here: fill the template in first
    ");
}

#[test]
fn a_property_that_is_nearly_one_of_the_component() {
    let web = "name: resource::web::1.0
properties: {port: {default: 80}, ip1: {default: 1}, url: {read-only: true}}
lifecycle: [Install]
";
    let text = "name: assembly::shop::1.0
composition:
  a: {type: resource::web::1.0, properties: {prot: {value: 81}, other: {value: 1}}}
  b: {type: resource::web::1.0, properties: {prot: {type: string, value: 81}, ip1: {value: 2}, ip2: {value: 3}}}
  c: {type: resource::web::1.0, properties: {ur: {value: 81}}}
";
    assert_snapshot!(World::of(&[web]).check(text, Missing::Tolerated), @"
    a.yaml:3:46: warning[WL0111]: the component's descriptor has no property `prot`; it is added
        help: did you mean `port`?
    ");
}

#[test]
fn arguments_of_operations_have_types() {
    let text = "name: resource::web::1.0
lifecycle: [Install]
operations:
  Join: {properties: {port: {type: integr, default: many}, weight: {type: integer, default: heavy}}}
";
    assert_snapshot!(messages(text), @"
    a.yaml:4:36: warning[WL0116]: there is no type `integr`; its values are taken as text
        help: did you mean `integer`?
    a.yaml:4:93: warning[WL0117]: `weight` is declared as `integer`, and its value is not a whole number
        help: the value is taken as it stands; types are advice
    ");
}

/// Keys that extend the language are checked like all other keys.
#[test]
fn extensions_are_checked() {
    let resource = |lifecycle: &str, change: &str| {
        messages(&format!("name: resource::a::1.0\nlifecycle: [{lifecycle}]\non-package-change: {change}\n"))
    };
    assert_snapshot!(resource("Install", "restart"), @"a.yaml:3:20: error[WL0148]: `restart` is no effect of a changed package: one of keep, reconfigure, replace");
    assert_snapshot!(resource("Reconfigure", "reconfigur"), @"
    a.yaml:3:20: error[WL0148]: `reconfigur` is no effect of a changed package: one of keep, reconfigure, replace
        help: did you mean `reconfigure`?
    ");
    assert_snapshot!(resource("Install", "reconfigure"), @"
    a.yaml:3:20: error[WL0148]: a changed package can't reconfigure an instance: the resource declares no Reconfigure
        help: add `Reconfigure` to `lifecycle`, or write `keep` or `replace`
    ");
    for change in ["keep", "reconfigure", "replace", ""] {
        assert_eq!(resource("Reconfigure", change), "", "{change}");
    }
    assert_snapshot!(messages("name: assembly::a::1.0\nprotected: yes\n"), @"
    a.yaml:2:1: error[WL0103]: an assembly descriptor has no `protected`
        help: did you mean `protect`?
    ");
    assert_snapshot!(messages("name: assembly::a::1.0\nprotect: '${flag}'\n"), @"a.yaml:2:10: error[WL0125]: `protect` must be `true` or `false`");
}

#[test]
fn a_protection_covers_the_element_that_declares_it() {
    let world = World::of(&[
        "name: resource::web::1.0\nlifecycle: [Install]\non-package-change: replace\n",
        "name: assembly::inner::1.0\nprotect: true\ncomposition: {web: {type: resource::web::1.0}}\n",
    ]);
    let composed = world.compose_text(
        "name: assembly::shop::1.0
composition:
  plain: {type: resource::web::1.0}
  one: {type: resource::web::1.0, protect: true}
  many: {type: resource::web::1.0, quantity: 2, protect: yes}
  inner: {type: assembly::inner::1.0}
",
    );
    let topology = composed.topology.unwrap();
    let flagged = topology.elements().iter().filter(|element| element.protected);
    let flagged: Vec<&str> = flagged.map(|element| element.name.local()).collect();
    assert_eq!(flagged, ["one", "many", "inner"]);
    let protector = |name: &str| topology.protector(&format!("test__{name}").parse().unwrap()).is_some();
    let names = ["plain", "one", "many__2", "inner__web"];
    assert_eq!(names.map(protector), [false, true, true, true]);
    let web = topology.get(&"test__one".parse().unwrap()).unwrap();
    assert_eq!(web.package_change(), windlass_model::assembly::OnPackageChange::Replace);
}

#[test]
fn update_limits_the_nodes_that_a_change_takes_down() {
    let shop = |update: &str, nodes: u32| {
        format!(
            "name: assembly::shop::1.0
composition:
  web: {{type: resource::web::1.0, quantity: {nodes}, update: {update}}}
"
        )
    };
    let world = World::of(&["name: resource::web::1.0\nlifecycle: [Install]\n"]);
    let declared = |update: &str| {
        let topology = world.compose_text(&shop(update, 4)).topology.unwrap();
        let declared = topology.elements().iter().filter_map(|element| {
            let update = element.update?;
            Some(format!("{} {}", element.name.local(), update.max_unavailable?))
        });
        declared.collect::<Vec<_>>()
    };
    assert_eq!(declared("{max-unavailable: 2}"), ["web 2"]);
    assert_eq!(declared("{max-unavailable: 25%}"), ["web 25%"]);
    assert_eq!(declared("{max-unavailable: all}"), ["web all"]);
    assert_eq!(declared("{}"), Vec::<String>::new());
    let topology = world.compose_text(&shop("{max-surge: 25%}", 4)).topology.unwrap();
    let surge = topology.elements().iter().find_map(|group| group.update?.max_surge);
    assert_eq!(surge.map(|surge| surge.of(5)), Some(2));
    let each = shop("{max-surge: 1}", 4).replace("quantity: 4", "cluster: {each: [{name: a}], key: name}");
    let each = messages(&each).lines().skip(2).collect::<Vec<_>>().join("\n");
    assert_snapshot!(each, @"
    a.yaml:3:96: error[WL0149]: the component `web` has a node for each entry of a list, so it can't have more
        help: remove `max-surge`, or add an entry to the list
    ");
    let wrong = |update: &str, nodes| {
        let text = messages(&shop(update, nodes));
        // The first error is the missing descriptor of `web`.
        text.lines().skip(2).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(wrong("{max-unavailable: 0}", 4), @"a.yaml:3:74: error[WL0149]: `0` is no number of nodes: a number from 1, a percentage from `1%` to `100%`, or `all`");
    assert_snapshot!(wrong("{max-unavailable: 101%}", 4), @"a.yaml:3:74: error[WL0149]: `101%` is no number of nodes: a number from 1, a percentage from `1%` to `100%`, or `all`");
    assert_snapshot!(wrong("{max-surge: all}", 4), @"a.yaml:3:68: error[WL0149]: `all` is no number of additional nodes: a number from 0 to 10000, or a percentage from `0%` to `100%`");
    assert_snapshot!(wrong("{maxsurge: 1}", 4), @"
    a.yaml:3:57: error[WL0103]: an update has no `maxsurge`
        help: did you mean `max-surge`?
    ");
    assert_snapshot!(wrong("{speed: 1}", 4), @"
    a.yaml:3:57: error[WL0103]: an update has no `speed`
        help: it has `max-unavailable`, `max-surge`, `pause` and `on-failure`
    ");
    assert_snapshot!(wrong("{pause: 10}", 4), @"a.yaml:3:64: error[WL0149]: `10` is no pause: a duration up to a week, such as `10s` or `1m30s`");
    assert_snapshot!(wrong("{pause: 200h}", 4), @"a.yaml:3:64: error[WL0149]: `200h` is no pause: a duration up to a week, such as `10s` or `1m30s`");
    assert_snapshot!(wrong("{on-failure: rolback}", 4), @"
    a.yaml:3:69: error[WL0149]: `rolback` is no reaction to a failure: one of stop, rollback
        help: did you mean `rollback`?
    ");
    assert_snapshot!(wrong("{max-unavailable: 1}", 1), @"
    a.yaml:3:56: error[WL0149]: the component `web` has one node, so it can't be updated in batches
        help: add `quantity` or `cluster`, or remove `update`
    ");
    assert_snapshot!(wrong("{max-unavailble: 1}", 4), @"
    a.yaml:3:57: error[WL0103]: an update has no `max-unavailble`
        help: did you mean `max-unavailable`?
    ");
}
