//! The texts in a value, which must be masked if the value is secret.

use serde_json::Value;

/// Returns all texts and numbers in a value. They must be masked if the value is secret.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Number(number) => vec![number.to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(entries) => entries.values().flat_map(texts).collect(),
    }
}
