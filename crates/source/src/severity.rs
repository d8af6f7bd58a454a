//! The severity of a diagnostic, and counts of the diagnostics of each severity.

use std::fmt;

use serde::Serialize;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document can't be used.
    Error,
    /// The document can be used, but probably doesn't mean what its author intends.
    Warning,
    /// The diagnostic is additional information.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeverityCounts {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) notes: usize,
}

impl SeverityCounts {
    pub(crate) fn of(&mut self, severity: Severity) -> &mut usize {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        }
    }

    /// Returns the number of errors if `severity` is [`Severity::Error`]. Otherwise, returns the number of warnings
    /// and notes together, because warnings and notes share one limit.
    pub(crate) fn beside(self, severity: Severity) -> usize {
        if severity == Severity::Error { self.errors } else { self.warnings + self.notes }
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.errors += more.errors;
        self.warnings += more.warnings;
        self.notes += more.notes;
    }
}
