//! Names from literals.

use windlass_model::{ElementName, PropertyName};

/// Returns the element with a valid name.
pub(super) fn name(text: &str) -> ElementName {
    text.parse().expect("a name made of names is one")
}

/// Returns the property with a valid name.
pub(super) fn property(text: &str) -> PropertyName {
    text.parse().expect("a word is a name")
}
