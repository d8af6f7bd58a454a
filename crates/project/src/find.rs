//! Finds the descriptor file of an assembly by a path that the user gives.

use std::path::{Path, PathBuf};

use windlass_source::{Diagnostic, listed};

use crate::codes;
use crate::disk::{shown, unreadable};
use crate::layout::{ASSEMBLY, RESOURCE, descriptors_in, package_of};
use crate::walk::{Contained, Walk};

/// Finds the assembly descriptor for a path. If the path is a file, returns the path itself. If the path is a folder,
/// returns the path of the descriptor in the folder.
///
/// # Errors
/// Returns an error if the path does not exist, or if the folder contains no assembly descriptor, or more than one. If
/// a file with a similar name exists, the error suggests this name.
pub fn find_descriptor(path: &Path) -> Result<PathBuf, Box<Diagnostic>> {
    let metadata = path.metadata().map_err(|error| unreadable(path, &error))?;
    if !metadata.is_dir() {
        return Ok(path.to_path_buf());
    }
    let mut found = descriptors_in(path, &ASSEMBLY);
    match found.len() {
        0 => Err(Box::new(none(path))),
        1 => Ok(found.remove(0)),
        _ => Err(Box::new(several(path, &found))),
    }
}

fn several(folder: &Path, found: &[PathBuf]) -> Diagnostic {
    let files: Vec<String> = found.iter().map(|file| format!("`{}`", shown(file))).collect();
    let message =
        format!("`{}` has {} assembly descriptors: {}", shown(folder), files.len(), files.join(", "));
    Diagnostic::error(codes::MANY_DESCRIPTORS, message).help("name the file")
}

fn none(folder: &Path) -> Diagnostic {
    const SHOWN: usize = 3;
    let message = format!("there is no assembly descriptor in `{}`", shown(folder));
    let diagnostic = Diagnostic::error(codes::NO_DESCRIPTOR, message);
    if let Some(resource) = descriptors_in(folder, &RESOURCE).first() {
        return diagnostic.help(format!(
            "it is the package of a resource; `windlass check` accepts `{}`",
            shown(resource)
        ));
    }
    let mut below = Walk::default();
    below.below(folder, Contained::Private);
    let assemblies = below.files.iter().filter(|file| ASSEMBLY.iter().any(|layout| file.ends_with(layout)));
    let near: Vec<String> =
        assemblies.take(SHOWN).map(|file| format!("`{}`", shown(&package_of(file)))).collect();
    if near.is_empty() {
        return diagnostic.help(format!("an assembly has one of {}", listed(ASSEMBLY)));
    }
    diagnostic.help(format!("did you mean {}?", near.join(" or ")))
}
