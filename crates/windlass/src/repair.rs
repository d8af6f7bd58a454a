//! Repairs what a check has found, where there is no doubt what was meant.
//!
//! A diagnostic may carry a [`Fix`]. One that is the only one of its diagnostic is certain, and is applied here; what
//! else a file has stays byte for byte. A repair can bring to light what it had hidden, so files are checked again
//! until nothing is left to repair. All of that happens in memory: a file is written once, at the end, and whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use windlass_project::Overlay;
use windlass_project::disk::{replace, shown};
use windlass_source::{Code, Diagnostic, Diagnostics, Fix, Place, apply_fixes};

use crate::check::{CheckView, check_over};
use crate::error::Error;

/// How often files are checked again. Each round repairs something, and what hides behind one mistake behind another
/// is not as deep as this.
const ROUNDS: usize = 32;

/// How many repairs are tried one by one in a round, where all at once would break something.
const MOST_TRIED: usize = 500;

/// A file that was repaired.
#[derive(Debug, Clone, Serialize)]
pub struct RepairedFile {
    /// The file, as it is shown.
    pub file: String,
    /// What was done.
    pub fixes: Vec<AppliedFix>,
    /// Its text before.
    #[serde(skip)]
    pub before: String,
    /// Its text now.
    #[serde(skip)]
    pub after: String,
}

/// A repair that was made.
#[derive(Debug, Clone, Serialize)]
pub struct AppliedFix {
    /// The code of what was wrong.
    pub code: Code,
    /// What was done, as an instruction: ``write `description` ``.
    pub description: String,
    /// Where, in the text as it was when the repair was made.
    #[serde(serialize_with = "line_and_column")]
    pub place: Place,
}

fn line_and_column<S: Serializer>(place: &Place, serializer: S) -> Result<S::Ok, S::Error> {
    let start = place.start();
    BTreeMap::from([("line", start.line), ("column", start.column)]).serialize(serializer)
}

/// What is to become of the repaired texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// They are written.
    Write,
    /// They are only returned.
    DryRun,
}

/// Repairs files and folders, and checks them again. What is returned is about the repaired texts, also of a dry run.
///
/// A repair that would break the syntax of a file is not made. `disk` says how files are read.
///
/// # Errors
///
/// When the working folder can't be found. What can't be written is found in what is returned.
pub fn repair_paths(
    paths: &[PathBuf],
    folders: &[PathBuf],
    repair: Repair,
    disk: &Overlay,
) -> Result<CheckView, Error> {
    let mut files: BTreeMap<PathBuf, RepairedFile> = BTreeMap::new();
    let mut overlay = disk.clone();
    let mut view = check_over(paths, folders, &overlay)?;
    for _ in 0..ROUNDS {
        let round = certain(&view.diagnostics);
        if round.is_empty() {
            break;
        }
        let all = overlaid(&overlay, round.iter().map(|(path, found)| (path, texts_of(found))));
        let next = check_over(paths, folders, &all)?;
        let (round, next) = if broken(&next) <= broken(&view) {
            (round, next)
        } else {
            let round = harmless(&Asked { paths, folders, overlay: &overlay }, &view, round)?;
            let all = overlaid(&overlay, round.iter().map(|(path, found)| (path, texts_of(found))));
            let next = check_over(paths, folders, &all)?;
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
    // What could not be written is as wrong as it was.
    let repaired = std::mem::take(&mut view.repaired);
    problems.extend(check_over(paths, folders, disk)?.diagnostics);
    Ok(CheckView { repaired, ..CheckView::new(problems) })
}

/// Diagnostics with a certain repair, by the file that they are about.
type Round = BTreeMap<PathBuf, Vec<Diagnostic>>;

fn certain(diagnostics: &Diagnostics) -> Round {
    let mut round = Round::new();
    for diagnostic in diagnostics.iter().filter(|found| found.certain_fix().is_some()) {
        // Texts that are no files, as what a script printed, are nobody's to repair.
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

/// The text of the file that some diagnostics are about, with their repairs.
fn texts_of(found: &[Diagnostic]) -> String {
    let text = found.first().and_then(Diagnostic::place).map_or("", |place| place.source().text());
    apply_fixes(text, fixes(found))
}

fn overlaid<'a>(overlay: &Overlay, texts: impl IntoIterator<Item = (&'a PathBuf, String)>) -> Overlay {
    let mut overlay = overlay.clone();
    for (path, text) in texts {
        // A file that has gone away meanwhile is noticed when it is read.
        let _ = overlay.insert(path, text);
    }
    overlay
}

/// How many mistakes of syntax there are: what no repair may add to.
fn broken(view: &CheckView) -> usize {
    let of_syntax = |found: &&Diagnostic| {
        found.is_error() && windlass_source::codes::CODES.iter().any(|info| info.code == found.code)
    };
    view.diagnostics.iter().filter(of_syntax).count()
}

/// What is asked to be repaired.
struct Asked<'a> {
    paths: &'a [PathBuf],
    folders: &'a [PathBuf],
    overlay: &'a Overlay,
}

/// Leaves the repairs of a round that break nothing, each made by itself. A key may be renamed to one that is there
/// already, say.
fn harmless(asked: &Asked<'_>, view: &CheckView, round: Round) -> Result<Round, Error> {
    let mut kept = Round::new();
    let all =
        round.into_iter().flat_map(|(path, found)| found.into_iter().map(move |one| (path.clone(), one)));
    for (path, diagnostic) in all.take(MOST_TRIED) {
        let found = vec![diagnostic];
        let tried = overlaid(asked.overlay, [(&path, texts_of(&found))]);
        if broken(&check_over(asked.paths, asked.folders, &tried)?) <= broken(view) {
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
