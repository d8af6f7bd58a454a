//! Tests that known defects in the descriptors of the corpus are found.
//!
//! The list [`DEFECTS`] was confirmed by hand, line by line. The manifest of the corpus contains notes about further
//! defects, which a program has found. The test demands a diagnostic for each note whose defect windlass should find.

use std::collections::BTreeMap;
use std::fs;

use windlass_source::{Diagnostic, Diagnostics};

use crate::corpus::{checked, folder, report};

/// Files, the lines of their defects, and the codes that must be reported on these lines.
const DEFECTS: &[(&str, &[usize], &str)] = &[
    // References to undeclared properties.
    (
        "accanto-systems__marketplace__vnfs__provider-neutron-network__Descriptor__assembly.yaml",
        &[52, 54, 56],
        "WL0111",
    ),
    (
        "accanto-systems__marketplace__vnfs__tenant-neutron-network__Descriptor__assembly.yaml",
        &[48, 50],
        "WL0111",
    ),
    (
        "history/accanto-systems__brownfield__target-service__Contains__asterisk__Definitions__lm__resource@6be17d2f.yaml",
        &[20],
        "WL0111",
    ),
    // References to the assembly's own name, which is no component of the composition.
    (
        "manojn97__sol006-vnfd-handler__vnf1__Descriptor__assembly.yaml",
        &[57, 69, 72, 75, 78, 81, 84, 116, 128, 131, 134, 137, 140, 143],
        "WL0112",
    ),
    // Components that wait for each other's outputs.
    (
        "history/accanto-systems__brownfield__target-service__Descriptor__assembly@3fbc7803.yaml",
        &[26],
        "WL0113",
    ),
    (
        "history/accanto-systems__brownfield__target-service__Descriptor__assembly@7eef3ebd.yaml",
        &[17],
        "WL0113",
    ),
    // Types that don't exist.
    (
        "history/IBM__openstack-vim-driver__docs__reference__example-resources__helloworld-compute__Definitions__lm__resource@19507af3.yaml",
        &[8],
        "WL0116",
    ),
];

/// Published examples that are not valid YAML, each with the lines and the causes of the errors.
const CAUSES: &[(&str, &[(usize, &str)])] = &[
    ("tosca-nfv-types.md__block5.yaml", &[(20, "WL0001")]),
    ("assembly-descriptor.md__block5.yaml", &[(3, "WL0005"), (6, "WL0016")]),
    ("assembly-descriptor.md__block6.yaml", &[(3, "WL0005"), (5, "WL0016")]),
    ("assembly-descriptor.md__block7.yaml", &[(3, "WL0005"), (3, "WL0009")]),
    ("assembly-descriptor.md__block8.yaml", &[(4, "WL0005")]),
    ("assembly-descriptor.md__block13.yaml", &[(2, "WL0005")]),
    ("assembly-descriptor.md__block15.yaml", &[(4, "WL0005")]),
    ("assembly-descriptor.md__block19.yaml", &[(5, "WL0005")]),
    ("assembly-descriptor.md__block20.yaml", &[(7, "WL0005")]),
    ("resource-descriptor.md__block6.yaml", &[(5, "WL0005")]),
    ("resource-descriptor.md__block10.yaml", &[(3, "WL0005")]),
    ("resource-descriptor.md__block14.yaml", &[(8, "WL0005")]),
    ("resource-descriptor.md__block15.yaml", &[(6, "WL0005"), (134, "WL0008")]),
    ("resource-descriptor.md__block16.yaml", &[(5, "WL0005")]),
    ("resource-descriptor.md__block17.yaml", &[(5, "WL0005")]),
    ("add-lifecycle.md__block17.yaml", &[(20, "WL0007")]),
    ("sol006-vnfd-handler__docs__index.md__block6.yaml", &[(5, "WL0001")]),
    ("resource-descriptor.md__block15__zwsp-stripped.yaml", &[(134, "WL0008")]),
];

fn has(diagnostics: &Diagnostics, code: &str, line: usize) -> bool {
    let at = |diagnostic: &Diagnostic| diagnostic.place().map(|place| place.start().line);
    diagnostics.iter().any(|diagnostic| diagnostic.code.as_str() == code && at(diagnostic) == Some(line))
}

#[test]
fn corpus_confirmed_defects_are_found() {
    let Some(folder) = folder("assemblies") else { return };
    let (mut passed, mut failed, mut excluded) = (0, Vec::new(), BTreeMap::new());
    for (name, lines, code) in DEFECTS {
        let Ok(text) = fs::read_to_string(folder.join(name)) else {
            *excluded.entry("file not in this corpus").or_default() += 1;
            continue;
        };
        let found = checked(name, &text);
        for line in *lines {
            if has(&found, code, *line) {
                passed += 1;
            } else {
                failed.push(format!("{name}:{line}: {code} is not found"));
            }
        }
    }
    report("corpus_confirmed_defects", passed, &failed, &excluded);
}

