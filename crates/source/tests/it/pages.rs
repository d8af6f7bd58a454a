//! Tests the documentation page of every diagnostic code. The example on a page must cause exactly the page's code. The
//! fixed example must not cause this code.

use serde::Deserialize;
use windlass_source::testing::{page_problems, repaired_pages};
use windlass_source::{Diagnostics, LoadOptions, Reading, Source, code_problems, codes, formatted, load_one};

/// The document type for the examples about typed documents.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only reading it is tested")]
struct Service {
    name: String,
    port: Option<u16>,
}

/// Codes of pages without an example. They are about bytes that are no text, and about documents that are too
/// large.
const WITHOUT_TEXT: [&str; 2] = ["WL0002", "WL0003"];

fn said(code: &str, text: &str) -> Diagnostics {
    let source = Source::new("example.yaml", text);
    let options = if code == "WL0030" { LoadOptions::json() } else { LoadOptions::default() };
    let loaded = load_one(&source, &options);
    let mut diagnostics = loaded.diagnostics;
    if code == "WL0042"
        && let Err(problems) = formatted(&source)
    {
        diagnostics.extend(problems);
    }
    if let (Some(root), "WL0040" | "WL0041") = (loaded.root, code)
        && let Err(error) = root.parse::<Service>(&source, Reading::Script)
    {
        diagnostics.push(error);
    }
    diagnostics
}

#[test]
fn every_page_has_an_example_that_gets_its_code_and_no_other() {
    assert_eq!(code_problems(codes::CODES, 1..=99), Vec::<String>::new());
    assert_eq!(page_problems(codes::CODES, &WITHOUT_TEXT, said), Vec::<String>::new());
}

/// Each page describes one code. The check must report a page if its example is missing, if its example causes an error
/// with another code, or if the page has an example but should have none.
#[test]
fn a_wrong_page_is_reported() {
    mod wrong {
        windlass_source::codes! {
            NO_EXAMPLE = "WL0091", "no example", "There is none.";
            OTHER_CODE = "WL0092", "another code", "See:\n\n```yaml\na: 1\na: 2\n```";
            NO_PROBLEM = "WL0093", "no problem", "See:\n\n```yaml\na: 1\n```";
        }
    }
    let problems = page_problems(wrong::CODES, &["WL0093"], said);
    let starts = [
        "WL0091: no example",
        "WL0092: the example gets {\"",
        "WL0093: an example, although none is expected",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn every_fix_of_an_example_repairs_it() {
    assert_eq!(
        repaired_pages(codes::CODES, said),
        [
            "WL0001", "WL0005", "WL0006", "WL0008", "WL0009", "WL0016", "WL0017", "WL0019", "WL0020",
            "WL0021", "WL0040"
        ]
    );
}
