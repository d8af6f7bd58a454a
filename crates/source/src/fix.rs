//! Fixes of problems, as edits that a program can apply. The rest of the file stays unchanged.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Span;

/// A fix of one problem. Its edits are applied together or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// Instruction for people: `quote the value`.
    pub description: String,
    /// Edits, which don't overlap.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// Creates a fix with a single edit, which replaces a span.
    pub fn replace(description: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        Self { description: description.into(), edits: vec![Edit { span, replacement: replacement.into() }] }
    }

    /// Creates a fix of several edits.
    pub fn edits(description: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self { description: description.into(), edits }
    }
}

/// A replacement of one span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// Replaced byte range of the original text; empty for an insertion.
    pub span: Span,
    /// The text that replaces the span.
    pub replacement: String,
}

/// Applies fixes to the text for which they were created, and returns the new text.
///
/// A fix is applied completely or not at all. A fix is skipped if it overlaps an earlier fix, or if its spans are
/// not in this text. The problem of a skipped fix remains, so a new check of the text reports it again. If several
/// fixes contain the same edit, this edit is applied once. Bytes outside of all edits stay unchanged.
///
/// ```
/// use windlass_source::{Fix, Span, apply_fixes};
///
/// let text = "descripion: a box  # kept\n";
/// let fix = Fix::replace("write `description`", Span::new(0, 10), "description");
/// assert_eq!(apply_fixes(text, [&fix]), "description: a box  # kept\n");
/// ```
pub fn apply_fixes<'a>(text: &str, fixes: impl IntoIterator<Item = &'a Fix>) -> String {
    // Accepted edits don't overlap. So a new edit needs to be compared only with its neighbours.
    let mut taken: BTreeMap<Span, &Edit> = BTreeMap::new();
    for fix in fixes {
        let fits = |edit: &Edit| text.get(edit.span.range()).is_some();
        let fresh: Vec<&Edit> =
            fix.edits.iter().filter(|edit| taken.get(&edit.span).is_none_or(|same| same != edit)).collect();
        let apart = |edit: &Edit| {
            let before = taken.range(..=edit.span).next_back();
            let after = taken.range(edit.span..).next();
            !before.into_iter().chain(after).any(|(&other, _)| overlap(edit.span, other))
        };
        if fix.edits.iter().all(fits) && fresh.iter().all(|edit| apart(edit)) {
            taken.extend(fresh.into_iter().map(|edit| (edit.span, edit)));
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in taken.into_values() {
        out.push_str(&text[done..edit.span.start as usize]);
        out.push_str(&edit.replacement);
        done = edit.span.end as usize;
    }
    out.push_str(&text[done..]);
    out
}

/// Tells whether two edits exclude each other. `a` and `b` are the spans of the edits. Two edits exclude each other in
/// these cases:
///
/// - They change the same byte.
/// - They start at the same offset and one of them is an insertion, so their order would be undefined.
fn overlap(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end || a == b || (a.is_empty() || b.is_empty()) && a.start == b.start
}
