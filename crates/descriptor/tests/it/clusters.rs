//! Tests `quantity` and `cluster`: the number of nodes that they lead to, and the errors in them.

use insta::assert_snapshot;
use rstest::rstest;
use windlass_descriptor::{Descriptor, Missing, Request, compose};

use crate::support::{World, read_text, show};

fn shop(size: &str) -> String {
    format!(
        "name: assembly::shop::1.0
properties:
  n: {{default: 3}}
  word: {{default: many}}
  secret: {{type: password, default: hunter2}}
  output: {{value: '${{other.out}}'}}
composition:
  web:
    type: resource::web::1.0
    {size}
  other:
    type: resource::web::1.0
"
    )
}

fn world() -> World {
    World::of(&["name: resource::web::1.0\nproperties: {out: {read-only: true}}\nlifecycle: [Install]\n"])
}

fn messages(size: &str) -> String {
    world().messages(&shop(size))
}

#[rstest]
#[case::absent("description: one", "test__web")]
#[case::literal_one("quantity: 1", "test__web")]
#[case::quoted_one("quantity: '1'", "test__web")]
#[case::two("quantity: 2", "test__web test__web__1 test__web__2")]
#[case::zero("quantity: 0", "test__web")]
#[case::parameter("quantity: ${n}", "test__web test__web__1 test__web__2 test__web__3")]
#[case::at_the_minimum("cluster: {minimum-nodes: 2}", "test__web test__web__1 test__web__2")]
#[case::minimum_is_one("cluster: {maximum-nodes: 4}", "test__web test__web__1")]
#[case::initial("cluster: {initial-quantity: 2}", "test__web test__web__1 test__web__2")]
#[case::none_yet("cluster: {minimum-nodes: 0}", "test__web")]
#[case::cluster_wins(
    "quantity: 9\n    cluster: {initial-quantity: 2}",
    "test__web test__web__1 test__web__2"
)]
fn numbers_of_nodes(#[case] size: &str, #[case] expected: &str) {
    let topology = world().compose_text(&shop(size)).topology.unwrap();
    let names = topology.elements().iter().map(|element| element.name.as_str());
    let names: Vec<_> = names.filter(|name| name.starts_with("test__web")).collect();
    assert_eq!(names.join(" "), expected);
}

#[test]
fn bounds_are_kept() {
    let text =
        shop("cluster: {initial-quantity: '${n}', minimum-nodes: 1, maximum-nodes: 5, scaling-increment: 2}");
    let topology = world().compose_text(&text).topology.unwrap();
    let group = topology.get(&"test__web".parse().unwrap()).unwrap();
    let cluster = group.cluster.unwrap();
    assert_eq!((cluster.minimum, cluster.maximum, cluster.increment), (1, Some(5), 2));
}

