//! Values in the notation of the corpus: floats, bytes, lambdas and templates are maps with one `$` key.

use base64::Engine as _;
use serde_json::{Value as Json, json};
use windlass_spiff::value::{Value, number};

/// Returns a value in the notation of the corpus.
pub(crate) fn typed(value: &Value) -> Json {
    match value {
        Value::Undefined => json!({"$undefined": true}),
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(value) => json!({"$float": number::float_text(*value)}),
        Value::String(text) => json!(text.as_ref()),
        Value::Bytes(bytes) => json!({"$bytes": base64::engine::general_purpose::STANDARD.encode(bytes)}),
        Value::List(items) => items.iter().map(|item| typed(item)).collect(),
        Value::Map(map) => {
            Json::Object(map.iter().map(|(key, item)| (key.to_string(), typed(item))).collect())
        }
        Value::Lambda(lambda) => json!({"$lambda": lambda.text()}),
        Value::Template(template) => json!({"$template": typed(template.original())}),
        Value::Expression(expression) => json!({"$expression": expression.text()}),
        _ => json!({"$unknown": value.type_name()}),
    }
}
