//! Tests clusters with `each`, which creates a node for each entry of a list. The tests cover keys, fields, sources of
//! the list, and errors.

use insta::assert_snapshot;
use serde_json::json;
use windlass_descriptor::{Descriptor, Missing, check_lists};

use crate::support::{World, read_text, show};

const RESOURCE: &str = "name: resource::web::1.0
properties: {address: {}, port: {}, label: {}, out: {read-only: true}, secret: {sensitive: true}}
metrics: {load: {type: 'metric::load'}}
lifecycle: [Install]
";

fn world() -> World {
    World::of(&[
        RESOURCE,
        "name: assembly::pod::1.0
properties: {where: {}}
composition:
  web: {type: 'resource::web::1.0', properties: {address: {value: '${where}'}}}
",
    ])
}

const HOSTS: &str = "{type: list, default: [{name: rack1, address: 10.0.0.1, port: 80}, {name: rack7, address: 10.0.0.7, port: 81}]}";

fn shop(hosts: &str, cluster: &str, more: &str) -> String {
    format!(
        "name: assembly::shop::1.0
properties:
  hosts: {hosts}
composition:
  web:
    type: resource::web::1.0
    cluster: {cluster}
    properties:
      address: {{value: '${{each.address}}'}}
      port: {{value: ':${{each.port}}'}}
{more}"
    )
}

fn plain(hosts: &str) -> String {
    shop(hosts, "{each: '${hosts}', key: name}", "")
}

