//! Compares this crate with the original, the Go program spiff++. Each probe of the corpus is a YAML text to read, or a
//! string to write as YAML.

use std::path::PathBuf;

use serde_json::Value as Json;
use windlass_source::Source;
use windlass_spiff::value::Value;
use windlass_spiff::yaml::{read_document, to_yaml, value_to_yaml};

use crate::typed::typed;

/// The ids of the probes that the test excludes, each with the reason.
const EXCLUDED: &[(&str, &str)] = &[];

#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
fn corpus(file: &str) -> Option<PathBuf> {
    let root = std::env::var_os("WINDLASS_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    let file = root.join("spiff").join(file);
    file.is_file().then_some(file)
}

/// Checks one probe and returns its problem.
fn probe(case: &Json) -> Result<(), String> {
    let input = case["input"].as_str().expect("a probe has an input");
    if case["kind"] == "yaml_out" {
        let written = value_to_yaml(&Value::map([("v", input.into())]));
        let expected = case["text"].as_str().expect("text");
        return if written == expected { Ok(()) } else { Err(format!("{written:?}, not {expected:?}")) };
    }
    let read = read_document(&Source::new("probe.yml", input));
    if case.get("value").is_none() {
        let expected = case["error"].as_str().or_else(|| case["panic"].as_str()).unwrap_or_default();
        return match read {
            Ok(node) => Err(format!("{}, not {expected}", typed(&node))),
            Err(error)
                if expected.starts_with("map key must be a string") && error.to_string() != expected =>
            {
                Err(format!("{error}, not {expected}"))
            }
            Err(_) => Ok(()),
        };
    }
    let node = read.map_err(|error| error.to_string())?;
    if typed(&node) != case["value"] {
        return Err(format!("{}, not {}", typed(&node), case["value"]));
    }
    let (written, expected) = (to_yaml(&node), case["text"].as_str().unwrap_or_default());
    if written == expected { Ok(()) } else { Err(format!("{written:?}, not {expected:?}")) }
}

#[test]
fn corpus_of_yaml_probes() {
    let Some(file) = corpus("spiff_yaml_golden.jsonl") else {
        println!("spiff yaml: SKIPPED, there is no corpus");
        return;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let (mut passed, mut excluded, mut failed) = (0, 0, Vec::new());
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        match (probe(&case), EXCLUDED.iter().find(|(excluded, _)| *excluded == id)) {
            (_, Some(_)) => excluded += 1,
            (Ok(()), None) => passed += 1,
            (Err(message), None) => failed.push(format!("{id} {}: {message}", case["input"])),
        }
    }
    println!("spiff yaml: {passed} passed, {} failed, {excluded} excluded", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The original (the Go program spiff++) has written a value as text. This crate must read the text as the same value,
/// and must write the value as the same text.
#[test]
fn corpus_of_written_documents() {
    let (mut passed, mut excluded, mut failed) = (0, 0, Vec::new());
    for (name, text_field, value_field) in [
        ("spiff_oracle.jsonl", "text", "actual"),
        ("spiff_doc_golden.jsonl", "text", "value"),
        ("spiff_ocm_cases.jsonl", "text", "value"),
        ("spiff_readme_cases.jsonl", "spiff_text", "spiff_actual"),
    ] {
        let Some(file) = corpus(name) else {
            println!("spiff documents: SKIPPED, there is no {name}");
            continue;
        };
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let case: Json = serde_json::from_str(line).unwrap();
            let (Some(text), value) = (case[text_field].as_str(), &case[value_field]) else { continue };
            // Text doesn't show that a number was a float, nor the content of a lambda or template.
            if value.to_string().contains("\"$") {
                excluded += 1;
                continue;
            }
            match rewritten(text, value) {
                Ok(()) => passed += 1,
                Err(message) => failed.push(format!("{}: {message}", case["id"])),
            }
        }
    }
    println!("spiff documents: {passed} passed, {} failed, {excluded} excluded (typed values)", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn rewritten(text: &str, value: &Json) -> Result<(), String> {
    let node =
        read_document(&Source::new("written.yml", text)).map_err(|error| format!("{error}: {text}"))?;
    if typed(&node) != *value {
        return Err(format!("{} not {value}", typed(&node)));
    }
    let again = to_yaml(&node);
    if again == text { Ok(()) } else { Err(format!("{again:?}, not {text:?}")) }
}
