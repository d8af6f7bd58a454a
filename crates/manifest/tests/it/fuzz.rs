//! Tests with arbitrary documents. Reading, checking, repairing and compiling must never panic. windlass must be able
//! to write a pin type as text, and to read an equal pin type from this text.

use std::collections::BTreeMap;

use proptest::prelude::*;
use windlass_manifest::grammar::PinText;
use windlass_manifest::{check, read};
use windlass_source::{Source, apply_fixes};

use crate::campaign::fuzz;
use crate::support::{fixture, launched};

/// Reads, checks, repairs and compiles a document of arbitrary bytes.
fn go_through(bytes: &[u8]) {
    let Ok(source) = Source::from_bytes("any.yaml", bytes.to_vec()) else { return };
    let found = read(&source);
    let _ = apply_fixes(source.text(), found.diagnostics.fixes());
    let Some(manifest) = found.manifest else { return };
    let checked = check(&manifest);
    let _ = apply_fixes(source.text(), checked.diagnostics.fixes());
    let parameters = BTreeMap::from([("configuration.disks".to_owned(), serde_json::json!([1]))]);
    let compiled = launched(&checked, &parameters);
    // A manifest that has a role and no errors can be launched, unless it has components of unknown types.
    let is_fine = !checked.diagnostics.has_errors() && checked.role.is_some();
    assert!(compiled.topology.is_some() || compiled.diagnostics.has_errors() || !is_fine);
}

/// Generates a change of a text: its position, the removed length, and the inserted bytes.
fn edit() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
    let pieces = vec![
        "bind(",
        "(",
        ")",
        "<",
        ">",
        "=>",
        ",",
        "#",
        ".",
        "*",
        "'*'",
        "\n",
        "  ",
        "- ",
        "{",
        "}",
        "[",
        "'",
        ": ",
        "application:",
        "components:",
        "type: ",
        "scripted.Component",
        "configuration(",
        "string",
        "map<",
        "sensitive: true",
        "required: [",
        "&a ",
        "*a",
        "<<: *a",
        "null",
        "é",
    ];
    let comes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..6),
        prop::sample::select(pieces).prop_map(|text| text.as_bytes().to_vec()),
    ];
    (any::<prop::sample::Index>(), 0usize..40, comes)
}

#[test]
fn any_bytes() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..400);
    fuzz("manifest any_bytes", &bytes, |bytes| {
        go_through(&bytes);
        Ok(())
    });
}

#[test]
fn mutated_examples() {
    let examples = ["vm.yaml", "vm-factory.yaml", "petclinic-factory.yaml"].map(fixture);
    let edits = proptest::collection::vec(edit(), 1..8);
    fuzz("manifest mutated_examples", &(0..examples.len(), edits), |(which, edits)| {
        let mut bytes = examples[which].clone().into_bytes();
        for (at, gone, comes) in edits {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            let end = (at + gone).min(bytes.len());
            bytes.splice(at..end, comes);
        }
        go_through(&bytes);
        Ok(())
    });
}

#[test]
fn pin_types_read_back_equal() {
    let words =
        vec!["(", ")", "<", ">", "=>", ",", " ", "list", "map", "record", "string", "int", "a", "b-1"];
    let pieces = proptest::collection::vec(prop::sample::select(words), 0..12);
    let kinds = prop::sample::select(&["configuration(", "receive-command(", "publish-signal(", ""][..]);
    fuzz("manifest pin_types_read_back_equal", &(kinds, pieces), |(kind, pieces)| {
        let text = format!("{kind}{})", pieces.concat());
        if let Ok(PinText::Declared(kind)) = text.parse() {
            prop_assert_eq!(kind.to_string().parse(), Ok(PinText::Declared(kind)));
        }
        Ok(())
    });
}
