//! Conversion of literals to names.

use windlass_model::{ElementName, PropertyName};

/// Parses the name of an element. The text must be valid.
pub(super) fn name(text: &str) -> ElementName {
    text.parse().expect("a name made of names is one")
}

/// Parses the name of a property. The text must be valid.
pub(super) fn property(text: &str) -> PropertyName {
    text.parse().expect("a word is a name")
}
