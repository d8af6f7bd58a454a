//! The JSON Schema of an assembly's parameters. It follows from the declared types.
//!
//! If a value does not match its declared type, windlass accepts the value, and only gives a warning. A program that
//! uses the schema should do the same. A number, a list or a map may also be given as text, as on a command line. A
//! property without a `type` accepts any value.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::document::AssemblyDescriptor;
use crate::property::{Properties, PropertyDecl};
use crate::property_types::{DataTypes, Sort, sort};

/// Returns the schema of the parameters that an assembly accepts, in draft 2020-12. A document that matches
/// the schema is a mapping from names to values.
///
/// The `title` of each value describes the expected value in a few words, such as `a whole number`. No
/// parameter is required, because a parameter may be given in several ways.
pub fn parameters(assembly: &AssemblyDescriptor) -> Value {
    let types = &assembly.data_types;
    let settable = assembly.properties.iter().filter(|(_, decl)| !decl.decides_itself());
    let properties: Map<String, Value> =
        settable.map(|(name, decl)| (name.to_string(), property(decl, types))).collect();
    let definitions: Map<String, Value> =
        (0..types.len()).map(|at| (at.to_string(), data_type(types, at))).collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    });
    if let Some(name) = &assembly.name {
        schema["title"] = format!("Parameters of {}", name.value).into();
    }
    schema
}

fn property(decl: &PropertyDecl, types: &DataTypes) -> Value {
    let entry = decl.entry_schema.as_ref().map(|entry| of_type(&entry.value, types));
    let mut schema = decl.kind.as_ref().map_or_else(|| json!({}), |kind| of_type(&kind.value, types));
    if let Some(entry) = entry {
        match schema["title"].as_str() {
            Some(title) if title == Sort::List.to_string() => schema["items"] = entry,
            Some(title) if title == Sort::Map.to_string() => schema["additionalProperties"] = entry,
            _ => {}
        }
    }
    if let Some(description) = &decl.description {
        schema["description"] = description.as_ref().into();
    }
    schema
}

/// Returns the schema of the values of a type. An unknown type accepts any value.
fn of_type(kind: &str, types: &DataTypes) -> Value {
    if let Some(at) = types.get_index_of(kind) {
        return json!({"$ref": format!("#/$defs/{at}")});
    }
    let Some(sort) = sort(kind, types) else { return json!({}) };
    let (allowed, pattern) = match sort {
        Sort::Text => (json!(["string", "number", "boolean", "null"]), None),
        Sort::Integer => (json!(["integer", "string", "null"]), Some(r"^\s*([-+]?[0-9]+)?\s*$")),
        Sort::Float => (json!(["number", "string", "null"]), Some(FLOAT)),
        Sort::Boolean => (json!(["boolean", "string", "null"]), Some(BOOLEAN)),
        Sort::Map => (json!(["object", "string", "null"]), Some(r"^\s*(\{|$)")),
        // The text may be the content of a file with a list. Such a text begins with an entry, a comment, or
        // `---`.
        Sort::List => (json!(["array", "string", "null"]), Some(r"^\s*(\[|-\s|---|#|$)")),
    };
    let mut schema = json!({"title": sort.to_string(), "type": allowed});
    if let Some(pattern) = pattern {
        schema["pattern"] = pattern.into();
    }
    schema
}

/// Returns the schema of a data type that the descriptor declares. A value of this type is a mapping with the
/// properties of the type and of its base types.
fn data_type(types: &DataTypes, at: usize) -> Value {
    let mut properties = Map::new();
    let mut add = |declared: &Properties| {
        for (name, decl) in declared {
            properties.entry(name.to_string()).or_insert_with(|| property(decl, types));
        }
    };
    let mut seen = HashSet::new();
    let mut next = types.get_index(at);
    let mut is_whole = true;
    while let Some((_, declared)) = next.filter(|(name, _)| seen.insert(name.as_str())) {
        add(&declared.properties);
        next = None;
        if let Some(base) = &declared.derived_from {
            next = types.get_key_value(&base.value);
            is_whole &= next.is_some();
        }
    }
    let mut schema = json!({
        "title": Sort::Map.to_string(),
        "type": ["object", "string", "null"],
        "pattern": r"^\s*(\{|$)",
        "properties": properties,
    });
    // A base type that the descriptor does not declare may have more properties.
    if is_whole {
        schema["additionalProperties"] = false.into();
    }
    schema
}

/// The pattern of a text that is a number, or is blank.
const FLOAT: &str = r"^\s*([-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?([Ii][Nn][Ff]([Ii][Nn][Ii][Tt][Yy])?|[Nn][Aa][Nn]))?\s*$";

/// The pattern of a text that is a boolean, or is blank.
const BOOLEAN: &str =
    "^\\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo]|[Oo][Nn]|[Oo][Ff][Ff])?\\s*$";
