//! Tests of the pages of codes, for every crate that declares codes (feature `testing`).
//!
//! The first block of YAML on a page is its example. The example gets the code of its page and no other.

use std::collections::BTreeSet;

use crate::{CodeInfo, Diagnostics, apply_fixes};

/// Returns the example of a page: its first block of YAML.
pub fn example(info: &CodeInfo) -> Option<&'static str> {
    let (_, rest) = info.explanation.split_once("```yaml\n")?;
    rest.split_once("```").map(|(example, _)| example)
}

/// Returns the problems of the pages' examples.
///
/// `check` gets a code and the text of its example, and returns the diagnostics of that text. Reports each
/// page without an example, unless `without` lists its code; each page that `without` lists although it has
/// an example; and each example whose diagnostics do not have exactly the code of the page.
pub fn page_problems(
    codes: &[CodeInfo],
    without: &[&str],
    check: impl Fn(&str, &str) -> Diagnostics,
) -> Vec<String> {
    let mut problems = Vec::new();
    for info in codes {
        let code = info.code.as_str();
        match (example(info), without.contains(&code)) {
            (None, true) => {}
            (None, false) => problems.push(format!("{code}: no example")),
            (Some(_), true) => problems.push(format!("{code}: an example, although none is expected")),
            (Some(text), false) => {
                let diagnostics = check(code, text);
                let found: BTreeSet<&str> = diagnostics.iter().map(|found| found.code.as_str()).collect();
                if found != BTreeSet::from([code]) {
                    problems.push(format!("{code}: the example gets {found:?}: {diagnostics}"));
                }
            }
        }
    }
    problems
}

/// Returns the codes whose examples have fixes, in the order of the table.
///
/// A test compares the list, so that a fix that is no longer offered is noticed.
///
/// # Panics
/// If the fixes of an example do not remove its code.
pub fn repaired_pages(codes: &[CodeInfo], check: impl Fn(&str, &str) -> Diagnostics) -> Vec<&'static str> {
    let mut repaired = Vec::new();
    for info in codes {
        let Some(text) = example(info) else { continue };
        let code = info.code.as_str();
        let before = check(code, text);
        if before.fixes().next().is_none() {
            continue;
        }
        let text = apply_fixes(text, before.fixes());
        let left = check(code, &text);
        assert!(left.iter().all(|left| left.code != info.code), "{code}: {left}\n{text}");
        repaired.push(code);
    }
    repaired
}
