//! Compares the results of this crate with those of the original. The documents are random documents, and small
//! documents for which earlier versions of this crate had other results than the original.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use regex::{Captures, Regex};
use serde_json::Value as Json;
use windlass_source::Source;
use windlass_spiff::value::{Map, Node, Value};
use windlass_spiff::{Engine, Features, Output, OutputError, Preserve, SpiffError, define, yaml};

use super::process::{blocks, outside, strings};
use super::{Outcome, Tally, cases, id, text};

/// Printed result, or error message.
type Answer = Result<String, String>;

/// Flags of the original's command.
#[derive(Default)]
struct Flags {
    features: Features,
    preserve: Preserve,
    output: Output,
    bindings: Map,
}

impl Flags {
    fn of(case: &Json) -> Self {
        let mut flags = Self::default();
        let mut all = strings(case, "flags").into_iter();
        while let Some(flag) = all.next() {
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) if flag.starts_with("--") => (name, Some(value)),
                _ => (flag, None),
            };
            let mut value = || value.or_else(|| all.next()).expect("a value").to_owned();
            match name {
                "--features" => flags.features = Features::NONE.with_names(&value()).expect("known features"),
                "--partial" => flags.preserve.partial = true,
                "--preserve-temporary" => flags.preserve.temporary = true,
                "--preserve-escapes" => flags.preserve.escapes = true,
                "--json" => flags.output.json = true,
                "--split" => flags.output.split = true,
                "--path" => flags.output.path = Some(value()),
                "--select" => flags.output.select.push(value()),
                "--evaluate" => flags.output.evaluate = Some(value()),
                "--allow" => drop(value()),
                "--bindings" => {
                    let file = value();
                    let node = read(&file, case["files"][&file].as_str().expect("a file"));
                    flags.bindings.extend(node.expect("a document").as_map().cloned().unwrap_or_default());
                }
                _ => {
                    let definition = name.strip_prefix("-D").expect("a known flag").to_owned();
                    define(&mut flags.bindings, &definition).expect("a definition");
                }
            }
        }
        flags
    }

    fn engine(&self, case: &Json, raw_entries: bool) -> Engine {
        let mut engine = Engine::new().with_features(self.features).with_preserved(self.preserve);
        if raw_entries {
            engine = engine.with_raw_entries();
        }
        let granted = strings(case, "flags").contains(&"--allow");
        let mut outside = outside(case).with_clock(Arc::new(|| Duration::from_secs(1_795_000_000)));
        if granted {
            outside = outside.allow_read(".");
        }
        engine = engine.with_ascii_only().with_outside(outside);
        for (name, node) in &self.bindings {
            engine = engine.with_binding(name, node.value().clone());
        }
        engine
    }
}

fn read(name: &str, text: &str) -> Result<Node, SpiffError> {
    Ok(yaml::read_document(&Source::new(name, text))?)
}

fn shown(error: &OutputError) -> String {
    error.to_string()
}

/// Processes a case in the same way as the command of the original, and returns the result. If `raw_entries` is true,
/// the engine reproduces a mistake of the original (see `Engine::with_raw_entries`).
fn merged(case: &Json, raw_entries: bool) -> Answer {
    let flags = Flags::of(case);
    let stubs: Vec<Node> = strings(case, "stubs")
        .iter()
        .enumerate()
        .map(|(at, stub)| read(&format!("s{at}.yml"), stub).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    let template = Source::new("t.yml", text(case, "template").expect("a template"));
    let templates = yaml::read_documents(&template).map_err(|error| error.to_string())?;
    let engine = flags.engine(case, raw_entries);
    let session = if templates.len() > 1 { engine.stream() } else { engine.session() };
    let prepared = session.prepare(&stubs).map_err(|error| format!("error generating manifest: {error}"))?;
    let mut results = Vec::new();
    for (at, template) in templates.iter().enumerate() {
        if matches!(template.value(), Value::Null) {
            results.push(None);
            continue;
        }
        let number = if templates.len() > 1 { format!(" (document {})", at + 1) } else { String::new() };
        let processed = session
            .apply(template, &prepared)
            .map_err(|error| format!("error generating manifest{number}: {error}"))?;
        let chosen = flags.output.choose(&session, processed.node()).map_err(|error| shown(&error))?;
        results.extend(chosen.into_iter().map(Some));
    }
    flags.output.print(&results).map_err(|error| shown(&error))
}

/// Returns the sorted lines of an error message. The text before the list of unresolved nodes, and the error
/// classification at the end, are left out.
fn lines(message: &str) -> Vec<String> {
    let message = message.split("\nerror classification:").next().unwrap_or_default();
    let message = match message.split_once("unresolved nodes:") {
        Some((_, nodes)) => nodes,
        None => message,
    };
    let mut lines: Vec<String> =
        message.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    lines.sort();
    lines
}

/// Parts of the original's messages that come from Go, with our replacements.
static CORRECTIONS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"type '(\w+)'\(%!s\(MISSING\)\) cannot be", "type '$1' cannot be"),
        (r"<template [^>]*yaml\.AnnotatedNod[^>]*>", "<template>"),
        (r"'(\(\( \*\(<template>\) \)\))'", "$1"),
        (r"(must by maps)%!\(EXTRA [^)]*\)", "$1"),
        ("(cannot yamlencode: )reflect: call of reflect.Value.Type on zero Value", "${1}nil"),
        ("^path \"\" not found", "path \"q\" not found"),
    ]
    .map(|(original, ours)| (Regex::new(original).expect("a pattern"), ours))
    .into()
});

