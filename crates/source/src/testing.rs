//! Helpers for tests of the pages that `windlass explain` shows (feature `testing`).
//!
//! Every diagnostic has a code, and each code has a page that explains it. The first block of YAML on a page is an
//! example: a document that causes diagnostics with this code, and no other diagnostics. Each crate that defines codes
//! tests its own examples.

use std::collections::BTreeSet;

use crate::{CodeInfo, Diagnostics, apply_fixes};

/// Returns the example on the page that explains a code: the first block of YAML. `None` if the page has no such block.
pub fn example(info: &CodeInfo) -> Option<&'static str> {
    let (_, rest) = info.explanation.split_once("```yaml\n")?;
    rest.split_once("```").map(|(example, _)| example)
}

/// Checks the [examples](example) of codes, and returns the problems.
///
/// `check` receives a code and the text of its example, and returns the diagnostics of this text. `without`
/// lists the codes that have no example. There are three kinds of problems: an example is missing, a code in `without`
/// has an example, or `check` does not report exactly the code of the example.
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

/// Returns those of `codes` for which `check` offers a fix of the [example]. The returned codes keep their order.
///
/// `check` receives a code and the text of its example, and returns the diagnostics of this text. The function applies
/// the offered fixes to the example, and then checks the example again. A test compares the returned codes with the
/// expected codes, and so notices if `check` no longer offers a fix.
///
/// # Panics
/// If `check` reports the code of an example again after the fixes were applied.
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
