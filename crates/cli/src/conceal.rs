//! Masking of secrets in quoted lines of descriptors and manifests.
//!
//! Descriptors should not contain values of sensitive properties. But many descriptors do, for example as defaults
//! or for a test. If a message quotes a line with such a value, the value must not appear in a build log. So this
//! module masks the value.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use windlass::check::CheckView;
use windlass::secret::{Redactor, names_a_secret};
use windlass::source::{
    Diagnostic, Diagnostics, Fix, Kind, Label, LoadOptions, Mapping, Node, Source, load_one,
};

/// The keys whose values stay readable in the declaration of a secret property. The values of all other keys in this
/// declaration are masked, because an unknown key may be a misspelled `value` or `default`.
const NO_VALUES: [&str; 5] = ["type", "description", "required", "read-only", "sensitive"];

/// Maximum size in bytes of a text that is parsed to find its values. In a larger text all values are masked.
const LARGEST: usize = 1 << 20;

/// Minimum length in bytes of a word that is masked in a message.
const SHORTEST_WORD: usize = 4;

/// The parts of a source that must not be shown.
#[derive(Default)]
pub(crate) struct Concealed {
    ranges: Vec<Range<usize>>,
}

impl Concealed {
    /// Finds the values of sensitive properties. If the text can't be parsed or is too large, conceals all
    /// values.
    pub(crate) fn of(source: &Arc<Source>) -> Self {
        let text = source.text();
        if !mentions_a_secret(text) {
            return Self::default();
        }
        let mut ranges = Vec::new();
        let loaded = (text.len() <= LARGEST).then(|| load_one(source, &LoadOptions::default()));
        let root = loaded.filter(|loaded| !loaded.diagnostics.has_errors()).and_then(|loaded| loaded.root);
        match &root {
            Some(root) => {
                let mut pins = HashSet::new();
                secret_names(root, &mut pins);
                below(root, false, &pins, &mut ranges);
            }
            None => ranges = after_colons(text),
        }
        ranges.retain(|range| !range.is_empty());
        Self { ranges }
    }

