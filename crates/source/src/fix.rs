//! Repairs: edits that a program may apply, leaving the rest of the file byte for byte.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Span;

/// A repair of one problem: all of its edits, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// What it does, as an instruction: `quote the value`.
    pub description: String,
    /// The edits, which don't overlap.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// A repair that replaces one span.
    pub fn replace(description: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        Self { description: description.into(), edits: vec![Edit { span, replacement: replacement.into() }] }
    }

    /// A repair of several edits.
    pub fn edits(description: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self { description: description.into(), edits }
    }
}

/// Replaces the text of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// What is replaced, as byte offsets of the original text; empty to insert.
    pub span: Span,
    /// What stands there afterwards.
    pub replacement: String,
}

/// Applies repairs to the text they were made for.
///
/// A fix is applied whole or not at all: one that overlaps an earlier one is left out (run the check again to
/// get it), as is one whose spans are not of this text. Equal edits of several fixes are made once.
/// Everything else stays byte for byte.
///
/// ```
/// use windlass_source::{Fix, Span, apply_fixes};
///
/// let text = "descripion: a box  # kept\n";
/// let fix = Fix::replace("write `description`", Span::new(0, 10), "description");
/// assert_eq!(apply_fixes(text, [&fix]), "description: a box  # kept\n");
/// ```
pub fn apply_fixes<'a>(text: &str, fixes: impl IntoIterator<Item = &'a Fix>) -> String {
    // Edits that were taken don't overlap, so each can meet its neighbours only.
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

/// Whether two edits touch the same bytes, or insert at the same place (their order would be a guess).
fn overlap(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end || a == b || (a.is_empty() || b.is_empty()) && a.start == b.start
}
