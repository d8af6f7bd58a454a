//! The keys that drivers and kinds of runtimes read, each with the JSON Schema of its value. Users set some of these
//! keys in `windlass.yaml`, and the other keys in descriptors. A key in a descriptor is called a driver property.

use serde_json::Value;
use thiserror::Error;

/// A key that a driver or a kind of runtime reads.
///
/// The driver or runtime gets numbers and flags as text, in the spelling of the YAML file. For example, `1.10` becomes
/// the text `1.10`, and not the number 1.1.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The key, in lower case with hyphens.
    pub key: &'static str,
    /// The JSON Schema of the key's value. The schema contains a `description`.
    pub schema: Value,
}

/// A setting with a value that a driver refuses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SettingError {
    /// The key of the refused setting.
    pub key: &'static str,
    /// The reason, with the value and the expected form.
    pub message: String,
}