    /// Returns the range `part` of the text with a star in place of each secret byte. Line breaks stay, and all other
    /// bytes keep their position.
    pub(crate) fn masked(&self, text: &str, part: Range<usize>) -> String {
        let mut bytes = text.as_bytes()[part.clone()].to_vec();
        for range in &self.ranges {
            let (start, end) = (range.start.max(part.start), range.end.min(part.end));
            if start >= end {
                continue;
            }
            for byte in &mut bytes[start - part.start..end - part.start] {
                if !matches!(byte, b'\n' | b'\r') {
                    *byte = b'*';
                }
            }
        }
        // Ranges and lines start and end at character boundaries, so the result is valid UTF-8.
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Returns the secret words in the lines to which `label` refers. The secret words are the words of the concealed
    /// values, with and without their punctuation. Words of less than [`SHORTEST_WORD`] bytes are omitted.
    fn words<'a>(&'a self, label: &'a Label) -> impl Iterator<Item = &'a str> {
        let (text, at) = (label.place.source().text(), label.place.span().range());
        let start = text[..at.start.min(text.len())].rfind('\n').map_or(0, |at| at + 1);
        let end = text[at.end.min(text.len())..].find('\n').map_or(text.len(), |found| at.end + found);
        let near = self.ranges.iter().filter(move |range| range.start < end && range.end > start);
        let words = near
            .flat_map(|range| text[range.clone()].split(|c: char| c.is_whitespace() || "\"'`".contains(c)));
        // A message may quote a word without its punctuation, such as `hunter2` instead of `hunter2:`.
        let plain = |word: &'a str| word.trim_matches(|c: char| c.is_ascii_punctuation());
        words.flat_map(move |word| [word, plain(word)]).filter(|word| word.len() >= SHORTEST_WORD)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// A cache with the [`Concealed`] parts of each source to which a diagnostic has referred so far.
#[derive(Default)]
pub(crate) struct Seen(Vec<(Arc<Source>, Rc<Concealed>)>);

impl Seen {
    /// Returns the concealed parts of a source. The source is searched only once: the cache keeps the result.
    pub(crate) fn concealed(&mut self, source: &Arc<Source>) -> Rc<Concealed> {
        if let Some((_, known)) = self.0.iter().find(|(known, _)| Arc::ptr_eq(known, source)) {
            return known.clone();
        }
        let concealed = Rc::new(Concealed::of(source));
        self.0.push((source.clone(), concealed.clone()));
        concealed
    }

    /// Returns a redactor that masks the secret words in the lines to which the labels refer. Returns `None` if
    /// these lines contain no secret words.
    fn redactor<'a>(&mut self, labels: impl IntoIterator<Item = &'a Label>) -> Option<Redactor> {
        let near: Vec<(Rc<Concealed>, &Label)> = labels
            .into_iter()
            .map(|label| (self.concealed(label.place.source()), label))
            .filter(|(concealed, _)| !concealed.is_empty())
            .collect();
        let words: Vec<&str> = near.iter().flat_map(|(concealed, label)| concealed.words(label)).collect();
        (!words.is_empty()).then(|| Redactor::new(words))
    }

    /// Returns a copy of a diagnostic. The diagnostic may quote a secret from a line to which it refers. In the
    /// copy, such secrets are masked, and a fix that would write such a secret is removed.
    pub(crate) fn without_secrets(&mut self, diagnostic: &Diagnostic) -> Diagnostic {
        let mut diagnostic = diagnostic.clone();
        let labels = diagnostic.primary.iter().chain(&diagnostic.related);
        let Some(redactor) = self.redactor(labels) else { return diagnostic };
        diagnostic.message = redactor.mask_str(&diagnostic.message);
        diagnostic.help = diagnostic.help.map(|help| redactor.mask_str(&help));
        for label in diagnostic.primary.iter_mut().chain(&mut diagnostic.related) {
            label.text = redactor.mask_str(&label.text);
        }
        let writes_a_secret =
            |fix: &Fix| fix.edits.iter().any(|edit| redactor.mask_str(&edit.replacement) != edit.replacement);
        diagnostic.fixes.retain(|fix| !writes_a_secret(fix));
        for fix in &mut diagnostic.fixes {
            fix.description = redactor.mask_str(&fix.description);
        }
        diagnostic
    }

    /// Returns a copy of the result of a check. A diagnostic of the result may quote a secret from a line to which
    /// it refers. In the copy, such secrets are masked.
    pub(crate) fn checked(&mut self, view: &CheckView) -> CheckView {
        let mut view = view.clone();
        let found: Vec<Diagnostic> =
            view.diagnostics.iter().map(|found| self.without_secrets(found)).collect();
        view.diagnostics = Diagnostics::from(found);
        for fix in view.repaired.iter_mut().flat_map(|file| &mut file.fixes) {
            let label = Label { place: fix.place.clone(), text: String::new() };
            if let Some(redactor) = self.redactor([&label]) {
                fix.description = redactor.mask_str(&fix.description);
            }
        }
        view
    }
}

/// Tells whether a text contains a word that marks a secret property.
fn mentions_a_secret(text: &str) -> bool {
    text.contains("sensitive") || text.lines().any(names_a_secret)
}

/// Collects the names of properties and pins that are declared as secret.
fn secret_names<'n>(node: &'n Node, names: &mut HashSet<&'n str>) {
    match node.kind() {
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| secret_names(item, names)),
        Kind::Mapping(mapping) => {
            for entry in mapping {
                names.extend(
                    entry.value.as_mapping().is_some_and(declares_a_secret).then(|| entry.key.text()),
                );
                secret_names(&entry.value, names);
            }
        }
    }
}

/// Collects the ranges of the secret values below a node. `is_secret` tells whether the node's own key marks
/// the node as secret. `pins` contains the names of secret pins. If the last part of a dotted
/// key is the name of a secret pin, as in `interface.pin`, the value of the key is secret, too.
fn below(node: &Node, is_secret: bool, pins: &HashSet<&str>, ranges: &mut Vec<Range<usize>>) {
    match node.kind() {
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| below(item, false, pins, ranges)),
        Kind::Mapping(mapping) => {
            let is_secret = is_secret || declares_a_secret(mapping);
            for entry in mapping {
                let key = entry.key.text();
                let named = names_a_secret(key);
                let is_scalar = |node: &Node| matches!(node.kind(), Kind::Scalar(_));
                let is_plain = match entry.value.kind() {
                    Kind::Scalar(_) => true,
                    Kind::Sequence(items) => items.iter().all(is_scalar),
                    Kind::Mapping(_) => false,
                };
                let is_pin = key.rsplit_once('.').is_some_and(|(_, pin)| pins.contains(pin));
                if (is_secret && !NO_VALUES.contains(&key)) || (named && is_plain) || is_pin {
                    ranges.push(entry.value.span().range());
                } else {
                    below(&entry.value, named, pins, ranges);
                }
            }
        }
    }
}

