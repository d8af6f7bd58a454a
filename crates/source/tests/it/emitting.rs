//! Tests that all readers read emitted text as the same data.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use proptest::prelude::*;
use rstest::rstest;
use serde::Serialize;
use serde_json::{Map, Number, Value, json};
use windlass_source::{Content, EmitStyle, LoadOptions, Reading, Source, Tree, emit, emit_typed, load_one};

/// Generates data: strings that look like another type, numbers of all kinds, nested and empty collections.
pub(crate) fn data() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "\\PC{0,12}",
        any::<String>(),
        prop::sample::select(vec![
            "yes", "~", "1e3", "22:22", "- a", "a: b", "# c", "\u{2028}", "\u{feff}", "<<", "=", "\t", "é\n"
        ])
        .prop_map(str::to_owned),
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(Value::Number),
        text.clone().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((text.clone(), inner), 0..5)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

/// Generates data whose scalars are text or null. Some texts have several lines.
fn spelled() -> impl Strategy<Value = Value> {
    (data(), "[ -~\\n\\t]{0,20}").prop_map(|(data, lines)| Value::Array(vec![spell(data), lines.into()]))
}

fn spell(data: Value) -> Value {
    match data {
        Value::Array(items) => items.into_iter().map(spell).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, spell(value))).collect(),
        Value::Null | Value::String(_) => data,
        other => other.to_string().into(),
    }
}

/// A tree of texts with comments.
enum Commented {
    List(Vec<Commented>),
    Text(String, String),
}

impl Tree for Commented {
    fn content(&self) -> Content<'_, Self> {
        match self {
            Self::List(items) => Content::List(items),
            Self::Text(text, _) => Content::Text(text),
        }
    }

    fn comment(&self) -> Option<&str> {
        match self {
            Self::List(_) => None,
            Self::Text(_, comment) => Some(comment),
        }
    }
}

fn read_back(text: &str) -> Value {
    read_back_as(text, Reading::Script)
}

fn read_back_as(text: &str, reading: Reading) -> Value {
    let loaded = load_one(&Source::new("emitted", text), &LoadOptions::default());
    assert!(loaded.diagnostics.is_empty(), "{}\n{text}", loaded.diagnostics);
    loaded.root.expect("a document").to_value(reading)
}

#[test]
fn layout() {
    let data = json!({
        "b": [[1, [2]], {"x": {}, "y": []}, {}, []],
        "a": null,
        "no": "no",
        "a key": "line\nbreak \u{2028}\u{feff}\u{85} 😀 é",
        "n": [0, -1, 1.0, 1e300, 1.5e-7, 18_446_744_073_709_551_615_u64],
    });
    assert_snapshot!(emit(&data, EmitStyle::Block), @r#"
    a: null
    "a key": "line\nbreak \u2028\uFEFF\u0085 😀 é"
    b:
      - - 1
        - - 2
      - x: {}
        "y": []
      - {}
      - []
    "n":
      - 0
      - -1
      - 1.0
      - 1.0e+300
      - 1.5e-7
      - 18446744073709551615
    "no": "no"
    "#);
    assert_eq!(read_back(&emit(&data, EmitStyle::Block)), data);
    assert_eq!(emit(&json!([]), EmitStyle::Document), "---\n[]\n");
    assert_eq!(emit(&json!("a"), EmitStyle::Block), "\"a\"\n");
}

#[test]
fn keys_longer_than_yaml_s_limit_are_written_out() {
    let data = json!({"a": [{"k".repeat(2000): {"b": 1}}]});
    assert_eq!(read_back(&emit(&data, EmitStyle::Block)), data);
}

/// A type whose values would lose the order of fields or other details in JSON data.
#[derive(Serialize)]
struct Measured {
    unit: &'static str,
    kind: Kind,
    by_size: BTreeMap<u32, Option<bool>>,
    average: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Other(Option<u8>),
}

#[test]
fn values_of_types_keep_the_order_of_their_fields() {
    let by_size = BTreeMap::from([(9, None), (10, Some(true))]);
    let value =
        |average| Measured { unit: "no", kind: Kind::Other(Some(3)), by_size: by_size.clone(), average };
    let text = emit_typed(&value(0.5), EmitStyle::Block).unwrap();
    assert_eq!(
        text,
        "unit: \"no\"\nkind:\n  other: 3\nby_size:\n  \"9\": null\n  \"10\": true\naverage: 0.5\n"
    );
    let error = emit_typed(&value(f64::INFINITY), EmitStyle::Block).unwrap_err();
    assert_eq!(error.to_string(), "the number inf can't be written as YAML");
    let error = emit_typed(&BTreeMap::from([(vec![1], 1)]), EmitStyle::Block).unwrap_err();
    assert_eq!(error.to_string(), "a key of a mapping is no text, number, boolean or null");
}

/// A reason why `emit` does not use the emitter of `serde_yaml`; see "Rejected alternatives" in
/// docs/design/source.md.
#[rstest]
#[case::number(json!(1e16))]
#[case::merge_key(json!({"<<": {"a": 1}}))]
#[case::invisible_character(json!("a\u{200b}"))]
#[case::line_separator(json!("a\u{2028}b"))]
fn serde_yaml_writes_data_that_reads_back_as_other_data(#[case] data: Value) {
    let theirs = Source::new("theirs", serde_yaml::to_string(&data).expect("it is data"));
    let read = load_one(&theirs, &LoadOptions::default()).root.expect("a document");
    assert_ne!(read.to_value(Reading::Script), data);
    assert_eq!(read_back(&emit(&data, EmitStyle::Block)), data);
}

proptest! {
    #[test]
    fn emitted_data_reads_back_as_the_same_data(data in data()) {
        prop_assert_eq!(read_back(&emit(&data, EmitStyle::Block)), data);
    }

    /// Another reader reads the same data from emitted text.
    #[test]
    fn another_reader_agrees(data in data()) {
        let text = emit(&data, EmitStyle::Block);
        #[expect(clippy::disallowed_methods, reason = "another reader, to compare with")]
        let read: Value = serde_yaml::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(read, data);
    }

    /// For JSON data, `emit` and `emit_typed` must write the same text.
    #[test]
    fn data_is_emitted_as_a_value_of_a_type(data in data()) {
        prop_assert_eq!(emit_typed(&data, EmitStyle::Block).unwrap(), emit(&data, EmitStyle::Block));
    }

    #[test]
    fn text_emitted_for_people_reads_back_as_the_same_text(data in spelled()) {
        let text = emit(&data, EmitStyle::Text);
        prop_assert_eq!(read_back_as(&text, Reading::Text), data, "{}", text);
    }

    /// In the style `Text`, `emit` writes texts such as `12` and `true` without quotes. Another reader may read such a
    /// text as an integer or a boolean with the same spelling. The reader must read every other text as the same text.
    #[test]
    fn another_reader_agrees_on_text_emitted_for_people(data in spelled()) {
        let text = emit(&data, EmitStyle::Text);
        #[expect(clippy::disallowed_methods, reason = "another reader, to compare with")]
        let read: Value = serde_yaml::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(spell(read), data, "{}", text);
    }

    #[test]
    fn comments_change_no_data(texts in prop::collection::vec(("(?s).{0,12}", any::<String>()), 1..5)) {
        let expected: Value = texts.iter().map(|(text, _)| Value::from(text.as_str())).collect();
        let items = texts.into_iter().map(|(text, comment)| Commented::Text(text, comment));
        let text = emit(&Commented::List(items.collect()), EmitStyle::Text);
        prop_assert_eq!(read_back_as(&text, Reading::Text), expected, "{}", text);
    }
}