#[test]
fn corpus_examples_that_are_not_yaml_have_their_cause() {
    let Some(folder) = folder("assemblies/doc-examples") else { return };
    let (mut passed, mut failed) = (0, Vec::new());
    let mut excluded: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some((_, causes)) = CAUSES.iter().find(|(ending, _)| name.ends_with(ending)) else {
            *excluded.entry("no cause on record").or_default() += 1;
            continue;
        };
        let found = checked(&name, &fs::read_to_string(&path).unwrap());
        for (line, code) in *causes {
            if has(&found, code, *line) {
                passed += 1;
            } else {
                failed.push(format!("{name}:{line}: {code} is not found"));
            }
        }
    }
    report("corpus_examples_with_causes", passed, &failed, &excluded);
}

/// Findings that a note of the manifest demands.
enum Demand {
    /// The fields are a code, a text and a minimum number of findings. These findings must have the code, and their
    /// places must contain the text.
    Text(&'static str, String, usize),
    /// A finding of one of these codes, with any message.
    Any(&'static [&'static str]),
    /// No finding: the note is about style.
    Nothing,
    /// A note that this test doesn't know.
    Unknown,
}

fn demand(note: &str) -> Demand {
    let (note, count) = match note.rsplit_once(" x") {
        Some((note, count)) => (note, count.parse().unwrap_or(1)),
        None => (note, 1),
    };
    let kind = note.split('(').next().unwrap_or_default();
    let inner = note.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default();
    let named = |code| Demand::Text(code, inner.rsplit(':').next().unwrap_or_default().to_owned(), count);
    match kind {
        "unresolved-local-ref" | "unresolved-component-ref" => {
            let reference = inner.rsplit(':').next().unwrap_or_default();
            Demand::Text("WL011", format!("${{{reference}}}"), 1)
        }
        "prop-cycle" => Demand::Any(&["WL0113"]),
        "unknown-attr" => named("WL0103"),
        "odd-type" if inner == "read_only" || inner == "stirng" => named("WL0116"),
        "value+default" => Demand::Any(&["WL0123"]),
        "publication_period-underscore" => Demand::Text("WL0103", "publication_period".to_owned(), 1),
        "no-name" => Demand::Any(&["WL0102", "WL0108"]),
        _ if kind.contains("dot") => Demand::Any(&["WL0101"]),
        _ if kind.contains("null") || kind.contains("empty") => Demand::Any(&["WL0118", "WL0105"]),
        _ if kind.contains("misplaced") || kind.contains("under-comp") => Demand::Any(&["WL0119", "WL0103"]),
        "odd-type"
        | "unquoted-${}"
        | "component-without-resourceManager"
        | "component-without-deploymentLocation" => Demand::Nothing,
        _ => Demand::Unknown,
    }
}

#[test]
fn corpus_notes_of_the_manifest_are_found() {
    let Some(folder) = folder("assemblies") else { return };
    let manifest = fs::read_to_string(folder.join("manifest.tsv")).unwrap();
    let (mut passed, mut failed, mut excluded) = (0, Vec::new(), BTreeMap::new());
    for line in manifest.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, .., notes] = fields[..] else { continue };
        if name.starts_with("doc-examples") || notes.trim().is_empty() {
            continue;
        }
        let Ok(text) = fs::read_to_string(folder.join(name)) else {
            *excluded.entry("file not in this corpus").or_default() += 1;
            continue;
        };
        let found = checked(name, &text);
        for note in notes.trim_matches('"').split("; ") {
            let of = |codes: &[&str], text: &str| {
                let fits = |diagnostic: &&Diagnostic| {
                    codes.iter().any(|code| diagnostic.code.as_str().starts_with(code))
                        && diagnostic.place().is_some_and(|place| place.text().contains(text))
                };
                found.iter().filter(fits).count()
            };
            let is_found = match demand(note) {
                Demand::Text(code, text, count) => of(&[code], &text) >= count,
                Demand::Any(codes) => of(codes, "") > 0,
                Demand::Nothing => {
                    *excluded.entry("style").or_default() += 1;
                    continue;
                }
                Demand::Unknown => {
                    *excluded.entry("note of another kind").or_default() += 1;
                    continue;
                }
            };
            if is_found {
                passed += 1;
            } else {
                failed.push(format!("{name}: {note} is not found"));
            }
        }
    }
    report("corpus_notes_of_the_manifest", passed, &failed, &excluded);
}
