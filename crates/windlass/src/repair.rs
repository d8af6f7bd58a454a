//! Automatic fixes for problems that a check found.
//!
//! A diagnostic may carry a [`Fix`]. If a diagnostic carries exactly one fix, the fix counts as certain, and this
//! module applies the fix. All other bytes of the file stay unchanged. A fix can reveal further problems, so files
//! are checked again until no certain fix is left. Until then, texts are changed in memory only. Each file is
//! written once and atomically at the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_project::Overlay;
use windlass_project::disk::{replace, shown};
use windlass_source::{Diagnostic, Diagnostics, Fix, apply_fixes};

use crate::check::{AppliedFix, CheckInput, CheckView, RepairedFile, check_over};
use crate::error::Error;

/// Maximum number of rounds. Each round applies the fixes that have no alternative, and then checks the files
/// again. This check can find further problems. The next round repairs these problems. No file is expected to need
/// more rounds than this maximum.
const ROUNDS: usize = 32;

/// Maximum number of fixes that a round (see [`ROUNDS`]) tries one by one. If all fixes of a round together would
/// cause new syntax errors, the round tries each fix alone. The round applies no fixes beyond this number.
const MOST_TRIED: usize = 500;

/// Whether [`repair_paths`] changes the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// The repaired texts replace the texts of the files.
    Write,
    /// The files stay unchanged. The repaired texts are only returned.
    DryRun,
}

/// Repairs files and folders, and checks them again. The result describes the repaired texts, also for
/// [`Repair::DryRun`].
///
/// A fix that would break the syntax of a file is not applied.
///
/// # Errors
///
/// Fails if the working folder can't be determined. Files that can't be written are reported in the result.
pub fn repair_paths(input: CheckInput<'_>, repair: Repair) -> Result<CheckView, Error> {
    let disk = input.overlay;
    let mut files: BTreeMap<PathBuf, RepairedFile> = BTreeMap::new();
    let mut overlay = disk.clone();
    let mut view = check_over(input)?;
    for _ in 0..ROUNDS {
        let round = certain(&view.diagnostics);
        if round.is_empty() {
            break;
        }
        let all = overlaid(&overlay, round.iter().map(|(path, found)| (path, texts_of(found))));
        let next = check_over(CheckInput { overlay: &all, ..input })?;
        let (round, next) = if broken(&next) <= broken(&view) {
            (round, next)
        } else {
            let round = harmless(CheckInput { overlay: &overlay, ..input }, &view, round)?;
            let all = overlaid(&overlay, round.iter().map(|(path, found)| (path, texts_of(found))));
            let next = check_over(CheckInput { overlay: &all, ..input })?;
            (round, next)
        };
        if round.is_empty() {
            break;
        }
        for (path, found) in &round {
            note(&mut files, path, found, disk);
        }
        overlay = overlaid(&overlay, files.iter().map(|(path, file)| (path, file.after.clone())));
        view = next;
    }
    let files: Vec<(PathBuf, RepairedFile)> =
        files.into_iter().filter(|(_, file)| file.before != file.after).collect();
    let mut problems = Diagnostics::new();
    for (path, file) in files {
        match if repair == Repair::Write { replace(&path, &file.before, &file.after) } else { Ok(()) } {
            Ok(()) => view.repaired.push(file),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() {
        return Ok(view);
    }
    // A file that could not be written still has its problems, so the files are checked again.
    let repaired = std::mem::take(&mut view.repaired);
    problems.extend(check_over(input)?.diagnostics);
    Ok(CheckView { repaired, ..CheckView::new(problems) })
}

/// The diagnostics that carry exactly one fix, by file.
type Round = BTreeMap<PathBuf, Vec<Diagnostic>>;

fn certain(diagnostics: &Diagnostics) -> Round {
    let mut round = Round::new();
    for diagnostic in diagnostics.iter().filter(|found| found.certain_fix().is_some()) {
        // A text that is not in a file, such as the output of a script, can't be repaired.
        let path = diagnostic.place().map(|place| PathBuf::from(place.source().name()));
        if let Some(path) = path.filter(|path| path.is_file()) {
            round.entry(path).or_default().push(diagnostic.clone());
        }
    }
    round
}

fn fixes(found: &[Diagnostic]) -> impl Iterator<Item = &Fix> {
    found.iter().filter_map(Diagnostic::certain_fix)
}

/// Applies the fixes of diagnostics to the text of their file, and returns the resulting text. All diagnostics belong
/// to the same file. A diagnostic with several fixes is skipped.
fn texts_of(found: &[Diagnostic]) -> String {
    let text = found.first().and_then(Diagnostic::place).map_or("", |place| place.source().text());
    apply_fixes(text, fixes(found))
}

fn overlaid<'a>(overlay: &Overlay, texts: impl IntoIterator<Item = (&'a PathBuf, String)>) -> Overlay {
    let mut overlay = overlay.clone();
    for (path, text) in texts {
        // A file that was removed in the meantime is noticed when the file is read.
        let _ = overlay.insert(path, text);
    }
    overlay
}

/// Counts the syntax errors of a check. A repair must not increase this number.
fn broken(view: &CheckView) -> usize {
    let of_syntax = |found: &&Diagnostic| {
        found.is_error() && windlass_source::codes::CODES.iter().any(|info| info.code == found.code)
    };
    view.diagnostics.iter().filter(of_syntax).count()
}

/// Tries each fix of `round` alone, and returns the fixes that cause no new syntax error. A duplicate key is a
/// syntax error, too, and a fix that renames a key can cause it. Only the first [`MOST_TRIED`] fixes are tried. No
/// file changes.
fn harmless(input: CheckInput<'_>, view: &CheckView, round: Round) -> Result<Round, Error> {
    let mut kept = Round::new();
    let all =
        round.into_iter().flat_map(|(path, found)| found.into_iter().map(move |one| (path.clone(), one)));
    for (path, diagnostic) in all.take(MOST_TRIED) {
        let found = vec![diagnostic];
        let tried = overlaid(input.overlay, [(&path, texts_of(&found))]);
        if broken(&check_over(CheckInput { overlay: &tried, ..input })?) <= broken(view) {
            kept.entry(path).or_default().extend(found);
        }
    }
    Ok(kept)
}

fn note(files: &mut BTreeMap<PathBuf, RepairedFile>, path: &Path, found: &[Diagnostic], disk: &Overlay) {
    let file = files.entry(path.to_owned()).or_insert_with(|| {
        let before = disk.source(path).map(|source| source.text().to_owned()).unwrap_or_default();
        RepairedFile { file: shown(path), fixes: Vec::new(), before, after: String::new() }
    });
    file.after = texts_of(found);
    let applied = found.iter().filter_map(|diagnostic| {
        let description = diagnostic.certain_fix()?.description.clone();
        Some(AppliedFix { code: diagnostic.code, description, place: diagnostic.place()?.clone() })
    });
    file.fixes.extend(applied);
}
