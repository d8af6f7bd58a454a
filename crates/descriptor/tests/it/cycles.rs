//! Tests properties that read each other in a cycle. A cycle can be inside one descriptor, or can lead through
//! components and their descriptors.

use insta::assert_snapshot;
use windlass_descriptor::Missing;

use crate::support::{World, messages};

#[test]
fn within_an_assembly() {
    assert_snapshot!(messages("name: assembly::a::1.0\nproperties:\n  x: {value: '${x}'}\n"), @"
    a.yaml:3:15: error[WL0113]: properties read each other in a circle: x -> x
        help: give one of them a value of its own
    ");
    assert_snapshot!(messages(
        "name: assembly::a::1.0
properties:
  a: {value: '${b}'}
  b: {default: 'x ${c}'}
  c: {value: ['${d}', '${a}']}
  d: {default: 1}
"
    ), @"
    a.yaml:3:15: error[WL0113]: properties read each other in a circle: a -> b -> c -> a
        a.yaml:4:19: `b` reads `c`
        a.yaml:5:24: `c` reads `a`
        help: give one of them a value of its own
    ");
}

#[test]
fn through_components() {
    let text = "name: assembly::a::1.0
composition:
  shared:
    type: resource::shared::1.0
    properties: {host: {value: '${pbx.ip}'}}
  pbx:
    type: resource::pbx::1.0
    properties: {ip: {value: '10.0.0.${shared.host}'}}
";
    assert_snapshot!(World::default().check(text, Missing::Tolerated), @"
    a.yaml:4:11: warning[WL0140]: the descriptor of `shared`, `resource::shared::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:5:33: error[WL0113]: properties read each other in a circle: shared.host -> pbx.ip -> shared.host
        a.yaml:8:38: `pbx.ip` reads `shared.host`
        help: give one of them a value of its own
    a.yaml:7:11: warning[WL0140]: the descriptor of `pbx`, `resource::pbx::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    ");
}

#[test]
fn within_a_resource() {
    let text = "name: resource::a::1.0\nproperties:\n  a: {value: '${b}'}\n  b: {value: '${a}'}\n";
    assert_snapshot!(messages(text), @"
    a.yaml:3:15: error[WL0113]: properties read each other in a circle: a -> b -> a
        a.yaml:4:15: `b` reads `a`
        help: give one of them a value of its own
    ");
}

#[test]
fn through_the_descriptors_of_parts() {
    let pbx =
        "name: resource::pbx::1.0\nproperties: {ip: {default: '${host}'}, host: {}}\nlifecycle: [Install]\n";
    let text = "name: assembly::a::1.0
composition:
  pbx:
    type: resource::pbx::1.0
    properties: {host: {value: 'h-${pbx.ip}'}}
";
    assert_snapshot!(World::of(&[pbx]).messages(text), @"
    0.yaml:2:28: error[WL0113]: properties read each other in a circle: test__pbx.ip -> test__pbx.host -> test__pbx.ip
        a.yaml:5:32: `test__pbx.host` reads `test__pbx.ip`
        help: give one of them a value of its own
    ");
}

#[test]
fn a_value_that_only_looks_like_a_circle() {
    let pbx =
        "name: resource::pbx::1.0\nproperties: {ip: {read-only: true}, host: {}}\nlifecycle: [Install]\n";
    let text = "name: assembly::a::1.0
properties: {host: {default: x}}
composition:
  one: {type: resource::pbx::1.0, properties: {host: {value: '${host}'}}}
  two: {type: resource::pbx::1.0, properties: {host: {value: '${one.host}'}}}
";
    assert_eq!(World::of(&[pbx]).messages(text), "");
}

#[test]
fn each_cycle_is_reported_once() {
    assert_snapshot!(messages(
        "name: assembly::a::1.0
properties:
  x: {value: '${x}'}
  a: {value: '${b}'}
  b: {value: '${a} ${c}'}
  c: {value: '${a}'}
  d: {value: '${e} ${a}'}
  e: {value: '${d}'}
"
    ), @"
    a.yaml:3:15: error[WL0113]: properties read each other in a circle: x -> x
        help: give one of them a value of its own
    a.yaml:4:15: error[WL0113]: properties read each other in a circle: a -> b -> a
        a.yaml:5:15: `b` reads `a`
        help: give one of them a value of its own
    a.yaml:7:15: error[WL0113]: properties read each other in a circle: d -> e -> d
        a.yaml:8:15: `e` reads `d`
        help: give one of them a value of its own
    ");
    assert_snapshot!(messages(
        "name: assembly::a::1.0
composition:
  one: {type: resource::one::1.0, properties: {a: {value: '${two.out}'}}}
  two: {type: resource::one::1.0, properties: {a: {value: '${one.out}'}}}
  own: {type: resource::one::1.0, properties: {a: {value: '${own.out}'}}}
"
    ), @"
    a.yaml:3:15: warning[WL0140]: the descriptor of `one`, `resource::one::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:3:60: error[WL0113]: components wait for each other's outputs in a circle: two -> one -> two
        a.yaml:4:60: `two.a` reads `one.out`
        help: an output is known once its component is installed; give one of these properties a value of its own
    a.yaml:4:15: warning[WL0140]: the descriptor of `two`, `resource::one::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:5:15: warning[WL0140]: the descriptor of `own`, `resource::one::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    a.yaml:5:60: error[WL0113]: `own` needs its own output before it is there
        help: an output is known once its component is installed; give one of these properties a value of its own
    ");
}

#[test]
fn of_dependencies() {
    let component =
        |name: &str, on: &str| format!("  {name}: {{type: resource::box::1.0, depends-on: {on}}}\n");
    let assembly = |components: &[(&str, &str)]| {
        let components: String = components.iter().map(|(name, on)| component(name, on)).collect();
        let world = World::of(&["name: resource::box::1.0\nlifecycle: [Install]\n"]);
        world.check(&format!("name: assembly::a::1.0\ncomposition:\n{components}"), Missing::Refused)
    };
    assert_eq!(assembly(&[("web", "[db, cache]"), ("cache", "db"), ("db", "[]")]), "");
    assert_snapshot!(assembly(&[("web", "[web]")]), @"
    a.yaml:3:48: error[WL0172]: `web` depends on itself
        help: remove one of these entries of `depends-on`
    ");
    assert_snapshot!(assembly(&[("web", "[cache]"), ("cache", "[db]"), ("db", "[web]")]), @"
    a.yaml:3:48: error[WL0172]: components depend on each other in a circle: web -> cache -> db -> web
        a.yaml:4:50: `cache` depends on `db`
        a.yaml:5:47: `db` depends on `web`
        help: remove one of these entries of `depends-on`
    ");
    let wrong = assembly(&[("web", "[bd]"), ("db", "{web: {}}")]);
    for said in [
        "a.yaml:3:48: error[WL0112]: `depends-on` names `bd`, and there is no such component",
        "did you mean `db`?",
        "a.yaml:4:46: error[WL0104]: an entry of `depends-on` must be text",
    ] {
        assert!(wrong.contains(said), "{said}: {wrong}");
    }
}
