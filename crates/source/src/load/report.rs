//! The collector of a document's diagnostics.

use std::sync::Arc;

use crate::{Diagnostic, Diagnostics, Severity, Source};

/// A collector of diagnostics. Diagnostics beyond the limit are counted, but not created.
pub(super) struct Report {
    pub(super) source: Arc<Source>,
    diagnostics: Diagnostics,
    ended: bool,
}

impl Report {
    pub(super) fn new(source: &Arc<Source>) -> Self {
        Self { source: Arc::clone(source), diagnostics: Diagnostics::new(), ended: false }
    }

    /// Adds a diagnostic of this severity, or only counts it if the limit is reached.
    pub(super) fn add(&mut self, severity: Severity, make: impl FnOnce(&Arc<Source>) -> Diagnostic) {
        if !self.diagnostics.leaves_out(severity) {
            self.diagnostics.push(make(&self.source));
        }
    }

    pub(super) fn error(&mut self, make: impl FnOnce(&Arc<Source>) -> Diagnostic) {
        self.add(Severity::Error, make);
    }

    /// Adds the error that explains why reading has ended, even if the limit of diagnostics is reached. Only the first
    /// call has an effect. There may be further calls: [`finish`](super::tree::Tree::finish) closes open collections,
    /// and may exceed a limit again.
    pub(super) fn last(&mut self, diagnostic: Diagnostic) {
        if !std::mem::replace(&mut self.ended, true) {
            self.diagnostics.keep(diagnostic);
        }
    }

    pub(super) fn finish(self) -> Diagnostics {
        self.diagnostics
    }
}
