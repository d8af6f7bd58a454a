//! Converts arguments to Rust types. Also writes values and the names of types as the Go program spiff++ does.

use super::{FunctionError, Host};
use crate::value::{Node, Value, number};

/// The result of a function that templates can call, such as `join`.
pub(super) type Outcome = Result<Node, FunctionError>;

/// Makes the current function return an error with this message.
macro_rules! fail {
    ($($message:tt)+) => {
        return Err($crate::functions::FunctionError::failed(format!($($message)+)))
    };
}
pub(super) use fail;

/// Returns a value as the result of a function.
#[expect(clippy::unnecessary_wraps, reason = "it stands where a function ends")]
pub(super) fn done(value: impl Into<Value>) -> Outcome {
    Ok(Node::new(value))
}

/// Creates a list of texts.
pub(super) fn texts<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Value {
    Value::list(texts.into_iter().map(|text| Value::string(text)))
}

/// Returns an argument as a text. If the argument is no text, fails with `message`.
pub(super) fn text<'a>(node: &'a Node, message: &str) -> Result<&'a str, FunctionError> {
    node.as_str().ok_or_else(|| FunctionError::failed(message))
}

/// Returns an argument as an integer. If the argument is no integer, fails with `message`.
pub(super) fn int(node: &Node, message: &str) -> Result<i64, FunctionError> {
    node.as_int().ok_or_else(|| FunctionError::failed(message))
}

/// Returns the entries of an argument that is a list. If the argument is no list, fails with `message`.
pub(super) fn list<'a>(node: &'a Node, message: &str) -> Result<&'a [Node], FunctionError> {
    node.as_list().ok_or_else(|| FunctionError::failed(message))
}

/// Converts a text, an integer or a boolean to text. Returns `None` for any other value.
pub(super) fn simple(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Int(int) => Some(int.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Tells whether a value is null or undefined.
pub(super) fn is_nil(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Undefined)
}

/// Returns the name of a value's Go type. Some messages of the Go program spiff++ contain this name.
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

/// Formats a value for a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Undefined | Value::Null => "<nil>".into(),
        Value::Float(value) => number::float_text(*value),
        Value::Lambda(lambda) => lambda.text(),
        other => simple(other).unwrap_or_else(|| crate::yaml::value_to_yaml(other)),
    }
}

/// Fills a buffer with random bytes. Fails if the source of randomness always returns the same bytes. A key
/// or password from such a source would be predictable, and the search for a prime number would not end.
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

/// Quotes a text as Go does.
pub(super) fn quoted(text: &str) -> String {
    crate::syntax::quote::go_quote(text)
}
