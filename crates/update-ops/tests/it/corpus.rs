//! Tests this crate with a corpus of updates and patches that were written outside of this project. The tests also
//! compare this crate with other implementations.
//!
//! The folder of the corpus is `$WINDLASS_CORPUS`, or `../shared/corpus` beside the workspace. Each test prints
//! `name: N passed, N failed, N excluded (reason)`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path as FilePath, PathBuf};

use serde_json::{Map, Value, json};
use windlass_update_ops::{
    Keys, NotViable, PatchProblem, Path, Problem, Shape, Update, from_json_patch, to_json_patch,
};

use crate::patches::patched;
use crate::table::instance;

/// Result of a case.
enum Outcome {
    Passed,
    Failed(String),
    Excluded(&'static str),
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
    excluded: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn count(&mut self, id: &str, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(why) => self.failed.push(format!("{id}: {why}")),
            Outcome::Excluded(reason) => *self.excluded.entry(reason).or_default() += 1,
        }
    }

    fn report(self, name: &str) {
        let reasons: Vec<_> = self.excluded.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
        let excluded: usize = self.excluded.values().sum();
        let (passed, failed) = (self.passed, self.failed.len());
        say(&format!(
            "{name}: {passed} passed, {failed} failed, {excluded} excluded ({})",
            reasons.join("; ")
        ));
        assert!(self.failed.is_empty(), "{}", self.failed.join("\n"));
        assert!(passed > 0, "{name}: the folder is there, and no case was found");
    }
}

/// Prints a line that is visible even if the test passes.
#[expect(clippy::explicit_write, reason = "the harness captures `eprintln!` of tests that pass")]
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").unwrap();
}

/// Returns a folder of the corpus. If the folder is missing, prints that the test was skipped, and returns
/// `None`.
#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
fn folder(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("WINDLASS_CORPUS").map(PathBuf::from);
    let demanded = given.is_some();
    let beside = || FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = given.unwrap_or_else(beside).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!demanded, "WINDLASS_CORPUS is set, and {} is no folder", folder.display());
    say(&format!("SKIPPED: no corpus at {}; set WINDLASS_CORPUS", folder.display()));
    None
}

fn files(folder: &FilePath, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    files
}

/// Compares this crate with two emulators of MongoDB. If both emulators report a conflict, or agree on a
/// result, this crate must do the same.
#[test]
fn corpus_mongo_updates() {
    let Some(folder) = folder("tonomi/updates") else { return };
    let mut tally = Tally::default();
    for file in files(&folder, ".json") {
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for (index, case) in cases.iter().enumerate() {
            let id = format!("{}[{index}]", file.file_name().unwrap().to_string_lossy());
            tally.count(&id, mongo(case));
        }
    }
    tally.report("mongo-updates");
}

fn mongo(case: &Value) -> Outcome {
    let read = Update::parse(&in_our_words(&case["update"]), &Shape::untyped());
    match (case["ok"].as_bool(), case["mongomock"].as_str(), read) {
        (Some(false), _, _) if !case["error"].as_str().is_some_and(|error| error.contains("conflict")) => {
            Outcome::Excluded("failures for another reason than a conflict")
        }
        (Some(false), _, Ok(_)) => Outcome::Failed(format!("no conflict found: {case}")),
        (Some(false), _, Err(errors)) => {
            let conflict = errors.iter().all(|error| matches!(error.problem, Problem::Conflict { .. }));
            if conflict { Outcome::Passed } else { Outcome::Failed(format!("{errors:?}: {case}")) }
        }
        (Some(true), Some("agree"), Ok(parsed)) => mongo_result(case, &parsed.update),
        (Some(true), Some("agree"), Err(errors)) => Outcome::Failed(format!("{errors:?}: {case}")),
        _ => Outcome::Excluded("on which the emulators differ"),
    }
}

