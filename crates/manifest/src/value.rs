//! Values of configuration pins: reading them by the type of the pin.

use std::fmt;

use serde_json::{Map, Number, Value};
use windlass_source::{Kind, Node, Reading};

use crate::pin_type::ValueType;

/// A value that does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The expected type.
    pub expected: ValueType,
    /// The description of the value: `a list`, `text`. The value itself may be a secret.
    pub found: &'static str,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is expected, and this is {}", self.expected, self.found)
    }
}

impl ValueType {
    /// Reads a node of a manifest as a value of this type. A text keeps its spelling: `1.10` stays `1.10`.
    ///
    /// # Errors
    /// The part of the value that does not fit.
    pub fn read(&self, node: &Node) -> Result<Value, Misfit> {
        self.fit(&self.spelled(node))
    }

    /// Returns the data of a node, with the spelling of the scalars that this type takes as text.
    fn spelled(&self, node: &Node) -> Value {
        match (self, node.kind()) {
            (Self::String | Self::Bytes, Kind::Scalar(scalar)) if !node.is_null() => scalar.text().into(),
            (Self::List(item), Kind::Sequence(items)) => {
                items.iter().map(|node| item.spelled(node)).collect()
            }
            (Self::Map(_, value), Kind::Mapping(mapping)) => {
                let entries =
                    mapping.iter().map(|entry| (entry.key.text().to_owned(), value.spelled(&entry.value)));
                Value::Object(entries.collect())
            }
            (Self::Record(record), Kind::Mapping(mapping)) => {
                let entries = mapping.iter().map(|entry| {
                    let field = record.0.get(entry.key.text()).unwrap_or(&Self::Object);
                    (entry.key.text().to_owned(), field.spelled(&entry.value))
                });
                Value::Object(entries.collect())
            }
            _ => node.to_value(Reading::Script),
        }
    }

    /// Converts a value to this type: text in place of a number or a flag is read as one. Null is no value, and
    /// fits every type.
    ///
    /// # Errors
    /// The part of the value that does not fit.
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
    use rstest::rstest;
    use serde_json::json;
    use windlass_source::{LoadOptions, Source, load_one};

    use crate::grammar::PinText;
    use crate::pin_type::PinType;

    use super::*;

    fn kind(text: &str) -> ValueType {
        match format!("configuration({text})").parse() {
            Ok(PinText::Declared(PinType::Configuration(kind))) => kind,
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::version("string", "1.10", json!("1.10"))]
    #[case::flag_as_text("string", "no", json!("no"))]
    #[case::quoted_number("int", "'5'", json!(5))]
    #[case::number("int", "5", json!(5))]
    #[case::word("bool", "yes", json!(true))]
    #[case::texts("list<string>", "[1.10, on]", json!(["1.10", "on"]))]
    #[case::nested("map<string, list<int>>", "{a: [1, '2']}", json!({"a": [1, 2]}))]
    #[case::record("record<string v, int n>", "{v: 1.10, n: 1}", json!({"v": "1.10", "n": 1}))]
    #[case::object("object", "{a: 1.10, b: [true]}", json!({"a": 1.1, "b": [true]}))]
    #[case::none("list<int>", "", json!(null))]
    fn values_have_their_type(#[case] of: &str, #[case] text: &str, #[case] value: Value) {
        let source = Source::new("v.yaml", format!("v: {text}"));
        let root = load_one(&source, &LoadOptions::default()).root.unwrap();
        assert_eq!(kind(of).read(root.get("v").unwrap()), Ok(value));
    }

    #[rstest]
    #[case::text("int", json!("five"), "`int` is expected, and this is text")]
    #[case::half("int", json!(1.5), "`int` is expected, and this is a number")]
    #[case::list("string", json!(["a"]), "`string` is expected, and this is a list")]
    #[case::inside("list<map<string, int>>", json!([{"a": "b"}]), "`int` is expected, and this is text")]
    #[case::field("record<int a>", json!({"b": 1}), "`record<int a>` is expected, and this is a mapping")]
    fn others_are_refused(#[case] of: &str, #[case] value: Value, #[case] message: &str) {
        assert_eq!(kind(of).fit(&value).unwrap_err().to_string(), message);
    }
}
