//! From text to [`Node`]s: bounded, recovering, in one or more rounds.
//!
//! A parser stops at its first error. Here that error is given its true cause ([`cause`]), the text is
//! repaired in memory where the cause is certain, else the offending line is blanked ([`draft`]), and it is
//! read again ([`yaml`]). So one pass of the user sees all problems, and what could be read is there with the
//! places of the original text.

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
    /// YAML 1.2, as tolerant of layout as the readers in use.
    #[default]
    Yaml,
    /// JSON as RFC 8259 has it: what is YAML only (comments, bare words, trailing commas) is an error.
    StrictJson,
}

/// What a key given twice is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DuplicateKeys {
    /// An error; the first value counts for what is read.
    #[default]
    Refuse,
    /// A warning; the last value counts.
    LastWins,
}

/// What a plain key `<<` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MergeKeys {
    /// The entries of its value, an alias to a mapping or a list of those, are taken over where they aren't
    /// given.
    #[default]
    Merge,
    /// A key like any other.
    Keep,
    /// An error.
    Refuse,
}

/// Bounds on what is read, so that no document can take the machine down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text; the default is 16 MiB. A source that [may be longer](Source::with_limit) is taken as far as it may,
    /// and the bound on nodes grows with it.
    pub bytes: usize,
    /// Collections inside one another; the default is 128, more than [`Limits::MAX_DEPTH`] is taken as that.
    pub depth: usize,
    /// Nodes of all documents, aliases expanded; the default is 1.5 million. By what it takes in memory a sequence counts
    /// twice and a mapping three times.
    pub nodes: usize,
    /// Documents in one text; the default is 10 000.
    pub documents: usize,
    /// What aliases and merge keys may add: bytes of text, and 64 for each node; the default is 16 MiB.
    pub expansion: usize,
}

impl Limits {
    /// The deepest nesting that can be allowed: what a thread's stack surely holds.
    pub const MAX_DEPTH: usize = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: MAX_SIZE, depth: 128, nodes: 1_500_000, documents: 10_000, expansion: 16 << 20 }
    }
}

impl Limits {
    /// The limits for a source: whoever has allowed it to be longer has allowed more nodes as well.
    fn of(self, source: &Source) -> Self {
        let times = source.limit() / MAX_SIZE;
        if source.limit() <= self.bytes.max(MAX_SIZE) {
            return self;
        }
        Self { bytes: source.limit(), nodes: self.nodes.saturating_mul(times + 1), ..self }
    }
}

/// How a document is read.
///
/// ```
/// use windlass_source::{Dialect, DuplicateKeys, LoadOptions};
///
/// let options = LoadOptions { dialect: Dialect::StrictJson, ..LoadOptions::default() };
/// assert_eq!(options.duplicate_keys, DuplicateKeys::Refuse);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// The syntax.
    pub dialect: Dialect,
    /// What a key given twice is.
    pub duplicate_keys: DuplicateKeys,
    /// What a plain key `<<` is.
    pub merge_keys: MergeKeys,
    /// Bounds.
    pub limits: Limits,
}

impl LoadOptions {
    /// Strict JSON.
    pub fn json() -> Self {
        Self { dialect: Dialect::StrictJson, ..Self::default() }
    }

    /// With the last of equal keys counting, and a warning.
    #[must_use]
    pub fn last_key_wins(mut self) -> Self {
        self.duplicate_keys = DuplicateKeys::LastWins;
        self
    }
}

/// What [`load`] could read, and what it has to say about it.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Loaded {
    /// The documents; incomplete where `diagnostics` has errors. Empty for a text of spaces and comments.
    pub documents: Vec<Node>,
    /// All that was noticed, in the order of the text.
    pub diagnostics: Diagnostics,
}

/// What [`load_one`] could read, and what it has to say about it.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LoadedOne {
    /// The document; incomplete where `diagnostics` has errors. Absent when the text has none, which is no
    /// error here.
    pub root: Option<Node>,
    /// All that was noticed, in the order of the text.
    pub diagnostics: Diagnostics,
}

impl LoadedOne {
    /// The document and the warnings, or all diagnostics if one of them is an error.
    ///
    /// # Errors
    /// The diagnostics, when they have errors.
    pub fn into_result(self) -> Result<(Option<Node>, Diagnostics), Diagnostics> {
        if self.diagnostics.has_errors() { Err(self.diagnostics) } else { Ok((self.root, self.diagnostics)) }
    }
}

/// Reads a text that should have one document.
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

/// Reads all documents of a text, recovering from errors.
pub fn load(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    let options = &LoadOptions { limits: options.limits.of(source), ..options.clone() };
    // Spans hold 32 bits.
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

/// How many bytes may be read again after errors, and how often at most.
const REREAD_BYTES: usize = 8 << 20;
const ROUNDS: usize = 64;

fn load_yaml(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    let rounds = (REREAD_BYTES / source.text().len().max(1)).min(ROUNDS);
    let mut draft = Draft::new(source);
    let mut outcome = yaml::read(source, &draft, options);
    let mut found = Diagnostics::new();
    // In quotes they are the author's; elsewhere they are taken out before anything else is judged.
    if outcome.invisible || outcome.error.is_some() {
        found = cause::invisible(source, &mut draft, &outcome.quoted);
    }
    if !found.is_empty() && rounds > 0 {
        outcome = yaml::read(source, &draft, options);
    }
    // What is wrong is said in any case; what is repaired is read again as long as that is soon done.
    let mut left = rounds;
    while repair(source, &mut draft, &outcome, &mut found) && left > 0 {
        left -= 1;
        outcome = yaml::read(source, &draft, options);
    }
    found.extend(outcome.diagnostics);
    Loaded { documents: outcome.documents, diagnostics: found }
}

/// Reports what is wrong with the syntax, as far as one round could see, and repairs it. Says whether there
/// is something new to read.
fn repair(source: &Arc<Source>, draft: &mut Draft<'_>, outcome: &Outcome, found: &mut Diagnostics) -> bool {
    let causes = causes(source, draft, outcome).into_iter();
    let repairs: Option<Vec<Vec<Edit>>> = causes.map(|cause| settle(draft, cause, found)).collect();
    repairs.is_some_and(|repairs| draft.apply(repairs.concat()))
}

/// Reports a cause and gives its repair. What was repaired before and is still wrong is left out without a
/// word: its diagnostic would speak of our text, not of the author's.
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

/// What is wrong with the syntax, as far as one round could see.
fn causes(source: &Arc<Source>, draft: &Draft<'_>, outcome: &Outcome) -> Vec<Cause> {
    let error = outcome.error.as_ref().map(|error| cause::of(source, draft, error));
    // Those around the error are named by its cause; the others are met again.
    let named = error.as_ref().is_some_and(|cause| cause.diagnostic.code == codes::ESCAPED_COMMENT);
    let comments = cause::comments_as_text(source, draft, &outcome.escaped_comments);
    comments.filter(|_| !named).into_iter().chain(error).collect()
}
