//! Walks folders in search of descriptor files, in a fixed order. Each file is visited once, and the number
//! of folders is limited.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use windlass_source::{Diagnostic, Diagnostics};

use crate::codes;
use crate::disk::{entries_in, shown};
use crate::layout::{ASSEMBLY, CONTAINERS, INNER, RESOURCE, descriptors_in, is_skipped, old_descriptor_in};

/// Maximum number of folders that one [`Walk`] searches. If there are more folders, the walk adds a warning, and
/// ignores the further folders.
const MAX_FOLDERS: usize = 20_000;

/// Maximum depth of a visited folder. The folder in which a walk begins has the depth 0.
const MAX_DEPTH: usize = 12;

/// The rule that decides which `Contains` folders a [`Walk`] searches. A `Contains` folder belongs to the package
/// of an assembly, and contains further packages. If a walk begins in the package of an assembly, it always
/// searches the `Contains` folder of this package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contained {
    /// The walk searches all `Contains` folders.
    Open,
    /// The walk skips the `Contains` folder of each package below the folder where the walk begins. Such a folder
    /// belongs to the assembly in this package: only this assembly uses the packages in the folder.
    Private,
}

/// A search for descriptor files in folders, with the files that it has found so far.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The descriptor files found so far, as absolute paths without links. The caller may take files out. A descriptor is
    /// recognised by its path within a package, such as `resource.yaml` or `Definitions/lm/resource.yaml`.
    pub(crate) files: BTreeSet<PathBuf>,
    /// Warnings about folders that were not searched.
    pub(crate) diagnostics: Diagnostics,
    entered: HashSet<PathBuf>,
    looked_into: usize,
}

impl Walk {
    /// Adds the descriptors of all packages directly in a folder.
    pub(crate) fn packages_in(&mut self, folder: &Path) {
        for child in self.folders_in(folder) {
            self.package(&child);
        }
    }

    /// Adds the descriptors of all packages in the `Contains` folder of an assembly's package.
    pub(crate) fn contained_in(&mut self, package: &Path) {
        for folder in CONTAINERS.map(|name| package.join(name)) {
            if folder.is_dir() {
                self.packages_in(&folder);
            }
        }
    }

    /// Adds the descriptors of all packages in and below a folder.
    pub(crate) fn below(&mut self, root: &Path, contained: Contained) {
        let mut open = vec![(root.to_path_buf(), 0)];
        while let Some((folder, depth)) = open.pop() {
            // A link may point to a folder above it, so each real folder is visited only once.
            let Ok(real) = folder.canonicalize() else { continue };
            if !self.entered.insert(real) {
                continue;
            }
            let is_package = self.package(&folder);
            let mut inside = self.folders_in(&folder);
            inside.retain(|child| match child.file_name().and_then(|name| name.to_str()) {
                _ if !is_package => true,
                Some(name) if CONTAINERS.contains(&name) => depth == 0 || contained == Contained::Open,
                Some(name) => depth == 0 && !INNER.contains(&name),
                None => false,
            });
            if depth == MAX_DEPTH && !inside.is_empty() {
                self.too_many(&folder);
                continue;
            }
            open.extend(inside.into_iter().rev().map(|child| (child, depth + 1)));
        }
    }

    /// Adds the descriptors of a package folder. Tells whether the folder has descriptors.
    fn package(&mut self, folder: &Path) -> bool {
        let mut files = descriptors_in(folder, &RESOURCE);
        files.extend(descriptors_in(folder, &ASSEMBLY));
        files.extend(old_descriptor_in(folder));
        self.files.extend(files.iter().map(|file| file.canonicalize().unwrap_or_else(|_| file.clone())));
        !files.is_empty()
    }

    /// Returns the subfolders that are not skipped, sorted by name.
    fn folders_in(&mut self, folder: &Path) -> Vec<PathBuf> {
        if self.looked_into == MAX_FOLDERS {
            self.too_many(folder);
        }
        self.looked_into += 1;
        if self.looked_into > MAX_FOLDERS {
            return Vec::new();
        }
        let mut entries = match entries_in(folder) {
            Ok(entries) => entries,
            Err(diagnostic) => {
                self.diagnostics.push(as_warning(*diagnostic));
                return Vec::new();
            }
        };
        let is_searched =
            |path: &PathBuf| path.file_name().is_some_and(|name| !is_skipped(&name.to_string_lossy()));
        entries.retain(|path| is_searched(path) && path.is_dir());
        entries
    }

    fn too_many(&mut self, folder: &Path) {
        let message = format!("the search for descriptors stops at `{}`", shown(folder));
        let diagnostic = Diagnostic::warning(codes::TOO_MANY, message)
            .help("name the folders of the packages with `--catalog`");
        self.diagnostics.push(diagnostic);
    }
}

/// Downgrades an error to a warning, for files that the user has not named.
pub(crate) fn as_warning(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.severity = windlass_source::Severity::Warning;
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_ends_after_a_number_of_folders() {
        let mut walk = Walk { looked_into: MAX_FOLDERS - 1, ..Walk::default() };
        let crates = Path::new("..");
        assert!(!walk.folders_in(crates).is_empty());
        assert!(walk.diagnostics.is_empty());
        assert!(walk.folders_in(crates).is_empty() && walk.folders_in(crates).is_empty());
        let said: Vec<_> = walk.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["warning[WL0332]: the search for descriptors stops at `..`"]);
    }
}