/// The original's message about a text that is no number. It quotes the text twice and contains a message of
/// Go.
static CONVERSION: LazyLock<Regex> = LazyLock::new(|| {
    let text =
        r#""strconv\.Parse\w+: parsing \\+"(.*?)\\+": [a-z ]+" is no (\w+) value:?(\s*%!s\(MISSING\))?"#;
    Regex::new(text).expect("a pattern")
});

/// Returns a message of the original, the Go program spiff++, without the texts that come from Go, such as
/// `%!s(MISSING)`.
fn corrected(message: &str) -> String {
    let conversion = |found: &Captures<'_>| {
        let text = found[1].replace("\\\\", "\\").replace("\\\\\"", "\\\"");
        format!("\"{text}\" is no {} value", &found[2])
    };
    let message = CONVERSION.replace_all(message, conversion).into_owned();
    CORRECTIONS.iter().fold(message, |message, (original, ours)| original.replace_all(&message, *ours).into())
}

/// Returns the documents of a result.
fn trees(text: &str) -> Option<Vec<Json>> {
    let documents = yaml::read_documents(&Source::new("result", text)).ok()?;
    documents.iter().map(|node| serde_json::from_str(&yaml::to_json(node).ok()?).ok()).collect()
}

/// Returns a tree without the fields and entries whose paths are left out.
fn without(tree: &Json, path: &mut Vec<String>, is_left_out: &dyn Fn(&[String]) -> bool) -> Option<Json> {
    if is_left_out(path) {
        return None;
    }
    let mut below = |name: String, child: &Json| {
        path.push(name);
        let kept = without(child, path, is_left_out);
        path.pop();
        kept
    };
    Some(match tree {
        Json::Object(fields) => {
            let kept =
                fields.iter().filter_map(|(key, child)| Some((key.clone(), below(key.clone(), child)?)));
            Json::Object(kept.collect())
        }
        Json::Array(entries) => {
            let kept = entries.iter().enumerate().filter_map(|(at, child)| below(at.to_string(), child));
            Json::Array(kept.collect())
        }
        scalar => scalar.clone(),
    })
}

/// Returns whether two results are equal without some of their fields and entries.
fn same_without(found: &str, wanted: &str, is_left_out: &dyn Fn(&[String]) -> bool) -> bool {
    let rest = |text: &str| {
        let trees = trees(text)?;
        Some(trees.iter().map(|tree| without(tree, &mut Vec::new(), is_left_out)).collect::<Vec<_>>())
    };
    rest(found).is_some_and(|found| Some(found) == rest(wanted))
}

