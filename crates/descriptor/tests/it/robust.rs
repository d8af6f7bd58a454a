//! No bytes make the crate panic, and no length of a chain makes it overflow.

use std::fmt::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;
use windlass_descriptor::{Descriptor, Missing, check, read};
use windlass_model::resolve::{Answer, NothingYet, Resolver};
use windlass_source::Source;

use crate::support::{World, fixtures};

/// Reads, checks and composes whatever it is.
fn go_through(bytes: &[u8]) {
    let Ok(source) = Source::from_bytes("any.yaml", bytes.to_vec()) else { return };
    let Some(descriptor) = read(&source).descriptor else { return };
    let world = World::of(&["name: resource::h_simple::1.0\nlifecycle: [Install]\n"]);
    let _ = check(&descriptor, world.catalog(), Missing::Tolerated);
    if let Descriptor::Assembly(assembly) = &descriptor {
        let _ = world.compose(assembly);
    }
}

fn examples() -> Vec<Vec<u8>> {
    let paths = [
        "assemblies/h_bta/assembly.yaml",
        "assemblies/streamer_cluster/assembly.yaml",
        "assemblies/h_bta/Contains/h_simple/Definitions/lm/resource.yaml",
        "negative/streamer_cluster_as_printed.yaml",
    ];
    paths.iter().map(|path| std::fs::read(fixtures().join(path)).unwrap()).collect()
}

/// A change of a text: where (as a share of its length), how much goes, and what comes.
fn edit() -> impl Strategy<Value = (f64, usize, Vec<u8>)> {
    let comes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..6),
        prop::sample::select(vec![
            "${",
            "}",
            ":",
            "- ",
            "\n",
            "  ",
            "name:",
            "[",
            "{",
            "'",
            "&a ",
            "*a",
            "99999999999",
            "__",
            ".",
            "null",
            "cluster:",
            "${instance.name}",
            "\t",
            "<<: *a",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    (0.0..1.0, 0usize..40, comes)
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        go_through(&bytes);
    }

    #[test]
    fn mutated_examples(which in 0usize..4, edits in proptest::collection::vec(edit(), 1..8)) {
        let mut bytes = examples().swap_remove(which);
        for (share, gone, comes) in edits {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
                reason = "a place in a short text")]
            let at = (share * bytes.len() as f64) as usize;
            let end = (at + gone).min(bytes.len());
            bytes.splice(at..end, comes);
        }
        go_through(&bytes);
    }
}

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
