//! The true cause of a syntax error.

use std::sync::Arc;

use super::draft::Draft;
use super::yaml::Failure;
use crate::{Diagnostic, Diagnostics, Edit, Source, Span, codes};

/// An error with its cause, and how reading can go on.
pub(super) struct Cause {
    pub(super) diagnostic: Diagnostic,
    /// Edits of the draft; none when reading must stop.
    pub(super) repair: Option<Vec<Edit>>,
}

/// Reports invisible characters, and takes those that hinder out of the draft.
pub(super) fn invisible(_source: &Arc<Source>, _draft: &mut Draft<'_>) -> Diagnostics {
    Diagnostics::new()
}

/// Finds the cause of a syntax error.
pub(super) fn of(source: &Arc<Source>, draft: &Draft<'_>, failure: &Failure) -> Cause {
    let line = line_at(draft.text(), failure.at);
    let blank = Edit { span: Span::from(line.clone()), replacement: String::new() };
    let place = source.place(draft.span(failure.at..failure.at));
    let diagnostic = Diagnostic::error(codes::SYNTAX, failure.kind.to_string()).at(place);
    Cause { diagnostic, repair: Some(vec![blank]) }
}

/// The line around an offset, without its line break.
fn line_at(text: &str, at: usize) -> std::ops::Range<usize> {
    let at = at.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = text[at..].find(['\n', '\r']).map_or(text.len(), |found| at + found);
    start..end.max(start)
}
