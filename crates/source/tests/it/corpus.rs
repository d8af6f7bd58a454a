//! Tests documents of a corpus, which were written outside of this project.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::render::print;
use serde_json::{Value, json};
use windlass_source::{EmitStyle, LoadOptions, Node, Reading, Source, codes, emit, load, load_one};

/// Returns the folder of the corpus. If it is missing, prints that the test was skipped, and returns `None`.
fn corpus(test: &str, folder: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests alone read the corpus")]
    let root = std::env::var_os("WINDLASS_CORPUS").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"));
    let path = root.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    print(&format!("{test}: SKIPPED, no folder {}", path.display()));
    None
}

/// Prints the counts that every corpus test prints, and fails on failures.
fn conclude(test: &str, passed: usize, failures: &[String], excluded: &[String]) {
    print(&format!("{test}: {passed} passed, {} failed, {} excluded", failures.len(), excluded.len()));
    for why in excluded {
        print(&format!("  excluded {why}"));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the YAML files of a folder, in order.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Returns the notes in the corpus's manifest, by file.
fn notes(folder: &Path) -> BTreeMap<String, String> {
    let manifest = std::fs::read_to_string(folder.join("manifest.tsv")).unwrap_or_default();
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        Some((columns.first()?.to_string(), columns.get(7)?.to_string()))
    };
    manifest.lines().filter_map(row).collect()
}

#[test]
fn corpus_assemblies() {
    const NAME: &str = "corpus_assemblies";
    let Some(folder) = corpus(NAME, "assemblies") else { return };
    let notes = notes(&folder);
    let (mut passed, mut failures, mut excluded) = (0, Vec::new(), Vec::new());
    for path in yaml_files(&folder) {
        let name = path.strip_prefix(&folder).expect("below the folder").display().to_string();
        let note = notes.get(&name).map_or("", String::as_str);
        match judge(&path, note) {
            Ok(Verdict::Right) => passed += 1,
            Ok(Verdict::OnlyDuplicates) => excluded.push(format!("{name}: readers differ on duplicate keys")),
            Err(why) => failures.push(format!("{name}: {why}\n  note: {note}")),
        }
    }
    conclude(NAME, passed, &failures, &excluded);
}

/// A verdict that does not make the test fail.
enum Verdict {
    Right,
    /// The file is valid except for duplicate keys. The manifest of the corpus was created with a reader that silently
    /// takes the last of several equal keys. This crate refuses equal keys, as other readers do.
    OnlyDuplicates,
}

/// Checks a file against its note in the manifest. A file that is valid YAML according to the note must load, and must
/// stay the same after writing and reading. The crate must refuse every other file, and must report the cause and the
/// place of the error.
fn judge(path: &Path, note: &str) -> Result<Verdict, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let source = Source::from_bytes("f", bytes).map_err(|e| e.to_string())?;
    let loaded = load(&source, &LoadOptions::default());
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|d| d.is_error()).collect();
    let broken = note.contains("YAML ERROR") || note.contains("contains U+2");
    let vague = errors.iter().any(|d| d.code == codes::SYNTAX && d.fixes.is_empty());
    match (broken, errors.first()) {
        (true, None) => Err("refused by others, taken by us".to_owned()),
        (true, Some(_)) if vague => Err(format!("the cause is not named:\n{}", loaded.diagnostics)),
        (true, Some(first)) if first.place().is_none() => Err(format!("no place: {first}")),
        (true, Some(_)) => Ok(Verdict::Right),
        (false, Some(_)) if errors.iter().all(|d| d.code == codes::DUPLICATE_KEY) => {
            Ok(Verdict::OnlyDuplicates)
        }
        (false, Some(_)) => Err(loaded.diagnostics.to_string()),
        (false, None) => loaded.documents.iter().try_for_each(survives).map(|()| Verdict::Right),
    }
}

/// Checks that writing a document and reading it again gives the same data.
fn survives(document: &Node) -> Result<(), String> {
    let data = document.to_value(Reading::Script);
    let again = load_one(&Source::new("emitted", emit(&data, EmitStyle::Block)), &LoadOptions::default());
    let same = again.root.is_some_and(|root| root.to_value(Reading::Script) == data);
    same.then_some(()).ok_or_else(|| "changed by writing and reading".to_owned())
}

/// Strings that YAML readers might read as another type are written and read as strings.
#[test]
fn corpus_yaml_interop() {
    const NAME: &str = "corpus_yaml_interop";
    let Some(folder) = corpus(NAME, "tonomi/yaml-interop") else { return };
    let strings = std::fs::read_to_string(folder.join("strings.json")).expect("strings.json");
    let strings: Vec<String> = serde_json::from_str(&strings).expect("a list of strings");
    let (mut passed, mut failures) = (0, Vec::new());
    for string in &strings {
        match interop(string) {
            Ok(()) => passed += 1,
            Err(why) => failures.push(format!("{string:?}: {why}")),
        }
    }
    // The file is output of PyYAML, so it is read with PyYAML's types. A scalar that is no string for PyYAML is
    // quoted there.
    let theirs = Source::new("py.yaml", std::fs::read_to_string(folder.join("py.yaml")).expect("py.yaml"));
    let theirs = load_one(&theirs, &LoadOptions::default());
    let theirs = theirs.root.map(|root| root.to_value(Reading::Script)).unwrap_or_default();
    let mut report = String::new();
    for (ours, theirs) in strings.iter().zip(theirs.as_array().into_iter().flatten()) {
        if theirs.as_str() == Some(ours) {
            passed += 1;
        } else {
            let _ = write!(report, "{ours:?} from PyYAML is {theirs}; ");
        }
    }
    failures.extend((!report.is_empty()).then_some(report));
    failures.extend(
        (theirs.as_array().map(Vec::len) != Some(strings.len()))
            .then(|| "py.yaml: another number of strings".to_owned()),
    );
    conclude(NAME, passed, &failures, &[]);
}

/// Checks that this crate and another reader read the string back, as a key and as a value.
fn interop(string: &str) -> Result<(), String> {
    let data = json!({ string: string, "list": [string] });
    let text = emit(&data, EmitStyle::Block);
    let ours = load_one(&Source::new("emitted", text.as_str()), &LoadOptions::default());
    if ours.root.map(|root| root.to_value(Reading::Script)).as_ref() != Some(&data) {
        return Err(format!("read as something else:\n{text}"));
    }
    #[expect(clippy::disallowed_methods, reason = "another reader, to compare with")]
    let other: Value = serde_yaml::from_str(&text).map_err(|error| error.to_string())?;
    (other == data).then_some(()).ok_or_else(|| format!("another reader has {other}"))
}
