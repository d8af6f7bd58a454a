//! Keys with the JSON Schemas of their values: the settings of drivers and of runtimes, and driver properties.

use serde_json::Value;
use thiserror::Error;

/// A key that a driver or a kind of runtime reads. Every scalar in its value is text, so that it keeps its
/// spelling.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The key, in lower case with hyphens.
    pub key: &'static str,
    /// The JSON Schema of its value, with a `description`.
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
