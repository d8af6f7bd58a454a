//! Writes values of Rust types as YAML. `serde_yaml` serializes a value to a tree, and [`emit()`] writes the tree as
//! text.

use serde::Serialize;
use serde_json::Number;
use serde_yaml::Value;
use serde_yaml::with::singleton_map_recursive;
use thiserror::Error;

use crate::emit::{Content, EmitStyle, Tree, emit};

/// The reason why a value can't be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The type of the value can't be represented, or its `Serialize` failed.
    #[error("the value can't be written as YAML: {0}")]
    Serialize(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A number is infinite or NaN. Readers do not agree on `.inf` and `.nan`.
    #[error("the number {0} can't be written as YAML")]
    NotFinite(f64),
    /// The key of a mapping is a list or a mapping.
    #[error("a key of a mapping is no text, number, boolean or null")]
    Key,
}

/// Writes a serializable value as YAML, in the same notation as [`emit()`]. Fields keep their order, and an
/// enum variant with content is a mapping of one entry, as in JSON.
///
/// ```
/// use serde::Serialize;
/// use windlass_source::{EmitStyle, emit_typed};
///
/// #[derive(Serialize)]
/// struct Case {
///     version: u32,
///     action: &'static str,
/// }
///
/// let case = Case { version: 1, action: "no" };
/// assert_eq!(emit_typed(&case, EmitStyle::Text)?, "version: 1\naction: \"no\"\n");
/// # Ok::<(), windlass_source::EmitError>(())
/// ```
///
/// # Errors
/// [`EmitError`] if the value can't be written as YAML on which all readers agree.
pub fn emit_typed<T: Serialize>(value: &T, style: EmitStyle) -> Result<String, EmitError> {
    // A tree of `serde_json` would sort the keys and turn infinite numbers into null.
    let value = singleton_map_recursive::serialize(value, serde_yaml::value::Serializer)
        .map_err(|error| EmitError::Serialize(error.into()))?;
    Ok(emit(&Data::new(value)?, style))
}

/// Data in which the entries of a mapping keep the order that the serialized type gives them.
enum Data {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Data {
    fn new(value: Value) -> Result<Self, EmitError> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(value) => Self::Number(number(&value)?),
            Value::String(text) => Self::Text(text),
            Value::Sequence(items) => Self::List(items.into_iter().map(Self::new).collect::<Result<_, _>>()?),
            Value::Mapping(entries) => {
                let entry = |(name, value)| Ok((key(name)?, Self::new(value)?));
                Self::Map(entries.into_iter().map(entry).collect::<Result<_, EmitError>>()?)
            }
            Value::Tagged(tagged) => Self::new(tagged.value)?,
        })
    }
}

impl Tree for Data {
    fn content(&self) -> Content<'_, Self> {
        match self {
            Self::Null => Content::Null,
            Self::Bool(value) => Content::Bool(*value),
            Self::Number(number) => Content::Number(number),
            Self::Text(text) => Content::Text(text),
            Self::List(items) => Content::List(items),
            Self::Map(entries) => {
                Content::Map(entries.iter().map(|(key, value)| (key.as_str(), value)).collect())
            }
        }
    }
}

fn number(number: &serde_yaml::Number) -> Result<Number, EmitError> {
    let whole = number.as_u64().map(Number::from).or_else(|| number.as_i64().map(Number::from));
    let float = number.as_f64().unwrap_or(f64::NAN);
    whole.or_else(|| Number::from_f64(float)).ok_or(EmitError::NotFinite(float))
}

fn key(key: Value) -> Result<String, EmitError> {
    match key {
        Value::Null => Ok("null".to_owned()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        Value::String(text) => Ok(text),
        Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => Err(EmitError::Key),
    }
}
