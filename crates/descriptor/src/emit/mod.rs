//! Writes descriptors as text in one canonical form.
//!
//! Equal descriptors in different layouts give equal output. Sections and keys have a fixed order,
//! collections have block style, and known misspellings of keys are corrected. Text is quoted only if a
//! reader could misinterpret it. Properties, components and operations keep their order, because it has a
//! meaning. Comments, anchors, layout and custom tags are lost.
//!
//! Reading the output gives an equal descriptor, and writing that descriptor gives the same bytes.

mod canonical;
mod item;

use windlass_source::{EmitStyle, LoadOptions, Node, load_one};

pub(crate) use canonical::{Fill, Position, canonical};
pub(crate) use item::{Body, Item};

use crate::document::Descriptor;

/// Returns the text of a descriptor in its canonical form. Of a descriptor with errors, the text contains the
/// parts that are valid YAML.
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
    write(&canonical(descriptor, root(descriptor).as_ref(), &mut AsWritten))
}

/// Writes a canonical form as text.
pub(crate) fn write(document: &Item) -> String {
    windlass_source::emit(document, EmitStyle::Text)
}

/// Reads the tree of a descriptor's text.
pub(crate) fn root(descriptor: &Descriptor) -> Option<Node> {
    load_one(descriptor.source(), &LoadOptions::default()).root
}

/// A [`Fill`] that returns the values as they are in the text.
struct AsWritten;

impl Fill for AsWritten {
    fn fill(&mut self, node: &Node, _: &Position<'_>) -> Item {
        Item::of(node)
    }
}
