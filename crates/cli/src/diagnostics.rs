//! Diagnostics with the lines they are about.

use crate::output::tell;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use windlass::source::{Diagnostic, Label, Severity};

/// Prints diagnostics to standard error.
pub(crate) fn print<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) {
    for diagnostic in diagnostics {
        tell!("{}\n", render(diagnostic));
    }
}

/// Draws a diagnostic with its places underlined.
pub(crate) fn render(diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    if let Some(primary) = &diagnostic.primary {
        // Related places of the same file are drawn with the first, others on their own.
        let same = |label: &&Label| label.place.source().name() == primary.place.source().name();
        let (near, far): (Vec<&Label>, Vec<&Label>) = diagnostic.related.iter().partition(same);
        group = group.element(snippet(primary, &near));
        for label in far {
            group = group.element(snippet(label, &[]));
        }
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    Renderer::styled().render(&[group])
}

fn snippet<'a>(first: &'a Label, others: &[&'a Label]) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let annotation = |kind: AnnotationKind, label: &'a Label| {
        let annotation = kind.span(label.place.span().range());
        if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
    };
    let source = first.place.source();
    let mut snippet = Snippet::source(source.text())
        .path(source.name())
        .fold(true)
        .annotation(annotation(AnnotationKind::Primary, first));
    for label in others {
        snippet = snippet.annotation(annotation(AnnotationKind::Context, label));
    }
    snippet
}
