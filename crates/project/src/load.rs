//! Reading a descriptor from a file.

use std::path::Path;

use windlass_descriptor::{Read, read_in};

use crate::disk::source;
use crate::lmproject::surroundings;

/// Reads a descriptor from a file. The diagnostics contain all problems, including an unreadable file.
///
/// ```no_run
/// let read = windlass_project::load("shop/assembly.yaml".as_ref());
/// if let Some(descriptor) = read.descriptor {
///     assert_eq!(descriptor.source().name(), "shop/assembly.yaml");
/// }
/// ```
pub fn load(path: &Path) -> Read {
    match source(path) {
        Ok(source) => read_in(&source, &surroundings(path)),
        Err(diagnostic) => Read { descriptor: None, diagnostics: vec![*diagnostic].into() },
    }
}
