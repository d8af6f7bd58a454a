//! Tests the conversion to typed documents, and the places of its errors.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use rstest::rstest;
use serde::Deserialize;
use windlass_source::Reading;

use crate::render::{document, one};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read by Debug")]
struct App {
    name: String,
    #[serde(default)]
    parts: BTreeMap<String, Part>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only read by Debug")]
struct Part {
    quantity: u32,
    #[serde(default)]
    ports: Vec<u16>,
    #[serde(default)]
    start_mode: Mode,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Manual,
    Automatic,
}

fn error(text: &str) -> String {
    let (source, root) = document(text);
    one(&root.parse::<App>(&source, Reading::Script).expect_err("it does not fit"))
}

#[test]
fn a_document_that_fits() {
    let (source, root) = document("name: shop\nparts:\n  web: {quantity: 2, ports: [80]}\n");
    let app: App = root.parse(&source, Reading::Script).unwrap();
    assert_eq!(app.parts["web"].ports, [80]);
}

#[test]
fn values_of_the_wrong_type() {
    assert_snapshot!(error("name: shop\nparts:\n  web:\n    quantity: three\n"), @r#"
    f.yaml:4:15: error[WL0041]: expected a whole number from 0, found the text `three`
      ^ 4:15 `three`
    "#);
    assert_snapshot!(error("name: shop\nparts:\n  web: {quantity: 1, ports: [80, 99999]}\n"), @r#"
    f.yaml:3:34: error[WL0041]: expected a whole number from 0 to 65535, found the number `99999`
      ^ 3:34 `99999`
    "#);
    assert_snapshot!(error("name: [shop]\n"), @r#"
    f.yaml:1:7: error[WL0041]: expected text, found a list
      ^ 1:7 `[shop]`
    "#);
    assert_snapshot!(error("- name\n"), @r#"
    f.yaml:1:1: error[WL0041]: expected a mapping, found a list
      ^ 1:1 `- name`
    "#);
}

#[test]
fn unknown_and_missing_keys() {
    assert_snapshot!(error("name: shop\nparts:\n  web:\n    quantity: 1\n    start_mode: manual\n"), @r#"
    f.yaml:5:5: error[WL0040]: unknown key `start_mode`
      ^ 5:5 `start_mode` 
      = did you mean `start-mode`?
    "#);
    assert_snapshot!(error("name: shop\ncolour: red\n"), @r#"
    f.yaml:2:1: error[WL0040]: unknown key `colour`
      ^ 2:1 `colour` 
      = known are `name` and `parts`
    "#);
    assert_snapshot!(error("name: shop\nparts:\n  web: {ports: []}\n"), @r#"
    f.yaml:3:8: error[WL0041]: missing key `quantity`
      ^ 3:8 `{ports: []}`
    "#);
}

#[test]
fn unknown_values_of_an_enumeration() {
    assert_snapshot!(error("name: shop\nparts:\n  web: {quantity: 1, start-mode: automatc}\n"), @r#"
    f.yaml:3:34: error[WL0041]: unknown value `automatc`
      ^ 3:34 `automatc` 
      = did you mean `automatic`?
    "#);
}

#[rstest]
#[case("", "1:1", true)]
#[case("/a/0/b", "2:8", true)]
#[case("/a/1", "2:3", false)]
#[case("/a/x", "2:3", false)]
#[case("/x~1y~0", "3:9", true)]
#[case("/x~1y~0/deeper", "3:9", false)]
fn pointers_lead_to_nodes(#[case] pointer: &str, #[case] position: &str, #[case] complete: bool) {
    let (source, root) = document("a:\n  - b: 1\n\"x/y~\": 2\n");
    let found = root.locate(pointer);
    let place = source.place(found.node.span());
    assert_eq!(found.complete, complete);
    assert_eq!(root.at_pointer(pointer).is_some(), complete);
    assert_eq!(place.start().to_string(), position);
}
