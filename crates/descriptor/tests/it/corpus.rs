//! Tests a corpus of descriptors that exist outside of this project: public packages with their history, and
//! examples in published documentation.
//!
//! The folder is `$WINDLASS_CORPUS`, or `../shared/corpus` beside the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use windlass_descriptor::{MemoryCatalog, Missing, check, codes, read};
use windlass_source::{Diagnostic, Diagnostics, Source};

/// Prints a line that is visible even if the test passes.
#[expect(clippy::explicit_write, reason = "the harness captures `eprintln!` of tests that pass")]
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").unwrap();
}

/// Returns a folder of the corpus. If the folder is missing, prints that the test was skipped, and returns
/// `None`.
#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("WINDLASS_CORPUS").map(PathBuf::from);
    let demanded = given.is_some();
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = given.unwrap_or_else(beside).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!demanded, "WINDLASS_CORPUS is set, and {} is no folder", folder.display());
    say(&format!("SKIPPED: no corpus at {}; set WINDLASS_CORPUS", folder.display()));
    None
}

/// Returns all files below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    let mut files: Vec<_> = below.collect();
    files.sort();
    files
}

/// Reads and checks a text, without other descriptors.
pub(crate) fn checked(name: &str, text: &str) -> Diagnostics {
    let read = read(&Source::new(name, text));
    let mut diagnostics = read.diagnostics;
    if let Some(descriptor) = read.descriptor {
        diagnostics.extend(check(&descriptor, &MemoryCatalog::new(), Missing::Tolerated));
    }
    diagnostics
}

/// Tells whether another YAML reader accepts the text as one document.
fn is_yaml(text: &str) -> bool {
    serde_yaml::Value::deserialize(serde_yaml::Deserializer::from_str(text)).is_ok()
}

/// Returns the keys of a top-level section, found by their indentation alone.
fn keys<'t>(text: &'t str, section: &str) -> Vec<&'t str> {
    let is_head = |line: &&str| line.strip_prefix(section).is_some_and(|rest| rest.trim_end() == ":");
    let body = text.lines().skip_while(|line| !is_head(line)).skip(1);
    let body = body.take_while(|line| line.is_empty() || line.starts_with([' ', '#']));
    let lines: Vec<&str> =
        body.filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#')).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let least = lines.iter().map(|line| indent(line)).min().unwrap_or(0);
    let keys =
        lines.into_iter().filter(|line| indent(line) == least).filter_map(|line| line.split(':').next());
    keys.map(|key| key.trim().trim_matches(['\'', '"'])).collect()
}

/// Tells whether a simple search of the descriptor's text confirms an error that the check has reported.
fn is_right(diagnostic: &Diagnostic, text: &str) -> bool {
    // The first name in the message: for `${a.b}` that is `a`.
    let named = diagnostic.message.split(['`', '$', '{', '}', '.']).find(|word| !word.trim().is_empty());
    let found = diagnostic.place().map_or("", |place| place.text());
    match diagnostic.code {
        // Placeholders of tools, names that are too long, unknown kinds of descriptors.
        codes::NAME => {
            found.contains("[[")
                || found.len() > 50
                || !(found.starts_with("assembly::") || found.starts_with("resource::"))
        }
        codes::BAD_TYPE => found.contains("[["),
        // The name is in the project file of the tool that builds such a package.
        codes::MISSING_NAME => !text.lines().any(|line| line.starts_with("name:")),
        codes::UNKNOWN_PROPERTY => named.is_some_and(|named| !keys(text, "properties").contains(&named)),
        codes::UNKNOWN_COMPONENT => named.is_some_and(|named| {
            ["composition", "references"].iter().all(|section| !keys(text, section).contains(&named))
        }),
        // The cycle is printed with a place for each edge, and ends with its first property.
        codes::PROPERTY_CYCLE => {
            let way = diagnostic.message.rsplit(": ").next().unwrap_or_default();
            let circle: Vec<&str> = way.split(" -> ").collect();
            circle.first() == circle.last() && circle.len() > 1
        }
        // Entries without content or without a type.
        codes::EMPTY_ENTRY | codes::MISSING_TYPE => !found.is_empty(),
        _ => false,
    }
}

#[test]
fn corpus_descriptors_of_others_are_read_and_checked() {
    let Some(folder) = folder("assemblies") else { return };
    let (mut passed, mut failed) = (0, Vec::new());
    let mut excluded: BTreeMap<&str, usize> = BTreeMap::new();
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    let mut remarks: BTreeMap<String, usize> = BTreeMap::new();
    for file in files(&folder) {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        if file.extension().is_none_or(|ending| ending != "yaml") {
            *excluded.entry("not a descriptor's file").or_default() += 1;
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let diagnostics = checked(&name, &text);
        if name.starts_with("doc-examples") {
            *excluded.entry("examples of documentation, tested apart").or_default() += 1;
            continue;
        }
        let errors: Vec<_> = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        for error in &errors {
            *codes.entry(error.code.to_string()).or_default() += 1;
        }
        for remark in diagnostics.iter().filter(|diagnostic| !diagnostic.is_error()) {
            *remarks.entry(remark.code.to_string()).or_default() += 1;
        }
        let wrong: Vec<_> = errors.iter().filter(|error| !is_right(error, &text)).collect();
        if wrong.is_empty() {
            passed += 1;
        }
        failed.extend(wrong.iter().map(ToString::to_string));
    }
    report("corpus_descriptors_of_others", passed, &failed, &excluded);
    say(&format!("corpus_descriptors_of_others: errors by code, all looked at: {codes:?}"));
    say(&format!("corpus_descriptors_of_others: warnings and notes by code: {remarks:?}"));
}

#[test]
fn corpus_examples_that_are_not_yaml_are_refused() {
    let Some(folder) = folder("assemblies/doc-examples") else { return };
    let (mut passed, mut failed) = (0, Vec::new());
    let mut excluded: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files(&folder) {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let diagnostics = checked(&name, &text);
        if is_yaml(&text) {
            *excluded.entry("YAML").or_default() += 1;
        } else if diagnostics.iter().any(|diagnostic| diagnostic.is_error() && diagnostic.place().is_some()) {
            passed += 1;
        } else {
            failed.push(format!("{name}: taken without an error"));
        }
    }
    report("corpus_examples_that_are_not_yaml", passed, &failed, &excluded);
}

pub(crate) fn report(name: &str, passed: usize, failed: &[String], excluded: &BTreeMap<&str, usize>) {
    let reasons: Vec<_> = excluded.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let count: usize = excluded.values().sum();
    say(&format!(
        "{name}: {passed} passed, {} failed, {count} excluded ({})",
        failed.len(),
        reasons.join("; ")
    ));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 0, "{name}: the folder is there, and no case was found");
}
