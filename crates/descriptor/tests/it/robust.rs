//! Tests that no bytes make the crate panic, and that no length of a chain overflows the stack.

use std::fmt::Write as _;

use insta::assert_snapshot;
use windlass_model::resolve::{Answer, NothingYet, Resolver};

use crate::support::World;

#[test]
fn a_long_chain_of_references_resolves() {
    const LENGTH: usize = 10_000;
    let mut text = "name: assembly::chain::1.0\nproperties: {start: {default: x}}\ncomposition:\n".to_owned();
    for number in 0..LENGTH {
        let value = if number == 0 { "start".to_owned() } else { format!("c{}.in", number - 1) };
        write!(
            text,
            "  c{number}:\n    type: resource::link::1.0\n    properties: {{in: {{value: '${{{value}}}'}}}}\n"
        )
        .unwrap();
    }
    let world = World::of(&["name: resource::link::1.0\nproperties: {in: {}}\nlifecycle: [Install]\n"]);
    let composed = world.compose_text(&text);
    assert_eq!(composed.diagnostics.to_string(), "");
    let topology = composed.topology.unwrap();
    let last = format!("test__c{}", LENGTH - 1).parse().unwrap();
    let answer = Resolver::new(&topology, &NothingYet).property(&last, &"in".parse().unwrap()).unwrap();
    let Answer::Known(resolved) = answer else { panic!("it is known") };
    assert_eq!(resolved.value, "x");
}

#[test]
fn values_that_double_are_refused() {
    let mut text = "name: assembly::laughs::1.0\nproperties:\n  p0: {default: ha}\n".to_owned();
    for number in 1..=64 {
        let read = format!("${{p{}}}", number - 1);
        writeln!(text, "  p{number}: {{value: '{read}{read}'}}").unwrap();
    }
    assert_snapshot!(World::default().messages(&text), @"a.yaml:25:16: error[WL0115]: the value of `test.p22` would have more than 4 MiB");
}

#[test]
fn a_number_at_the_end_of_a_long_chain_is_known() {
    const LENGTH: usize = 10_000;
    let mut text = "name: assembly::chain::1.0\nproperties:\n  p0: {default: 2}\n".to_owned();
    for number in 1..=LENGTH {
        writeln!(text, "  p{number}: {{value: '${{p{}}}'}}", number - 1).unwrap();
    }
    write!(text, "composition:\n  web: {{type: resource::link::1.0, quantity: '${{p{LENGTH}}}'}}\n").unwrap();
    let world = World::of(&["name: resource::link::1.0\nlifecycle: [Install]\n"]);
    let composed = world.compose_text(&text);
    assert_eq!(composed.diagnostics.to_string(), "");
    assert_eq!(composed.topology.unwrap().elements().len(), 4);
}
