//! Reading nodes as typed parts: every problem is reported, and what can be read is kept.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use windlass_model::Origin;
use windlass_source::{
    Code, Diagnostic, Diagnostics, Fix, Key, Mapping, Node, Place, Source, Span, suggest, suggest_unique,
};

use crate::codes;

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

/// Spellings that real descriptors have for keys of the language.
const KEY_SPELLINGS: [(&str, &str); 12] = [
    ("descripion", "description"),
    ("descriptiomn", "description"),
    ("desciption", "description"),
    ("read_only", "read-only"),
    ("readOnly", "read-only"),
    ("readonly", "read-only"),
    ("require", "required"),
    ("publication_period", "publication-period"),
    ("template_type", "template-type"),
    ("source_state", "source-state"),
    ("target_state", "target-state"),
    ("initial_quantity", "initial-quantity"),
];

/// Returns the key that a known misspelling stands for.
pub(crate) fn canonical(key: &str) -> &str {
    KEY_SPELLINGS.iter().find(|(spelling, _)| *spelling == key).map_or(key, |(_, meant)| meant)
}

/// Reads nodes of one source.
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

    pub(crate) fn warning(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(code, message).at(self.source.place(span)));
    }

    /// Reads a mapping; null is an empty one.
    pub(crate) fn mapping<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n Mapping> {
        match node.as_mapping() {
            Some(mapping) => Some(mapping),
            None if node.is_null() => None,
            None => {
                self.wrong_sort(node, what, "a mapping");
                None
            }
        }
    }

    pub(crate) fn wrong_sort(&mut self, node: &Node, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, and this is {}", node.describe());
        self.error(codes::WRONG_SORT, node.span(), message);
    }

    /// Reads the text of a scalar.
    pub(crate) fn text(&mut self, node: &Node, what: &str) -> Option<Spanned<String>> {
        match node.as_str() {
            Some(_) if node.is_null() => None,
            Some(text) => Some(Spanned { value: text.to_owned(), span: node.span() }),
            None => {
                self.wrong_sort(node, what, "text");
                None
            }
        }
    }

    /// Reads text as a validated value.
    pub(crate) fn parse<T>(&mut self, node: &Node, what: &str, code: Code) -> Option<Spanned<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        let text = self.text(node, what)?;
        self.parse_text(&text.value, text.span, code)
    }

    pub(crate) fn parse_text<T>(&mut self, text: &str, span: Span, code: Code) -> Option<Spanned<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        match text.parse() {
            Ok(value) => Some(Spanned { value, span }),
            Err(error) => {
                self.error(code, span, error.to_string());
                None
            }
        }
    }

    pub(crate) fn key<T>(&mut self, key: &Key, code: Code) -> Option<Spanned<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.parse_text(key.text(), key.span(), code)
    }

    /// Reads a flag; `yes` and `no` are taken too.
    pub(crate) fn flag(&mut self, node: &Node, what: &str) -> bool {
        match node.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("true" | "yes" | "on") => true,
            Some("false" | "no" | "off") => false,
            _ if node.is_null() => false,
            _ => {
                self.error(codes::BAD_FLAG, node.span(), format!("{what} must be `true` or `false`"));
                false
            }
        }
    }

    /// Warns of every key that is not in `known`. A known misspelling counts as what it stands for.
    pub(crate) fn unknown_keys(&mut self, mapping: &Mapping, known: &[&str], what: &str) {
        for entry in mapping.entries() {
            let key = entry.key.text();
            if !known.contains(&key) {
                let diagnostic = self.unknown_key(&entry.key, known, what);
                self.diagnostics.push(diagnostic);
            }
        }
    }

    fn unknown_key(&self, key: &Key, known: &[&str], what: &str) -> Diagnostic {
        let meant = canonical(key.text());
        let place = self.place(key.span());
        if meant != key.text() && known.contains(&meant) {
            return Diagnostic::warning(codes::UNKNOWN_KEY, format!("`{}` is read as `{meant}`", key.text()))
                .at(place)
                .help(format!("write `{meant}`"))
                .fix(Fix::replace(format!("write `{meant}`"), key.span(), meant));
        }
        let message = format!("{what} has no `{}`; it is ignored", key.text());
        let diagnostic = Diagnostic::warning(codes::UNKNOWN_KEY, message).at(place);
        match suggest_unique(key.text(), known.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")).fix(Fix::replace(
                format!("write `{near}`"),
                key.span(),
                near,
            )),
            None => diagnostic,
        }
    }
}

/// Finds a value by its key or by a known misspelling of it.
pub(crate) fn get<'n>(mapping: &'n Mapping, key: &str) -> Option<&'n Node> {
    mapping
        .get(key)
        .or_else(|| mapping.entries().iter().find(|e| canonical(e.key.text()) == key).map(|e| &e.value))
}

/// Adds the nearest valid name to a diagnostic, if one is near.
pub(crate) fn did_you_mean<'a>(
    diagnostic: Diagnostic,
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    match suggest(name, candidates) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// Returns where a span is, as records keep it.
pub(crate) fn origin(source: &Arc<Source>, span: Span) -> Origin {
    let position = source.position(span.start);
    Origin { file: source.name().to_owned(), line: number(position.line), column: number(position.column) }
}

fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
