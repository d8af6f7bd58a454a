//! What is wrong with a document, up to a number that a person could read.

use std::sync::Arc;

use crate::{Diagnostic, Diagnostics, Severity, Source, codes};

/// How many errors, and how many warnings, are reported of one text.
const MOST: usize = 1000;

/// Collects diagnostics; makes those only that are kept.
pub(super) struct Report {
    pub(super) source: Arc<Source>,
    diagnostics: Diagnostics,
    errors: usize,
    warnings: usize,
    ended: bool,
}

impl Report {
    pub(super) fn new(source: &Arc<Source>) -> Self {
        Self {
            source: Arc::clone(source),
            diagnostics: Diagnostics::new(),
            errors: 0,
            warnings: 0,
            ended: false,
        }
    }

    /// Adds a diagnostic of this severity, unless there are enough of them.
    pub(super) fn add(&mut self, severity: Severity, make: impl FnOnce(&Arc<Source>) -> Diagnostic) {
        let count = if severity == Severity::Error { &mut self.errors } else { &mut self.warnings };
        *count += 1;
        if *count <= MOST {
            self.diagnostics.push(make(&self.source));
        }
    }

    pub(super) fn error(&mut self, make: impl FnOnce(&Arc<Source>) -> Diagnostic) {
        self.add(Severity::Error, make);
    }

    /// Adds the error that tells why reading has ended; the first one, as what is cut off may meet other
    /// limits.
    pub(super) fn last(&mut self, diagnostic: Diagnostic) {
        if !std::mem::replace(&mut self.ended, true) {
            self.diagnostics.push(diagnostic);
        }
    }

    pub(super) fn finish(mut self) -> Diagnostics {
        let left_out = self.errors.saturating_sub(MOST) + self.warnings.saturating_sub(MOST);
        if left_out > 0 {
            self.diagnostics
                .push(Diagnostic::note(codes::LIMIT, format!("{left_out} more problems are not shown")));
        }
        self.diagnostics
    }
}
