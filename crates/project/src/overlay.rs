//! Texts that stand for those of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_descriptor::{Read, read_in};
use windlass_source::files::MAX_SIZE;
use windlass_source::{Diagnostic, Source};

use crate::disk::{shown, source_within, unreadable};
use crate::lmproject::surroundings;

/// Texts that stand for those of files: what an editor has open, or what a repair has not written yet.
///
/// Each is kept under its file's absolute path without links. All other files are read up to a number of bytes.
#[derive(Debug, Clone)]
pub struct Overlay {
    texts: Arc<BTreeMap<PathBuf, Arc<str>>>,
    limit: usize,
}

impl Default for Overlay {
    fn default() -> Self {
        Self { texts: Arc::default(), limit: MAX_SIZE }
    }
}

impl Overlay {
    /// Sets the most bytes that a file may have; else it is [`MAX_SIZE`].
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Returns the most bytes that a file may have.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Lays a text over a file.
    ///
    /// # Errors
    /// When the file isn't there.
    pub fn insert(&mut self, path: &Path, text: impl Into<Arc<str>>) -> Result<(), Box<Diagnostic>> {
        let real = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        Arc::make_mut(&mut self.texts).insert(real, text.into());
        Ok(())
    }

    /// Returns the text that lies over a file.
    pub fn get(&self, path: &Path) -> Option<&Arc<str>> {
        if self.texts.is_empty() { None } else { self.texts.get(&path.canonicalize().ok()?) }
    }

    /// Reads a descriptor as [`load`](crate::load) does.
    pub fn load(&self, path: &Path) -> Read {
        match self.source(path) {
            Ok(source) => read_in(&source, &surroundings(path)),
            Err(diagnostic) => Read { descriptor: None, diagnostics: vec![*diagnostic].into() },
        }
    }

    /// Reads the text of a file as [`source_within`] does.
    ///
    /// # Errors
    /// Those of [`source_within`].
    pub fn source(&self, path: &Path) -> Result<Arc<Source>, Box<Diagnostic>> {
        match self.get(path) {
            Some(text) => Ok(Source::with_limit(shown(path), &**text, self.limit.max(text.len()))),
            None => source_within(path, self.limit),
        }
    }
}
