//! Writes descriptors as text in one canonical form.
//!
//! Descriptors that differ only in their layout give the same output:
//!
//! - Sections and keys have a fixed order. Properties, components and operations keep their order, because their
//!   order has a meaning.
//! - Lists and maps have YAML's block style. A text has quotes only if a YAML parser could misread the text without
//!   quotes, for example as a number.
//! - Known misspellings of keys are corrected.
//! - Comments, anchors, layout and custom tags are lost.
//!
//! If the output is read, the result is an equal descriptor. If that descriptor is written again, the bytes are the
//! same.

mod canonical;
mod item;

use windlass_source::{EmitStyle, LoadOptions, Node, load_one};

pub(crate) use canonical::{Fill, Position, canonical};
pub(crate) use item::{Body, Item};

use crate::document::Descriptor;

/// Returns the text of a descriptor in its canonical form. If the source has syntax errors, the output
/// contains the parts that can be read.
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

/// Returns a document as YAML text.
pub(crate) fn write(document: &Item) -> String {
    windlass_source::emit(document, EmitStyle::Text)
}

/// Loads the text of a descriptor, and returns the root of the YAML tree. Returns `None` if the text contains no YAML
/// document.
pub(crate) fn root(descriptor: &Descriptor) -> Option<Node> {
    load_one(descriptor.source(), &LoadOptions::default()).root
}

/// A [`Fill`] that keeps every value of the text.
struct AsWritten;

impl Fill for AsWritten {
    fn fill(&mut self, node: &Node, _: &Position<'_>) -> Item {
        Item::of(node)
    }
}
