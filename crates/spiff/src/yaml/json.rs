//! Writes values as JSON, as Go's encoder does.

use std::fmt::Write as _;

use base64::Engine as _;

use crate::value::{Value, number};

/// A value without a JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("json: unsupported value: {0}")]
pub struct NotJson(String);

/// Returns a value as JSON without white space, with sorted keys. The characters `<`, `>`, `&` and the
/// Unicode line separators are escaped.
///
/// ```
/// use windlass_spiff::value::Value;
/// use windlass_spiff::yaml::to_json;
///
/// let value = Value::map([("b", Value::Float(1e21)), ("a", "<ä>".into())]);
/// assert_eq!(to_json(&value).as_deref(), Ok(r#"{"a":"\u003cä\u003e","b":1e+21}"#));
/// ```
///
/// # Errors
/// When the value contains an infinity or NaN, which have no JSON form.
pub fn to_json(value: &Value) -> Result<String, NotJson> {
    let mut out = String::new();
    write(&mut out, value)?;
    Ok(out)
}

fn write(out: &mut String, value: &Value) -> Result<(), NotJson> {
    match value {
        Value::Undefined | Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Float(value) if value.is_finite() => out.push_str(&number::float_json(*value)),
        Value::Float(value) => return Err(NotJson(number::float_text(*value))),
        Value::String(text) => string(out, text),
        Value::Bytes(bytes) => string(out, &base64::engine::general_purpose::STANDARD.encode(bytes)),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, item)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                string(out, key);
                out.push(':');
                write(out, item)?;
            }
            out.push('}');
        }
        Value::Lambda(lambda) => string(out, &format!("(( {} ))", lambda.source())),
        Value::Template(template) => write(out, template.original())?,
        Value::Expression(expression) => string(out, &format!("(( {} ))", expression.text())),
    }
    Ok(())
}

/// Writes a text as a JSON string.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
