//! Writes descriptors as text in one canonical form.
//!
//! Equal descriptors in different layouts give equal output: sections and keys in one order, block style,
//! known misspellings of keys corrected. Text is quoted only where a reader could misinterpret it. The order
//! of declaration is kept where it has a meaning: of properties, components, operations. Comments, anchors,
//! layout and custom tags are lost; to keep them, edit the file instead.
//!
//! Reading the output gives an equal descriptor, and writing that gives the same bytes.

mod canonical;
mod write;

use smol_str::SmolStr;
use windlass_source::{Kind, LoadOptions, Node, load_one};

pub(crate) use canonical::{Fill, Position, canonical};
pub(crate) use write::write;

use crate::document::Descriptor;

/// Writes a descriptor in its canonical form. A descriptor with errors is written as far as it is valid YAML.
///
/// ```
/// use windlass_descriptor::{emit, read};
/// use windlass_source::Source;
///
/// let text = "lifecycle: ['Install']\nname: 'resource::web::1.0'\nproperties: {port: {default: 08}}\n";
/// let descriptor = read(&Source::new("web.yaml", text)).descriptor.unwrap();
/// assert_eq!(emit(&descriptor), r#"name: resource::web::1.0
/// properties:
///   port:
///     default: "08"
/// lifecycle:
///   - Install
/// "#);
/// ```
pub fn emit(descriptor: &Descriptor) -> String {
    let length = descriptor.source().text().len();
    write(&canonical(descriptor, root(descriptor).as_ref(), &mut AsWritten), length)
}

/// Reads the tree of a descriptor's text.
pub(crate) fn root(descriptor: &Descriptor) -> Option<Node> {
    load_one(descriptor.source(), &LoadOptions::default()).root
}

/// Values as they are in the file.
struct AsWritten;

impl Fill for AsWritten {
    fn fill(&mut self, node: &Node, _: &Position<'_>) -> Item {
        Item::of(node)
    }
}

/// A part of a document to be written, with its comment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) body: Body,
    /// Comment of one line for people.
    pub(crate) comment: Option<Box<str>>,
}

/// The content of an [`Item`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Null,
    Text(SmolStr),
    List(Vec<Item>),
    /// Entries in output order.
    Map(Vec<(SmolStr, Item)>),
}

impl Item {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, comment: None }
    }

    pub(crate) fn text(text: impl Into<SmolStr>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Copies a node.
    pub(crate) fn of(node: &Node) -> Self {
        Self::map_texts(node, &mut |text| Self::text(text))
    }

    /// Copies a node, with each text replaced by the result of `make`. Keys stay.
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
