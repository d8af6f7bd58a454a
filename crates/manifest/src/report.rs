//! Collects the problems of one manifest.

use std::sync::Arc;

use windlass_source::{Code, Diagnostic, Diagnostics, Severity, Source, Span, did_you_mean, listed};

/// The problems of one source.
pub(crate) struct Report<'a> {
    pub(crate) source: &'a Arc<Source>,
    pub(crate) diagnostics: &'a mut Diagnostics,
}

impl Report<'_> {
    /// Adds a problem at a place. `finish` adds help and related places to the diagnostic. No diagnostic is
    /// created beyond the limit for its severity.
    pub(crate) fn say(
        &mut self,
        severity: Severity,
        code: Code,
        span: Span,
        message: impl Into<String>,
        finish: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        if !self.diagnostics.leaves_out(severity) {
            let diagnostic = Diagnostic::new(severity, code, message).at(self.source.place(span));
            self.diagnostics.push(finish(diagnostic));
        }
    }

    /// Adds an error without help.
    pub(crate) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.say(Severity::Error, code, span, message, |diagnostic| diagnostic);
    }
}

/// Adds help to a diagnostic about the unknown word `word`. The help suggests the word of `words` that is most similar
/// to `word`. If no word is similar, the help lists `words`.
pub(crate) fn choose<'w>(
    diagnostic: Diagnostic,
    word: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Diagnostic {
    let words: Vec<&str> = words.into_iter().collect();
    let diagnostic = did_you_mean(diagnostic, word, words.iter().copied());
    match (diagnostic.help.is_some(), &words[..]) {
        (true, _) => diagnostic,
        (false, []) => diagnostic.help("there is none"),
        (false, [only]) => diagnostic.help(format!("there is `{only}`")),
        (false, words) => diagnostic.help(format!("there are {}", listed(words))),
    }
}
