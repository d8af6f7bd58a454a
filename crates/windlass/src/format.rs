//! Formatting of YAML files. Only the layout of the files changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use windlass_project::Overlay;
use windlass_project::disk::{replace, shown};
use windlass_source::{Diagnostic, Diagnostics, LoadOptions, Source, Span, formatted, load_one};

use crate::codes;
use crate::repair::Repair;

/// The result of formatting files.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FormatView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The files that did not have the layout of [`formatted`]. With [`Repair::Write`], the files were changed. With
    /// [`Repair::DryRun`], the files are unchanged.
    pub changed: Vec<String>,
    /// The problems of files that can't be formatted.
    pub diagnostics: Diagnostics,
}

/// Formats files, and all `.yaml` and `.yml` files below folders. Below a folder, hidden files, hidden
/// folders and links are left out. See [`formatted`] for the layout.
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

/// Formats a file. Returns `true` if the file did not have the layout of [`formatted`]. With [`Repair::DryRun`], the
/// file stays unchanged.
fn format(path: &Path, overlay: &Overlay, repair: Repair) -> Result<bool, Diagnostics> {
    let one = |problem: Box<_>| Diagnostics::from(vec![*problem]);
    let source = overlay.source(path).map_err(one)?;
    // Folders are searched for YAML files only, but a file that the user names may be anything. Many scripts
    // are valid YAML, so scripts and plain texts are refused here.
    if !is_yaml(path) && (source.text().starts_with("#!") || is_text(&source)) {
        let message = format!("`{}` is not YAML, and windlass formats nothing else", shown(path));
        let problem = Diagnostic::error(codes::NOT_YAML, message).at(source.place(Span::empty(0)));
        return Err(vec![problem.help("name files that end with `.yaml` or `.yml`, or a folder")].into());
    }
    let text = formatted(&source)?;
    if text == source.text() {
        return Ok(false);
    }
    if repair == Repair::Write {
        replace(path, source.text(), &text).map_err(one)?;
    }
    Ok(true)
}

/// Tells whether the extension of a file is `yaml` or `yml`.
fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml")
}

/// Tells whether a document is a single text, not a mapping or a list.
fn is_text(source: &Arc<Source>) -> bool {
    load_one(source, &LoadOptions::default()).root.is_some_and(|root| root.as_scalar().is_some())
}

fn find(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            find(&path, files);
        } else if kind.is_file() && is_yaml(&path) {
            files.insert(path);
        }
    }
}
