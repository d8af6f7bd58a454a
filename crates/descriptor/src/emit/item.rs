//! The tree of a document that will be written.

use smol_str::SmolStr;
use windlass_source::{Content, Kind, Node, Tree};

/// A value in a document that will be written, with an optional comment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) body: Body,
    /// Comment that the output contains at the end of the value's first line.
    pub(crate) comment: Option<Box<str>>,
}

/// The content of an [`Item`]. A number or boolean is a [`Text`](Self::Text) here, because the descriptor language
/// treats all scalars except null as text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Null,
    Text(SmolStr),
    List(Vec<Item>),
    /// Entries in the order of the output.
    Map(Vec<(SmolStr, Item)>),
}

impl Tree for Item {
    fn content(&self) -> Content<'_, Self> {
        match &self.body {
            Body::Null => Content::Null,
            Body::Text(text) => Content::Text(text),
            Body::List(items) => Content::List(items),
            Body::Map(entries) => {
                Content::Map(entries.iter().map(|(key, value)| (key.as_str(), value)).collect())
            }
        }
    }

    fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }
}

impl Item {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, comment: None }
    }

    pub(crate) fn text(text: impl Into<SmolStr>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Copies a node with all its entries. The copy does not contain the places, tags and quotes of the node.
    pub(crate) fn of(node: &Node) -> Self {
        Self::map_texts(node, &mut |text| Self::text(text))
    }

    /// Copies a node. The result of `make` replaces each scalar except null. Keys stay unchanged.
    pub(crate) fn map_texts(node: &Node, make: &mut dyn FnMut(&str) -> Self) -> Self {
        match node.kind() {
            _ if node.is_null() => Self::new(Body::Null),
            Kind::Scalar(scalar) => make(scalar.text()),
            Kind::Sequence(items) => {
                Self::new(Body::List(items.iter().map(|item| Self::map_texts(item, make)).collect()))
            }
            Kind::Mapping(mapping) => {
                let entry = |entry: &windlass_source::Entry| {
                    (SmolStr::new(entry.key.text()), Self::map_texts(&entry.value, make))
                };
                let entries: Vec<_> = mapping.iter().map(entry).collect();
                Self::new(Body::Map(entries))
            }
        }
    }
}
