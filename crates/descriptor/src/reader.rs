//! Converts the nodes of a YAML document to the parts of a descriptor. Every problem is reported, and all
//! parts without problems are kept.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::name::NameError;
use windlass_model::version::VersionError;
use windlass_model::{ComponentName, Origin};
use windlass_source::{
    Code, Diagnostic, Diagnostics, Entry, Fix, Key, Mapping, Node, Place, Severity, Source, Span,
    did_you_mean, listed, suggest, suggest_within,
};

use crate::codes;
use crate::surroundings::Surroundings;

pub use windlass_source::Spanned;

/// Misspelt keys of published descriptors, each with the correct key.
const KEY_SPELLINGS: &[(&str, &str)] = &[
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
    ("source_state_modifier", "source-state-modifier"),
    ("target_state_modifier", "target-state-modifier"),
    ("source_capabilities", "source-capabilities"),
    ("target_requirements", "target-requirements"),
    ("source_operation", "source-operation"),
    ("source_metric", "source-metric"),
    ("initial_quantity", "initial-quantity"),
    ("minimum_nodes", "minimum-nodes"),
    ("maximum_nodes", "maximum-nodes"),
    ("scaling_increment", "scaling-increment"),
    ("default_driver", "default-driver"),
    ("infrastructure_type", "infrastructure-type"),
    ("private_properties", "private-properties"),
    ("entry_schema", "entry-schema"),
    ("data_types", "data-types"),
    ("derived_from", "derived-from"),
];

/// Maximum number of letters in which a misspelt key differs from the correct key.
pub(crate) const EDITS: usize = 2;

/// Maximum number of searches for misspelt keys in one document. A search compares an unknown key with all known
/// keys. If a known key is similar, the unknown key is an error. Otherwise, it is only a warning. After the last
/// search, each further unknown key is only a warning.
const COMPARED: usize = 50_000;

/// Returns the correct key for a misspelt key of `KEY_SPELLINGS`. Returns any other key unchanged.
pub(crate) fn canonical(key: &str) -> &str {
    KEY_SPELLINGS.iter().find(|(spelling, _)| *spelling == key).map_or(key, |(_, meant)| meant)
}

/// The state of the conversion of one document.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a Arc<Source>,
    pub(crate) around: &'a Surroundings,
    pub(crate) diagnostics: &'a mut Diagnostics,
    /// Number of searches for misspelt keys that are still permitted. The initial number is [`COMPARED`].
    comparisons: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        source: &'a Arc<Source>,
        around: &'a Surroundings,
        diagnostics: &'a mut Diagnostics,
    ) -> Self {
        Self { source, around, diagnostics, comparisons: COMPARED }
    }
}

