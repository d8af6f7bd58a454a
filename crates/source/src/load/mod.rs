//! Loads text into [`Node`]s, with limits and error recovery.
//!
//! A call of [`load`] reports all problems of a text, although a parser stops at its first error. For this purpose, the
//! loader reads the text in several *rounds*:
//!
//! 1. The parser reads the text up to the first error ([`yaml`]). Without an error, this is the last round.
//! 2. The loader determines the actual cause of this error ([`cause`]).
//! 3. If the correction is certain, the loader corrects its copy of the text. If not, it removes the wrong line from
//!    the copy ([`draft`]). Then the next round begins.
//!
//! The places of the result are places in the original text.

mod cause;
mod draft;
mod entries;
mod json;
mod loaded;
mod options;
mod report;
mod tree;
mod yaml;

use std::sync::Arc;

use crate::{Diagnostic, Diagnostics, Edit, Source, Span, codes};
use cause::Cause;
use draft::Draft;
use yaml::Outcome;

pub use loaded::{Loaded, LoadedOne};
pub use options::{Dialect, DuplicateKeys, Limits, LoadOptions, MergeKeys};

/// Loads a text that should have one document.
///
/// A second document is reported as [`codes::EXTRA_DOCUMENT`], at the place where it starts.
///
/// ```
/// use windlass_source::{LoadOptions, Source, load_one};
///
/// let source = Source::new("app.yaml", "name: web\nquantity: 3\n");
/// let loaded = load_one(&source, &LoadOptions::default());
/// let name = loaded.root.as_ref().and_then(|root| root.get("name")).unwrap();
/// assert_eq!(name.as_str(), Some("web"));
/// assert_eq!(source.place(name.span()).to_string(), "app.yaml:1:7");
/// ```
pub fn load_one(source: &Arc<Source>, options: &LoadOptions) -> LoadedOne {
    let Loaded { documents, mut diagnostics } = load(source, options);
    let mut documents = documents.into_iter();
    let root = documents.next();
    if let Some(second) = documents.next() {
        let start = source.position(second.span().start);
        let line =
            source.line(start.line).map_or(second.span(), |line| Span::new(second.span().start, line.end));
        let place = source.place(line);
        diagnostics.push(
            Diagnostic::error(codes::EXTRA_DOCUMENT, "expected one document, found a second")
                .at(place)
                .label("the second begins here")
                .help("put each document into a file of its own"),
        );
        diagnostics.sort();
    }
    LoadedOne { root, diagnostics }
}

/// Loads all documents of a text, and recovers from errors.
pub fn load(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    let options = &LoadOptions { limits: options.limits.of(source), ..options.clone() };
    // Offsets in spans have 32 bits.
    let bytes = options.limits.bytes.min(u32::MAX as usize);
    if source.text().len() > bytes {
        return too_long(source, bytes);
    }
    let mut loaded = match options.dialect {
        Dialect::Yaml => load_yaml(source, options),
        Dialect::StrictJson => json::load(source, options),
    };
    loaded.diagnostics.sort();
    loaded
}

fn too_long(source: &Arc<Source>, limit: usize) -> Loaded {
    let message = format!("the text has {} bytes, {limit} are allowed", source.text().len());
    let diagnostic = Diagnostic::error(codes::LIMIT, message).at(source.place(Span::empty(0)));
    Loaded { documents: Vec::new(), diagnostics: vec![diagnostic].into() }
}

/// Maximum total number of bytes that are read again after the repair of syntax errors.
const REREAD_BYTES: usize = 8 << 20;
/// Maximum number of times that the repaired text is read again.
const ROUNDS: usize = 64;

fn load_yaml(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    let rounds = (REREAD_BYTES / source.text().len().max(1)).min(ROUNDS);
    let mut draft = Draft::new(source);
    let mut outcome = yaml::read(source, &draft, options);
    let mut found = Diagnostics::new();
    // Invisible characters are intended inside quotes. Elsewhere they are removed before other errors are
    // analysed.
    if outcome.invisible || outcome.error.is_some() {
        found = cause::invisible(source, &mut draft, &outcome.quoted);
    }
    if !found.is_empty() && rounds > 0 {
        outcome = yaml::read(source, &draft, options);
    }
    // Each round reports its problems. The number of rounds that read the repaired text is limited.
    let mut left = rounds;
    while repair(source, &mut draft, &outcome, &mut found) && left > 0 {
        left -= 1;
        outcome = yaml::read(source, &draft, options);
    }
    found.extend(outcome.diagnostics);
    Loaded { documents: outcome.documents, diagnostics: found }
}

/// Reports the syntax errors that the last reading of the draft has found, and repairs them in the draft. Returns
/// whether the draft has changed, so that it must be read again.
fn repair(source: &Arc<Source>, draft: &mut Draft<'_>, outcome: &Outcome, found: &mut Diagnostics) -> bool {
    let causes = causes(source, draft, outcome).into_iter();
    let repairs: Option<Vec<Vec<Edit>>> = causes.map(|cause| settle(draft, cause, found)).collect();
    repairs.is_some_and(|repairs| draft.apply(repairs.concat()))
}

/// Reports `cause`, the cause of a syntax error, and returns its repair. The repair consists of edits of the draft,
/// after which the loader can continue to read. If `cause` has no repair, the function returns `None`, and the
/// loader stops.
///
/// A repair changes only the draft. A *fix* is a change that a report suggests to the user.
///
/// In two cases, an earlier repair was wrong. The function then does not report `cause`. It returns edits that remove
/// each line that the repair of `cause` would change. The two cases are:
///
/// - An earlier report with a fix already shows the same error. The function deletes this fix, because the earlier
///   repair did not remove the error.
/// - The report of `cause` suggests a fix, but the repair of `cause` would change the text of an earlier repair. The
///   function assumes that the earlier repair, and not the author, has caused the error.
fn settle(draft: &Draft<'_>, cause: Cause, found: &mut Diagnostics) -> Option<Vec<Edit>> {
    let Some(repair) = cause.repair else {
        found.push(cause.diagnostic);
        return None;
    };
    let is_again = found.retract_fixes(&cause.diagnostic);
    if is_again || !cause.diagnostic.fixes.is_empty() && draft.repairs_again(&repair) {
        return Some(repair.iter().map(|edit| cause::without_line(draft.text(), edit)).collect());
    }
    found.push(cause.diagnostic);
    Some(repair)
}

/// Returns the causes of the syntax errors that the last reading of the draft has found.
fn causes(source: &Arc<Source>, draft: &Draft<'_>, outcome: &Outcome) -> Vec<Cause> {
    let error = outcome.error.as_ref().map(|error| cause::of(source, draft, error));
    // If the syntax error is itself caused by escaped comments, its diagnostic already reports escaped
    // comments. So no second diagnostic about them is added. If the diagnostic does not report all escaped
    // comments, the others are found when the repaired text is read again.
    let named = error.as_ref().is_some_and(|cause| cause.diagnostic.code == codes::ESCAPED_COMMENT);
    let comments = cause::comments_as_text(source, draft, &outcome.escaped_comments);
    comments.filter(|_| !named).into_iter().chain(error).collect()
}
