//! One problem of a document: [`Diagnostic`].

use std::fmt;

use serde::Serialize;

use crate::severity::SeverityCounts;
use crate::{Code, Fix, Place, Severity};

/// A place in a document, with a few words about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Place in the document.
    pub place: Place,
    /// A few words about the place and its relation to the problem, such as `declared here`; or an empty text.
    pub text: String,
}

/// One problem of a document, for people and for programs.
///
/// The message is one lower-case sentence without a full stop, with names in backticks. The remedy is in
/// `help`, and in `fixes` if a program can apply it.
///
/// ```
/// use windlass_source::{Diagnostic, Source, Span, codes};
///
/// let source = Source::new("app.yaml", "a: 1\na: 2\n");
/// let diagnostic = Diagnostic::error(codes::DUPLICATE_KEY, "key `a` is given twice")
///     .at(source.place(Span::new(5, 6)))
///     .label("given again here")
///     .related(source.place(Span::new(0, 1)), "first given here")
///     .help("remove one of the two");
/// assert_eq!(diagnostic.to_string(), "app.yaml:2:1: error[WL0010]: key `a` is given twice");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[must_use]
pub struct Diagnostic {
    /// The stable code of the problem.
    pub code: Code,
    /// The severity of the problem.
    pub severity: Severity,
    /// The problem, in one sentence.
    pub message: String,
    /// Primary place; absent if the problem has no place, for example because a file is missing.
    pub primary: Option<Label>,
    /// Places that are related to the problem.
    pub related: Vec<Label>,
    /// The remedy, as a text for people.
    pub help: Option<String>,
    /// Alternative fixes, the best first.
    pub fixes: Vec<Fix>,
    /// The numbers of omitted diagnostics. Only the note at the end of [`Diagnostics`] states such numbers. In all
    /// other diagnostics, they are zero.
    #[serde(skip)]
    pub(crate) rest: SeverityCounts,
}

impl Diagnostic {
    /// Creates a diagnostic with the severity [`Severity::Error`].
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// Creates a diagnostic with the severity [`Severity::Warning`].
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// Creates a diagnostic with the severity [`Severity::Note`].
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// Creates a diagnostic with a severity that is known only at run time.
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            severity,
            message,
            primary: None,
            related: Vec::new(),
            help: None,
            fixes: Vec::new(),
            rest: SeverityCounts::default(),
        }
    }

    /// Sets the primary place of the diagnostic. If the primary place already has a label, the new place
    /// keeps the text of this label.
    pub fn at(mut self, place: Place) -> Self {
        let text = self.primary.take().map(|label| label.text).unwrap_or_default();
        self.primary = Some(Label { place, text });
        self
    }

    /// Sets the text of the label at the primary place. If no place was set by the method [`at`](Self::at)
    /// before, the text is dropped.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(primary) = &mut self.primary {
            primary.text = text.into();
        }
        self
    }

    /// Adds a related place.
    pub fn related(mut self, place: Place, text: impl Into<String>) -> Self {
        self.related.push(Label { place, text: text.into() });
        self
    }

    /// Sets the remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a fix that a program can apply.
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }

    /// Returns the primary place.
    pub fn place(&self) -> Option<&Place> {
        self.primary.as_ref().map(|label| &label.place)
    }

    /// Returns the fix if the diagnostic has exactly one. Between several fixes, a person must choose.
    pub fn certain_fix(&self) -> Option<&Fix> {
        match &self.fixes[..] {
            [fix] => Some(fix),
            _ => None,
        }
    }

    /// Tells whether the severity is [`Severity::Error`].
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Writes one line: `file:line:column: error[WL0001]: message`. If the diagnostic has no place, the line begins
/// with `error`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place() {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl From<Box<Diagnostic>> for Diagnostic {
    fn from(boxed: Box<Self>) -> Self {
        *boxed
    }
}