fn declares_a_secret(mapping: &Mapping) -> bool {
    let says = |key: &str, wanted: &str| {
        mapping.get(key).and_then(Node::as_str).is_some_and(|found| found.eq_ignore_ascii_case(wanted))
    };
    says("type", "password") || says("sensitive", "true")
}

/// Returns the ranges to mask in a text that can't be parsed. There is one range for each line: the text after the
/// first colon. If a line has no colon, the range is the whole text of the line.
fn after_colons(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        let end = start + line.trim_end().len();
        let value = line.find(':').map_or(line.len() - line.trim_start().len(), |colon| colon + 1);
        let blank = line[value..].len() - line[value..].trim_start().len();
        (start + value + blank).min(end)..end
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use windlass::source::{Span, codes};

    use super::*;

    fn masked(text: &str) -> String {
        let source = Source::new("a.yaml", text);
        Concealed::of(&source).masked(source.text(), 0..text.len())
    }

    #[test]
    fn values_of_secrets_are_masked_and_no_others() {
        for (text, shown) in [
            (
                "a: {type: password, defualt: hunter, required: true}\n",
                "a: {type: password, defualt: ******, required: true}\n",
            ),
            ("name: a\nport: {default: 80}\n", "name: a\nport: {default: 80}\n"),
            ("a: {type: password, default: hunté}\n", "a: {type: password, default: ******}\n"),
            ("a: {sensitive: true, value: |\n  x\n  y\n  }\n", "**"),
            ("db_password: hunter2\nport: 80\n", "db_password: *******\nport: 80\n"),
            (
                "db: {password: {value: 'hunter2', required: true}}\n",
                "db: {password: {value: *********, required: true}}\n",
            ),
            ("password: {type: string}\n", "password: {type: string}\n"),
            (
                "configuration: {db.pin: [hunter2]}\ndb: {pin: {type: a, sensitive: true}}\n",
                "configuration: {db.pin: *********}\ndb: {pin: {type: a, sensitive: true}}\n",
            ),
            ("passwords: [hunter2, hunter3]\nport: 80\n", "passwords: ******************\nport: 80\n"),
            ("password: @hunter2\n  x\nport: 80\n", "password: ********\n  *\nport: **\n"),
        ] {
            let found = masked(text);
            assert!(found == shown || (shown == "**" && !found.contains('x')), "{text}: {found}");
            assert_eq!(found.len(), text.len());
        }
    }

    #[test]
    fn messages_about_a_line_are_masked() {
        let source = Source::new("a.yaml", "port: hunter2\npassword: hunter2: x\n");
        let at = |start, end| source.place(Span::new(start, end));
        let quote = Fix::replace("quote `hunter2: x`", Span::new(24, 34), "'hunter2: x'");
        let rename = Fix::replace("write `secret` for `hunter2`", Span::new(14, 22), "secret");
        let found = Diagnostic::error(codes::SYNTAX, "colon inside the text `hunter2: x`")
            .at(at(24, 31))
            .label("`hunter2`")
            .help("quote hunter2")
            .fix(quote)
            .fix(rename);
        let shown = Seen::default().without_secrets(&found);
        assert_eq!(shown.message, "colon inside the text `*** x`");
        assert_eq!(shown.fixes.len(), 1);
        let json = serde_json::to_string(&shown).unwrap();
        assert!(!json.contains("hunter2"), "{json}");
        let elsewhere = Diagnostic::error(codes::SYNTAX, "not `hunter2`").at(at(6, 13));
        let related = elsewhere.related(at(24, 31), "here");
        assert_eq!(Seen::default().without_secrets(&related).message, "not `***`");
    }
}
