//! Loads text into [`Node`]s: with limits and error recovery, in one or more rounds.
//!
//! A parser stops at its first error. The loader determines the actual cause of that error ([`cause`]). It
//! repairs the text in memory where the repair is certain, else it removes the offending line ([`draft`]),
//! and reads the text again ([`yaml`]). So one run reports all problems, and the readable parts are returned
//! with their places in the original text.

mod cause;
mod draft;
mod entries;
mod json;
mod report;
mod tree;
mod yaml;

use std::sync::Arc;

use crate::files::MAX_SIZE;
use crate::{Diagnostic, Diagnostics, Edit, Node, Source, Span, codes};
use cause::Cause;
use draft::Draft;
use yaml::Outcome;

/// The syntax of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// YAML 1.2, with the tolerance for layout that common readers have.
    #[default]
    Yaml,
    /// JSON as in RFC 8259: YAML-only syntax (comments, bare words, trailing commas) is an error.
    StrictJson,
}

/// The treatment of duplicate keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DuplicateKeys {
    /// An error; the first value is kept.
    #[default]
    Refuse,
    /// A warning; the last value is kept.
    LastWins,
}

/// The treatment of a plain key `<<`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MergeKeys {
    /// Its value is an alias to a mapping or a list of those. Their entries are added, except for keys that
    /// the mapping itself has.
    #[default]
    Merge,
    /// It is an ordinary key.
    Keep,
    /// It is an error.
    Refuse,
}

/// Limits on documents, so that no document can exhaust the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text. Default: 16 MiB. A source that [may be longer](Source::with_limit) is read up to its
    /// own limit, and the limit on nodes grows in proportion.
    pub bytes: usize,
    /// Nesting depth of collections. Default: 128; values above [`Limits::MAX_DEPTH`] are reduced to it.
    pub depth: usize,
    /// Number of nodes in all documents, with aliases expanded. Default: one million. According to their
    /// memory use, a sequence counts twice and a mapping three times.
    pub nodes: usize,
    /// Number of documents in one text. Default: 10 000.
    pub documents: usize,
    /// Size of the data that aliases and merge keys may add: bytes of text, and 64 for each node. Default: 16
    /// MiB.
    pub expansion: usize,
}

impl Limits {
    /// Maximum nesting depth that can be allowed, given the stack size of a thread.
    pub const MAX_DEPTH: usize = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: MAX_SIZE, depth: 128, nodes: 1_000_000, documents: 10_000, expansion: 16 << 20 }
    }
}

impl Limits {
    /// Returns the limits for a source. A source that may be longer also gets more nodes.
    fn of(self, source: &Source) -> Self {
        let times = source.limit() / MAX_SIZE;
        if source.limit() <= self.bytes.max(MAX_SIZE) {
            return self;
        }
        Self { bytes: source.limit(), nodes: self.nodes.saturating_mul(times + 1), ..self }
    }
}

/// The options for loading a document.
///
/// ```
/// use windlass_source::{Dialect, DuplicateKeys, LoadOptions};
///
/// let options = LoadOptions { dialect: Dialect::StrictJson, ..LoadOptions::default() };
/// assert_eq!(options.duplicate_keys, DuplicateKeys::Refuse);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Syntax.
    pub dialect: Dialect,
    /// Treatment of duplicate keys.
    pub duplicate_keys: DuplicateKeys,
    /// Treatment of a plain key `<<`.
    pub merge_keys: MergeKeys,
    /// Limits.
    pub limits: Limits,
}

impl LoadOptions {
    /// Returns the options for strict JSON.
    pub fn json() -> Self {
        Self { dialect: Dialect::StrictJson, ..Self::default() }
    }

    /// Makes the last of equal keys win, with a warning.
    #[must_use]
    pub fn last_key_wins(mut self) -> Self {
        self.duplicate_keys = DuplicateKeys::LastWins;
        self
    }
}

/// The result of [`load`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Loaded {
    /// Documents; incomplete if `diagnostics` has errors. Empty for a text of only spaces and comments.
    pub documents: Vec<Node>,
    /// Diagnostics, in the order of the text.
    pub diagnostics: Diagnostics,
}

