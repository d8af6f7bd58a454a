//! Reading of nodes in windlass's own documents. Every problem is reported with its place, and unknown keys
//! are errors.

use std::sync::Arc;

use windlass_source::{
    Code, Diagnostic, Diagnostics, Fix, Mapping, Node, Place, Severity, Source, Span, listed, suggest,
    suggest_unique,
};

use crate::codes;

/// A reader for the nodes of one source.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a Arc<Source>,
    pub(crate) diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    pub(crate) fn place(&self, span: Span) -> Place {
        self.source.place(span)
    }

    pub(crate) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, message).at(self.source.place(span)));
    }

    /// Reads a mapping that may have only the keys in `known`. Null counts as an empty mapping.
    pub(crate) fn mapping<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<&'n Mapping> {
        let mapping = self.any_mapping(node, what)?;
        for entry in mapping {
            let key = entry.key.text();
            if !known.contains(&key) && !self.diagnostics.leaves_out(Severity::Error) {
                let message = format!("{what} has no key `{key}`");
                let mut diagnostic =
                    Diagnostic::error(codes::UNKNOWN_KEY, message).at(self.place(entry.key.span()));
                diagnostic = match suggest(key, known.iter().copied()) {
                    Some(near) => {
                        let fix = || Fix::replace(format!("write `{near}`"), entry.key.span(), near);
                        let certain = suggest_unique(key, known.iter().copied())
                            .is_some_and(|unique| mapping.get(unique).is_none());
                        let diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                        if certain { diagnostic.fix(fix()) } else { diagnostic }
                    }
                    None if known.is_empty() => diagnostic.help("remove it: there are no keys"),
                    None => diagnostic.help(format!("it may have {}", listed(known.iter().copied()))),
                };
                self.diagnostics.push(diagnostic);
            }
        }
        Some(mapping)
    }

    /// Reads a mapping with arbitrary keys. Null counts as an empty mapping.
    pub(crate) fn any_mapping<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n Mapping> {
        if node.as_mapping().is_none() && !node.is_null() {
            self.wrong_sort(node, what, "a mapping");
        }
        node.as_mapping()
    }

    /// Reads a list. Null counts as an empty list.
    pub(crate) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        if node.as_sequence().is_none() && !node.is_null() {
            self.wrong_sort(node, what, "a list");
        }
        node.as_sequence().unwrap_or_default()
    }

    /// Reads a text that is not empty. A number or a flag is read as text, as it is written: `1.10` stays `1.10`.
    pub(crate) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let text = node.as_str().filter(|text| !node.is_null() && !text.trim().is_empty());
        if text.is_none() {
            self.wrong_sort(node, what, "text");
        }
        text
    }

    fn wrong_sort(&mut self, node: &Node, what: &str, expected: &str) {
        let found = match node.as_str() {
            Some(text) if !node.is_null() && text.trim().is_empty() => "empty",
            _ => node.describe(),
        };
        self.error(codes::WRONG_SORT, node.span(), format!("{what} must be {expected}, and this is {found}"));
    }
}
