//! All problems of one or more documents: [`Diagnostics`], bounded.

use std::fmt;

use serde::Serialize;

use crate::{Diagnostic, Fix, Severity, codes};

/// All that is said about one or more documents.
///
/// At most [`MOST`](Self::MOST) errors are kept, and as many warnings and notes. The rest is counted by a note at the
/// end. A producer whose message costs more than a few words asks [`leaves_out`](Self::leaves_out) first.
///
/// ```
/// use windlass_source::{Diagnostic, Diagnostics, Severity, codes};
///
/// let problem = || Diagnostic::error(codes::SYNTAX, "wrong");
/// let said: Diagnostics = std::iter::repeat_with(problem).take(250).collect();
/// assert_eq!(said.len(), 101);
/// assert_eq!(said.count(Severity::Error), 250);
/// assert_eq!(said.last().unwrap().message, "150 more errors are not shown");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// How many of each are kept.
    #[serde(skip)]
    kept: Rest,
    /// What is left out.
    #[serde(skip)]
    rest: Rest,
    /// What the note at the end of the list says of that; it may be behind until [`Diagnostics::settle`].
    #[serde(skip)]
    noted: Rest,
}

/// How many problems there are, or are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Rest {
    fn of(&mut self, severity: Severity) -> &mut usize {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        }
    }

    /// How many there are of those that share a bound with this severity.
    fn beside(self, severity: Severity) -> usize {
        if severity == Severity::Error { self.errors } else { self.warnings + self.notes }
    }

    fn add(&mut self, more: Self) {
        self.errors += more.errors;
        self.warnings += more.warnings;
        self.notes += more.notes;
    }

    /// Says that they are left out.
    fn note(self) -> Diagnostic {
        let count = |count: usize, what: &str| {
            let plural = if count == 1 { "" } else { "s" };
            (count > 0).then(|| format!("{count} more {what}{plural}"))
        };
        let counts = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let told: Vec<String> = counts.into_iter().filter_map(|(number, what)| count(number, what)).collect();
        let are = if self.errors + self.warnings + self.notes == 1 { "is" } else { "are" };
        let message = format!("{} {are} not shown", told.join(" and "));
        Diagnostic { rest: self, ..Diagnostic::note(codes::LIMIT, message) }
    }
}

impl Diagnostics {
    /// The most errors that are kept, and the most warnings and notes.
    pub const MOST: usize = 100;

    /// An empty collection.
    pub const fn new() -> Self {
        let none = Rest { errors: 0, warnings: 0, notes: 0 };
        Self { list: Vec::new(), kept: none, rest: none, noted: none }
    }

    /// Adds one, or counts it where there are enough.
    pub fn push(&mut self, diagnostic: impl Into<Diagnostic>) {
        let diagnostic = diagnostic.into();
        if diagnostic.rest != Rest::default() {
            self.rest.add(diagnostic.rest);
            self.settle();
        } else if !self.leaves_out(diagnostic.severity) {
            self.keep(diagnostic);
        }
    }

    /// Whether there are enough of this severity.
    pub fn is_full(&self, severity: Severity) -> bool {
        self.kept.beside(severity) >= Self::MOST
    }

    /// Counts one more of this severity if there are enough of it, and says so. Then nothing needs to be made for it.
    pub fn leaves_out(&mut self, severity: Severity) -> bool {
        let full = self.is_full(severity);
        if full {
            *self.rest.of(severity) += 1;
        }
        full
    }

    /// Adds one that must not be left out: it tells why there is no more.
    pub(crate) fn keep(&mut self, diagnostic: Diagnostic) {
        *self.kept.of(diagnostic.severity) += 1;
        self.list.insert(self.end(), diagnostic);
    }

    /// How many of the list are problems: all but the note.
    fn end(&self) -> usize {
        self.list.len() - usize::from(self.noted != Rest::default())
    }

    /// Makes the note say what is left out. It costs more than counting, so it is not done for each.
    fn settle(&mut self) {
        if self.noted != self.rest {
            self.list.truncate(self.end());
            self.list.push(self.rest.note());
            self.noted = self.rest;
        }
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// How many have this severity, with those that are left out. The note that counts these is none of them.
    pub fn count(&self, severity: Severity) -> usize {
        let (mut kept, mut rest) = (self.kept, self.rest);
        *kept.of(severity) + *rest.of(severity)
    }

    /// Puts them in the order of the text: by file, offset, severity, code; those without a place first. The note that
    /// counts the rest comes last.
    pub fn sort(&mut self) {
        self.settle();
        let end = self.end();
        self.list[..end].sort_by(|a, b| {
            let key = |d: &Diagnostic| (d.severity, d.code);
            a.place()
                .cmp(&b.place())
                .then_with(|| key(a).cmp(&key(b)))
                .then_with(|| a.message.cmp(&b.message))
        });
    }

    /// The first fix of each.
    pub fn fixes(&self) -> impl Iterator<Item = &Fix> {
        self.list.iter().filter_map(|diagnostic| diagnostic.fixes.first())
    }

    /// The diagnostics as a vector.
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        self.settle();
        self.list
    }
}

impl std::ops::Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.list
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.into_iter().collect()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(iter: I) -> Self {
        let mut all = Self::new();
        all.extend(iter);
        all
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        iter.into_iter().for_each(|diagnostic| self.push(diagnostic));
        self.settle();
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// One diagnostic a line.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.iter().try_for_each(|diagnostic| writeln!(f, "{diagnostic}"))
    }
}
