//! What is wrong with a document, made only as far as it is kept.

use std::sync::Arc;

use crate::{Diagnostic, Diagnostics, Severity, Source};

/// Collects diagnostics; makes those only that are kept.
pub(super) struct Report {
    pub(super) source: Arc<Source>,
    diagnostics: Diagnostics,
    ended: bool,
}

impl Report {
    pub(super) fn new(source: &Arc<Source>) -> Self {
        Self { source: Arc::clone(source), diagnostics: Diagnostics::new(), ended: false }
    }

    /// Adds a diagnostic of this severity, unless there are enough of them.
    pub(super) fn add(&mut self, severity: Severity, make: impl FnOnce(&Arc<Source>) -> Diagnostic) {
        if !self.diagnostics.leaves_out(severity) {
            self.diagnostics.push(make(&self.source));
        }
    }

    pub(super) fn error(&mut self, make: impl FnOnce(&Arc<Source>) -> Diagnostic) {
        self.add(Severity::Error, make);
    }

    /// Keeps the error that tells why reading has ended, however many there are; the first one, as what is cut off may
    /// meet other limits.
    pub(super) fn last(&mut self, diagnostic: Diagnostic) {
        if !std::mem::replace(&mut self.ended, true) {
            self.diagnostics.keep(diagnostic);
        }
    }

    pub(super) fn finish(self) -> Diagnostics {
        self.diagnostics
    }
}
