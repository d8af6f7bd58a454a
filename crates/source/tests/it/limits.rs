//! Tests that no document exhausts the machine.

use std::time::{Duration, Instant};

use insta::assert_snapshot;
use rstest::rstest;
use windlass_source::{Limits, LoadOptions, Source, load};

use crate::render::{lines, read};

fn billion_laughs() -> String {
    let level = |i: usize| format!("a{}: &a{} [{}]", i + 1, i + 1, vec![format!("*a{i}"); 10].join(", "));
    "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned() + &lines(9, level)
}

/// Documents that would grow without limit are refused fast. The time limit of the test is high, for a debug
/// build on a busy machine. A release build takes milliseconds.
#[rstest]
#[case::aliases(billion_laughs())]
#[case::large_alias(format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a, ".repeat(10_000)))]
#[case::brackets("[".repeat(100_000))]
#[case::dashes("- ".repeat(100_000))]
#[case::braces("{a: ".repeat(100_000))]
#[case::question_marks("? ".repeat(100_000))]
#[case::blocks(lines(2000, |i| " ".repeat(i) + "a:"))]
#[case::blanks(" ".repeat(64_000_000))]
fn bombs_are_refused_at_once(#[case] text: String) {
    let start = Instant::now();
    let (_, loaded) = read(&text);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert!(
        loaded.diagnostics.iter().any(|d| d.is_error() && d.code.as_str() == "WL0003"),
        "{}",
        loaded.diagnostics
    );
}

#[test]
fn the_error_of_a_limit_names_the_limit() {
    let refuse = |limits: Limits, text: &str| {
        let loaded = load(&Source::new("f", text), &LoadOptions { limits, ..LoadOptions::default() });
        loaded.diagnostics.to_string()
    };
    let limits = Limits::default();
    assert_snapshot!(refuse(Limits { bytes: 3, ..limits }, "a: 1\n"), @r#"
    f:1:1: error[WL0003]: the text has 5 bytes, 3 are allowed
    "#);
    assert_snapshot!(refuse(Limits { depth: 2, ..limits }, "a:\n  b:\n    c: 1\n"), @r#"
    f:3:5: error[WL0003]: lists and mappings are nested deeper than is allowed
    "#);
    assert_snapshot!(refuse(Limits { nodes: 4, ..limits }, "[1, 2, 3]"), @r#"
    f:1:8: error[WL0003]: the document has more than 4 nodes
    "#);
    assert_snapshot!(refuse(Limits { expansion: 200, ..limits }, "- &a [1]\n- *a\n"), @r#"
    f:2:3: error[WL0003]: aliases make the document more than 200 bytes larger
    "#);
}

#[test]
fn aliases_can_not_go_deeper_than_the_limit() {
    let text = "a: &a [[1]]\nb: &b [[*a]]\nc: [[*b]]\n";
    let read = |depth| {
        let limits = Limits { depth, ..Limits::default() };
        load(&Source::new("f", text), &LoadOptions { limits, ..LoadOptions::default() })
            .diagnostics
            .has_errors()
    };
    assert!(read(6));
    assert!(!read(7));
}

#[test]
fn a_chain_of_merges_is_not_deep() {
    let link = |i: usize| format!("a{}: &a{}\n  <<: *a{i}\n  k: {i}", i + 1, i + 1);
    let text = "a0: &a0 {k: 0}\n".to_owned() + &lines(200, link);
    assert!(read(&text).1.diagnostics.is_empty());
}

#[test]
fn a_hundred_problems_of_a_kind_are_enough() {
    let diagnostics = read(&"a: 1\n".repeat(3000)).1.diagnostics;
    assert_eq!(diagnostics.len(), 101);
    assert_eq!(diagnostics.count(windlass_source::Severity::Error), 2999);
    assert_eq!(diagnostics.last().unwrap().message, "2899 more errors are not shown");
}

#[test]
fn the_size_limit_of_a_source_can_be_raised() {
    let text = "a: b\n".to_owned() + &"#".repeat(windlass_source::files::MAX_SIZE);
    let refused = load(&Source::new("f", text.as_str()), &LoadOptions::default()).diagnostics;
    assert_snapshot!(refused.to_string(), @"f:1:1: error[WL0003]: the text has 16777221 bytes, 16777216 are allowed");
    let taken = load(&Source::with_limit("f", text.as_str(), text.len()), &LoadOptions::default());
    assert!(taken.diagnostics.is_empty(), "{}", taken.diagnostics);
}

#[test]
fn documents_of_a_stream_are_counted() {
    let read = |count| load(&Source::new("f", "---\n".repeat(count)), &LoadOptions::default());
    assert!(read(10_000).diagnostics.is_empty());
    let refused = read(20_000);
    assert_eq!(refused.documents.len(), 10_000);
    assert_snapshot!(refused.diagnostics.to_string(), @"f:10001:1: error[WL0003]: the text has more than 10000 documents");
}

#[test]
fn a_place_in_a_line_of_megabytes_is_found_at_once() {
    let text = "ä:,\u{feff}".repeat(500_000);
    let source = Source::new("f", text.as_str());
    let start = Instant::now();
    for n in 0..10_000 {
        let at = u32::try_from(n * 7 * 40).unwrap();
        let position = source.position(at);
        assert_eq!((position.line, position.column), (1, n * 3 * 40 + 1));
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn many_different_mistakes_end_in_time() {
    let start = Instant::now();
    let (_, loaded) = read(&"a: @b\ntype: x:: y\n- z\n\tt: 'u\n{\n".repeat(20_000));
    assert!(loaded.diagnostics.has_errors());
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
