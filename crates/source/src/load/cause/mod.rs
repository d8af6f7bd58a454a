//! Finds the actual cause of a syntax error.
//!
//! The position where a parser stops is often misleading: it notices an unclosed quote some lines later, and
//! a missing colon at the next one. Each function here recognises one common mistake from the text around
//! that position. The first match wins, so the functions are sorted from the certain to the vague.

mod flow;
mod invisible;
mod layout;
mod line;
mod scalar;

use std::ops::Range;
use std::sync::Arc;

use super::draft::Draft;
use super::yaml::{ErrorKind, Failure};
use crate::{Code, Diagnostic, Edit, Fix, Place, Source, Span, codes};
use line::Line;

pub(super) use invisible::invisible;

/// An error with its cause, and the edits with which reading can continue.
pub(super) struct Cause {
    pub(super) diagnostic: Diagnostic,
    /// Edits of the draft; `None` when reading must stop.
    pub(super) repair: Option<Vec<Edit>>,
}

/// Finds the cause of a syntax error.
pub(super) fn of(source: &Arc<Source>, draft: &Draft<'_>, failure: &Failure) -> Cause {
    const MISTAKES: [fn(&Site<'_>) -> Option<Cause>; 21] = [
        too_deep,
        layout::conflict,
        layout::tab,
        layout::escaped_comment,
        layout::ellipsis,
        flow::reference,
        scalar::escape,
        scalar::trailing_text,
        scalar::unclosed_quote,
        flow::unclosed_bracket,
        flow::colon,
        layout::missing_colon,
        layout::missing_space,
        layout::continued_key,
        scalar::colon_in_text,
        scalar::reserved_character,
        scalar::block_header,
        layout::below_a_value,
        layout::fits_nowhere,
        layout::item,
        layout::behind_the_end,
    ];
    let site = Site {
        source,
        draft,
        text: draft.text(),
        at: failure.at.min(draft.text().len()),
        kind: &failure.kind,
    };
    MISTAKES.iter().find_map(|mistake| mistake(&site)).unwrap_or_else(|| unknown(&site))
}

/// Reports lines that start with `\#` and were read as text, all in one diagnostic.
pub(super) fn comments_as_text(source: &Arc<Source>, draft: &Draft<'_>, at: &[usize]) -> Option<Cause> {
    let site =
        Site { source, draft, text: draft.text(), at: *at.first()?, kind: &ErrorKind::SimpleKeyExpected };
    Some(layout::escaped_comments(&site, at))
}

/// The position where the parser stopped, and the text at that time. All offsets are those of the draft.
struct Site<'a> {
    source: &'a Arc<Source>,
    draft: &'a Draft<'a>,
    text: &'a str,
    at: usize,
    kind: &'a ErrorKind,
}

impl<'a> Site<'a> {
    /// Returns the line of the position.
    fn line(&self) -> Line<'a> {
        Line::around(self.text, self.at)
    }

    fn place(&self, range: Range<usize>) -> Place {
        self.source.place(self.draft.span(range))
    }

    fn error(&self, code: Code, message: impl Into<String>, range: Range<usize>) -> Diagnostic {
        Diagnostic::error(code, message).at(self.place(range))
    }

    /// Creates a cause whose repair is certain enough to be offered as a fix.
    fn fixed(&self, diagnostic: Diagnostic, description: impl Into<String>, edits: Vec<Edit>) -> Cause {
        let map = |edit: &Edit| Edit {
            span: self.draft.span(edit.span.range()),
            replacement: edit.replacement.clone(),
        };
        let fix = Fix::edits(description, edits.iter().map(map).collect());
        Cause { diagnostic: diagnostic.fix(fix), repair: Some(edits) }
    }

    /// Creates a cause that only the author can fix. The lines of `range` are removed from the draft.
    fn left_out(&self, diagnostic: Diagnostic, range: Range<usize>) -> Cause {
        let start = Line::around(self.text, range.start).start;
        let end = Line::around(self.text, range.end.max(range.start)).end();
        Cause { diagnostic, repair: Some(vec![edit(start..end, "")]) }
    }
}

/// Returns an edit that removes the lines that another one touches.
pub(super) fn without_line(text: &str, touched: &Edit) -> Edit {
    let range = touched.span.range();
    edit(Line::around(text, range.start).start..Line::around(text, range.end).end(), "")
}

fn edit(range: Range<usize>, replacement: impl Into<String>) -> Edit {
    Edit { span: Span::from(range), replacement: replacement.into() }
}

fn too_deep(site: &Site<'_>) -> Option<Cause> {
    if *site.kind != ErrorKind::RecursionLimitExceeded {
        return None;
    }
    let message = "lists and mappings are nested deeper than is allowed";
    Some(Cause { diagnostic: site.error(codes::LIMIT, message, site.at..site.at), repair: None })
}

/// Reports the parser's own message.
fn unknown(site: &Site<'_>) -> Cause {
    let line = site.line();
    let end = site.text[site.at..]
        .chars()
        .next()
        .filter(|&c| c != '\n')
        .map_or(site.at, |c| site.at + c.len_utf8());
    site.left_out(site.error(codes::SYNTAX, site.kind.to_string(), site.at..end), line.start..line.start)
}