impl Reader<'_> {
    pub(crate) fn place(&self, span: Span) -> Place {
        self.source.place(span)
    }

    pub(crate) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.say(Severity::Error, |source| Diagnostic::error(code, message).at(source.place(span)));
    }

    pub(crate) fn warning(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.say(Severity::Warning, |source| Diagnostic::warning(code, message).at(source.place(span)));
    }

    /// Adds a diagnostic. If the limit for its severity is reached, `make` is not called, and the diagnostic
    /// is only counted.
    pub(crate) fn say(&mut self, severity: Severity, make: impl FnOnce(&Arc<Source>) -> Diagnostic) {
        if !self.diagnostics.leaves_out(severity) {
            self.diagnostics.push(make(self.source));
        }
    }

    /// Returns a node as a mapping. For null, returns `None`. For a node of another sort, reports an error
    /// and returns `None`.
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

    /// Returns the text of a scalar. For null, returns `None`. For a list or map, reports an error and
    /// returns `None`.
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

    /// Parses a text, for example as a name. If the text is invalid, reports the error of the parser.
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

    /// Reports a word that is none of `words`, and suggests the nearest of them.
    pub(crate) fn bad_word(&mut self, code: Code, text: &Spanned<String>, message: &str, words: &[&str]) {
        self.say(Severity::Error, |source| {
            let diagnostic = Diagnostic::error(code, message).at(source.place(text.span));
            did_you_mean(diagnostic, &text.value, words.iter().copied())
        });
    }

    pub(crate) fn key<T>(&mut self, key: &Key, code: Code) -> Option<Spanned<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.parse_text(key.text(), key.span(), code)
    }

    /// Returns the value of a flag. The words of older YAML versions, such as `yes` and `no`, are also
    /// accepted.
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

    /// Reports every key that is not in `known`. A misspelling that is listed in `KEY_SPELLINGS` is a
    /// warning, and counts as the correct key. Any other misspelling of a known key is an error. A key that
    /// resembles no known key is a warning.
    pub(crate) fn unknown_keys(&mut self, mapping: &Mapping, known: &[&str], what: &str) {
        for entry in mapping.entries().iter().filter(|entry| !known.contains(&entry.key.text())) {
            let severity = self.severity(entry.key.text(), known);
            self.unknown_key(severity, &entry.key, mapping, known, what);
        }
    }

    /// Reports every key that is not in `known` as an error.
    pub(crate) fn wrong_keys(&mut self, mapping: &Mapping, known: &[&str], what: &str) {
        for entry in mapping.entries().iter().filter(|entry| !known.contains(&entry.key.text())) {
            self.unknown_key(Severity::Error, &entry.key, mapping, known, what);
        }
    }

    /// Reports unknown keys of a mapping that has a section `properties`. If the value of an unknown key looks
    /// like a property, the help text advises the author to move the key into this section.
    pub(crate) fn entry_keys(&mut self, mapping: &Mapping, known: &[&str], what: &str, entry_name: &str) {
        for entry in mapping.entries().iter().filter(|entry| !known.contains(&entry.key.text())) {
            let key = entry.key.text();
            let severity = self.severity(key, known);
            let is_misplaced =
                severity == Severity::Warning && home(key).is_none() && property_like(&entry.value);
            if !is_misplaced {
                self.unknown_key(severity, &entry.key, mapping, known, what);
                continue;
            }
            self.say(severity, |source| {
                let message = format!(
                    "`{key}` looks like a property, and stands outside `properties` of {entry_name}; it is ignored"
                );
                let diagnostic = Diagnostic::warning(codes::MISPLACED_KEY, message)
                    .at(source.place(entry.key.span()))
                    .help("move it below `properties`");
                match mapping.entry("properties") {
                    Some(there) => diagnostic.related(source.place(there.key.span()), "it belongs here"),
                    None => diagnostic,
                }
            });
        }
    }

    /// Returns the severity of an unknown key, by the rule of [`unknown_keys`](Self::unknown_keys).
    fn severity(&mut self, key: &str, known: &[&str]) -> Severity {
        if is_spelling(key, known) || self.comparisons == 0 {
            return Severity::Warning;
        }
        self.comparisons -= 1;
        match suggest_within(key, known.iter().copied(), EDITS) {
            Some(_) => Severity::Error,
            None => Severity::Warning,
        }
    }

    /// Reports an invalid name. If the kind in the name is wrong, the help suggests the nearest valid kind. If the
    /// version is valid without its prefix `v`, the help suggests the version without this prefix.
    pub(crate) fn bad_name(&mut self, code: Code, text: &Spanned<String>, error: &NameError) {
        if self.diagnostics.leaves_out(Severity::Error) {
            return;
        }
        let diagnostic = Diagnostic::error(code, error.to_string()).at(self.place(text.span));
        let diagnostic = match error {
            NameError::Kind(kind) => did_you_mean(diagnostic, kind, ["assembly", "resource"]),
            NameError::Version(VersionError::Version(version)) => {
                let bare = version.trim_start_matches(['v', 'V']);
                match bare.parse::<windlass_model::version::Version>() {
                    Ok(_) => did_you_mean(diagnostic, version, [bare]),
                    Err(_) => diagnostic,
                }
            }
            _ => diagnostic,
        };
        let is_template = ["[[", "{{"].iter().any(|open| text.value.contains(open));
        let help = "a placeholder of a template means nothing here: fill the template in first";
        let diagnostic = if is_template { diagnostic.help(help) } else { diagnostic };
        self.diagnostics.push(diagnostic);
    }

    fn unknown_key(&mut self, severity: Severity, key: &Key, there: &Mapping, known: &[&str], what: &str) {
        let (word, span) = (key.text(), key.span());
        self.say(severity, |source| {
            let diagnostic = |said: String| match severity {
                Severity::Error => Diagnostic::error(codes::UNKNOWN_KEY, said).at(source.place(span)),
                _ => Diagnostic::warning(codes::UNKNOWN_KEY, said).at(source.place(span)),
            };
            if word.is_empty() {
                return diagnostic(format!("{what} has an entry with an empty key; it is ignored"));
            }
            let meant = canonical(word);
            if is_spelling(word, known) {
                if there.get(meant).is_some() {
                    return diagnostic(format!("`{word}` is ignored, since `{meant}` is there too"))
                        .help("remove one of the two");
                }
                return diagnostic(format!("`{word}` is read as `{meant}`"))
                    .help(format!("write `{meant}`"))
                    .fix(Fix::replace(format!("write `{meant}`"), span, meant));
            }
            let diagnostic = diagnostic(match severity {
                Severity::Error => format!("{what} has no `{word}`"),
                _ => format!("{what} has no `{word}`; it is ignored"),
            });
            let near = suggest(word, known.iter().copied());
            if let Some(taken) = near.filter(|near| there.get(near).is_some()) {
                return diagnostic.help(format!("`{taken}` is there already; remove one of the two"));
            }
            let diagnostic = did_you_mean(diagnostic, word, known.iter().copied());
            match home(word) {
                _ if diagnostic.help.is_some() => diagnostic,
                Some(home) => diagnostic.help(format!("it belongs {home}")),
                None if severity == Severity::Error => diagnostic.help(format!("it has {}", listed(known))),
                None => diagnostic,
            }
        });
    }
}

