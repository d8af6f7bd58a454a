//! Tests of documents that the function `parse` evaluates.

use windlass_source::Source;
use windlass_spiff::Engine;

/// Evaluates `parse(text, mode)` in a document with the value `a: outer`. Returns the YAML of the result.
fn parsed(text: &str, mode: &str) -> String {
    let template = serde_json::json!({
        "a": "outer",
        "text": text,
        "~result": format!("(( parse(text, \"{mode}\") ))"),
    });
    let template = Source::new("t.yml", template.to_string());
    let yaml = Engine::new().process_texts(&template, &[]).expect("a result").to_yaml();
    let (_, result) = yaml.split_once("~result:\n").expect("the result is the last value");
    result.to_owned()
}

#[test]
fn a_leading_dot_begins_at_the_root_of_the_calling_document() {
    assert_eq!(parsed("{a: 1, b: (( .a ))}", "yaml"), "  a: 1\n  b: outer\n");
}

#[test]
fn with_a_dotted_mode_it_begins_at_the_root_of_the_parsed_document() {
    assert_eq!(parsed("{a: 1, b: (( .a ))}", ".yaml"), "  a: 1\n  b: 1\n");
    assert_eq!(parsed("{a: 1, b: {a: 2, c: (( .a ))}}", ".yaml"), "  a: 1\n  b:\n    a: 2\n    c: 1\n");
    let documents = parsed("{a: 1, b: (( .a ))}\n---\n{a: 2, b: (( .a ))}", ".multiyaml");
    assert_eq!(documents, "- a: 1\n  b: 1\n- a: 2\n  b: 2\n");
}