/// The result of [`load_one`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LoadedOne {
    /// Document; incomplete if `diagnostics` has errors. Absent when the text has none, which is no error
    /// here.
    pub root: Option<Node>,
    /// Diagnostics, in the order of the text.
    pub diagnostics: Diagnostics,
}

impl LoadedOne {
    /// Returns the document and the warnings, or all diagnostics if one of them is an error.
    ///
    /// # Errors
    /// The diagnostics, when they have errors.
    pub fn into_result(self) -> Result<(Option<Node>, Diagnostics), Diagnostics> {
        if self.diagnostics.has_errors() { Err(self.diagnostics) } else { Ok((self.root, self.diagnostics)) }
    }
}

/// Loads a text that should have one document.
///
/// A second document is [`codes::EXTRA_DOCUMENT`], at the place where it starts.
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

/// Loads all documents of a text, recovering from errors.
pub fn load(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    let options = &LoadOptions { limits: options.limits.of(source), ..options.clone() };
    // Spans have 32 bits.
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

/// Maximum bytes that are read again after errors, and maximum number of rounds.
const REREAD_BYTES: usize = 8 << 20;
const ROUNDS: usize = 64;

fn load_yaml(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    let rounds = (REREAD_BYTES / source.text().len().max(1)).min(ROUNDS);
    let mut draft = Draft::new(source);
    let mut outcome = yaml::read(source, &draft, options);
    let mut found = Diagnostics::new();
    // Inside quotes they are intended; elsewhere they are removed before other errors are analysed.
    if outcome.invisible || outcome.error.is_some() {
        found = cause::invisible(source, &mut draft, &outcome.quoted);
    }
    if !found.is_empty() && rounds > 0 {
        outcome = yaml::read(source, &draft, options);
    }
    // All problems are reported in any case. The repaired text is read again while the effort is limited.
    let mut left = rounds;
    while repair(source, &mut draft, &outcome, &mut found) && left > 0 {
        left -= 1;
        outcome = yaml::read(source, &draft, options);
    }
    found.extend(outcome.diagnostics);
    Loaded { documents: outcome.documents, diagnostics: found }
}

/// Reports the syntax errors of one round and repairs them. Returns whether the text has changed, so that it
/// is to be read again.
fn repair(source: &Arc<Source>, draft: &mut Draft<'_>, outcome: &Outcome, found: &mut Diagnostics) -> bool {
    let causes = causes(source, draft, outcome).into_iter();
    let repairs: Option<Vec<Vec<Edit>>> = causes.map(|cause| settle(draft, cause, found)).collect();
    repairs.is_some_and(|repairs| draft.apply(repairs.concat()))
}

/// Reports a cause and returns its repair. If an earlier repair still fails, it is removed without a report:
/// the diagnostic would be about the repaired text, not the author's.
fn settle(draft: &Draft<'_>, cause: Cause, found: &mut Diagnostics) -> Option<Vec<Edit>> {
    let Some(repair) = cause.repair else {
        found.push(cause.diagnostic);
        return None;
    };
    if !cause.diagnostic.fixes.is_empty() && draft.repairs_again(&repair) {
        return Some(repair.iter().map(|edit| cause::without_line(draft.text(), edit)).collect());
    }
    found.push(cause.diagnostic);
    Some(repair)
}

/// Returns the causes of the syntax errors of one round.
fn causes(source: &Arc<Source>, draft: &Draft<'_>, outcome: &Outcome) -> Vec<Cause> {
    let error = outcome.error.as_ref().map(|error| cause::of(source, draft, error));
    // The cause already names the comments around the error; later rounds find the others.
    let named = error.as_ref().is_some_and(|cause| cause.diagnostic.code == codes::ESCAPED_COMMENT);
    let comments = cause::comments_as_text(source, draft, &outcome.escaped_comments);
    comments.filter(|_| !named).into_iter().chain(error).collect()
}
