//! Tests strict JSON: documents that are YAML but not JSON are refused.

use insta::assert_snapshot;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use windlass_source::{Limits, LoadOptions, Reading, Source, load, load_one};

use crate::render::full;

fn errors(text: &str) -> String {
    full(&load(&Source::new("f.json", text), &LoadOptions::json()).diagnostics)
}

#[test]
fn json_has_places() {
    let source = Source::new("f.json", "{\n\t\"a\": [1, true, null],\n\t\"b\": \"x\\u00e9\"\n}\n");
    let root = load_one(&source, &LoadOptions::json()).root.unwrap();
    assert_eq!(root.to_value(Reading::Json), json!({"a": [1, true, null], "b": "xé"}));
    assert_eq!(source.place(root.get("b").unwrap().span()).to_string(), "f.json:3:7");
    assert_eq!(source.slice(root.get("a").unwrap().span()), "[1, true, null]");
}

#[rstest]
#[case::comment("{} # no")]
#[case::slashes("// no\n{}")]
#[case::trailing_comma("[1,]")]
#[case::trailing_comma_in_object("{\"a\": 1,}")]
#[case::bare_key("{a: 1}")]
#[case::bare_word("[yes]")]
#[case::python("[True]")]
#[case::single_quotes("['a']")]
#[case::leading_zero("[01]")]
#[case::plus("[+1]")]
#[case::point("[1.]")]
#[case::infinity("[-inf]")]
#[case::hexadecimal("[0x1F]")]
#[case::two("{} {}")]
#[case::empty("")]
#[case::unclosed("[1, [2]")]
#[case::unclosed_string("[\"a]")]
#[case::line_break("[\"a\nb\"]")]
#[case::escape("[\"\\q\"]")]
#[case::surrogate("[\"\\ud800\"]")]
#[case::no_colon("{\"a\" 1}")]
#[case::closing("]")]
#[case::yaml("a: 1")]
fn text_that_is_no_json_is_refused(#[case] text: &str) {
    assert!(errors(text).contains("error[WL0030]"), "{text}");
    assert!(serde_json::from_str::<Value>(text).is_err());
}

#[test]
fn messages_say_what_was_expected_and_found() {
    assert_snapshot!(errors("{\n  name: 1\n}"), @r#"
    f.json:2:3: error[WL0030]: expected a key in double quotes, found `name`
      ^ 2:3 `name` 
      = put text into double quotes
    "#);
    assert_snapshot!(errors("[1, 2,]"), @r#"
    f.json:1:6: error[WL0030]: no value after the comma
      ^ 1:6 `,` 
      = remove the comma
    "#);
    assert_snapshot!(errors("[1 // one\n]"), @r#"
    f.json:1:4: error[WL0030]: expected `,` or `]`, found `/`
      ^ 1:4 `/` 
      = JSON has no comments
    "#);
    assert_snapshot!(errors("['a']"), @r#"
    f.json:1:2: error[WL0030]: expected a value, found `'`
      ^ 1:2 `\'` 
      = JSON takes double quotes only
    "#);
    assert_snapshot!(errors("[007]"), @r#"
    f.json:1:2: error[WL0030]: `007` is no number of JSON
      ^ 1:2 `007` 
      = no leading zeros or points, no hexadecimal numbers, no `NaN`
    "#);
    assert_snapshot!(errors("{\"a\": \"b"), @r#"
    f.json:1:7: error[WL0030]: a string is never closed
      ^ 1:7 `\"` 
      = close it with `"`
    "#);
    assert_snapshot!(errors("[1"), @r#"
    f.json:1:3: error[WL0030]: expected `,` or `]`, found the end
      ^ 1:3 ``
    "#);
}

#[test]
fn duplicate_keys_are_found() {
    assert_snapshot!(errors("{\"a\": 1, \"\\u0061\": 2}"), @r#"
    f.json:1:10: error[WL0010]: key `a` is given twice
      ^ 1:10 `\"\\u0061\"` given again here
      - 1:2 `\"a\"` first given here
      = remove or rename one of the two
    "#);
}

#[test]
fn depth_is_limited() {
    assert_snapshot!(errors(&"[".repeat(100_000)), @r#"
    f.json:1:129: error[WL0003]: lists and mappings are nested more than 128 deep
      ^ 1:129 `[`
    "#);
    let limits = Limits { depth: 3, ..Limits::default() };
    let shallow = LoadOptions { limits, ..LoadOptions::json() };
    assert!(load(&Source::new("f", "[[[1]]]"), &shallow).diagnostics.is_empty());
    assert!(load(&Source::new("f", "[[[[1]]]]"), &shallow).diagnostics.has_errors());
}

proptest! {
    /// The reader and `serde_json` accept the same texts, and read them as the same data. The texts have no exponents.
    /// With an exponent, a number can be too large for every type. `serde_json` reports an error for such a number, but
    /// this crate reads it as text.
    #[test]
    fn agrees_with_serde_json(text in "[\\[\\]{}:,\"ab\\\\/u0-9.+\\- \n]{0,24}") {
        let loaded = load_one(&Source::new("f", text.clone()), &LoadOptions::json());
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => {
                let twice = loaded.diagnostics.iter().any(|d| d.code.as_str() == "WL0010");
                prop_assert!(twice || loaded.diagnostics.is_empty(), "{}", loaded.diagnostics);
                let read = loaded.root.unwrap().to_value(Reading::Json);
                prop_assert!(twice || same(&read, &value), "{read} {value}");
            }
            Err(error) => prop_assert!(loaded.diagnostics.has_errors(), "{error}"),
        }
    }
}

/// Compares two values. A number that no type represents exactly is text in this crate.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::String(_), Value::Number(_)) => true,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
        }
        _ => ours == theirs,
    }
}
