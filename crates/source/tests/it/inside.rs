//! Tests places inside a scalar, in every notation.

use proptest::prelude::*;
use rstest::rstest;
use windlass_source::{LoadOptions, Node, Source, load_one};

use crate::render::document;

/// The span of `${x}` inside a scalar's text covers exactly `${x}` in the source.
#[rstest]
#[case::plain("a: pre ${x} post")]
#[case::plain_lines("a: pre\n  more\n\n  ${x} post\n  end")]
#[case::single("a: 'it''s\n  here: ${x}'")]
#[case::double("a: \"\\ttab\\u00e9 \\\n   x ${x}\"")]
#[case::double_escaped_breaks("a: \"\n  \n  \\\n  \n  \\a ${x}\"")]
#[case::double_pair("a: \"\\uD83D\\uDE00 ${x}\"")]
#[case::double_raw_and_folded("a: \"é\n\n\n  ${x}\"")]
#[case::literal("a: |\n  one\n\n  two ${x}\n")]
#[case::literal_from_an_empty_line("a: |+\n\n\n    ${x}\n\n")]
#[case::literal_with_indicator("a: |2-\n    deep\n  ${x}")]
#[case::folded("a: >\n  one\n  two\n\n  three\n    kept\n  ${x} end\n")]
#[case::folded_at_the_start("a: >-\n   ${x}\n   y")]
#[case::crlf("a: >\r\n  one\r\n  ${x}\r\n")]
fn a_reference_is_found(#[case] text: &str) {
    let (source, root) = document(text);
    let node = root.get("a").unwrap();
    let at = node.as_str().unwrap().find("${x}").unwrap();
    let span = node.inside(&source).span(at..at + 4);
    assert_eq!(source.slice(span), "${x}");
    assert_eq!(span.start as usize, text.find("${x}").unwrap());
}

#[test]
fn an_escape_is_covered_as_a_whole() {
    let (source, root) = document("a: \"x \\u0024{y} z\"");
    let node = root.get("a").unwrap();
    let at = node.as_str().unwrap().find("${y}").unwrap();
    assert_eq!(source.slice(node.inside(&source).span(at..at + 4)), "\\u0024{y}");
    let (source, root) = document("a: 'it''s'");
    assert_eq!(source.slice(root.get("a").unwrap().inside(&source).span(2..3)), "''");
}

#[test]
fn a_collection_has_its_own_span_for_each_part() {
    let (source, root) = document("a: [1]");
    assert_eq!(source.slice(root.get("a").unwrap().inside(&source).span(3..9)), "[1]");
}

proptest! {
    /// The source span of each character of a scalar contains this character or its escape.
    #[test]
    fn spans_inside_are_in_order_and_in_the_scalar(
        lines in prop::collection::vec("[a-z'\"\\\\$é ]{0,6}", 1..6),
        style in 0..5_usize,
    ) {
        let open = ["", "'", "\"", "|\n  ", ">\n  "][style];
        let close = ["", "'", "\"", "\n", "\n"][style];
        let source = Source::new("f.yaml", format!("a: {open}{}{close}", lines.join("\n  ")));
        let loaded = load_one(&source, &LoadOptions::default());
        // After a repair the text differs from the source.
        if loaded.diagnostics.has_errors() {
            return Ok(());
        }
        let Some(node) = loaded.root.as_ref().and_then(|root| root.get("a")) else { return Ok(()) };
        let Some(text) = node.as_str() else { return Ok(()) };
        check(&source, node, text)?;
    }
}

fn check(source: &Source, node: &Node, text: &str) -> Result<(), TestCaseError> {
    let inside = node.inside(source);
    let mut last = node.span().start;
    for (at, c) in text.char_indices() {
        let span = inside.span(at..at + c.len_utf8());
        prop_assert!(span.start >= last && span.end <= node.span().end, "{c:?} at {at}: {span:?}");
        last = span.start;
        let there = source.slice(span);
        let same = there.chars().eq([c]) || there.starts_with('\\') || there == "''";
        prop_assert!(same || c.is_whitespace(), "{c:?} at {at}: {there:?}");
    }
    Ok(())
}
