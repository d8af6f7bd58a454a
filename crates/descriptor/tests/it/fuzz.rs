//! Tests arbitrary input for descriptors, references in values, and versions. No input causes a panic, and a
//! round trip of parsing and writing is stable.

use proptest::prelude::*;
use windlass_descriptor::template::{Segment, Value, ValueKind};
use windlass_descriptor::{Descriptor, Missing, check, read};
use windlass_model::version::{Version, VersionRange};
use windlass_source::{Diagnostics, LoadOptions, Source, apply_fixes, load_one};

use crate::campaign::fuzz;
use crate::support::{World, fixtures};

/// Reads, checks, repairs and composes arbitrary bytes.
fn go_through(bytes: &[u8]) {
    let Ok(source) = Source::from_bytes("any.yaml", bytes.to_vec()) else { return };
    let found = read(&source);
    let _ = apply_fixes(source.text(), found.diagnostics.fixes());
    let Some(descriptor) = found.descriptor else { return };
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

/// Generates a change of a text: its position, the removed length, and the inserted bytes.
fn edit() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
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
    (any::<prop::sample::Index>(), 0usize..40, comes)
}

#[test]
fn any_bytes() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..400);
    fuzz("descriptor any_bytes", &bytes, |bytes| {
        go_through(&bytes);
        Ok(())
    });
}

#[test]
fn mutated_examples() {
    let examples = examples();
    let edits = proptest::collection::vec(edit(), 1..8);
    fuzz("descriptor mutated_examples", &(0..examples.len(), edits), |(which, edits)| {
        let mut bytes = examples[which].clone();
        for (at, gone, comes) in edits {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            let end = (at + gone).min(bytes.len());
            bytes.splice(at..end, comes);
        }
        go_through(&bytes);
        Ok(())
    });
}

/// Fragments of values with references.
const REFERENCES: [&str; 14] =
    ["${", "}", "$", "{", "a", ".", "instance", "name", " ", "é", "\\", "'", "\n", "${a.b}"];

#[test]
fn reference_templates() {
    let pieces = proptest::collection::vec(prop::sample::select(&REFERENCES[..]), 0..16);
    fuzz("descriptor reference_templates", &pieces, |pieces| {
        let text = pieces.concat();
        // A text that is written as JSON is a single scalar of YAML.
        let source = Source::new("t.yaml", serde_json::to_string(&text).expect("text is JSON"));
        let root = load_one(&source, &LoadOptions::default()).root.expect("a scalar");
        let mut diagnostics = Diagnostics::new();
        let value = Value::read(&source, &root, &mut diagnostics);
        let whole: String = match &value.kind {
            ValueKind::Text(segments) => segments.iter().map(written).collect(),
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        prop_assert_eq!(whole, text);
        value.for_each_reference(&mut |reference| {
            let said = source.slice(reference.span);
            assert!(said.starts_with('$') && said.ends_with('}'), "{said}");
        });
        Ok(())
    });
}

fn written(segment: &Segment) -> String {
    match segment {
        Segment::Literal(text) => text.to_string(),
        Segment::Reference(reference) => format!("${{{}}}", reference.text),
    }
}

/// Fragments of versions and ranges.
const VERSIONS: [&str; 20] = [
    "0",
    "1",
    "2",
    "10",
    ".",
    "-",
    "+",
    "^",
    "~",
    ">",
    "<",
    "=",
    ">=",
    "*",
    "x",
    " ",
    ",",
    "||",
    "alpha",
    "18446744073709551616",
];

#[test]
fn versions_and_ranges() {
    let pieces = proptest::collection::vec(prop::sample::select(&VERSIONS[..]), 0..10);
    let two = (pieces, any::<String>());
    fuzz("model versions_and_ranges", &two, |(pieces, any)| {
        for text in [pieces.concat(), any] {
            if let Ok(version) = text.parse::<Version>() {
                let again = version.to_string().parse::<Version>();
                prop_assert_eq!(again.as_ref(), Ok(&version));
                if let Ok(range) = text.parse::<VersionRange>() {
                    prop_assert!(range.contains(&version), "{} does not contain itself", text);
                }
            }
            if let Ok(range) = text.parse::<VersionRange>() {
                let again = range.to_string().parse::<VersionRange>();
                prop_assert_eq!(again.as_ref(), Ok(&range));
            }
        }
        Ok(())
    });
}
