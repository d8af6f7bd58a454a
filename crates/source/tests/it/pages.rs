//! Tests the page of every code. Its example gets exactly that code, and a fixed example is free of it.

use serde::Deserialize;
use windlass_source::{
    CodeInfo, Diagnostics, LoadOptions, Reading, Source, apply_fixes, code_problems, codes, load_one,
};

/// The document type for the pages of typed reading.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only reading it is tested")]
struct Service {
    name: String,
    port: Option<u16>,
}

/// Pages without an example: of bytes that are not text, and of documents that are too large to print.
const WITHOUT_TEXT: [&str; 2] = ["WL0002", "WL0003"];

fn example(info: &CodeInfo) -> Option<&'static str> {
    let (_, rest) = info.explanation.split_once("```yaml\n")?;
    rest.split_once("```").map(|(example, _)| example)
}

fn said(code: &str, text: &str) -> Diagnostics {
    let source = Source::new("example.yaml", text);
    let options = if code == "WL0030" { LoadOptions::json() } else { LoadOptions::default() };
    let loaded = load_one(&source, &options);
    let mut diagnostics = loaded.diagnostics;
    if let (Some(root), "WL0040" | "WL0041") = (loaded.root, code)
        && let Err(error) = root.parse::<Service>(&source, Reading::Script)
    {
        diagnostics.push(error);
    }
    diagnostics
}

#[test]
fn every_page_has_an_example_that_gets_its_code_and_no_other() {
    let mut wrong = code_problems(codes::CODES, 1..=99);
    for info in codes::CODES {
        let code = info.code.as_str();
        match example(info) {
            None if WITHOUT_TEXT.contains(&code) => {}
            None => wrong.push(format!("{code}: no example")),
            Some(text) => {
                let found: Vec<String> =
                    said(code, text).iter().map(|found| found.code.to_string()).collect();
                if found.is_empty() || found.iter().any(|found| found != code) {
                    wrong.push(format!("{code}: the example gets {found:?}"));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_fix_of_an_example_repairs_it() {
    let mut fixed = Vec::new();
    for info in codes::CODES {
        let Some(text) = example(info) else { continue };
        let code = info.code.as_str();
        let before = said(code, text);
        if before.fixes().next().is_none() {
            continue;
        }
        let repaired = apply_fixes(text, before.fixes());
        assert_eq!(said(code, &repaired).to_string(), "", "{code}: {repaired}");
        fixed.push(code);
    }
    // A missing entry shows that a fix is no longer offered.
    assert_eq!(
        fixed,
        [
            "WL0001", "WL0005", "WL0006", "WL0008", "WL0009", "WL0016", "WL0017", "WL0019", "WL0020",
            "WL0021", "WL0040"
        ]
    );
}
