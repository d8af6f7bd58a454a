//! Checks of the pages of codes, for the tests of every crate that declares codes (feature `testing`).
//!
//! The first block of YAML on a page is its example. The example must cause the code of its page, and no
//! other code.

use std::collections::BTreeSet;

use crate::{CodeInfo, Diagnostics, apply_fixes};

/// Returns the example of a page: its first block of YAML.
pub fn example(info: &CodeInfo) -> Option<&'static str> {
    let (_, rest) = info.explanation.split_once("```yaml\n")?;
    rest.split_once("```").map(|(example, _)| example)
}

/// Returns the problems of the pages' examples.
///
/// `check` receives a code and the text of its example, and returns the diagnostics of this text. `without`
/// lists the codes of pages without an example. There are three kinds of problems: a page that lacks an
/// example, a page in `without` that has an example, and an example that does not cause exactly the code of
/// its page.
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
/// A test compares the list with the expected one, so that a missing fix is noticed.
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
