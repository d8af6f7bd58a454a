//! Tests the meaning of values: references in all forms, text around them, and the spelling of scalars.

use insta::assert_snapshot;
use rstest::rstest;
use windlass_descriptor::Descriptor;
use windlass_descriptor::template::ValueKind;
use windlass_model::PropertyName;

use crate::support::{World, read_text, template};

const WEB: &str = "
name: resource::web::1.0
properties:
  port: {default: 80}
  url: {read-only: true}
  path: {default: '/${port}'}
  cidr: {}
lifecycle: [Install]
operations: {Join: {}}
";

fn world() -> World {
    World::of(&[WEB]).existing("resource::net::1.4", "VIDEO", &[("id", "net-1"), ("mtu", "1500")])
}

#[test]
fn references_are_bound_to_elements() {
    assert_snapshot!(world().tree(
        "
name: assembly::shop::1.0
properties:
  region: {default: eu-1}
  own: {value: '${region}'}
  component: {value: '${front.url}'}
  reference: {value: '${net.id}'}
  instance: {value: '${instance.name} ${instance.id} ${instance.index}'}
  embedded: {value: 'http://${front.url}:${front.port}/${region}/'}
  list: {value: ['${region}', {zone: '${region}-a'}]}
references:
  net:
    type: resource::net::^1.0
    properties: {name: {value: VIDEO}}
composition:
  front:
    type: resource::web::1.0
    properties:
      cidr: {value: '${instance.name}/${region}'}
  back:
    type: resource::web::1.0
    quantity: 2
    properties:
      cidr: {value: '${instance.index} of ${front.cidr}'}
relationships:
  joined:
    source-capabilities: [front.http]
    target-requirements: [back.http, front.self]
    source-state: Active
    source-state-modifier: pre
    target-state: Inactive
    target-state-modifier: post
    properties:
      ip: {value: '${source.url}'}
      names: {value: '${source.name} ${target.name} ${region}'}
    lifecycle:
      Create: [source.Join, back.Join]
      Cease: [target.Join]
"
    ), @"
    test (assembly of assembly::shop::1.0)
      region: eu-1
      own: ${test.region}
      component: ${test__front.url}
      reference: ${test__net.id}
      instance: ${test.instance.name} ${test.instance.id} ${test.instance.index}
      embedded: http://${test__front.url}:${test__front.port}/${test.region}/
      list: [${test.region}, {zone: ${test.region}-a}]
      test__net (reference of resource::net::1.4)
        name: VIDEO
        id: net-1
        mtu: 1500
      test__front (resource of resource::web::1.0)
        port: 80
        url (read-only):
        path: /${test__front.port}
        cidr: ${test__front.instance.name}/${test.region}
        Join() -> test__front.Join
      test__back (group of resource::web::1.0)
        test__back__1 (resource of resource::web::1.0)
          port: 80
          url (read-only):
          path: /${test__back__1.port}
          cidr: ${test__back__1.instance.index} of ${test__front.cidr}
          Join() -> test__back__1.Join
        test__back__2 (resource of resource::web::1.0)
          port: 80
          url (read-only):
          path: /${test__back__2.port}
          cidr: ${test__back__2.instance.index} of ${test__front.cidr}
          Join() -> test__back__2.Join
    joined: test__front.http (Pre Active) -> test__back.http, test__front.self (Post Inactive)
      ip: ${source.url}
      names: ${source.name} ${target.name} ${test.region}
      Create: source.Join, target.Join
      Cease: target.Join
    ");
}

#[test]
fn a_cluster_is_read_at_its_lowest_node_with_a_warning() {
    let text = |size: &str| {
        format!(
            "name: assembly::shop::1.0
properties:
  nodes: {{default: 1}}
  url: {{value: '${{web.url}}'}}
composition:
  web:
    type: resource::web::1.0
    {size}
"
        )
    };
    let world = world();
    assert_snapshot!(world.messages(&text("quantity: 3")), @"a.yaml:4:17: warning[WL0170]: `web` has several nodes; the value of the lowest one, `web__1`, is taken");
    assert_snapshot!(world.messages(&text("quantity: ${nodes}")), @"");
    assert_snapshot!(world.messages(&text("cluster: {initial-quantity: 1}")), @"");
    // A component that always has one node needs no warning.
    assert_eq!(world.messages(&text("quantity: '1'")), "");
    assert_eq!(world.messages(&text("cluster: {maximum-nodes: 1}")), "");
    assert!(world.tree(&text("quantity: 3")).contains("url: ${test__web__1.url}"));
    assert!(world.tree(&text("quantity: 1")).contains("url: ${test__web.url}"));
}

#[test]
fn a_dot_is_a_component_first() {
    assert_snapshot!(world().tree(
        "
name: assembly::shop::1.0
properties:
  one: {value: '${web.a.b}'}
composition:
  web:
    type: resource::web::1.0
    properties:
      a.b: {value: dotted}
"
    ), @"
    test (assembly of assembly::shop::1.0)
      one: ${test__web.a.b}
      test__web (resource of resource::web::1.0)
        port: 80
        url (read-only):
        path: /${test__web.port}
        cidr:
        a.b: dotted
        Join() -> test__web.Join
    ");
}

#[rstest]
#[case::version("1.10")]
#[case::hexadecimal("0x10")]
#[case::octal("010")]
#[case::word("yes")]
#[case::boolean("True")]
#[case::exponent("1e3")]
#[case::network("10.0.1.0/24")]
#[case::date("2016-03-15")]
#[case::sexagesimal("22:22")]
#[case::infinity(".inf")]
#[case::large("123456789012345678901234567890")]
#[case::dollar("$5 and $${x")]
fn scalars_keep_their_spelling(#[case] spelling: &str) {
    let read = read_text(&format!("name: resource::a::1.0\nproperties:\n  x:\n    default: {spelling}\n"));
    let Some(Descriptor::Resource(resource)) = read.descriptor else { panic!("it is a resource") };
    let name: PropertyName = "x".parse().unwrap();
    let value = resource.properties[&name].default.clone().unwrap();
    if let ValueKind::Text(segments) = &value.kind
        && spelling.contains("${")
    {
        // An unclosed reference is reported, and stays as it is.
        assert_eq!((segments.len(), read.diagnostics.len()), (2, 1));
    } else {
        assert_eq!(value.literal(), Some(spelling));
        assert_eq!(read.diagnostics.to_string(), "");
    }
}

#[test]
fn the_part_decides_over_what_it_is_given_only_where_it_says_so() {
    let fixed = "
name: resource::fixed::1.0
properties:
  fixed: {value: mine}
  output: {read-only: true}
  open: {default: mine}
  typed: {type: integer, volatile: true}
";
    let world = World::of(&[fixed]);
    let text = "
name: assembly::shop::1.0
composition:
  a:
    type: resource::fixed::1.0
    properties:
      fixed: {value: given}
      output: {value: given}
      open: {value: given}
      typed: {default: 7}
      added: {value: more, read-only: true}
";
    assert_snapshot!(world.messages(text), @"
    a.yaml:7:22: warning[WL0171]: `fixed` decides its value itself, so the one given here is ignored
        0.yaml:4:3: declared here
    a.yaml:8:23: warning[WL0171]: `output` decides its value itself, so the one given here is ignored
        0.yaml:5:3: declared here
    ");
    assert_snapshot!(world.tree(text), @"
    test (assembly of assembly::shop::1.0)
      test__a (resource of resource::fixed::1.0)
        fixed: mine
        output (read-only):
        open: given
        typed (volatile): 7
        added (read-only): more
    ");
}

#[test]
fn parameters_are_taken_as_they_stand() {
    let text = "
name: assembly::shop::1.0
properties: {a: {}, b: {}, c: {}, d: {}, e: {}}
";
    let world = World::default()
        .given("a", "${b}")
        .given("b", 1.5)
        .given("c", serde_json::json!([1, {"k": "v"}, null]))
        .given("d", true)
        .given("e", serde_json::Value::Null);
    let topology = world.compose_text(text).topology.unwrap();
    let shown: Vec<_> = topology.elements()[0]
        .properties
        .iter()
        .map(|(name, property)| format!("{name}: {}", template(property.value.as_ref().unwrap())))
        .collect();
    assert_eq!(shown, ["a: ${b}", "b: 1.5", "c: [1, {k: v}, null]", "d: true", "e: null"]);
    // `${b}` is text here, not a reference.
    assert_eq!(topology.elements()[0].properties[0].value.as_ref().unwrap().as_literal(), Some("${b}"));
}
