//! Tests parameters that a user gives to an assembly.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::World;

const SHOP: &str = "name: assembly::shop::1.0
properties:
  region: {required: true}
  size: {default: 1}
  fixed: {value: 7}
  output: {read-only: true}
  mapped: {read-only: true, value: '${size}'}
  with_default: {required: true, default: a}
";

#[test]
fn unknown_parameters() {
    let world = World::default().given("region", "eu").given("regoin", "eu").given("colour", "red");
    assert_snapshot!(world.messages(SHOP), @"
    error[WL0150]: the assembly has no property `colour`
        help: these can be set: `region`, `size` and `with_default`
    error[WL0150]: the assembly has no property `regoin`
        help: did you mean `region`?
    ");
    assert_snapshot!(World::default().given("a", 1).messages("name: assembly::shop::1.0\n"), @"
    error[WL0150]: the assembly has no property `a`
        help: it has none that can be set
    ");
}

#[test]
fn missing_parameters() {
    assert_snapshot!(World::default().messages(SHOP), @"
    a.yaml:3:3: error[WL0151]: `region` is required and has no value
        help: give it with `-p region=…`
    ");
    let null = World::default().given("region", serde_json::Value::Null);
    assert_snapshot!(null.messages(SHOP), @"
    a.yaml:3:3: error[WL0151]: `region` is required and has no value
        help: give it with `-p region=…`
    ");
}

#[test]
fn null_keeps_the_default() {
    let shop = "name: assembly::shop::1.0
properties:
  region: {required: true, default: a}
  token: {sensitive: true, default: hunter22}
  nodes: {default: 2}
composition:
  web: {type: resource::web::1.0, quantity: '${nodes}'}
";
    let web = ["name: resource::web::1.0\n"];
    let null = ["region", "token", "nodes"]
        .into_iter()
        .fold(World::of(&web), |world, name| world.given(name, serde_json::Value::Null));
    assert_eq!(null.tree(shop), World::of(&web).tree(shop));
    assert_snapshot!(null.messages(&shop.replace("nodes: {default: 2}", "nodes: {}")), @"a.yaml:7:45: error[WL0120]: a whole number from 0 is needed, and `nodes` has no value");
}

/// A parameter that is not given in a file has no file and no line.
#[test]
fn a_parameter_for_a_number_is_a_list_or_a_map() {
    let shop = "name: assembly::shop::1.0
properties:
  nodes: {default: 2}
composition:
  web: {type: resource::web::1.0, quantity: '${nodes}'}
";
    let world = |value: serde_json::Value| World::of(&["name: resource::web::1.0\n"]).given("nodes", value);
    assert_snapshot!(world(serde_json::json!([1])).messages(shop), @"a.yaml:5:45: error[WL0120]: a whole number from 0 is needed, and `nodes` is a list");
    assert_snapshot!(world(serde_json::json!({"a": 1})).messages(shop), @"a.yaml:5:45: error[WL0120]: a whole number from 0 is needed, and `nodes` is a mapping");
}

/// The help for a missing secret proposes no argument, because every user of the machine can list the
/// arguments of processes.
#[test]
fn a_missing_secret() {
    let shop = "name: assembly::shop::1.0\nproperties:\n  password: {sensitive: true, required: true}\n";
    assert_snapshot!(World::default().messages(shop), @"
    a.yaml:3:3: error[WL0151]: `password` is required and has no value
        help: give it with `-p password=@FILE`, `-p password=-` or `--params FILE`
    ");
}

#[test]
fn parameters_that_cannot_be_set() {
    let world =
        World::default().given("region", "eu").given("fixed", 8).given("output", "x").given("mapped", "x");
    assert_snapshot!(world.messages(SHOP), @"
    a.yaml:5:3: error[WL0152]: `fixed` has a fixed value and can't be set
    a.yaml:6:3: error[WL0152]: `output` is read-only and can't be set
    a.yaml:7:3: error[WL0152]: `mapped` is read-only and can't be set
    ");
}

#[test]
fn all_errors_of_parameters_are_reported_at_once() {
    let world = World::default().given("siez", 3).given("fixed", 8);
    assert_snapshot!(world.messages(SHOP), @"
    error[WL0150]: the assembly has no property `siez`
        help: did you mean `size`?
    a.yaml:3:3: error[WL0151]: `region` is required and has no value
        help: give it with `-p region=…`
    a.yaml:5:3: error[WL0152]: `fixed` has a fixed value and can't be set
    ");
}

/// `-p` gives each value as text. If the parameter is a list or a map, the text is read as YAML, so that it means the
/// same as in a parameter file.
#[test]
fn the_text_of_a_list_or_map_is_read() {
    let text = "name: assembly::shop::1.0
properties:
  ports: {type: list}
  labels: {type: map}
  keys: {type: list, sensitive: true}
  note: {type: string}
";
    let given = World::default().given("ports", "[80, {at: 443}]").given("labels", "a: '1'\n");
    let given = given.given("keys", "- first\n").given("note", "[80]");
    assert_snapshot!(given.tree(text), @"
    test (assembly of assembly::shop::1.0)
      ports: [80, {at: 443}]
      labels: {a: 1}
      keys (sensitive): [***]
      note: [80]
    ");
    let files = World::default().given("ports", json!(["80", {"at": "443"}]));
    let files =
        files.given("labels", json!({"a": "1"})).given("keys", json!(["first"])).given("note", "[80]");
    assert_eq!(files.tree(text), given.tree(text));
    let wrong = World::default().given("ports", "80").given("labels", "").given("keys", "secret: [");
    assert_snapshot!(wrong.messages(text), @"
    a.yaml:3:3: warning[WL0117]: `ports` is declared as `list`, and the given text is not a list
        help: the text is taken as it stands; give the value as YAML or JSON
    a.yaml:5:3: warning[WL0117]: `keys` is declared as `list`, and the given text is not a list
        help: the text is taken as it stands; give the value as YAML or JSON
    ");
}
