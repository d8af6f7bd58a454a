//! Output of diagnostics with the lines that they refer to.

use std::borrow::Cow;

use crate::conceal::Seen;
use crate::output::{marked, tell, visible};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use windlass::source::{Diagnostic, Label, Severity, Source};

/// Prints diagnostics to standard error.
pub(crate) fn print<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) {
    let mut seen = Seen::default();
    for diagnostic in diagnostics {
        tell!("{}\n", render(diagnostic, &mut seen));
    }
}

/// Renders a diagnostic with its places underlined.
fn render(diagnostic: &Diagnostic, seen: &mut Seen) -> String {
    let diagnostic = &seen.without_secrets(diagnostic);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(visible(&diagnostic.message)).id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    if let Some(primary) = &diagnostic.primary {
        // Related places near the primary place are drawn together with it. All other related places are
        // drawn separately.
        let (near, far): (Vec<&Label>, Vec<&Label>) =
            diagnostic.related.iter().partition(|label| is_near(primary, label));
        group = drawn(group, primary, &near, seen);
        for label in far {
            group = drawn(group, label, &[], seen);
        }
    }
    if let Some(help) = diagnostic.help.as_deref() {
        group = group.element(Level::HELP.message(visible(help)));
    }
    marked(&Renderer::styled().render(&[group]))
}

/// Length in bytes that limits how much source text is drawn. A file of several megabytes can be a single line.
///
/// * If a place has at least this length, only its first line is drawn.
/// * If two places start at least this far apart, they are drawn separately.
/// * If the lines to draw have more than four times this length together, no line is drawn.
const WINDOW: usize = 16 << 10;

/// Tells whether two labels are drawn in one snippet. They must be in the same source and start less than [`WINDOW`]
/// bytes apart.
fn is_near(one: &Label, other: &Label) -> bool {
    let apart = one.place.span().start.abs_diff(other.place.span().start);
    one.place.source().name() == other.place.source().name() && (apart as usize) < WINDOW
}

fn drawn<'a>(group: Group<'a>, first: &'a Label, others: &[&'a Label], seen: &mut Seen) -> Group<'a> {
    if let Some(snippet) = snippet(first, others, seen) {
        return group.element(snippet);
    }
    let start = first.place.start();
    let name = visible(first.place.source().name());
    let origin = Origin::path(name).line(start.line).char_column(start.column);
    let group = group.element(origin);
    if first.text.is_empty() { group } else { group.element(Level::NOTE.message(visible(&first.text))) }
}

/// Creates a snippet: the source lines from the first to the last label, with all labels marked. Returns `None` if
/// these lines are too long together (see [`WINDOW`]), or if the text of the source must not be shown.
fn snippet<'a>(
    first: &'a Label,
    others: &[&'a Label],
    seen: &mut Seen,
) -> Option<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let source = first.place.source();
    if source.is_hidden() {
        return None;
    }
    let all = || others.iter().copied().chain([first]);
    let top = all().map(|label| label.place.start().line).min()?;
    let begin = source.line(top)?.range().start;
    let end = all().map(|label| end_of(source, label)).max()?;
    if end - begin > 4 * WINDOW {
        return None;
    }
    let annotation = |kind: AnnotationKind, label: &'a Label| {
        let span = label.place.span().range();
        let annotation = kind.span(span.start - begin..span.end.min(end) - begin);
        if label.text.is_empty() { annotation } else { annotation.label(visible(&label.text)) }
    };
    let text = source.text().get(begin..end)?;
    let concealed = seen.concealed(source);
    let text = if concealed.is_empty() {
        printable(text)
    } else {
        Cow::Owned(printable(&concealed.masked(source.text(), begin..end)).into_owned())
    };
    let mut snippet = Snippet::source(text)
        .line_start(top)
        .path(visible(source.name()))
        .fold(true)
        .annotation(annotation(AnnotationKind::Primary, first));
    for label in others {
        snippet = snippet.annotation(annotation(AnnotationKind::Context, label));
    }
    Some(snippet)
}

/// Returns the byte offset in `source` at which the printed excerpt for `label` ends. If the place of `label` has
/// less than [`WINDOW`] bytes, the excerpt includes the whole last line of the place. For a longer place, the
/// excerpt ends with the first line of the place.
fn end_of(source: &Source, label: &Label) -> usize {
    let span = label.place.span();
    let last = if span.len() < WINDOW { label.place.end().line } else { label.place.start().line };
    source.line(last + 1).map_or(source.text().len(), |next| next.range().start)
}

/// Replaces control characters that the renderer would print unchanged. Each replacement has the same number
/// of bytes, so that positions stay valid.
fn printable(text: &str) -> Cow<'_, str> {
    let is_printed = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}');
    if !text.contains(is_printed) {
        return Cow::Borrowed(text);
    }
    let sign = |c: char| match c {
        c if !is_printed(c) => c,
        c if c.len_utf8() == 2 => '\u{a4}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(text.chars().map(sign).collect())
}
