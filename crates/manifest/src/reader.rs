//! Reads nodes as typed values. Reports every problem, and keeps the readable parts.

use std::fmt::Display;
use std::str::FromStr;

use windlass_model::pins::{PinType, ValueType};
use windlass_source::{
    Code, Diagnostic, Key, Mapping, Node, Severity, Spanned, did_you_mean, listed, suggest_within,
};

use crate::codes;
use crate::grammar::{GrammarError, GrammarProblem};
use crate::report::{Report, choose};

/// Maximum edit distance of a misspelling. A word at a greater distance is an unknown word.
const EDITS: usize = 2;

impl Report<'_> {
    pub(crate) fn wrong_sort(&mut self, node: &Node, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, and this is {}", node.describe());
        self.error(codes::WRONG_SORT, node.span(), message);
    }

    /// Returns a node as a mapping; `None` if it is no mapping. Reports a node that is neither a mapping nor
    /// null.
    pub(crate) fn mapping<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n Mapping> {
        let mapping = node.as_mapping();
        if mapping.is_none() && !node.is_null() {
            self.wrong_sort(node, what, "a mapping");
        }
        mapping
    }

    /// Returns the items of a list; an empty list if the node is no list. Reports a node that is neither a list
    /// nor null.
    pub(crate) fn list<'n>(&mut self, node: Option<&'n Node>, what: &str) -> &'n [Node] {
        let Some(node) = node.filter(|node| !node.is_null()) else { return &[] };
        node.as_sequence().unwrap_or_else(|| {
            self.wrong_sort(node, what, "a list");
            &[]
        })
    }

    /// Returns the text of a scalar; `None` for null, and for a node that is no scalar. Reports a node that is
    /// no scalar.
    pub(crate) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match node.as_str() {
            Some(_) if node.is_null() => None,
            Some(text) => Some(text),
            None => {
                self.wrong_sort(node, what, "text");
                None
            }
        }
    }

    /// Reads a flag. Accepts `yes`, `no`, `on` and `off` too.
    pub(crate) fn flag(&mut self, node: &Node, what: &str) -> bool {
        match node.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("true" | "yes" | "on") => true,
            Some("false" | "no" | "off") => false,
            _ => {
                self.wrong_sort(node, what, "`true` or `false`");
                false
            }
        }
    }

    /// Parses a key of a mapping, for example as the name of a pin. Reports a key that can't be parsed, and returns
    /// `None`.
    pub(crate) fn key<T>(&mut self, key: &Key) -> Option<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        let parsed = key
            .text()
            .parse()
            .map_err(|error: T::Err| self.error(codes::NAME, key.span(), error.to_string()));
        parsed.ok()
    }

    /// Parses a text, such as the text of a pin, by its grammar. Reports a mistake at its place inside the
    /// text.
    pub(crate) fn grammar<T>(&mut self, node: &Node, what: &str, code: Code) -> Option<Spanned<T>>
    where
        T: FromStr<Err = GrammarError>,
    {
        let text = self.text(node, what)?;
        match text.parse() {
            Ok(value) => Some(Spanned { value, span: node.span() }),
            Err(error) => {
                let span = node.inside(self.source).span(error.range.clone());
                self.say(Severity::Error, code, span, error.to_string(), |said| {
                    with_words(said, &error.problem)
                });
                None
            }
        }
    }

    /// Reports every key that is not in `known`. If at most [`EDITS`] edits turn the key into a known key, the key is
    /// misspelt and causes an error. Any other key causes a warning. `what` describes the mapping for the message, such
    /// as `an environment`.
    pub(crate) fn unknown_keys(&mut self, mapping: &Mapping, known: &[&str], what: &str) {
        for entry in mapping.entries().iter().filter(|entry| !known.contains(&entry.key.text())) {
            if self.diagnostics.is_full(Severity::Error) && self.diagnostics.is_full(Severity::Warning) {
                self.diagnostics.leaves_out(Severity::Warning);
                continue;
            }
            let (key, span) = (entry.key.text(), entry.key.span());
            let is_misspelt = suggest_within(key, known.iter().copied(), EDITS).is_some();
            let severity = if is_misspelt { Severity::Error } else { Severity::Warning };
            let tail = if is_misspelt { "" } else { "; it is ignored" };
            let message = match key {
                "" => format!("{what} has an entry with an empty key; it is ignored"),
                _ => format!("{what} has no `{key}`{tail}"),
            };
            self.say(severity, codes::UNKNOWN_KEY, span, message, |said| {
                if is_misspelt {
                    did_you_mean(said, key, known.iter().copied())
                } else {
                    said.help(format!("it has {}", listed(known)))
                }
            });
        }
    }
}

/// Adds help to a diagnostic about an unknown word. The help suggests the most similar valid word. If no valid word is
/// similar, the help lists all valid words.
fn with_words(diagnostic: Diagnostic, problem: &GrammarProblem) -> Diagnostic {
    match problem {
        GrammarProblem::Kind(word) if ValueType::from_word(word).is_some() => {
            diagnostic.help(format!("a pin has a kind around its type: `configuration({word})`"))
        }
        GrammarProblem::Kind(word) => choose(diagnostic, word, PinType::KINDS),
        GrammarProblem::Type(word) => {
            choose(diagnostic, word, ValueType::WORDS.into_iter().chain(["list", "map", "record"]))
        }
        _ => diagnostic,
    }
}
