//! Finds all texts and numbers in a value, so that a secret value can be masked.

use serde_json::Value;

/// Returns all texts and numbers in a value. If the value is secret, each of them must be masked.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Number(number) => vec![number.to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(entries) => entries.values().flat_map(texts).collect(),
    }
}
