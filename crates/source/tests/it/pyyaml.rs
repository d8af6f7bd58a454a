//! Compares this crate with PyYAML, the YAML 1.1 reader that scripts use. The tests are skipped if Python or
//! PyYAML is missing.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use windlass_source::{EmitStyle, Reading, emit};

use crate::emitting::data;
use crate::render::{document, print};

/// A Python program that reads a JSON list of YAML documents, and writes a JSON list of their values with
/// types.
const ASK: &str = r"
import json, sys, yaml

def tell(x):
    if isinstance(x, dict): return {'map': [[tell(k), tell(v)] for k, v in sorted(x.items())]}
    if isinstance(x, list): return {'list': [tell(v) for v in x]}
    if isinstance(x, float): return {'float': repr(x)}
    if isinstance(x, bool) or x is None: return x
    if isinstance(x, int): return {'int': str(x)}
    if isinstance(x, str): return {'text': x}
    return {'other': str(x)}

def read(text):
    try: return tell(yaml.safe_load(text))
    except Exception as error: return {'error': str(error)}

json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
";

/// Returns PyYAML's value of each document; `None` if PyYAML is missing.
fn ask(test: &str, documents: &[String]) -> Option<Vec<Value>> {
    let probe = Command::new("python3").args(["-c", "import yaml"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        print(&format!("{test}: SKIPPED, no python3 with PyYAML"));
        return None;
    }
    let mut child = Command::new("python3")
        .args(["-c", ASK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 was there a moment ago");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(json!(documents).to_string().as_bytes()).expect("python3 reads");
    drop(stdin);
    let output = child.wait_with_output().expect("python3 ends");
    Some(serde_json::from_slice(&output.stdout).expect("a list"))
}

/// Returns a value with its types, in the form that the Python program writes.
fn tell(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries: BTreeMap<_, _> = map.iter().collect();
            json!({"map": entries.iter().map(|(key, value)| json!([{"text": key}, tell(value)])).collect::<Vec<_>>()})
        }
        Value::Array(items) => json!({"list": items.iter().map(tell).collect::<Vec<_>>()}),
        Value::Number(n) if n.is_f64() => json!({"float": n.as_f64()}),
        Value::Number(n) => json!({"int": n.to_string()}),
        Value::String(text) => json!({"text": text}),
        other => other.clone(),
    }
}

/// Compares two values in the form that `tell` returns. This form contains the type of each value. Floats are compared
/// as numbers, because this crate and Python write them differently.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) if a.contains_key("float") => {
            let theirs = b.get("float").and_then(Value::as_str).and_then(|text| text.parse::<f64>().ok());
            theirs.is_some() && theirs == a["float"].as_f64()
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => ours == theirs,
    }
}

fn samples<T>(count: usize, strategy: &impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a sample").current()).collect()
}

#[test]
fn pyyaml_reads_emitted_data_as_the_same_data() {
    let data = samples(2000, &data());
    let documents: Vec<String> = data.iter().map(|data| emit(data, EmitStyle::Block)).collect();
    let Some(answers) = ask("pyyaml_reads_emitted_data_as_the_same_data", &documents) else { return };
    for ((data, document), answer) in data.iter().zip(&documents).zip(&answers) {
        assert!(same(&tell(data), answer), "{document}\n{answer}");
    }
}

#[test]
fn a_script_scalar_that_is_no_text_is_the_same_for_pyyaml() {
    let scalars = samples(
        5000,
        &"[-+]?[0-9.:_eExob]{1,8}|[+-]?[0-9]{1,4}\\.[0-9]{0,3}(e[+-][0-9]{1,2})?|[a-zA-Z]{1,4}",
    );
    // A colon at the end would make the scalar a mapping.
    let scalars = scalars.iter().filter(|scalar| !scalar.ends_with(':'));
    let documents: Vec<String> = scalars.map(|scalar| format!("[{scalar}]")).collect();
    let Some(answers) = ask("a_script_scalar_that_is_no_text_is_the_same_for_pyyaml", &documents) else {
        return;
    };
    let mut typed = 0;
    for (text, answer) in documents.iter().zip(&answers) {
        let ours = document(text).1.to_value(Reading::Script);
        if !ours[0].is_string() {
            typed += 1;
            assert!(same(&tell(&ours), answer), "{text}: {ours} {answer}");
        }
    }
    assert!(typed > 100, "{typed}");
}

/// A reason why `emit` does not use the emitter of `serde_yaml`; see "Rejected alternatives" in
/// docs/design/source.md.
#[test]
fn serde_yaml_writes_text_that_is_no_text_for_pyyaml() {
    let words = ["no", "on", "1:30", "2026-01-31"];
    let documents = |write: &dyn Fn(&Value) -> String| words.map(|word| write(&json!(word))).to_vec();
    let ours = documents(&|word| emit(word, EmitStyle::Text));
    let theirs = documents(&|word| serde_yaml::to_string(word).expect("a text"));
    let Some(read) = ask("pyyaml words", &[ours, theirs].concat()) else { return };
    let (ours, theirs) = read.split_at(words.len());
    assert_eq!(ours, words.map(|word| json!({"text": word})));
    assert_eq!(theirs, [json!(false), json!(true), json!({"int": "90"}), json!({"other": "2026-01-31"})]);
}