fn mongo_result(case: &Value, update: &Update) -> Outcome {
    let shape = Shape::untyped();
    if update.paths().any(|path| leads_into_a_list(&case["before"], path)) {
        return Outcome::Excluded("that address an entry of a list");
    }
    let mut document = case["before"].clone();
    let refused = update.apply(&mut document).err();
    let agreed = shape.canonical(document.clone()) == shape.canonical(case["after"].clone());
    match refused {
        None if agreed => Outcome::Passed,
        None => Outcome::Failed(format!("got {document}: {case}")),
        Some(_) if document != case["before"] => Outcome::Failed(format!("refused by half: {case}")),
        Some(NotViable { obstacle, .. }) => match at(&case["before"], &obstacle) {
            Some(Value::Object(_) | Value::Null) | None => Outcome::Failed(format!("{obstacle}: {case}")),
            // MongoDB itself and this crate refuse paths that the emulators skip. The result is the same if
            // the update has no other operation.
            Some(_) if agreed => Outcome::Passed,
            Some(_) => Outcome::Excluded(
                "in which the emulators pass over a path through a scalar, which the server refuses, and do the rest",
            ),
        },
    }
}

/// Each JSON Patch of the corpus is translated into an update, and the update is translated back into a JSON Patch. The
/// update and the second patch must have the result that the corpus expects. Patches that no update can express are
/// excluded.
#[test]
fn corpus_json_patch_tests() {
    let Some(folder) = folder("tonomi/suites") else { return };
    let mut tally = Tally::default();
    for file in files(&folder, ".json") {
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for (index, case) in cases.iter().enumerate() {
            let id = format!("{}[{index}]", file.file_name().unwrap().to_string_lossy());
            tally.count(&id, json_patch(case));
        }
    }
    tally.report("json-patch-tests");
}

fn json_patch(case: &Value) -> Outcome {
    if case["disabled"] == true {
        return Outcome::Excluded("disabled in the suite");
    }
    let shape = Shape::untyped();
    let (before, patch) = (&case["doc"], &case["patch"]);
    let update = match from_json_patch(patch, &shape) {
        Ok(update) => update,
        Err(errors) => {
            let is_malformed =
                errors.iter().any(|error| matches!(error.problem, PatchProblem::Malformed { .. }));
            return match (is_malformed, case.get("error")) {
                (true, Some(_)) => Outcome::Passed,
                (true, None) => Outcome::Failed(format!("{errors:?}: {case}")),
                (false, _) if names_no_field(patch) => Outcome::Excluded("without an equal update"),
                (false, _) => Outcome::Failed(format!("{errors:?}: {case}")),
            };
        }
    };
    let mut after = before.clone();
    match (update.apply(&mut after), case.get("expected")) {
        _ if !before.is_object() => Outcome::Excluded("of documents that are no maps"),
        (_, None) => Outcome::Excluded("that fail in a document without the parent or the field"),
        (Err(error), Some(_)) => Outcome::Failed(format!("{error}: {case}")),
        (Ok(()), Some(expected)) => {
            let back = to_json_patch(&update, before).ok().and_then(|patch| patched(&patch, before));
            let equal = shape.canonical(after.clone()) == shape.canonical(expected.clone());
            if equal && back.as_ref() == Some(&after) {
                Outcome::Passed
            } else {
                Outcome::Failed(format!("{after} {back:?}: {case}"))
            }
        }
    }
}

/// Tells whether a JSON Patch has an operation that no update can express. Such an operation is a `test`, `move` or
/// `copy`, or its path names the whole document, an entry of a list or an empty key.
fn names_no_field(patch: &Value) -> bool {
    patch.as_array().into_iter().flatten().any(|operation| {
        let pointer = operation["path"].as_str().unwrap_or_default();
        let keys: Vec<_> = pointer.split('/').skip(1).collect();
        let is_entry = |key: &&str| *key == "-" || key.parse::<u32>().is_ok();
        matches!(operation["op"].as_str(), Some("test" | "move" | "copy"))
            || keys.is_empty()
            || keys.iter().any(|key| key.is_empty())
            || keys.iter().skip(1).any(is_entry)
    })
}