/// Tells whether `KEY_SPELLINGS` lists the key as a misspelling of a key in `known`.
fn is_spelling(key: &str, known: &[&str]) -> bool {
    let meant = canonical(key);
    meant != key && known.contains(&meant)
}

/// Tells whether a node has the form of a property: a mapping with a key such as `value` or `default`.
fn property_like(node: &Node) -> bool {
    let is_of_property = |key: &str| matches!(canonical(key), "value" | "default" | "read-only" | "required");
    node.as_mapping().is_some_and(|body| body.keys().any(is_of_property))
}

/// Returns a text that tells where a key of the descriptor language belongs, for example into an entry of
/// `composition`. Returns `None` for keys without such a text.
fn home(key: &str) -> Option<&'static str> {
    Some(match canonical(key) {
        "initial-quantity" | "minimum-nodes" | "maximum-nodes" | "scaling-increment" => {
            "below `cluster` of a component"
        }
        "quantity" | "cluster" => "into an entry of `composition`",
        "source-operation" => "into an entry of `operations` of an assembly",
        "source-metric" => "into an entry of `metrics` of an assembly",
        "publication-period" => "into an entry of `metrics`",
        "source-capabilities"
        | "target-requirements"
        | "source-state"
        | "target-state"
        | "source-state-modifier"
        | "target-state-modifier" => "into an entry of `relationships`",
        "composition" | "references" | "relationships" => "at the top of an assembly descriptor",
        "lifecycle" | "default-driver" | "infrastructure" | "queries" => {
            "at the top of a resource descriptor"
        }
        "drivers" => "below a transition or operation; for all of them there is `default-driver`",
        "infrastructure-type" => "below `selector` of a driver",
        "required" | "read-only" | "volatile" | "entry-schema" => "into an entry of `properties`",
        _ => return None,
    })
}

/// Returns the value of `key`. If the mapping lacks `key`, a misspelling of `key` is used instead. `KEY_SPELLINGS`
/// lists these misspellings.
pub(crate) fn get<'n>(mapping: &'n Mapping, key: &str) -> Option<&'n Node> {
    // All listed misspellings begin with the first letter of the correct key. So a comparison of the first
    // letter skips most keys.
    let near = |found: &str| found.as_bytes().first() == key.as_bytes().first();
    let misspelled = |entry: &&Entry| near(entry.key.text()) && canonical(entry.key.text()) == key;
    mapping.get(key).or_else(|| mapping.entries().iter().find(misspelled).map(|entry| &entry.value))
}

/// Returns the file, line and column at which a span starts.
pub(crate) fn origin(source: &Arc<Source>, span: Span) -> Origin {
    let position = source.position(span.start);
    Origin { file: source.shared_name(), line: number(position.line), column: number(position.column) }
}

fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// An entry of a section: its name, the place of the name, and its content.
pub(crate) struct Body<'n> {
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) node: &'n Node,
}

/// Reads the section `key`, such as `metrics`: a mapping from names to declarations. `read` converts each declaration.
/// An entry with an invalid name is reported with `code`, and left out. If the section is missing, the result is empty.
pub(crate) fn section<K, V>(
    reader: &mut Reader<'_>,
    root: &Mapping,
    key: &str,
    code: windlass_source::Code,
    read: impl Fn(&mut Reader<'_>, &Body<'_>) -> V,
) -> IndexMap<K, V>
where
    K: FromStr + std::hash::Hash + Eq,
    K::Err: std::fmt::Display,
{
    let Some(mapping) = get(root, key).and_then(|node| reader.mapping(node, &format!("`{key}`"))) else {
        return IndexMap::new();
    };
    let mut entries = IndexMap::with_capacity(mapping.len());
    for entry in mapping.entries() {
        let body =
            Body { name: entry.key.text().to_owned(), name_span: entry.key.span(), node: &entry.value };
        let value = read(reader, &body);
        if let Some(name) = reader.key::<K>(&entry.key, code) {
            entries.insert(name.value, value);
        }
    }
    entries
}

/// Splits a text of the form `component.name`. If the text has another form, reports `rule` as the error.
pub(crate) fn dotted<N: FromStr>(
    reader: &mut Reader<'_>,
    text: &Spanned<String>,
    code: Code,
    rule: &str,
) -> Option<Spanned<(ComponentName, N)>> {
    let parts = text.value.split_once('.');
    let parsed = parts.and_then(|(component, name)| Some((component.parse().ok()?, name.parse().ok()?)));
    if parsed.is_none() {
        reader.error(code, text.span, rule);
    }
    parsed.map(|value| Spanned { value, span: text.span })
}

/// Returns the keys of a section, with their places. The values of the keys are ignored.
pub(crate) fn names(reader: &mut Reader<'_>, root: &Mapping, key: &str) -> IndexMap<String, Span> {
    let mapping = get(root, key).and_then(|node| reader.mapping(node, &format!("`{key}`")));
    let entries = mapping.map(Mapping::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.text().to_owned(), entry.key.span())).collect()
}
