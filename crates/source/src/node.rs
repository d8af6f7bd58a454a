//! The tree of a document: nodes with their places.

use crate::{Reading, Scalar, Span, Style};

/// A node of a document: a scalar, a sequence or a mapping, with its span.
///
/// The *meaning* of a scalar is not decided here: see [`Node::to_value`] and [`Reading`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    span: Span,
    /// Boxed to keep nodes small, because tags are rare.
    tag: Option<Box<Box<str>>>,
    kind: Kind,
}

/// The kind of a [`Node`].
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A scalar.
    Scalar(Scalar),
    /// A sequence, in order.
    Sequence(Box<[Node]>),
    /// A mapping, in order of declaration.
    Mapping(Mapping),
}

impl Node {
    /// Creates a node without a tag.
    pub fn new(span: Span, kind: Kind) -> Self {
        Self { span, tag: None, kind }
    }

    /// Returns the same node with the given tag. The tag has the form that the method [`tag`](Self::tag) returns.
    #[must_use]
    pub fn with_tag(mut self, tag: Option<Box<str>>) -> Self {
        self.tag = tag.map(Box::new);
        self
    }

    /// Returns the span of the node.
    ///
    /// * A block collection extends from its first key or `-` to the end of its last value.
    /// * A block scalar extends from its first character after the indentation to its last visible character.
    /// * An omitted value has an empty span, directly after the `:` or `-`.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Returns the kind of the node.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Returns the tag that the document gives to the node; `None` if the node has no tag.
    ///
    /// - A tag of YAML itself has the form `!!binary`.
    /// - A tag of an application is returned as it is written, for example `!Ref`.
    /// - If a directive `%TAG` defines an abbreviation, tags with this abbreviation are expanded. For example, after
    ///   `%TAG !e! tag:example.com:`, the tag `!e!item` is returned as `tag:example.com:item`.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref().map(AsRef::as_ref)
    }

    /// Converts the node to its kind.
    pub fn into_kind(self) -> Kind {
        self.kind
    }

    /// Returns a description for messages: `a mapping`, `a list`, `null`, `text`.
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar(_) if self.is_null() => "null",
            Kind::Scalar(_) => "text",
            Kind::Sequence(_) => "a list",
            Kind::Mapping(_) => "a mapping",
        }
    }

    /// Returns the text of a scalar, even if the scalar means null.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().map(Scalar::text)
    }

    /// Returns the scalar, if the node is a scalar.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns the items, if the node is a sequence.
    pub fn as_sequence(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the mapping, if the node is a mapping.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.kind {
            Kind::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// Returns the value of a key, if the node is a mapping that contains the key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_mapping()?.get(key)
    }

    /// Tells whether the node is null. A plain scalar is null if it is empty, or if it is `~`, `null`, `Null`
    /// or `NULL`. A scalar with the tag `!!str` or `!` is text, and never null.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| crate::reading::is_null(scalar, self.tag()))
    }

    /// Returns the data of this node. [`Reading`] defines the conversion of plain scalars. The order of keys
    /// has no meaning.
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

/// The key of an entry: always text, in its original spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    span: Span,
    scalar: Scalar,
}

impl Key {
    /// Creates a key from a scalar.
    pub fn new(span: Span, scalar: Scalar) -> Self {
        Self { span, scalar }
    }

    /// Returns the span of the key.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Returns the text of the key.
    pub fn text(&self) -> &str {
        &self.scalar.text
    }

    /// Returns the notation of the key.
    pub fn style(&self) -> Style {
        self.scalar.style
    }
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key of the entry.
    pub key: Key,
    /// The value of the entry.
    pub value: Node,
}

impl Entry {
    /// Returns the span from the first character of the key to the last character of the value.
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
    /// Indices of the entries, sorted by key; only for mappings in which a linear search would be slow.
    index: Option<Box<[u32]>>,
}

/// Maximum size of mappings that are searched linearly.
const SMALL: usize = 12;

impl Mapping {
    /// Creates a mapping. The keys of the entries should be distinct. If several entries have the same key,
    /// [`get`](Self::get) returns the value of any of these entries.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.shrink_to_fit();
        let index = (entries.len() > SMALL).then(|| by_key(&entries));
        Self(Box::new(Entries { entries, index }))
    }

    /// Returns the entries in order of declaration.
    pub fn entries(&self) -> &[Entry] {
        &self.0.entries
    }

    /// Converts the mapping to its entries, in order of declaration.
    pub fn into_entries(self) -> Vec<Entry> {
        self.0.entries
    }

    /// Returns the entry of a key, in logarithmic time.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        let entries = self.entries();
        let Some(index) = &self.0.index else {
            return entries.iter().find(|entry| entry.key.text() == key);
        };
        let at = index.binary_search_by(|&i| entries[i as usize].key.text().cmp(key)).ok()?;
        entries.get(index[at] as usize)
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns the keys in order of declaration.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries().iter().map(|entry| entry.key.text())
    }

    /// Iterates over the entries in order of declaration.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries().iter()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Tells whether the mapping has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }
}

/// Returns the indices of the entries, sorted by key. Equal keys keep the order of declaration.
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
