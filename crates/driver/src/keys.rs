//! The keys that drivers and kinds of runtimes read, each with the JSON Schema of its value. `windlass.yaml` sets
//! some of these keys. Descriptors set others of these keys, which are called driver properties.

use serde_json::Value;
use thiserror::Error;

/// A key that a driver or a kind of runtime reads.
///
/// The driver or runtime gets each number and flag in the value of the key as text, as a person wrote it: `1.10`
/// stays `1.10`, and does not become `1.1`.
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