#[test]
fn quantity_beside_cluster() {
    assert_snapshot!(messages("quantity: 2\n    cluster: {initial-quantity: 2}"), @"
    a.yaml:10:15: warning[WL0122]: the component `web` is a cluster, so its `quantity` is ignored
        a.yaml:11:14: the cluster
    ");
}

#[test]
fn numbers_of_nodes_that_are_no_numbers() {
    assert_snapshot!(messages("quantity: many"), @"a.yaml:10:15: error[WL0120]: `quantity` is a whole number from 0, and `many` is none");
    assert_snapshot!(messages("quantity: -1"), @"a.yaml:10:15: error[WL0120]: `quantity` is a whole number from 0, and `-1` is none");
    assert_snapshot!(messages("quantity: 1.5"), @"a.yaml:10:15: error[WL0120]: `quantity` is a whole number from 0, and `1.5` is none");
    assert_snapshot!(messages("quantity: [1]"), @"a.yaml:10:15: error[WL0120]: `quantity` is a whole number from 0, and this is a list or a mapping");
    assert_snapshot!(messages("quantity: ${word}"), @"a.yaml:10:15: error[WL0120]: a whole number from 0 is needed, and this is `many`");
    assert_snapshot!(messages("cluster: {initial-quantity: x, scaling-increment: y}"), @"
    a.yaml:10:33: error[WL0120]: `initial-quantity` is a whole number from 0, and `x` is none
    a.yaml:10:55: error[WL0120]: `scaling-increment` is a whole number from 0, and `y` is none
    ");
}

#[test]
fn numbers_that_are_not_known_in_time() {
    assert_snapshot!(messages("quantity: ${other.out}"), @"a.yaml:10:15: error[WL0120]: `quantity` can't depend on a component: it must be known before any is made");
    assert_snapshot!(messages("quantity: ${output}"), @"
    a.yaml:10:15: error[WL0120]: `quantity` depends on a component through `${output}`: it must be known before any is made
        a.yaml:6:20: the component is read here
    ");
    assert_snapshot!(messages("quantity: ${instance.index}"), @"a.yaml:10:15: error[WL0120]: this number is not known before the assembly is made");
    assert_snapshot!(messages("quantity: ${nothing}"), @"
    a.yaml:10:15: error[WL0111]: `${nothing}` names no property of this descriptor
        help: declare it in `properties`, or give the value here
    ");
}

#[test]
fn a_secret_number_is_masked_in_messages() {
    assert_snapshot!(messages("quantity: ${secret}"), @"a.yaml:10:15: error[WL0120]: a whole number from 0 is needed, and this secret is none");
}

#[test]
fn bounds_that_contradict_each_other() {
    assert_snapshot!(messages("cluster: {minimum-nodes: 5, maximum-nodes: 2}"), @"a.yaml:10:14: error[WL0121]: minimum-nodes is 5, more than maximum-nodes, 2");
    assert_snapshot!(messages("cluster: {initial-quantity: 1, minimum-nodes: 2}"), @"a.yaml:10:14: error[WL0121]: initial-quantity is 1, less than minimum-nodes, 2");
    assert_snapshot!(messages("cluster: {initial-quantity: 9, maximum-nodes: 4}"), @"a.yaml:10:14: error[WL0121]: initial-quantity is 9, more than maximum-nodes, 4");
    assert_snapshot!(messages("cluster: {initial-quantity: 2, scaling-increment: 0}"), @"a.yaml:10:55: error[WL0121]: scaling-increment is 0, and must be at least 1");
    assert_snapshot!(messages("cluster: {initial-quantity: '${n}', maximum-nodes: 2}"), @"a.yaml:10:33: error[WL0121]: initial-quantity is 3, more than maximum-nodes, 2");
    assert_snapshot!(messages("cluster: {maximum-nodes: 0}"), @"a.yaml:10:14: error[WL0121]: minimum-nodes is 1, more than maximum-nodes, 0");
}

#[test]
fn a_cluster_of_the_wrong_sort() {
    assert_snapshot!(messages("cluster: 3"), @"a.yaml:10:14: error[WL0104]: `cluster` must be a mapping, and this is text");
    assert_snapshot!(messages("cluster: {initial_quantity: 2, max-nodes: 3}"), @"
    a.yaml:10:15: warning[WL0103]: `initial_quantity` is read as `initial-quantity`
        help: write `initial-quantity`
    a.yaml:10:36: warning[WL0103]: a cluster has no `max-nodes`; it is ignored
    ");
}

#[test]
fn the_number_of_elements_is_limited() {
    assert_snapshot!(messages("quantity: 4000000000"), @"a.yaml:10:15: error[WL0126]: the assembly would have more than 200000 elements");
    let nested = World::of(&[
        "name: resource::web::1.0\nlifecycle: [Install]\n",
        "name: assembly::a::1.0\ncomposition: {b: {type: resource::web::1.0, quantity: 1000}}\n",
        "name: assembly::b::1.0\ncomposition: {b: {type: assembly::a::1.0, quantity: 1000}}\n",
    ]);
    let text = "name: assembly::c::1.0\ncomposition:\n  b: {type: assembly::b::1.0, quantity: 1000}\n";
    assert_snapshot!(nested.messages(text), @"
    1.yaml:2:55: error[WL0126]: `quantity`, `cluster` and nested assemblies would make more than 10000 elements
        help: allow up to 200000 by `limits: {nodes: …}` in `windlass.yaml`
    ");
}

/// Composes an assembly, and returns the number of its elements, or the error. The composition may copy at most `nodes`
/// elements, for example to create the further nodes of a group.
fn elements(world: &World, text: &str, nodes: usize) -> Result<usize, String> {
    let Some(Descriptor::Assembly(assembly)) = read_text(text).descriptor else { panic!("an assembly") };
    let (name, parameters) = ("test".parse().unwrap(), std::collections::BTreeMap::new());
    let composed = compose(&assembly, Request::new(&name, &parameters, world.catalog()).nodes(nodes));
    composed.topology.map(|topology| topology.elements().len()).ok_or_else(|| show(&composed.diagnostics))
}

#[test]
fn elements_that_the_text_declares_do_not_count_as_copies() {
    let world = World::of(&[
        "name: resource::web::1.0\n",
        "name: assembly::pair::1.0\ncomposition: {a: {type: resource::web::1.0}, b: {type: resource::web::1.0}}\n",
    ]);
    let wide: Vec<String> = (0..20).map(|n| format!("  c{n}: {{type: resource::web::1.0}}\n")).collect();
    let wide = wide.concat();
    let wide = format!("name: assembly::c::1.0\ncomposition:\n{wide}");
    assert_eq!(elements(&world, &wide, 1), Ok(21));
    // A group of three has two copies.
    let group = "name: assembly::c::1.0\ncomposition: {w: {type: resource::web::1.0, quantity: 3}}\n";
    assert_eq!(elements(&world, group, 2), Ok(5));
    assert!(elements(&world, group, 1).unwrap_err().contains("more than 1 elements"));
    // An assembly that is nested a second time is copied with all its components.
    let twice = "name: assembly::c::1.0\ncomposition: {x: {type: assembly::pair::1.0}, y: {type: assembly::pair::1.0}}\n";
    assert_eq!(elements(&world, twice, 2), Ok(7));
    assert!(elements(&world, twice, 1).is_err());
}

#[test]
fn properties_of_copies_are_limited() {
    let large =
        format!("name: resource::web::1.0\nproperties: {{text: {{default: {}}}}}\n", "x".repeat(100_000));
    let world = World::of(&[&large]);
    let group = |count: usize| {
        format!(
            "name: assembly::c::1.0\ncomposition: {{w: {{type: resource::web::1.0, quantity: {count}}}}}\n"
        )
    };
    assert_eq!(elements(&world, &group(500), 10_000), Ok(502));
    let refused = elements(&world, &group(5000), 10_000).unwrap_err();
    assert!(refused.contains("more than 66 MiB of properties"), "{refused}");
}

#[test]
fn a_node_that_is_not_there_has_no_value() {
    let text = "name: assembly::shop::1.0
properties: {url: {value: 'http://${web.out}/'}, bare: {value: '${web.out}'}}
composition:
  web: {type: resource::web::1.0, cluster: {minimum-nodes: 0}}
";
    assert_snapshot!(world().messages(text), @"
    a.yaml:2:27: warning[WL0170]: `${test__web__1.out}` has no value: there is no such node
    a.yaml:2:64: warning[WL0170]: `${test__web__1.out}` has no value: there is no such node
    ");
    assert_snapshot!(world().tree(text), @"
    test (assembly of assembly::shop::1.0)
      url: http:///
      bare: null
      test__web (group of resource::web::1.0) 0..any by 1
    ");
}

#[test]
fn one_value_of_many_is_warned_of_by_the_check() {
    let text = "name: assembly::shop::1.0
properties: {n: {default: 3}}
composition:
  three: {type: resource::web::1.0, quantity: 3}
  some: {type: resource::web::1.0, quantity: '${n}'}
  one: {type: resource::web::1.0, cluster: {maximum-nodes: 4}}
  two: {type: resource::web::1.0, cluster: {minimum-nodes: 2}}
  reads:
    type: resource::web::1.0
    properties:
      a: {value: '${three.url}'}
      b: {value: '${some.url}'}
      c: {value: '${one.url}'}
      d: {value: '${two.url}'}
";
    let world = World::of(&["name: resource::web::1.0\nproperties: {url: {}}\nlifecycle: [Install]\n"]);
    assert_snapshot!(world.check(text, Missing::Tolerated), @"
    a.yaml:11:19: warning[WL0170]: `three` has several nodes; the value of the lowest one, `three__1`, is taken
    a.yaml:14:19: warning[WL0170]: `two` has several nodes; the value of the lowest one, `two__1`, is taken
    ");
    assert_snapshot!(world.messages(text), @"
    a.yaml:11:19: warning[WL0170]: `three` has several nodes; the value of the lowest one, `three__1`, is taken
    a.yaml:12:19: warning[WL0170]: `some` has several nodes; the value of the lowest one, `some__1`, is taken
    a.yaml:14:19: warning[WL0170]: `two` has several nodes; the value of the lowest one, `two__1`, is taken
    ");
}

/// Scaling steps are counted from the initial quantity, not from the minimum.
#[test]
fn a_maximum_that_no_whole_step_reaches() {
    let cluster = |size: &str| messages(&format!("cluster: {{{size}, scaling-increment: 10}}"));
    assert_snapshot!(cluster("minimum-nodes: 1, maximum-nodes: 40"), @"
    a.yaml:10:71: note[WL0127]: the last 9 up to maximum-nodes can't be reached in whole steps
        help: steps that would go beyond are not made
    ");
    assert_snapshot!(cluster("initial-quantity: 20, minimum-nodes: 1, maximum-nodes: 40"), @"");
    assert_snapshot!(cluster("initial-quantity: 25, minimum-nodes: 20, maximum-nodes: 40"), @"
    a.yaml:10:94: note[WL0127]: the last 5 up to maximum-nodes can't be reached in whole steps
        help: steps that would go beyond are not made
    ");
    // Without a known initial quantity, there is no warning.
    assert_snapshot!(cluster("initial-quantity: '${n}', minimum-nodes: 1, maximum-nodes: 40"), @"");
}
