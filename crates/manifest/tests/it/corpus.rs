//! Tests of manifests from the corpus. Each manifest is compared with the corpus's notes about it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use windlass_manifest::document::{Component, ComponentType, Composite};
use windlass_manifest::{check, read};
use windlass_model::pins::{PinType, ValueType};
use windlass_source::Source;

/// Prints a line that stays visible even if the test passes.
#[expect(clippy::explicit_write, reason = "the harness captures `eprintln!` of tests that pass")]
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").unwrap();
}

/// Returns the folder of manifests in the corpus. Returns `None` if it is missing, and prints that the test
/// was skipped.
#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
fn corpus() -> Option<PathBuf> {
    let given = std::env::var_os("WINDLASS_CORPUS").map(PathBuf::from);
    let demanded = given.is_some();
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = given.unwrap_or_else(beside).join("tonomi");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!demanded, "WINDLASS_CORPUS is set, and {} is no folder", folder.display());
    say(&format!("SKIPPED: no corpus at {}; set WINDLASS_CORPUS", folder.display()));
    None
}

/// The expected errors of the invalid manifests. Each entry is the end of a manifest's path, and the expected error.
const EXCEPTIONS: [(&str, &str); 1] =
    [("qubell-component-template__manifests__main.yaml", "WL0605: pin `cookbooks_url` has no type")];

/// Features that the text of a manifest contains according to the corpus, but that the parsed manifest does not have.
/// Each entry is the end of a file name, and a feature. In these files, `required` is an empty list, or the `bind(…)`
/// of two pins is in a comment.
const OF_TEXT: [(&str, &str); 5] = [
    ("component-hadoop-dev.yml", "required"),
    ("component-iis.yml", "required"),
    ("component-mssql.yml", "required"),
    ("component-mysql-dev.yml", "multi-bind"),
    ("component-zookeeper-dev.yml", "multi-bind"),
];

fn has(kind: &ValueType, wanted: &ValueType) -> bool {
    kind == wanted
        || match kind {
            ValueType::List(item) => has(item, wanted),
            ValueType::Map(key, value) => has(key, wanted) || has(value, wanted),
            ValueType::Record(record) => record.0.values().any(|kind| has(kind, wanted)),
            _ => false,
        }
}

/// Adds the features of a composition to `found`, as the words that the notes of the corpus use, such as `required`.
fn notes(composite: &Composite, found: &mut BTreeSet<&'static str>) {
    let mut note = |is: bool, word| {
        if is {
            found.insert(word);
        }
    };
    if let Some(ComponentType::Other(kind)) = composite.kind.as_ref().map(|kind| &kind.value) {
        note(kind == "composite.Scaler", "composite.Scaler");
    }
    for interface in composite.interfaces.values() {
        note(interface.wildcard.is_some(), "wildcard-bind");
        for pin in interface.pins.values().chain(&interface.wildcard) {
            note(pin.targets.len() > 1, "multi-bind");
            note(pin.targets.iter().any(|target| target.value.component.0.len() > 1), "nested-path-bind");
        }
    }
    for component in composite.components.values() {
        let leaf = match component {
            Component::Composite(inner) => {
                notes(inner, found);
                continue;
            }
            Component::Leaf(leaf) => leaf,
        };
        let mut note = |is: bool, word| {
            if is {
                found.insert(word);
            }
        };
        note(!leaf.required.is_empty(), "required");
        match leaf.kind.value.as_str() {
            "reference.Service" => note(true, "ref.Service"),
            "reference.Submodule" => note(true, "ref.Submodule"),
            "workflow.Instance" => note(true, "workflow.Instance"),
            "cobalt.common.Constants" => note(true, "Constants"),
            _ => {}
        }
        for pin in leaf.interfaces.values().flat_map(|interface| interface.pins.values()) {
            let values: Vec<&ValueType> = match &pin.kind.value {
                PinType::ReceiveCommand(signature) | PinType::SendCommand(signature) => {
                    note(signature.progress.is_some(), "three-part-command");
                    let sections =
                        [&signature.arguments, &signature.results].into_iter().chain(&signature.progress);
                    sections.flat_map(|section| section.0.values()).collect()
                }
                PinType::Configuration(kind)
                | PinType::PublishSignal(kind)
                | PinType::ConsumeSignal(kind) => {
                    vec![kind]
                }
            };
            note(values.iter().any(|kind| has(kind, &ValueType::Unit)), "unit");
            note(values.iter().any(|kind| has(kind, &ValueType::Bytes)), "bytes");
        }
    }
}

#[test]
fn corpus_manifests_read_as_noted() {
    let Some(folder) = corpus() else { return };
    let index = fs::read_to_string(folder.join("manifest.tsv")).unwrap();
    let (mut passed, mut excluded, mut failed) = (0, 0, Vec::new());
    for line in index.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [file, _, _, _, noted] = columns[..] else { panic!("five columns: {line}") };
        let path = folder.join(file);
        if !file.starts_with("manifests/") || !path.is_file() {
            continue;
        }
        let source = Source::new(file, fs::read_to_string(path).unwrap());
        let read = read(&source);
        let mut diagnostics = read.diagnostics;
        let Some(manifest) = read.manifest else {
            failed.push(format!("{file}: {diagnostics}"));
            continue;
        };
        diagnostics.extend(check(&manifest).diagnostics);
        let errors: Vec<String> = diagnostics
            .iter()
            .filter(|said| said.is_error())
            .map(|said| format!("{}: {}", said.code, said.message))
            .collect();
        let expected = EXCEPTIONS.iter().find(|(end, _)| file.ends_with(end));
        let mut found = BTreeSet::new();
        notes(&manifest.application, &mut found);
        let is_of_text = |word: &str| OF_TEXT.iter().any(|(end, note)| file.ends_with(end) && word == *note);
        let other =
            |word: &&str| !is_of_text(word) && *word != "anchors" && !word.starts_with("PyYAML-rejects");
        let noted: BTreeSet<&str> =
            noted.split(';').next().unwrap_or_default().split(',').filter(other).collect();
        match expected {
            _ if found != noted => failed.push(format!("{file}: {found:?} instead of {noted:?}")),
            Some((_, error)) if errors == [*error] => excluded += 1,
            None if errors.is_empty() => passed += 1,
            _ => failed.push(format!("{file}: {errors:?}")),
        }
    }
    say(&format!("corpus manifests: {passed} passed, {} failed, {excluded} excluded", failed.len()));
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!((passed > 0, excluded), (true, EXCEPTIONS.len()));
}
