//! Tests diagnostics as data: their order, codes and fixes.

use insta::{assert_json_snapshot, assert_snapshot};
use rstest::rstest;
use windlass_source::{
    Diagnostic, Diagnostics, Edit, Fix, Severity, Source, Span, apply_fixes, code_problems, codes,
};

#[test]
fn codes_are_unique_in_range_and_explained() {
    assert_eq!(code_problems(codes::CODES, 1..=99), Vec::<String>::new());
}

#[test]
fn problems_of_a_code_table_are_found() {
    mod bad {
        windlass_source::codes! {
            A = "WL0200", "a title.", "text";
            B = "WL0100", "", "text";
            C = "WL0100", "c", " ";
            D = "X1", "d", "text";
        }
    }
    assert_snapshot!(code_problems(bad::CODES, 100..=199).join("\n"), @r#"
    WL0200: outside 0100–0199
    WL0200: a title is a few words without a full stop
    WL0100: a title is a few words without a full stop
    WL0100: declared twice
    WL0100: no explanation
    X1: not `WL` and four digits
    codes are not in order
    "#);
}

#[test]
fn a_diagnostic_is_data() {
    let source = Source::new("a.yaml", "descripion: x\n");
    let diagnostic = Diagnostic::warning(codes::UNKNOWN_KEY, "unknown key `descripion`")
        .at(source.place(Span::new(0, 10)))
        .label("not known here")
        .help("did you mean `description`?")
        .fix(Fix::replace("write `description`", Span::new(0, 10), "description"));
    assert_json_snapshot!(diagnostic, @r#"
    {
      "code": "WL0040",
      "severity": "warning",
      "message": "unknown key `descripion`",
      "primary": {
        "place": {
          "file": "a.yaml",
          "line": 1,
          "column": 1,
          "end_line": 1,
          "end_column": 11
        },
        "text": "not known here"
      },
      "related": [],
      "help": "did you mean `description`?",
      "fixes": [
        {
          "description": "write `description`",
          "edits": [
            {
              "span": {
                "start": 0,
                "end": 10
              },
              "replacement": "description"
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn sorting_goes_by_file_place_and_severity() {
    let (a, b) = (Source::new("a", "xyz"), Source::new("b", "xyz"));
    let at = |source: &std::sync::Arc<Source>, at, message| {
        Diagnostic::error(codes::SYNTAX, message).at(source.place(Span::new(at, at + 1)))
    };
    let note = Diagnostic::note(codes::SYNTAX, "4").at(a.place(Span::new(1, 2)));
    let mut all: Diagnostics =
        vec![at(&b, 0, "5"), note, at(&a, 1, "3"), at(&a, 0, "2"), Diagnostic::error(codes::LIMIT, "1")]
            .into();
    all.sort();
    assert_eq!(all.iter().map(|d| d.message.as_str()).collect::<String>(), "12345");
    assert_eq!((all.count(Severity::Error), all.count(Severity::Note)), (4, 1));
    assert!(all.has_errors());
}

fn edit(range: std::ops::Range<u32>, replacement: &str) -> Edit {
    Edit { span: Span::new(range.start, range.end), replacement: replacement.to_owned() }
}

#[rstest]
#[case::in_any_order(&[("b", vec![edit(5..6, "B")]), ("a", vec![edit(0..1, "A")])], "A ö B\r\n")]
#[case::insertion_and_removal(&[("", vec![edit(1..1, "!"), edit(2..4, "")])], "a!  b\r\n")]
#[case::overlap_drops_the_later(&[("", vec![edit(0..2, "x")]), ("", vec![edit(1..5, "y")])], "xö b\r\n")]
#[case::whole_or_not_at_all(&[("", vec![edit(0..1, "A")]), ("", vec![edit(0..2, "x"), edit(5..6, "B")])], "A ö b\r\n")]
#[case::equal_edits_once(&[("", vec![edit(0..0, "-")]), ("", vec![edit(0..0, "-"), edit(5..6, "B")])], "-a ö B\r\n")]
#[case::foreign_spans(&[("", vec![edit(3..4, "x")]), ("", vec![edit(90..91, "x")])], "a ö b\r\n")]
fn fixes_touch_nothing_else(#[case] fixes: &[(&str, Vec<Edit>)], #[case] expected: &str) {
    let fixes: Vec<Fix> = fixes.iter().map(|(text, edits)| Fix::edits(*text, edits.clone())).collect();
    assert_eq!(apply_fixes("a ö b\r\n", &fixes), expected);
}
