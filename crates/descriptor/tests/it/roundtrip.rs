//! Tests the canonical form: it reads as the same descriptor, and is written as the same bytes.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use windlass_descriptor::{Descriptor, emit, read};
use windlass_source::{LoadOptions, Node, Source, load_one};

use crate::corpus::{files, folder, report};
use crate::support::{fixtures, read_text};

/// Returns the content of a descriptor without its places.
fn content(descriptor: &Descriptor) -> String {
    let text = format!("{descriptor:?}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    // Places have the form `Span { … }`, texts the form `Source(…)`. Names and values between them are
    // quoted.
    while let Some(at) = [rest.find("Span { start: "), rest.find("Source(")].into_iter().flatten().min() {
        out.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("Span") { '}' } else { ')' };
        rest = &rest[at + rest[at..].find(end).expect("it is closed") + 1..];
    }
    out + rest
}

fn descriptor(name: &str, text: &str) -> Option<Descriptor> {
    read(&Source::new(name, text)).descriptor
}

/// Returns the problem of a round trip from text to text.
fn problem(name: &str, text: &str) -> Option<String> {
    let before = descriptor(name, text)?;
    let written = emit(&before);
    let loaded = load_one(&Source::new(name, &*written), &LoadOptions::default());
    if loaded.diagnostics.has_errors() {
        return Some(format!("{name}: what was written is not read\n{}\n{written}", loaded.diagnostics));
    }
    let Some(after) = descriptor(name, &written) else {
        return Some(format!("{name}: what was written is no descriptor\n{written}"));
    };
    if content(&before) != content(&after) {
        return Some(format!("{name}: it says something else\n{}\n{}", content(&before), content(&after)));
    }
    (emit(&after) != written).then(|| format!("{name}: written twice it differs"))
}

#[test]
fn corpus_descriptors_survive_being_written() {
    let Some(folder) = folder("assemblies") else { return };
    let (mut passed, mut failed, mut excluded) = (0, Vec::new(), std::collections::BTreeMap::new());
    for file in files(&folder) {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        if file.extension().is_none_or(|ending| ending != "yaml") {
            *excluded.entry("not a descriptor's file").or_default() += 1;
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        if load_one(&Source::new(&*name, &*text), &LoadOptions::default()).diagnostics.has_errors() {
            *excluded.entry("not YAML").or_default() += 1;
        } else if descriptor(&name, &text).is_none() {
            *excluded.entry("no descriptor").or_default() += 1;
        } else if let Some(problem) = problem(&name, &text) {
            failed.push(problem);
        } else {
            passed += 1;
        }
    }
    report("corpus_descriptors_survive_being_written", passed, &failed, &excluded);
}

#[test]
fn examples_survive_being_written() {
    let examples: Vec<_> = files(&fixtures()).into_iter().filter(|path| is_descriptor(path)).collect();
    assert!(examples.len() > 5, "{examples:?}");
    for path in examples {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(problem(&path.display().to_string(), &text), None);
    }
}

fn is_descriptor(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml")
        && fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line.starts_with("name: ")))
}

#[test]
fn one_form() {
    let text = r#"
composition:
    web: {properties: {ip: {readOnly: true, descripion: "the
  address"}, b: 1.10}, quantity: '1', type: 'resource::web::1.0'}
relationships:
  uses:
    target-state: Active
    source-state: "Active"
    target-requirements: web.x   # one
    source-capabilities:
    - web.y
name: "assembly::shop::1.0"
policies:
  grow: {type: policy::scale, metric: web.load, properties: {smoothing: 4, out: {value: '80'}}}
colour: red
description: |
  first: line

  # no comment
properties:
  empty: ~
  words: {default: [yes, no, "010", on, 2020-01-01, "", " a", 'it''s', "\u200b", "${a}", true]}
"#;
    let read = read_text(text);
    assert!(!read.diagnostics.has_errors(), "{}", read.diagnostics);
    assert_snapshot!(emit(&read.descriptor.unwrap()), @r#"
    name: assembly::shop::1.0
    description: |
      first: line

      # no comment
    properties:
      empty: null
      words:
        default:
          - "yes"
          - "no"
          - "010"
          - "on"
          - "2020-01-01"
          - ""
          - " a"
          - it's
          - "\u200B"
          - "${a}"
          - true
    composition:
      web:
        type: resource::web::1.0
        quantity: 1
        properties:
          ip:
            description: the address
            read-only: true
          b:
            value: "1.10"
    relationships:
      uses:
        source-capabilities:
          - web.y
        target-requirements:
          - web.x
        source-state: Active
        target-state: Active
    policies:
      grow:
        type: policy::scale
        metric: web.load
        properties:
          smoothing:
            value: 4
          out:
            value: 80
    colour: red
    "#);
}

/// Generates documents of texts, lists and mappings.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof![
        any::<String>(),
        "[a-z:# \n-]{0,12}",
        prop::sample::select(vec![
            "null",
            "~",
            "true",
            "1.10",
            "|",
            "a: b",
            "- a",
            "\n",
            "\u{85}x",
            "\t",
            " \n a\n\n"
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![Just(serde_json::Value::Null), text.clone().prop_map(serde_json::Value::from)];
    let value = leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z\u{e9}\u{200b}: ]{1,8}", value, 0..4)
        .prop_map(|map| serde_json::Value::Object(map.into_iter().collect()))
}

fn tree(text: &str) -> Node {
    let loaded = load_one(&Source::new("a.yaml", text), &LoadOptions::default());
    assert!(!loaded.diagnostics.has_errors(), "{}\n{text}", loaded.diagnostics);
    loaded.root.expect("it has a document")
}

proptest! {
    #[test]
    fn any_values_survive_being_written(values in document()) {
        // The document is read below a key without a meaning, because keys of the language would be sorted.
        let text = serde_json::json!({"name": "resource::web::1.0", "designerLayout": values}).to_string();
        let Some(descriptor) = descriptor("a.yaml", &text) else { return Ok(()) };
        let written = emit(&descriptor);
        let after = tree(&written).to_value(windlass_source::Reading::Text);
        let before = tree(&text).to_value(windlass_source::Reading::Text);
        prop_assert_eq!(before, after, "{}", written);
    }
}