/// Replaces `$push` of MongoDB with the equivalent `$pushAll`.
fn in_our_words(update: &Value) -> Value {
    let mut update = update.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(pushed)) = update.remove("$push") {
        let pushed: Map<_, _> = pushed
            .into_iter()
            .map(|(path, value)| (path, value.get("$each").cloned().unwrap_or_else(|| json!([value]))))
            .collect();
        update.insert("$pushAll".into(), pushed.into());
    }
    update.into()
}

fn at<'v>(document: &'v Value, path: &Path) -> Option<&'v Value> {
    path.keys().try_fold(document, |value, key| value.get(key))
}

fn leads_into_a_list(document: &Value, path: &Path) -> bool {
    let keys: Vec<_> = path.keys().collect();
    (1..keys.len()).any(|n| {
        let above = Path::from_keys(keys[..n].iter().copied()).unwrap();
        at(document, &above).is_some_and(Value::is_array)
    })
}

/// The corpus contains recorded outputs of real scripts with updates of instances. Each of these updates must fit the
/// shape of the worked example, which is described in `table.rs`.
#[test]
fn corpus_traffic() {
    let Some(folder) = folder("tonomi/traffic") else { return };
    let mut tally = Tally::default();
    for file in files(&folder, ".out.yaml") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let Some(instances) = instances(&fs::read_to_string(&file).unwrap()) else {
            tally.count(&name, Outcome::Excluded("outputs without instances"));
            continue;
        };
        for (id, update) in &instances {
            tally.count(&format!("{name}: {id}"), traffic(update));
        }
    }
    tally.report("traffic");
}

/// Returns the instances of a recorded output. Only this function of the crate reads YAML.
fn instances(output: &str) -> Option<Map<String, Value>> {
    #[expect(clippy::disallowed_methods, reason = "a row below `source`, and a test")]
    let document: Value = serde_yaml::from_str(output).ok()?;
    let document = document.get("results").unwrap_or(&document);
    document.get("instances")?.as_object().filter(|instances| !instances.is_empty()).cloned()
}

fn traffic(wire: &Value) -> Outcome {
    let open = wire.pointer("/$pushAll").and_then(Value::as_object).into_iter().flatten();
    let open: Vec<_> = open.filter_map(|(path, _)| path.strip_prefix("commands.")).collect();
    let shape = instance(&open);
    let parsed = match Update::parse(wire, &shape) {
        Ok(parsed) if parsed.warnings.is_empty() => parsed,
        Ok(parsed) => return Outcome::Failed(format!("{:?}", parsed.warnings)),
        Err(errors) => return Outcome::Failed(format!("{errors:?}")),
    };
    let update = parsed.update;
    let mut document = json!({"status": {"flags": {"failed": true}, "message": "before"}});
    if let Err(error) = update.apply(&mut document) {
        return Outcome::Failed(error.to_string());
    }
    let back = Update::parse(&update.to_value(), &shape).map(|parsed| parsed.update);
    match (shape.check(&document), back) {
        (Ok(()), Ok(back)) if back == update && shape.canonical(document.clone()) == document => {
            Outcome::Passed
        }
        (checked, back) => Outcome::Failed(format!("{checked:?} {back:?} {document}")),
    }
}

/// A script writes a field without an operator such as `$set`. The update must replace the whole value of the field:
/// keys that the script omits are removed.
#[test]
fn replacing_is_not_merging() {
    let shape = Shape::new([(
        "signals",
        windlass_update_ops::Node::map(Keys::any(), windlass_update_ops::Node::opaque()),
    )]);
    let update = Update::parse(&json!({"signals": {"login": "root"}}), &shape).unwrap().update;
    let mut document = json!({"signals": {"login": "root", "address": "203.0.113.1"}});
    update.apply(&mut document).unwrap();
    assert_eq!(document, json!({"signals": {"login": "root"}}));
}
