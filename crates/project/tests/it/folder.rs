//! A temporary folder for a test, and diagnostics as text without the folder's path.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_source::{Diagnostic, Diagnostics};

/// A temporary folder that a test fills.
pub(crate) struct Folder {
    _keep: tempfile::TempDir,
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let path = keep.path().canonicalize().unwrap();
        Self { _keep: keep, path }
    }

    /// Creates a folder with files of the given text.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        if below.is_empty() { self.path.clone() } else { self.path.join(below) }
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes an executable file.
    pub(crate) fn script(&self, path: &str) {
        self.write(path, "#!/bin/sh\n");
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    /// Returns text without the path of this folder.
    pub(crate) fn clean(&self, text: &str) -> String {
        let path = self.path.to_str().unwrap();
        text.replace(&format!("{path}/"), "").replace(path, ".")
    }

    /// Formats diagnostics: one line each, then help and related places.
    pub(crate) fn show(&self, diagnostics: &Diagnostics) -> String {
        let text: String = diagnostics.iter().map(show).collect();
        self.clean(&text)
    }

    pub(crate) fn show_one(&self, diagnostic: &Diagnostic) -> String {
        self.clean(&show(diagnostic))
    }
}

fn show(diagnostic: &Diagnostic) -> String {
    let related = diagnostic.related.iter().map(|label| format!("    {}: {}\n", label.place, label.text));
    let help = diagnostic.help.iter().map(|help| format!("    help: {help}\n"));
    std::iter::once(format!("{diagnostic}\n")).chain(related).chain(help).collect()
}

/// Returns a resource descriptor with a name.
pub(crate) fn resource(name: &str) -> String {
    format!("name: resource::{name}::1.0\nlifecycle: [Install]\ndefault-driver: {{noop: {{}}}}\n")
}

/// Returns an assembly descriptor with a name, with a component of each type.
pub(crate) fn assembly(name: &str, types: &[&str]) -> String {
    let parts = types.iter().enumerate().map(|(at, kind)| format!("  part{at}:\n    type: {kind}::1.0\n"));
    format!("name: assembly::{name}::1.0\ncomposition:\n{}", parts.collect::<String>())
}
