//! Short forms of values, for messages.

use super::scope::SELF;
use crate::syntax::quote::go_quote;
use crate::value::number::float_text;
use crate::value::{Map, Value};

/// Formats a map in short form for messages, such as `{x: 1, y: ["a"]}`. The entry `_` is omitted: the engine adds
/// this entry to the scope of a lambda or a template, and its value is the lambda or template itself.
pub(crate) fn short_map(map: &Map) -> String {
    let fields: Vec<String> = map
        .iter()
        .filter(|(name, _)| &***name != SELF)
        .map(|(name, node)| format!("{name}: {}", short(node)))
        .collect();
    format!("{{{}}}", fields.join(", "))
}

/// Formats a value for messages: a text in quotes, a list as `[1, 2]`, null as `<nil>`. For a value without a text
/// form, the result is the name of the type, such as `<template>`.
pub(crate) fn short(value: &Value) -> String {
    match value {
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| short(item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => short_map(map),
        Value::String(text) => go_quote(text),
        Value::Int(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Float(value) => float_text(*value),
        Value::Lambda(lambda) => lambda.text(),
        Value::Expression(expression) => expression.text(),
        Value::Null | Value::Undefined => "<nil>".into(),
        other => format!("<{}>", other.type_name()),
    }
}

/// Shortens a long text by omitting its middle.
pub(crate) fn shorten(text: &str) -> String {
    const WHOLE: usize = 40;
    const PART: usize = 17;
    if text.len() <= WHOLE {
        return text.to_owned();
    }
    let begin = (0..=PART).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (text.len() - PART..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{} ... {}", &text[..begin], &text[end..])
}
