//! Reads the values of configuration pins. The type of a pin determines how its value is read.

use serde_json::Value;
use windlass_model::pins::{Misfit, ValueType};
use windlass_source::{Kind, Node, Reading};

/// Reads a node of a manifest as a value of the type `kind`. A value of the type `string` keeps its spelling: `1.10`
/// remains `1.10`.
///
/// # Errors
/// Returns a [`Misfit`] if the node has another type. For example, the type is an integer and the node is a list.
pub fn read(kind: &ValueType, node: &Node) -> Result<Value, Misfit> {
    kind.fit(&spelled(kind, node))
}

/// Returns the data of a node. Scalars of the types `string` and `bytes` keep their spelling.
fn spelled(kind: &ValueType, node: &Node) -> Value {
    match (kind, node.kind()) {
        (ValueType::String | ValueType::Bytes, Kind::Scalar(scalar)) if !node.is_null() => {
            scalar.text().into()
        }
        (ValueType::List(item), Kind::Sequence(items)) => {
            items.iter().map(|node| spelled(item, node)).collect()
        }
        (ValueType::Map(_, value), Kind::Mapping(mapping)) => {
            let entries =
                mapping.iter().map(|entry| (entry.key.text().to_owned(), spelled(value, &entry.value)));
            Value::Object(entries.collect())
        }
        (ValueType::Record(record), Kind::Mapping(mapping)) => {
            let entries = mapping.iter().map(|entry| {
                let field = record.0.get(entry.key.text()).unwrap_or(&ValueType::Object);
                (entry.key.text().to_owned(), spelled(field, &entry.value))
            });
            Value::Object(entries.collect())
        }
        _ => node.to_value(Reading::Script),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;
    use windlass_model::pins::PinType;
    use windlass_source::{LoadOptions, Source, load_one};

    use crate::grammar::PinText;

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
        assert_eq!(read(&kind(of), root.get("v").unwrap()), Ok(value));
    }
}
