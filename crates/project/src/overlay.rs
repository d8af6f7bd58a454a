//! Texts that stand for those of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_descriptor::{Read, read_in};
use windlass_source::{Diagnostic, Source};

use crate::disk::{shown, source, unreadable};
use crate::lmproject::surroundings;

/// Texts that stand for those of files: what an editor has open, or what a repair has not written yet.
///
/// Each is kept under its file's absolute path without links.
#[derive(Debug, Clone, Default)]
pub struct Overlay(Arc<BTreeMap<PathBuf, Arc<str>>>);

impl Overlay {
    /// Lays a text over a file.
    ///
    /// # Errors
    /// When the file isn't there.
    pub fn insert(&mut self, path: &Path, text: impl Into<Arc<str>>) -> Result<(), Box<Diagnostic>> {
        let real = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        Arc::make_mut(&mut self.0).insert(real, text.into());
        Ok(())
    }

    /// Returns the text that lies over a file.
    pub fn get(&self, path: &Path) -> Option<&Arc<str>> {
        if self.0.is_empty() { None } else { self.0.get(&path.canonicalize().ok()?) }
    }

    /// Reads a descriptor as [`load`](crate::load) does.
    pub fn load(&self, path: &Path) -> Read {
        match self.source(path) {
            Ok(source) => read_in(&source, &surroundings(path)),
            Err(diagnostic) => Read { descriptor: None, diagnostics: vec![*diagnostic].into() },
        }
    }

    /// Reads the text of a file as [`source`] does.
    ///
    /// # Errors
    /// Those of [`source`].
    pub fn source(&self, path: &Path) -> Result<Arc<Source>, Box<Diagnostic>> {
        match self.get(path) {
            Some(text) => Ok(Source::new(shown(path), &**text)),
            None => source(path),
        }
    }
}
