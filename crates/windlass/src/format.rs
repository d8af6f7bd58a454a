//! Formatting of YAML files: their layout only.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_project::Overlay;
use windlass_project::disk::{replace, shown};
use windlass_source::{Diagnostics, formatted};

use crate::repair::Repair;

/// The result of formatting files.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FormatView {
    /// The version of this format.
    pub version: u32,
    /// The files whose layout was changed, or would be.
    pub changed: Vec<String>,
    /// The problems of files that can't be formatted.
    pub diagnostics: Diagnostics,
}

/// Formats files, and the files below folders that end in `.yaml` or `.yml`. Hidden files and folders and links
/// are left out, unless they are named. See [`formatted`] for the layout.
pub fn format_paths(paths: &[PathBuf], overlay: &Overlay, repair: Repair) -> FormatView {
    let mut view = FormatView { version: 1, changed: Vec::new(), diagnostics: Diagnostics::new() };
    let mut files = BTreeSet::new();
    for path in paths {
        if path.is_dir() {
            find(path, &mut files);
        } else {
            files.insert(path.clone());
        }
    }
    for path in files {
        match format(&path, overlay, repair) {
            Ok(true) => view.changed.push(shown(&path)),
            Ok(false) => {}
            Err(problems) => view.diagnostics.extend(problems),
        }
    }
    view
}

/// Formats a file. Returns whether its layout is, or would be, another one.
fn format(path: &Path, overlay: &Overlay, repair: Repair) -> Result<bool, Diagnostics> {
    let one = |problem: Box<_>| Diagnostics::from(vec![*problem]);
    let source = overlay.source(path).map_err(one)?;
    let text = formatted(&source)?;
    if text == source.text() {
        return Ok(false);
    }
    if repair == Repair::Write {
        replace(path, source.text(), &text).map_err(one)?;
    }
    Ok(true)
}

fn find(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        if kind.is_dir() {
            find(&path, files);
        } else if kind.is_file() && is_yaml {
            files.insert(path);
        }
    }
}
