//! Texts that are used instead of files' contents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_descriptor::{Read, read_in};
use windlass_source::files::MAX_SIZE;
use windlass_source::{Diagnostic, Source};

use crate::disk::{shown, source_within, unreadable};
use crate::lmproject::surroundings;

/// Texts that are used instead of files' contents, for example the buffers of an editor, or fixes that are
/// not written yet.
///
/// The key of a text is the absolute path of its file, with all symbolic links resolved. A file without a text is
/// read from disk, up to a size limit.
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
    /// Sets the maximum size of a file in bytes. Default: [`MAX_SIZE`].
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Returns the maximum size of a file in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Sets the text for a file.
    ///
    /// # Errors
    /// Returns an error if the file does not exist.
    pub fn insert(&mut self, path: &Path, text: impl Into<Arc<str>>) -> Result<(), Box<Diagnostic>> {
        let real = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        Arc::make_mut(&mut self.texts).insert(real, text.into());
        Ok(())
    }

    /// Returns the text for a file, if one was set.
    pub fn get(&self, path: &Path) -> Option<&Arc<str>> {
        if self.texts.is_empty() { None } else { self.texts.get(&path.canonicalize().ok()?) }
    }

    /// Reads a descriptor from the overlay's text for a file. If the overlay has no text for the file, reads the
    /// descriptor from disk. The diagnostics contain all problems, including an unreadable file.
    pub fn load(&self, path: &Path) -> Read {
        match self.source(path) {
            Ok(source) => read_in(&source, &surroundings(path)),
            Err(diagnostic) => Read { descriptor: None, diagnostics: vec![*diagnostic].into() },
        }
    }

    /// Returns the overlay's text for a file. If the overlay has no text for the file, reads the file as
    /// [`source_within`] does.
    ///
    /// # Errors
    /// The errors of [`source_within`].
    pub fn source(&self, path: &Path) -> Result<Arc<Source>, Box<Diagnostic>> {
        match self.get(path) {
            Some(text) => Ok(Source::with_limit(shown(path), &**text, self.limit.max(text.len()))),
            None => source_within(path, self.limit),
        }
    }
}
