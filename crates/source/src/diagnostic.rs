//! One problem of a document: [`Diagnostic`].

use std::fmt;

use serde::Serialize;

use crate::diagnostics::Rest;
use crate::{Code, Fix, Place};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document can't be used.
    Error,
    /// It can be used, but probably doesn't mean what its author thinks.
    Warning,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// A place and what is to be said there; the text may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// What stands there, or what it has to do with the problem: `declared here`.
    pub text: String,
}

/// One problem of a document, for people and for programs.
///
/// The message is one lower-case sentence without a full stop, with names in backticks; what to do is in
/// `help`, and in `fixes` where a program could do it.
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
    /// What it is called for good.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where; absent when the problem has no place, as a missing file.
    pub primary: Option<Label>,
    /// Other places that belong to it.
    pub related: Vec<Label>,
    /// What can be done about it.
    pub help: Option<String>,
    /// Edits that repair it; alternatives, of which the first is the best.
    pub fixes: Vec<Fix>,
    /// What it counts instead of a problem of its own; nothing unless it is the note of [`Diagnostics`].
    #[serde(skip)]
    pub(crate) rest: Rest,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// A note.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// A diagnostic of a severity that is known at run time only.
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
            rest: Rest::default(),
        }
    }

    /// Says where; keeps a label given before.
    pub fn at(mut self, place: Place) -> Self {
        let text = self.primary.take().map(|label| label.text).unwrap_or_default();
        self.primary = Some(Label { place, text });
        self
    }

    /// Says something at the primary place; call [`at`](Self::at) first, without a place it is dropped.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(primary) = &mut self.primary {
            primary.text = text.into();
        }
        self
    }

    /// Adds another place.
    pub fn related(mut self, place: Place, text: impl Into<String>) -> Self {
        self.related.push(Label { place, text: text.into() });
        self
    }

    /// Says what can be done.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a repair.
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }

    /// The primary place.
    pub fn place(&self) -> Option<&Place> {
        self.primary.as_ref().map(|label| &label.place)
    }

    /// The repair, where there is no choice: the only one that is offered.
    pub fn certain_fix(&self) -> Option<&Fix> {
        match &self.fixes[..] {
            [fix] => Some(fix),
            _ => None,
        }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// One line: `file:line:column: error[WL0001]: message`, without the place when there is none.
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
