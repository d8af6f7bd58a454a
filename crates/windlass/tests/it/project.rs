//! Projects in temporary folders, and their problems as text.

use windlass::source::{Diagnostic, Diagnostics};
use windlass::{Error, Settings, Windlass};

/// Opens a project in a new folder, with the text of its `windlass.yaml`.
pub(crate) fn open(text: &str) -> (tempfile::TempDir, Result<Windlass, Diagnostics>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("windlass.yaml"), text).unwrap();
    let opened = Windlass::open(Settings::new(folder.path())).map_err(|error| match error {
        Error::Input(problems) => problems,
        other => panic!("{other}"),
    });
    (folder, opened)
}

/// Returns the problems of the text of a `windlass.yaml`.
pub(crate) fn problems(text: &str) -> (tempfile::TempDir, Diagnostics) {
    let (folder, opened) = open(text);
    let problems = opened.map_or_else(|errors| errors, |windlass| windlass.project().warnings().clone());
    (folder, problems)
}

/// Formats the problems of the text of a `windlass.yaml`: one line for each problem, followed by its help.
pub(crate) fn messages(text: &str) -> String {
    let (folder, problems) = problems(text);
    let text: String = problems.iter().map(show).collect();
    let root = folder.path().canonicalize().unwrap();
    text.replace(&format!("{}/", root.display()), "")
}

fn show(diagnostic: &Diagnostic) -> String {
    let help = diagnostic.help.iter().map(|help| format!("    help: {help}\n"));
    std::iter::once(format!("{diagnostic}\n")).chain(help).collect()
}
