//! Tests assemblies that contain assemblies.

use insta::assert_snapshot;

use crate::support::{World, read_text};

const PBX: &str = "name: resource::pbx::1.0
properties: {size: {default: small}, ip: {read-only: true}}
lifecycle: [Install, Start]
operations: {AddTrunk: {}, Ring: {}}
";

const GATEWAY: &str = "name: assembly::gateway::1.0
properties:
  size: {default: medium}
  ip: {read-only: true, value: '${asterisk.ip}'}
operations:
  Trunk: {source-operation: asterisk.AddTrunk}
composition:
  asterisk:
    type: resource::pbx::1.0
    properties: {size: {value: '${size}'}}
relationships:
  inner:
    source-capabilities: [asterisk.a]
    target-requirements: [asterisk.b]
    source-state: Active
    target-state: Active
";

const VOICE: &str = "name: assembly::voice::1.0
operations:
  Connect: {source-operation: gateway.Trunk}
composition:
  gateway: {type: assembly::gateway::1.0, properties: {size: {value: large}}}
";

#[test]
fn operations_are_promoted_through_two_levels() {
    assert_snapshot!(World::of(&[PBX, GATEWAY, VOICE]).tree(
        "name: assembly::shop::1.0
properties: {ip: {value: '${left.ip}'}}
composition:
  voice: {type: assembly::voice::1.0}
  left: {type: assembly::gateway::1.0, quantity: 2}
relationships:
  calls:
    source-capabilities: [voice.calls]
    target-requirements: [left.calls]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [source.Connect, target.Trunk]}
"
    ), @"
    test (assembly of assembly::shop::1.0)
      ip: ${test__left__1.ip}
      test__voice (assembly of assembly::voice::1.0)
        Connect() -> test__voice__gateway__asterisk.AddTrunk
        test__voice__gateway (assembly of assembly::gateway::1.0)
          size: large
          ip (read-only): ${test__voice__gateway__asterisk.ip}
          Trunk() -> test__voice__gateway__asterisk.AddTrunk
          test__voice__gateway__asterisk (resource of resource::pbx::1.0)
            size: ${test__voice__gateway.size}
            ip (read-only):
            AddTrunk() -> test__voice__gateway__asterisk.AddTrunk
            Ring() -> test__voice__gateway__asterisk.Ring
      test__left (group of assembly::gateway::1.0)
        test__left__1 (assembly of assembly::gateway::1.0)
          size: medium
          ip (read-only): ${test__left__1__asterisk.ip}
          Trunk() -> test__left__1__asterisk.AddTrunk
          test__left__1__asterisk (resource of resource::pbx::1.0)
            size: ${test__left__1.size}
            ip (read-only):
            AddTrunk() -> test__left__1__asterisk.AddTrunk
            Ring() -> test__left__1__asterisk.Ring
        test__left__2 (assembly of assembly::gateway::1.0)
          size: medium
          ip (read-only): ${test__left__2__asterisk.ip}
          Trunk() -> test__left__2__asterisk.AddTrunk
          test__left__2__asterisk (resource of resource::pbx::1.0)
            size: ${test__left__2.size}
            ip (read-only):
            AddTrunk() -> test__left__2__asterisk.AddTrunk
            Ring() -> test__left__2__asterisk.Ring
    inner: test__voice__gateway__asterisk.a (Post Active) -> test__voice__gateway__asterisk.b (Pre Active)
    inner: test__left__1__asterisk.a (Post Active) -> test__left__1__asterisk.b (Pre Active)
    inner: test__left__2__asterisk.a (Post Active) -> test__left__2__asterisk.b (Pre Active)
    calls: test__voice.calls (Post Active) -> test__left.calls (Pre Active)
      Create: source.Connect, target.Trunk
    ");
}