#[test]
fn each_entry_is_a_node_with_its_values() {
    assert_snapshot!(world().tree(&plain(HOSTS)), @"
    test (assembly of assembly::shop::1.0)
      hosts: [{address: 10.0.0.1, name: rack1, port: 80}, {address: 10.0.0.7, name: rack7, port: 81}]
      test__web (group of resource::web::1.0)
        test__web__rack1 (resource of resource::web::1.0)
          address: 10.0.0.1
          port: :80
          label:
          out (read-only):
          secret (sensitive):
        test__web__rack7 (resource of resource::web::1.0)
          address: 10.0.0.7
          port: :81
          label:
          out (read-only):
          secret (sensitive):
    ");
}

#[test]
fn a_list_may_be_literal_and_its_key_another_field() {
    let text = shop(
        "",
        "{each: [{id: a, address: x, port: 1, name: n}, {id: b, address: '${hosts}', port: 2}], key: id}",
        "",
    );
    assert_snapshot!(world().given("hosts", "given").tree(&text), @"
    test (assembly of assembly::shop::1.0)
      hosts: given
      test__web (group of resource::web::1.0)
        test__web__a (resource of resource::web::1.0)
          address: x
          port: :1
          label:
          out (read-only):
          secret (sensitive):
        test__web__b (resource of resource::web::1.0)
          address: ${test.hosts}
          port: :2
          label:
          out (read-only):
          secret (sensitive):
    ");
}

#[test]
fn the_order_of_the_list_changes_no_node_and_no_reader() {
    let reader = "  lb: {type: 'resource::web::1.0', properties: {address: {value: '${web.address}'}}}\n";
    let text = shop("", "{each: '${hosts}'}", reader);
    let host = |name: &str| json!({"name": name, "address": format!("at-{name}"), "port": 1});
    let names = [["b", "a", "c"], ["c", "b", "a"]];
    let all = names.map(|names| {
        let composed = world().given("hosts", names.map(host).to_vec()).compose_text(&text);
        let topology = composed.topology.unwrap_or_else(|| panic!("{}", show(&composed.diagnostics)));
        let mut elements: Vec<_> = topology.elements()[1..].to_vec();
        elements.sort_by(|a, b| a.name.cmp(&b.name));
        elements
    });
    assert_eq!(all[0], all[1]);
    let lb = all[0].iter().find(|element| element.name.local() == "lb").unwrap();
    assert_eq!(
        crate::support::template(lb.properties["address"].value.as_ref().unwrap()),
        "${test__web__a.address}"
    );
}

/// The length limit of values that must be known early does not apply to lists, because a list of hosts may
/// be long.
#[test]
fn a_list_may_be_a_long_text() {
    use std::fmt::Write as _;
    let mut yaml = String::new();
    for number in 0..3000 {
        writeln!(yaml, "- {{name: r{number}, address: 10.0.0.1, port: 80, note: {:030}}}", 0).unwrap();
    }
    assert!(yaml.len() > 64 << 10);
    let composed = world().given("hosts", yaml.as_str()).compose_text(&plain("{}"));
    let topology = composed.topology.unwrap_or_else(|| panic!("{}", show(&composed.diagnostics)));
    assert_eq!(topology.elements().len(), 3002);
}

#[test]
fn a_list_is_read_from_text() {
    let text = plain("{}");
    let yaml =
        "- {name: rack1, address: 10.0.0.1, port: 80}\n- name: rack2\n  address: 10.0.0.2\n  port: 0080\n";
    assert_snapshot!(world().given("hosts", yaml).tree(&text), @r#"
    test (assembly of assembly::shop::1.0)
      hosts: "- {name: rack1, address: 10.0.0.1, port: 80}\n- name: rack2\n  address: 10.0.0.2\n  port: 0080\n"
      test__web (group of resource::web::1.0)
        test__web__rack1 (resource of resource::web::1.0)
          address: 10.0.0.1
          port: :80
          label:
          out (read-only):
          secret (sensitive):
        test__web__rack2 (resource of resource::web::1.0)
          address: 10.0.0.2
          port: :0080
          label:
          out (read-only):
          secret (sensitive):
    "#);
    assert_snapshot!(world().given("hosts", "[{name: a, address: b]").messages(&text), @"
    value of hosts:1:22: error[WL0019]: `{` is closed by `]`
        value of hosts:1:2: opened here
        help: write `}`, or quote the text
    ");
    assert_snapshot!(world().given("hosts", "{rack1: {address: b}}").messages(&text), @"
    value of hosts:1:1: error[WL0173]: `hosts` is not a list
        help: give a YAML list of maps, one for each node
    ");
    assert_snapshot!(world().given("hosts", "- {name: a, address: b, port: 1}\n- {name: a, address: b, port: 2}\n").messages(&text), @"
    value of hosts:2:3: error[WL0173]: entries 1 and 2 of `hosts` have the same key, `a`
        value of hosts:1:3: the first of them
        help: give each entry a key of its own
    ");
}

#[test]
fn an_assembly_within_gets_the_list_from_outside() {
    let mut world = world();
    let inner = shop("{type: list}", "{each: '${hosts}', key: name}", "").replace("shop", "inner");
    world.add(crate::support::read_text(&inner));
    let text = "name: assembly::outer::1.0
properties: {machines: {type: list}}
composition:
  in: {type: 'assembly::inner::1.0', properties: {hosts: {value: '${machines}'}}}
";
    let world = world.given("machines", json!([{"name": "rack1", "address": "a", "port": 1}]));
    assert_snapshot!(world.tree(text), @"
    test (assembly of assembly::outer::1.0)
      machines: [{address: a, name: rack1, port: 1}]
      test__in (assembly of assembly::inner::1.0)
        hosts: ${test.machines}
        test__in__web (group of resource::web::1.0)
          test__in__web__rack1 (resource of resource::web::1.0)
            address: a
            port: :1
            label:
            out (read-only):
            secret (sensitive):
    ");
}

#[test]
fn nodes_may_be_assemblies() {
    let text = format!(
        "name: assembly::shop::1.0
properties:
  hosts: {HOSTS}
composition:
  pod:
    type: assembly::pod::1.0
    cluster: {{each: '${{hosts}}'}}
    properties: {{where: {{value: '${{each.address}}'}}}}
"
    );
    assert_snapshot!(world().tree(&text), @"
    test (assembly of assembly::shop::1.0)
      hosts: [{address: 10.0.0.1, name: rack1, port: 80}, {address: 10.0.0.7, name: rack7, port: 81}]
      test__pod (group of assembly::pod::1.0)
        test__pod__rack1 (assembly of assembly::pod::1.0)
          where: 10.0.0.1
          test__pod__rack1__web (resource of resource::web::1.0)
            address: ${test__pod__rack1.where}
            port:
            label:
            out (read-only):
            secret (sensitive):
        test__pod__rack7 (assembly of assembly::pod::1.0)
          where: 10.0.0.7
          test__pod__rack7__web (resource of resource::web::1.0)
            address: ${test__pod__rack7.where}
            port:
            label:
            out (read-only):
            secret (sensitive):
    ");
}

#[test]
fn an_empty_list_has_no_nodes() {
    let reader = "  lb: {type: 'resource::web::1.0', properties: {address: {value: '${web.address}'}}}\n";
    let text = shop("{type: list, default: []}", "{each: '${hosts}'}", reader);
    assert_snapshot!(world().messages(&text), @"a.yaml:11:66: warning[WL0170]: `${test__web__1.address}` has no value: there is no such node");
}

#[test]
fn keys_that_are_no_names() {
    let list = |keys: &str| {
        let entries = keys.split(' ').map(|key| format!("{{name: {key}, address: a, port: 1}}"));
        plain(&format!("{{default: [{}]}}", entries.collect::<Vec<_>>().join(", ")))
    };
    assert_snapshot!(world().messages(&list("a '10' b__c source '' web01.example")), @"
    a.yaml:3:53: error[WL0173]: entry 2 of `hosts` has the number `10` as its key; begin it with a letter
    a.yaml:3:88: error[WL0173]: entry 3 of `hosts` has a bad key: the key name `b__c` has `__`, which separates the parts of an instance's name
    a.yaml:3:123: error[WL0173]: entry 4 of `hosts` has a bad key: the key name `source` is reserved for `${source.…}`
    a.yaml:3:160: error[WL0173]: entry 5 of `hosts` has a bad key: the key name is empty
    a.yaml:3:193: error[WL0173]: entry 6 of `hosts` has a bad key: the key name `web01.example` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`
    ");
    assert_snapshot!(world().messages(&list("a b a")), @"
    a.yaml:3:85: error[WL0173]: entries 1 and 3 of `hosts` have the same key, `a`
        a.yaml:3:21: the first of them
        help: give each entry a key of its own
    ");
    assert_snapshot!(world().messages(&plain("{default: [{address: a}, text, {}]}")), @"
    a.yaml:3:21: error[WL0173]: entry 1 of `hosts` has no `name`, its key; it has `address`
    a.yaml:3:35: error[WL0173]: entry 2 of `hosts` is not a map
    a.yaml:3:41: error[WL0173]: entry 3 of `hosts` has no `name`, its key
    ");
}

#[test]
fn the_place_of_a_bad_entry_is_in_the_list() {
    let text = shop("", "{each: [{name: a, address: x, port: 1}, {name: 7}, {name: a}]}", "");
    assert_snapshot!(world().messages(&text), @"
    a.yaml:3:3: warning[WL0118]: the property `hosts` is declared with nothing
        help: give it a `value`, a `default` or a `type`, or write `{}` if it needs none
    a.yaml:7:54: error[WL0173]: entry 2 of `each` has the number `7` as its key; begin it with a letter
    a.yaml:7:65: error[WL0173]: entries 1 and 3 of `each` have the same key, `a`
        a.yaml:7:22: the first of them
        help: give each entry a key of its own
    ");
}

#[test]
fn lists_that_are_none() {
    assert_snapshot!(world().messages(&plain("{}")), @"a.yaml:7:21: error[WL0173]: `hosts` has no list that is known before the assembly is made; give it a default, or a value as in `-p hosts=@hosts.yaml`");
    assert_snapshot!(world().messages(&plain("{required: true}")), @"
    a.yaml:3:3: error[WL0151]: `hosts` is required and has no value
        help: give it with `-p hosts=…`
    ");
    assert_snapshot!(world().messages(&plain("{default: {a: b}}")), @"
    a.yaml:3:20: error[WL0173]: `hosts` is not a list
        help: give a list of maps, one for each node
    ");
    assert_snapshot!(world().messages(&plain("{sensitive: true, default: '[{name: a}]'}")), @"
    a.yaml:3:37: error[WL0173]: `hosts` is a secret, so its entries can't be nodes
        help: declare it without `sensitive`, and give each secret as a property of its own
    ");
    assert_snapshot!(world().messages(&plain("{sensitive: true, default: [{name: a}]}")), @"
    a.yaml:3:37: error[WL0173]: `hosts` is a secret, so its entries can't be nodes
        help: declare it without `sensitive`, and give each secret as a property of its own
    ");
    assert_snapshot!(world().messages(&plain("{value: '${web.out}'}")), @"
    a.yaml:7:22: error[WL0120]: `each` depends on a component through `${hosts}`: it must be known before any is made
        a.yaml:3:19: the component is read here
    ");
    assert_snapshot!(world().messages(&shop("", "{each: 3}", "")), @"
    a.yaml:3:3: warning[WL0118]: the property `hosts` is declared with nothing
        help: give it a `value`, a `default` or a `type`, or write `{}` if it needs none
    a.yaml:7:21: error[WL0173]: `each` is a list of maps, or one `${property}` that has such a list
    ");
    assert_snapshot!(world().messages(&shop("", "{each: 'x${hosts}'}", "")), @"
    a.yaml:3:3: warning[WL0118]: the property `hosts` is declared with nothing
        help: give it a `value`, a `default` or a `type`, or write `{}` if it needs none
    a.yaml:7:21: error[WL0173]: `each` is a list of maps, or one `${property}` that has such a list
    ");
}

#[test]
fn keys_beside_each() {
    assert_snapshot!(world().messages(&shop(HOSTS, "{each: '${hosts}', minimum-nodes: 1, maximum-nodes: 3}", "")), @"
    a.yaml:7:48: error[WL0173]: a cluster with `each` has as many nodes as its list has entries
        help: remove this bound, or `each`
    a.yaml:7:66: error[WL0173]: a cluster with `each` has as many nodes as its list has entries
        help: remove this bound, or `each`
    ");
    assert_snapshot!(world().messages(&shop(HOSTS, "{key: name, minimum-nodes: 1}", "")), @"
    a.yaml:7:20: error[WL0173]: `key` has a meaning only beside `each`
        help: name the list of nodes, as `each: '${hosts}'`
    a.yaml:9:25: error[WL0112]: `${each.address}` names no component `each`
        help: `each` has a meaning only in the properties of a component whose `cluster` has `each`
    a.yaml:10:23: error[WL0112]: `${each.port}` names no component `each`
        help: `each` has a meaning only in the properties of a component whose `cluster` has `each`
    ");
}

#[test]
fn fields_that_are_not_there() {
    assert_snapshot!(world().messages(&plain("{default: [{name: a, adress: x, port: 1}]}")), @"
    a.yaml:9:25: error[WL0173]: the entry `a` has no field `address`
        a.yaml:3:21: the entry
        help: did you mean `adress`?
    ");
    let elsewhere = "  lb: {type: 'resource::web::1.0', properties: {address: {value: '${each.address}'}}}\n";
    assert_snapshot!(world().messages(&shop(HOSTS, "{each: '${hosts}'}", elsewhere)), @"
    a.yaml:11:67: error[WL0112]: `${each.address}` names no component `each`
        help: `each` has a meaning only in the properties of a component whose `cluster` has `each`
    ");
    assert_snapshot!(world().messages(&plain("{default: [{name: a, address: [1], port: [1]}]}")), @"a.yaml:10:23: error[WL0173]: `port` of the entry `a` is no text");
    let named = "  each: {type: 'resource::web::1.0'}\n";
    assert_snapshot!(world().messages(&shop(HOSTS, "{each: '${hosts}'}", named)), @"
    a.yaml:11:3: error[WL0173]: `${each.…}` would mean this component, and the entry of a list
        a.yaml:7:21: the list
        help: give the component another name
    ");
}

#[test]
fn a_list_is_not_scaled_by_a_policy() {
    let policy = "policies:
  grow: {type: 'policy::scale', metric: web.load, target: web, properties: {scaleOut_threshold: 80, scaleIn_threshold: 10}}
";
    assert_snapshot!(world().check(&shop(HOSTS, "{each: '${hosts}'}", policy), Missing::Refused), @"
    a.yaml:12:59: error[WL0133]: the policy `grow` scales `web`, whose nodes a list declares
        a.yaml:7:21: the list
        help: remove the policy, or declare a number of nodes in place of `each`
    ");
}

#[test]
fn a_resolved_descriptor_keeps_the_list_and_its_fields() {
    let text = world().given("hosts", "[{name: a, address: x, port: 1}]").resolve(&plain("{}")).unwrap().text;
    assert_snapshot!(text, @r#"
    name: assembly::shop::1.0
    properties:
      hosts:
        value: "[{name: a, address: x, port: 1}]"
    composition:
      web:
        type: resource::web::1.0
        cluster:
          each: "${hosts}"
          key: name
        properties:
          address:
            value: "${each.address}"  # differs from node to node
          port:
            value: ":${each.port}"  # differs from node to node
    "#);
    let again = world().messages(&text);
    assert_eq!(again, "");
}

fn problems(text: &str) -> String {
    world().messages(text)
}

#[test]
fn a_key_of_another_sort_is_named_as_that() {
    assert_snapshot!(problems(&plain("{type: list, default: [{name: [1]}, {name: null}, {name: {a: b}}]}")), @"
    a.yaml:3:33: error[WL0173]: entry 1 of `hosts` has a list as its key, `name`; give it a text that begins with a letter
    a.yaml:3:46: error[WL0173]: entry 2 of `hosts` has no value as its key, `name`; give it a text that begins with a letter
    a.yaml:3:60: error[WL0173]: entry 3 of `hosts` has a mapping as its key, `name`; give it a text that begins with a letter
    ");
}

#[test]
fn a_key_with_a_dot_has_a_hint_if_the_entries_have_short_names() {
    let host = "{name: a.example.org, inventory_hostname_short: a, address: x, port: 1}";
    assert_snapshot!(problems(&plain(&format!("{{type: list, default: [{host}]}}"))), @"
    a.yaml:3:33: error[WL0173]: entry 1 of `hosts` has a bad key: the key name `a.example.org` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`
        help: write `key: inventory_hostname_short`, which is the name up to its first dot
    ");
    let host = "{name: 10.0.0.1, inventory_hostname_short: '10', address: x, port: 1}";
    assert_snapshot!(problems(&plain(&format!("{{type: list, default: [{host}]}}"))), @"
    a.yaml:3:33: error[WL0173]: entry 1 of `hosts` has a bad key: the key name `10.0.0.1` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`
        help: give each entry a field with a name that begins with a letter, and name the field in `key`
    ");
}

#[test]
fn a_missing_field_has_the_place_of_its_entry() {
    assert_snapshot!(problems(&plain("{type: list, default: [{name: a, address: x, port: 1}, {name: b, addres: x, port: 1}]}")), @"
    a.yaml:9:25: error[WL0173]: the entry `b` has no field `address`
        a.yaml:3:65: the entry
        help: did you mean `addres`?
    ");
}

fn lists(text: &str) -> String {
    match read_text(text).descriptor {
        Some(Descriptor::Assembly(assembly)) => show(&check_lists(&assembly)),
        _ => "no assembly".to_owned(),
    }
}

/// The check of a descriptor finds mistakes in its literal lists and in lists that are default values.
#[test]
fn a_check_finds_mistakes_in_lists() {
    let literal = "{each: [{name: a}, {nmae: b}, {name: a}, {name: 7}, 3, '${hosts}', {name: [x]}, {name: '${hosts}'}]}";
    assert_snapshot!(lists(&shop("", literal, "")), @"
    a.yaml:7:33: error[WL0173]: this entry has no `name`, its key
    a.yaml:7:51: error[WL0173]: two entries have the same key, `a`
        a.yaml:7:29: the first of them
        help: give each entry a key of its own
    a.yaml:7:62: error[WL0173]: bad key: the key name `7` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`
    a.yaml:7:66: error[WL0173]: an entry of `each` is a map, with its key
    a.yaml:7:88: error[WL0173]: the key `name` of this entry is no text
    ");
    let default = "{type: list, default: [{name: a}, {name: a}]}";
    assert_snapshot!(lists(&plain(default)), @"
    a.yaml:3:51: error[WL0173]: two entries have the same key, `a`
        a.yaml:3:40: the first of them
        help: give each entry a key of its own
    ");
}

#[test]
fn a_number_of_nodes_that_is_a_list_is_an_error_at_the_list() {
    let text = "name: assembly::shop::1.0
properties:
  count: {type: list, default: [1, 2]}
  pin: {type: password, default: hunter2}
composition:
  web: {type: 'resource::web::1.0', quantity: '${count}'}
  lb: {type: 'resource::web::1.0', quantity: '${pin}'}
";
    assert_snapshot!(problems(text), @"
    a.yaml:3:32: error[WL0120]: a whole number from 0 is needed, and `count` is a list
        a.yaml:6:47: the number
    a.yaml:7:46: error[WL0120]: a whole number from 0 is needed, and this secret is none
    ");
}

#[test]
fn entries_of_a_list_for_a_nested_assembly_have_their_places() {
    let farm = "name: assembly::farm::1.0
properties: {hosts: {type: list, required: true}}
composition:
  web: {type: 'resource::web::1.0', cluster: {each: '${hosts}', key: name}}
";
    let world = World::of(&[RESOURCE, farm]);
    let text = "name: assembly::shop::1.0
composition:
  farm:
    type: assembly::farm::1.0
    properties:
      hosts:
        value:
          - {name: a}
          - {name: a}
";
    assert_snapshot!(world.messages(text), @"
    a.yaml:9:13: error[WL0173]: entries 1 and 2 of `hosts` have the same key, `a`
        a.yaml:8:13: the first of them
        help: give each entry a key of its own
    ");
    let text = "name: assembly::shop::1.0
properties:
  racks: {type: list, default: [{name: a}, {label: b}]}
composition:
  farm: {type: 'assembly::farm::1.0', properties: {hosts: {value: '${racks}'}}}
";
    assert_snapshot!(world.messages(text), @"a.yaml:3:44: error[WL0173]: entry 2 of `racks` has no `name`, its key; it has `label`");
}

#[test]
fn a_list_that_is_a_secret_has_no_nodes() {
    assert_snapshot!(problems(&plain("{type: list, sensitive: true, default: [{name: a, address: x, port: 1}]}")), @"
    a.yaml:3:49: error[WL0173]: `hosts` is a secret, so its entries can't be nodes
        help: declare it without `sensitive`, and give each secret as a property of its own
    ");
}
