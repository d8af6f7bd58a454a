//! Arguments of a type, and values as Go names and prints them.

use super::{FunctionError, Host};
use crate::value::{Node, Value, number};

/// The result of a function.
pub(super) type Outcome = Result<Node, FunctionError>;

/// Ends a function with a message.
macro_rules! fail {
    ($($message:tt)+) => {
        return Err($crate::functions::FunctionError::failed(format!($($message)+)))
    };
}
pub(super) use fail;

/// A value as the result.
#[expect(clippy::unnecessary_wraps, reason = "it stands where a function ends")]
pub(super) fn done(value: impl Into<Value>) -> Outcome {
    Ok(Node::new(value))
}

/// A list of texts as the result.
pub(super) fn texts<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Value {
    Value::list(texts.into_iter().map(|text| Value::string(text)))
}

/// The text of an argument, or a failure with the message.
pub(super) fn text<'a>(node: &'a Node, message: &str) -> Result<&'a str, FunctionError> {
    node.as_str().ok_or_else(|| FunctionError::failed(message))
}

/// The integer of an argument, or a failure with the message.
pub(super) fn int(node: &Node, message: &str) -> Result<i64, FunctionError> {
    node.as_int().ok_or_else(|| FunctionError::failed(message))
}

/// The entries of a list argument, or a failure with the message.
pub(super) fn list<'a>(node: &'a Node, message: &str) -> Result<&'a [Node], FunctionError> {
    node.as_list().ok_or_else(|| FunctionError::failed(message))
}

/// A text, integer or boolean as text.
pub(super) fn simple(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Int(int) => Some(int.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Whether there is nothing: null or undefined.
pub(super) fn is_nil(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Undefined)
}

/// The type of a value as messages of the original name it in places.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Undefined | Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::List(_) => "[]yaml.Node",
        Value::Map(_) => "map[string]yaml.Node",
        Value::Lambda(_) => "dynaml.LambdaValue",
        Value::Template(_) => "dynaml.TemplateValue",
        Value::Expression(_) => "dynaml.Expression",
    }
}

/// A value in a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Undefined | Value::Null => "<nil>".into(),
        Value::Float(value) => number::float_text(*value),
        Value::Lambda(lambda) => lambda.text(),
        other => simple(other).unwrap_or_else(|| crate::yaml::value_to_yaml(other)),
    }
}

/// Fills bytes by lot. A key or password from a source that always gives the same would be known to everybody, and a
/// search for primes in it would not end.
pub(super) fn draw(host: &mut dyn Host, bytes: &mut [u8]) -> Result<(), FunctionError> {
    let (mut first, mut second) = ([0; 16], [0; 16]);
    host.random(&mut first);
    host.random(&mut second);
    if first == second {
        fail!("no source of randomness is given");
    }
    host.random(bytes);
    Ok(())
}

/// A text in quotes, as Go quotes it.
pub(super) fn quoted(text: &str) -> String {
    crate::syntax::quote::go_quote(text)
}
