//! The types `Property` (a property of an element) and `Origin` (the place of a declaration in a descriptor).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::template::Template;

/// The place of a declaration: file, line and column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The file, as the user named it. All origins in the same file share this text.
    #[serde(with = "shared_text")]
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Serializes an `Arc<str>`. The feature `rc` of serde does the same, but Cargo would also enable it for
/// programs that use this crate.
mod shared_text {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A property of an element.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the language, each on its own")]
pub struct Property {
    /// The value. None if no declaration contains a value, for example because a driver publishes the value later.
    pub value: Option<Template>,
    /// Whether the value comes only from the element's own descriptor or driver, never from a parameter.
    pub read_only: bool,
    /// Whether the value may change while the element is Active.
    pub volatile: bool,
    /// Whether the value is stored sealed and shown as `***`.
    pub sensitive: bool,
    /// Whether no other element can read the property.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The place of the property's declaration.
    pub origin: Option<Origin>,
}
