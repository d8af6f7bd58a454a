//! The position of a syntax error ([`Site`]), and the error with its repair ([`Cause`]).

use std::ops::Range;
use std::sync::Arc;

use super::line::Line;
use crate::load::draft::Draft;
use crate::load::yaml::ErrorKind;
use crate::{Code, Diagnostic, Edit, Fix, Place, Source, Span};

/// The cause of a syntax error: a diagnostic, and the edits with which reading can continue.
pub(crate) struct Cause {
    pub(crate) diagnostic: Diagnostic,
    /// The edits after which the text is read again; `None` if reading must stop. The spans of the edits are byte
    /// offsets in the [`Draft`], which is the text with all earlier repairs.
    pub(crate) repair: Option<Vec<Edit>>,
}

/// The position of a syntax error: the parser has stopped at the offset `at` of `text`. `text` is the original text
/// with all earlier repairs (the [`Draft`]). All offsets and ranges are byte offsets in `text`.
pub(super) struct Site<'a> {
    pub(super) source: &'a Arc<Source>,
    pub(super) draft: &'a Draft<'a>,
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) kind: &'a ErrorKind,
}

impl<'a> Site<'a> {
    pub(super) fn line(&self) -> Line<'a> {
        Line::around(self.text, self.at)
    }

    pub(super) fn place(&self, range: Range<usize>) -> Place {
        self.source.place(self.draft.span(range))
    }

    pub(super) fn error(&self, code: Code, message: impl Into<String>, range: Range<usize>) -> Diagnostic {
        Diagnostic::error(code, message).at(self.place(range))
    }

    /// Returns the [`Cause`] for a syntax error whose correction is certain. `edits` are the correction; their
    /// spans are byte offsets in the [`Draft`]. The loader applies `edits` to the draft, and continues to read. The
    /// diagnostic offers the same edits to the user, as a fix of the original text.
    pub(super) fn fixed(
        &self,
        diagnostic: Diagnostic,
        description: impl Into<String>,
        edits: Vec<Edit>,
    ) -> Cause {
        let map = |edit: &Edit| Edit {
            span: self.draft.span(edit.span.range()),
            replacement: edit.replacement.clone(),
        };
        let fix = Fix::edits(description, edits.iter().map(map).collect());
        Cause { diagnostic: diagnostic.fix(fix), repair: Some(edits) }
    }

    /// Returns the [`Cause`] for a syntax error that only the user can correct. The diagnostic gets no fix. The
    /// loader removes the lines of `range` from the [`Draft`], so that the loader can read the rest of the text.
    pub(super) fn left_out(&self, diagnostic: Diagnostic, range: Range<usize>) -> Cause {
        let start = Line::around(self.text, range.start).start;
        let end = Line::around(self.text, range.end.max(range.start)).end();
        Cause { diagnostic, repair: Some(vec![edit(start..end, "")]) }
    }
}

/// Returns an edit that removes all lines that the edit `touched` would change. Each of these lines is removed
/// completely.
pub(crate) fn without_line(text: &str, touched: &Edit) -> Edit {
    let range = touched.span.range();
    edit(Line::around(text, range.start).start..Line::around(text, range.end).end(), "")
}

pub(super) fn edit(range: Range<usize>, replacement: impl Into<String>) -> Edit {
    Edit { span: Span::from(range), replacement: replacement.into() }
}
