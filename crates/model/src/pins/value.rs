//! Conversion of values to the types of their pins.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::pin_type::ValueType;

/// The error for a value that can't be converted to a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The type that the value should have.
    pub expected: ValueType,
    /// A description of the value, such as `a list` or `text`. The description does not repeat the value,
    /// which may be a secret.
    pub found: &'static str,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is expected, and this is {}", self.expected, self.found)
    }
}

impl ValueType {
    /// Converts a value to this type. Text is parsed where a number or a flag is expected. A number or a flag
    /// becomes text where text is expected. Null means no value, and is valid for every type.
    ///
    /// # Errors
    /// A [`Misfit`] if `value`, or a value inside `value`, can't be converted. The misfit describes the first
    /// such value.
    pub fn fit(&self, value: &Value) -> Result<Value, Misfit> {
        let misfit = || Misfit { expected: self.clone(), found: describe(value) };
        let text = value.as_str();
        Ok(match self {
            _ if value.is_null() => Value::Null,
            Self::Object | Self::Unit => value.clone(),
            Self::String | Self::Bytes => match value {
                Value::String(_) => value.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string().into(),
                _ => return Err(misfit()),
            },
            Self::Int => {
                let number = value.as_i64().or_else(|| text?.trim().parse().ok());
                number.ok_or_else(misfit)?.into()
            }
            Self::Double => {
                let number = value.as_f64().or_else(|| text?.trim().parse().ok()).and_then(Number::from_f64);
                Value::Number(number.ok_or_else(misfit)?)
            }
            Self::Bool => match text.map(|text| text.trim().to_ascii_lowercase()).as_deref() {
                None => value.as_bool().ok_or_else(misfit)?.into(),
                Some("true" | "yes" | "on") => true.into(),
                Some("false" | "no" | "off") => false.into(),
                Some(_) => return Err(misfit()),
            },
            Self::List(item) => {
                let items = value.as_array().ok_or_else(misfit)?;
                Value::Array(items.iter().map(|value| item.fit(value)).collect::<Result<_, _>>()?)
            }
            Self::Map(_, item) => {
                let entries = value.as_object().ok_or_else(misfit)?.iter();
                let entries = entries.map(|(key, value)| Ok((key.clone(), item.fit(value)?)));
                Value::Object(entries.collect::<Result<Map<_, _>, Misfit>>()?)
            }
            Self::Record(record) => {
                let entries = value.as_object().ok_or_else(misfit)?.iter();
                let entries = entries.map(|(key, value)| {
                    let field = record.0.get(key.as_str()).ok_or_else(misfit)?;
                    Ok((key.clone(), field.fit(value)?))
                });
                Value::Object(entries.collect::<Result<Map<_, _>, Misfit>>()?)
            }
        })
    }
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a flag",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use rstest::rstest;
    use serde_json::json;

    use super::super::pin_type::Record;
    use super::*;

    fn list(item: ValueType) -> ValueType {
        ValueType::List(Box::new(item))
    }

    fn record(field: &str, kind: ValueType) -> ValueType {
        ValueType::Record(Record(IndexMap::from([(field.parse().unwrap(), kind)])))
    }

    #[rstest]
    #[case::text(ValueType::Int, json!("five"), "`int` is expected, and this is text")]
    #[case::half(ValueType::Int, json!(1.5), "`int` is expected, and this is a number")]
    #[case::list(ValueType::String, json!(["a"]), "`string` is expected, and this is a list")]
    #[case::inside(list(ValueType::Int), json!(["b"]), "`int` is expected, and this is text")]
    #[case::field(
        record("a", ValueType::Int), json!({"b": 1}), "`record<int a>` is expected, and this is a mapping"
    )]
    fn values_of_other_types_are_refused(#[case] of: ValueType, #[case] value: Value, #[case] message: &str) {
        assert_eq!(of.fit(&value).unwrap_err().to_string(), message);
    }

    #[rstest]
    #[case::quoted_number(ValueType::Int, json!("5"), json!(5))]
    #[case::word(ValueType::Bool, json!("yes"), json!(true))]
    #[case::number_as_text(ValueType::String, json!(5), json!("5"))]
    #[case::nested(list(list(ValueType::Int)), json!([["1", 2]]), json!([[1, 2]]))]
    #[case::none(list(ValueType::Int), json!(null), json!(null))]
    fn values_have_their_type(#[case] of: ValueType, #[case] value: Value, #[case] fit: Value) {
        assert_eq!(of.fit(&value), Ok(fit));
    }
}