#[test]
fn operations_that_can_not_be_promoted() {
    let text = "name: assembly::shop::1.0
operations:
  A: {source-operation: pbx.Rang}
  B: {source-operation: pbz.Ring}
  C: {source-operation: Ring}
  D: {}
  E: {source-operation: many.Ring}
composition:
  pbx: {type: resource::pbx::1.0}
  many: {type: resource::pbx::1.0, quantity: 2}
";
    assert_snapshot!(World::of(&[PBX]).messages(text), @"
    a.yaml:3:25: error[WL0132]: the descriptor of `pbx` declares no operation `Rang`
        a.yaml:9:3: the component
        help: did you mean `Ring`?
    a.yaml:4:25: error[WL0112]: there is no component `pbz` to take `Ring` from
        help: did you mean `pbx`?
    a.yaml:5:25: error[WL0132]: `source-operation` is a component and its operation, as `balancer.AddServer`
    a.yaml:6:3: error[WL0132]: the operation `D` has no `source-operation`
    a.yaml:7:25: error[WL0132]: `many` has several nodes, so `Ring` of it can't be one operation
    ");
}

#[test]
fn an_assembly_inside_itself() {
    let inner = "name: assembly::inner::1.0\ncomposition: {again: {type: assembly::outer::1.0}}\n";
    let outer = "name: assembly::outer::1.0\ncomposition: {inner: {type: assembly::inner::1.0}}\n";
    assert_snapshot!(World::of(&[inner, outer]).messages(outer), @"0.yaml:2:29: error[WL0141]: the assembly is inside itself: `assembly::outer::1.0` -> `assembly::inner::1.0` -> `assembly::outer::1.0`");
    let own = "name: assembly::own::1.0\ncomposition: {own: {type: assembly::own::1.0}}\n";
    assert_snapshot!(World::of(&[own]).messages(own), @"a.yaml:2:27: error[WL0141]: the assembly is inside itself: `assembly::own::1.0` -> `assembly::own::1.0`");
}

#[test]
fn mistakes_of_parts_are_found() {
    let broken = "name: assembly::broken::1.0
properties: {a: {value: '${nothing}'}}
composition: {gone: {type: resource::gone::1.0}, web: {type: resource::bad::1.0}}
";
    let bad = "name: resource::bad::1.0\nproperties: {a: {value: '${nowhere}'}}\nlifecycle: [Install]\n";
    let text = "name: assembly::shop::1.0
composition: {part: {type: assembly::broken::1.0, quantity: 3}}
";
    assert_snapshot!(World::of(&[broken, bad]).messages(text), @"
    0.yaml:2:26: error[WL0111]: `${nothing}` names no property of this descriptor
        help: declare it in `properties`, or give the value here
    0.yaml:3:28: error[WL0140]: the descriptor of `gone`, `resource::gone::1.0`, is not in the catalog
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    1.yaml:2:26: error[WL0111]: `${nowhere}` names no property of this descriptor
        help: declare it in `properties`, or give the value here
    ");
}

#[test]
fn a_warning_about_a_component_is_not_repeated_for_its_nodes() {
    let fixed = "name: resource::fixed::1.0\nproperties: {size: {value: 1}}\nlifecycle: [Install]\n";
    let text = "name: assembly::shop::1.0
composition:
  web: {type: resource::fixed::1.0, quantity: 3, properties: {size: {value: 2}}}
";
    assert_snapshot!(World::of(&[fixed]).messages(text), @"
    a.yaml:3:77: warning[WL0171]: `size` decides its value itself, so the one given here is ignored
        0.yaml:2:14: declared here
    ");
}

#[test]
fn nesting_has_a_limit() {
    let level = |n: u32| {
        format!("name: assembly::a{n}::1.0\ncomposition: {{part: {{type: 'assembly::a{}::1.0'}}}}\n", n + 1)
    };
    let mut texts: Vec<String> = (1..500).map(level).collect();
    texts.push("name: assembly::a500::1.0\n".to_owned());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_snapshot!(World::of(&texts).messages(&level(0)), @"63.yaml:2:28: error[WL0142]: more than 64 assemblies are inside of each other here");
}

#[test]
fn required_counts_for_the_outermost_only() {
    let inner = "name: assembly::inner::1.0\nproperties: {url: {required: true, read-only: true}}\n";
    let text = "name: assembly::shop::1.0\ncomposition: {part: {type: 'assembly::inner::1.0'}}\n";
    let mut world = World::default();
    world.add(read_text(inner));
    assert_snapshot!(world.messages(text), @"");
    assert_snapshot!(world.messages(inner), @"
    a.yaml:2:14: error[WL0124]: `url` is required and read-only, so it can never be given the value it lacks
        help: remove `required`, or promote an output to it, as `value: ${web.url}`
    ");
}
