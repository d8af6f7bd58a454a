//! All problems of one or more documents: [`Diagnostics`], limited in number.

use std::fmt;

use serde::Serialize;

use crate::severity::SeverityCounts;
use crate::{Diagnostic, Fix, Severity, codes};

/// The diagnostics of one or more documents.
///
/// At most [`MOST`](Self::MOST) errors are kept. Warnings and notes are counted together, and at most
/// [`MOST`](Self::MOST) of them are kept. A note at the end counts the omitted diagnostics. If a message is
/// costly to create, call [`leaves_out`](Self::leaves_out) first. It returns `true` if the diagnostic would be
/// omitted.
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
    /// Counts of the diagnostics in `list`. The note about omitted diagnostics is not counted.
    #[serde(skip)]
    kept: SeverityCounts,
    /// Counts of the diagnostics that are not in `list`, because a limit was reached.
    #[serde(skip)]
    rest: SeverityCounts,
    /// The counts in the note about omitted diagnostics, which is the last entry of `list`. If `list` has no note,
    /// all counts are 0. If further diagnostics are omitted, these counts are too low until [`Diagnostics::settle`]
    /// updates the note.
    #[serde(skip)]
    noted: SeverityCounts,
}

impl Diagnostics {
    /// Maximum number of kept errors. The same maximum applies to warnings and notes, which are counted
    /// together.
    pub const MOST: usize = 100;

    /// Creates an empty collection.
    pub const fn new() -> Self {
        let none = SeverityCounts { errors: 0, warnings: 0, notes: 0 };
        Self { list: Vec::new(), kept: none, rest: none, noted: none }
    }

    /// Adds a diagnostic, or only counts it if the limit for its severity is reached.
    pub fn push(&mut self, diagnostic: impl Into<Diagnostic>) {
        let diagnostic = diagnostic.into();
        if diagnostic.rest != SeverityCounts::default() {
            self.rest.add(diagnostic.rest);
            self.settle();
        } else if !self.leaves_out(diagnostic.severity) {
            self.keep(diagnostic);
        }
    }

    /// Tells whether the limit for this severity is reached.
    pub fn is_full(&self, severity: Severity) -> bool {
        self.kept.beside(severity) >= Self::MOST
    }

    /// If the limit for this severity is reached, counts an omitted diagnostic and returns `true`. The caller
    /// then need not create the diagnostic.
    pub fn leaves_out(&mut self, severity: Severity) -> bool {
        let full = self.is_full(severity);
        if full {
            *self.rest.of(severity) += 1;
        }
        full
    }

    /// Adds a diagnostic even if the limit is reached. The loader uses this function for the diagnostic that
    /// explains why the loader stopped reading.
    pub(crate) fn keep(&mut self, diagnostic: Diagnostic) {
        *self.kept.of(diagnostic.severity) += 1;
        self.list.insert(self.end(), diagnostic);
    }

    /// Removes the fixes from the earlier diagnostics that have the same code and the same place as `diagnostic`.
    /// Returns whether there was such a fix. A removed fix is wrong: the loader has applied the fix to a copy of the
    /// text, and has found the same error again.
    pub(crate) fn retract_fixes(&mut self, diagnostic: &Diagnostic) -> bool {
        let mut is_retracted = false;
        for known in self.list.iter_mut().filter(|known| known.code == diagnostic.code) {
            if known.place() == diagnostic.place() && !known.fixes.is_empty() {
                known.fixes.clear();
                is_retracted = true;
            }
        }
        is_retracted
    }

    /// Returns the number of diagnostics in the list. The note about omitted diagnostics is not counted.
    fn end(&self) -> usize {
        self.list.len() - usize::from(self.noted != SeverityCounts::default())
    }

    /// Updates the note about omitted diagnostics. The update is costly, so most additions only increase a
    /// count, and the note is updated later.
    fn settle(&mut self) {
        if self.noted != self.rest {
            self.list.truncate(self.end());
            self.list.push(note(self.rest));
            self.noted = self.rest;
        }
    }

    /// Tells whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Returns the number of diagnostics of this severity, including omitted ones. The note about omitted
    /// diagnostics is not counted.
    pub fn count(&self, severity: Severity) -> usize {
        let (mut kept, mut rest) = (self.kept, self.rest);
        *kept.of(severity) + *rest.of(severity)
    }

    /// Sorts the diagnostics by file, offset, severity and code. Diagnostics without a place come first. The
    /// note about omitted diagnostics stays last.
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

    /// Returns the first fix of each diagnostic.
    pub fn fixes(&self) -> impl Iterator<Item = &Fix> {
        self.list.iter().filter_map(|diagnostic| diagnostic.fixes.first())
    }

    /// Returns the diagnostics as a vector.
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

/// Creates the note at the end of a list, such as "3 more errors are not shown". [`Diagnostics::push`] recognises a
/// note by its field `rest`.
fn note(omitted: SeverityCounts) -> Diagnostic {
    let count = |count: usize, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} more {what}{plural}"))
    };
    let counts = [(omitted.errors, "error"), (omitted.warnings, "warning"), (omitted.notes, "note")];
    let counted: Vec<String> = counts.into_iter().filter_map(|(number, what)| count(number, what)).collect();
    let are = if omitted.errors + omitted.warnings + omitted.notes == 1 { "is" } else { "are" };
    let message = format!("{} {are} not shown", counted.join(" and "));
    Diagnostic { rest: omitted, ..Diagnostic::note(codes::LIMIT, message) }
}

/// Writes one diagnostic on each line.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.iter().try_for_each(|diagnostic| writeln!(f, "{diagnostic}"))
    }
}

impl std::error::Error for Diagnostics {}