/// Returns a tree with sorted lists.
fn ordered(tree: &Json) -> Json {
    match tree {
        Json::Object(fields) => fields
            .iter()
            .map(|(key, child)| (key.clone(), ordered(child)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Json::Array(entries) => {
            let mut entries: Vec<Json> = entries.iter().map(ordered).collect();
            entries.sort_by_key(ToString::to_string);
            entries.into()
        }
        scalar => scalar.clone(),
    }
}

/// Returns whether two results are equal.
fn same(found: &Answer, wanted: &Answer) -> bool {
    match (found, wanted) {
        (Ok(found), Ok(wanted)) => found == wanted,
        (Err(found), Err(wanted)) => lines(found) == lines(wanted) || blocks(found) == blocks(wanted),
        _ => false,
    }
}

/// Returns whether two results are equal. The function does not compare the values of expressions that contain one of
/// `words`.
fn same_apart_from(words: &[&str], template: &str, found: &Answer, wanted: &Answer) -> bool {
    let has_word = |text: &str| words.iter().any(|word| text.contains(word));
    match (found, wanted) {
        (Ok(found), Ok(wanted)) => {
            let mut places = Vec::new();
            for tree in trees(template).unwrap_or_default() {
                note_places(&tree, &mut Vec::new(), &has_word, &mut places);
            }
            same_without(found, wanted, &|path| places.iter().any(|place| place == path))
        }
        (found, Err(wanted)) => {
            let found = found.as_ref().err().map(|found| lines(found)).unwrap_or_default();
            let mut wanted = lines(wanted);
            wanted.retain(|line| !has_word(line));
            found == wanted
        }
        (Err(_), Ok(_)) => false,
    }
}

/// Notes the paths of matching texts.
fn note_places(
    tree: &Json,
    path: &mut Vec<String>,
    is_wanted: &dyn Fn(&str) -> bool,
    into: &mut Vec<Vec<String>>,
) {
    let children: Vec<(String, &Json)> = match tree {
        Json::Object(fields) => fields.iter().map(|(key, child)| (key.clone(), child)).collect(),
        Json::Array(entries) => {
            entries.iter().enumerate().map(|(at, child)| (at.to_string(), child)).collect()
        }
        Json::String(text) if is_wanted(text) => return into.push(path.clone()),
        _ => return,
    };
    for (name, child) in children {
        path.push(name);
        note_places(child, path, is_wanted, into);
        path.pop();
    }
}

/// Returns the deviation that fully explains the difference between the results of this crate and of the original.
/// Apart from this deviation, both results are equal.
fn deviation(case: &Json, found: &Answer, wanted: &Answer) -> Option<&'static str> {
    let template = text(case, "template").unwrap_or_default();
    if same(&merged(case, true), wanted) {
        return Some("entries without a unique key beside `- <<: (( merge ))` are evaluated");
    }
    if let (Ok(found), Ok(wanted)) = (found, wanted) {
        let is_option =
            |path: &[String]| path.last().is_some_and(|key| matches!(key.as_str(), "<<do" | "<<mapkey"));
        if same_without(found, wanted, &is_option) {
            return Some("options of a control structure that isn't evaluated are printed as expressions");
        }
        let found = trees(found).map(|trees| trees.iter().map(ordered).collect::<Vec<_>>());
        let wanted = trees(wanted).map(|trees| trees.iter().map(ordered).collect::<Vec<_>>());
        if (template.contains("sort(") || template.contains("reverse(")) && found.is_some() && found == wanted
        {
            return Some("`sort` and `reverse` leave the list as it is that others hold, too");
        }
    }
    same_apart_from(&["semvercmp(", "integer("], template, found, wanted)
        .then_some("results of `semvercmp` and of `integer` of a boolean are integers of the language")
}

/// Returns the mistake of the original that makes its result differ from the result of this crate. The test excludes
/// such a case. Returns `None` if no mistake is known.
fn mistake(case: &Json) -> Option<&'static str> {
    let template = text(case, "template").unwrap_or_default();
    if template.contains("sort(") || template.contains("reverse(") {
        return Some("`sort` and `reverse` change the list that others hold, too");
    }
    if template.contains("exec(") {
        return Some("a command that failed gives an empty text in the next pass");
    }
    template.contains("BEGIN RSA PUBLIC KEY").then_some("RSA keys too short for any use are valid")
}

/// Returns the recorded result of the original, the Go program spiff++.
fn wanted(case: &Json) -> Answer {
    let answer = case.get("original").unwrap_or(case);
    match text(answer, "out") {
        Some(out) => Ok(corrected(out)),
        None => Err(corrected(text(answer, "error").expect("an answer"))),
    }
}

fn judge(case: &Json) -> Outcome {
    let (found, wanted) = (merged(case, false), wanted(case));
    if same(&found, &wanted) {
        return Outcome::Passed;
    }
    if let Some(why) = deviation(case, &found, &wanted) {
        return Outcome::Deviates(why.to_owned());
    }
    if let Some(why) = mistake(case) {
        return Outcome::Excluded(why.to_owned());
    }
    let shown = |answer: &Answer| match answer {
        Ok(text) => text.clone(),
        Err(text) => format!("error {text}"),
    };
    Outcome::Failed(format!("\n  found  {}\n  wanted {}", shown(&found), shown(&wanted)))
}

fn agree(file: &str, group: &str, name: &str) {
    let mut tally = Tally::default();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases(file) {
        let kind = text(&case, group).unwrap_or_default().to_owned();
        *kinds.entry(kind.clone()).or_default() += 1;
        tally.add(id(&case), &[&kind], judge(&case));
    }
    tally.finish(name);
}

#[test]
fn corpus_random_documents() {
    agree("spiff_random_golden.jsonl", "family", "spiff random documents");
}

#[test]
fn corpus_former_differences() {
    agree("spiff_diff_golden.jsonl", "kind", "spiff former differences");
}
