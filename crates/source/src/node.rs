//! The tree of a document: every node with its place and every scalar as it was spelled.

use smol_str::SmolStr;

use crate::{Reading, Span};

/// A node of a document: a scalar, a sequence or a mapping, and where it stands.
///
/// What a scalar *means* is not decided here: see [`Node::to_value`] and [`Reading`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    span: Span,
    /// Rare, hence boxed: the tree of a large document is mostly nodes.
    tag: Option<Box<Box<str>>>,
    kind: Kind,
}

/// What a [`Node`] is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A scalar.
    Scalar(Scalar),
    /// A sequence, in order.
    Sequence(Box<[Node]>),
    /// A mapping, in order of declaration.
    Mapping(Mapping),
}

/// A scalar: its text after escapes and folding, and the notation it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Short text lies in the node itself: most scalars are words.
    pub(crate) text: SmolStr,
    pub(crate) style: Style,
}

/// The notation of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes: the only one that can be something else than text.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

impl Scalar {
    /// A scalar of the given text.
    pub fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: SmolStr::new(text), style }
    }

    /// The text, after escapes and folding.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The notation.
    pub fn style(&self) -> Style {
        self.style
    }
}

impl Node {
    /// A node without a tag.
    pub fn new(span: Span, kind: Kind) -> Self {
        Self { span, tag: None, kind }
    }

    /// The same node with a tag, as [`tag`](Self::tag) gives it.
    #[must_use]
    pub fn with_tag(mut self, tag: Option<Box<str>>) -> Self {
        self.tag = tag.map(Box::new);
        self
    }

    /// Where it stands. A block collection goes from its first key or `-` to the end of its last value, a
    /// block scalar from its first character after the indentation to its last visible one; a value that is
    /// left out is the empty span after its `:` or `-`.
    pub fn span(&self) -> Span {
        self.span
    }

    /// What it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Its explicit tag: `!!binary` for those of YAML itself, else as resolved by the document's directives
    /// (`!Ref`).
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref().map(AsRef::as_ref)
    }

    /// What it is, for taking apart.
    pub fn into_kind(self) -> Kind {
        self.kind
    }

    /// What it is called in messages: `a mapping`, `a list`, `null`, `text`.
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar(_) if self.is_null() => "null",
            Kind::Scalar(_) => "text",
            Kind::Sequence(_) => "a list",
            Kind::Mapping(_) => "a mapping",
        }
    }

    /// The text of a scalar; also of one that means null.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().map(Scalar::text)
    }

    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The items of a sequence.
    pub fn as_sequence(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The mapping, if it is one.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.kind {
            Kind::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_mapping()?.get(key)
    }

    /// Whether it is null: a plain scalar that is empty, `~`, `null`, `Null` or `NULL`, without a tag that
    /// makes it text.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| crate::reading::is_null(scalar, self.tag()))
    }

    /// The data of this node; see [`Reading`] for what plain scalars become. The order of keys means nothing.
    pub fn to_value(&self, reading: Reading) -> serde_json::Value {
        match &self.kind {
            Kind::Scalar(scalar) => reading.resolve(scalar, self.tag()),
            Kind::Sequence(items) => items.iter().map(|item| item.to_value(reading)).collect(),
            Kind::Mapping(mapping) => serde_json::Value::Object(
                mapping
                    .entries()
                    .iter()
                    .map(|e| (e.key.text().to_owned(), e.value.to_value(reading)))
                    .collect(),
            ),
        }
    }
}

/// The key of an entry: always text, as it was spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    span: Span,
    scalar: Scalar,
}

impl Key {
    /// A key.
    pub fn new(span: Span, scalar: Scalar) -> Self {
        Self { span, scalar }
    }

    /// Where it stands.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.scalar.text
    }

    /// Its notation.
    pub fn style(&self) -> Style {
        self.scalar.style
    }
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Node,
}

impl Entry {
    /// From the first character of the key to the last of the value.
    pub fn span(&self) -> Span {
        self.key.span.to(self.value.span)
    }
}

/// A mapping: entries in order of declaration, each key once.
#[derive(Clone, Debug, Default)]
pub struct Mapping(Box<Entries>);

#[derive(Clone, Debug, Default)]
struct Entries {
    entries: Vec<Entry>,
    /// Numbers of the entries in order of their keys; only where looking through all would be slow.
    index: Option<Box<[u32]>>,
}

/// Mappings up to this size are looked through.
const SMALL: usize = 12;

impl Mapping {
    /// A mapping of entries with distinct keys; of equal ones [`get`](Self::get) finds one.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.shrink_to_fit();
        let index = (entries.len() > SMALL).then(|| by_key(&entries));
        Self(Box::new(Entries { entries, index }))
    }

    /// The entries in order of declaration.
    pub fn entries(&self) -> &[Entry] {
        &self.0.entries
    }

    /// The entries in order of declaration, for taking apart.
    pub fn into_entries(self) -> Vec<Entry> {
        self.0.entries
    }

    /// The entry of a key; takes logarithmic time.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        let entries = self.entries();
        let Some(index) = &self.0.index else {
            return entries.iter().find(|entry| entry.key.text() == key);
        };
        let at = index.binary_search_by(|&i| entries[i as usize].key.text().cmp(key)).ok()?;
        entries.get(index[at] as usize)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The keys in order of declaration.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries().iter().map(|entry| entry.key.text())
    }

    /// The entries in order of declaration.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries().iter()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }
}

/// Numbers of the entries by key, those of equal keys in order of declaration.
pub(crate) fn by_key(entries: &[Entry]) -> Box<[u32]> {
    // A document has fewer nodes than bytes, and fewer bytes than 2^32.
    let mut index: Box<[u32]> = (0..u32::try_from(entries.len()).unwrap_or(u32::MAX)).collect();
    index.sort_by(|&a, &b| entries[a as usize].key.text().cmp(entries[b as usize].key.text()));
    index
}

impl PartialEq for Mapping {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

impl<'a> IntoIterator for &'a Mapping {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
