//! Types of properties. They are advice: a value that does not match its type causes a warning.
//!
//! The language treats all values as text, and windlass converts no value to its type, with one exception: if the user
//! gives the text of a list or map for a parameter of such a type, windlass reads the text. Descriptors also use types
//! such as `integer`, which only later versions of the language define. windlass knows these types, and the types
//! that the descriptor declares in `data-types`. Any other type also causes only a warning.

use std::fmt;

use indexmap::IndexMap;
use windlass_source::{Mapping, Span};

use crate::property::{Dots, Properties, PropertyDecl, read_properties};
use crate::reader::{Reader, Spanned, get};
use crate::template::{Value, ValueKind};

/// The types of properties in the descriptor language, in their usual spelling. The letter case has no meaning.
pub const TYPES: [&str; 10] =
    ["string", "integer", "float", "boolean", "uuid", "password", "key", "resourceKeyId", "map", "list"];

/// The data types that a descriptor declares, by name.
pub type DataTypes = IndexMap<String, DataType>;

/// A declared data type: an entry of `data-types`.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// Place of the name.
    pub name_span: Span,
    /// The key `derived-from`: the base type, whose properties this type also has.
    pub derived_from: Option<Spanned<String>>,
    /// Properties of the type.
    pub properties: Properties,
}

/// The form that the `type` of a property requires of the property's value. For example, the types `string` and
/// `uuid` both require a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Text,
    Integer,
    Float,
    Boolean,
    Map,
    List,
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Integer => "a whole number",
            Self::Float => "a number",
            Self::Boolean => "`true` or `false`",
            Self::Map => "a mapping",
            Self::List => "a list",
        })
    }
}

/// Tells whether the language or the descriptor defines a type.
pub(crate) fn is_known(kind: &str, data_types: &DataTypes) -> bool {
    data_types.contains_key(kind) || TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind))
}

pub(crate) fn sort(kind: &str, data_types: &DataTypes) -> Option<Sort> {
    if data_types.contains_key(kind) {
        return Some(Sort::Map);
    }
    Some(match kind.to_ascii_lowercase().as_str() {
        // Examples of the language contain names as values of the type `uuid`.
        "string" | "password" | "key" | "resourcekeyid" | "uuid" => Sort::Text,
        "integer" => Sort::Integer,
        "float" => Sort::Float,
        "boolean" => Sort::Boolean,
        "map" => Sort::Map,
        "list" => Sort::List,
        _ => return None,
    })
}

/// A value that does not match the type of its property.
pub(crate) struct Misfit<'v> {
    /// The value that does not match. If the property is a list or a map, and one of its entries does not match
    /// the type in `entry-schema`, this field contains the entry.
    pub(crate) value: &'v Value,
    /// Description of the expected value for a message, such as `a whole number`.
    pub(crate) expected: String,
}

/// Returns the parts of a value that do not match the type of a property. A text that contains a `${…}` is
/// not checked.
pub(crate) fn misfits<'v>(decl: &PropertyDecl, value: &'v Value, data_types: &DataTypes) -> Vec<Misfit<'v>> {
    // A property without a `type` accepts any value.
    let Some(sort) = decl.kind.as_ref().and_then(|kind| sort(&kind.value, data_types)) else {
        return Vec::new();
    };
    if !fits(sort, value) {
        return vec![Misfit { value, expected: sort.to_string() }];
    }
    let entry = decl.entry_schema.as_ref().and_then(|entry| self::sort(&entry.value, data_types));
    let entries: Vec<&Value> = match &value.kind {
        ValueKind::List(items) => items.iter().collect(),
        ValueKind::Map(entries) if sort == Sort::Map && !data_types.contains_key(decl.kind()) => {
            entries.iter().map(|(_, entry)| entry).collect()
        }
        _ => Vec::new(),
    };
    let Some(entry) = entry else { return Vec::new() };
    let wrong = entries.into_iter().filter(|value| !fits(entry, value));
    wrong.map(|value| Misfit { value, expected: format!("{entry}, as `entry-schema` says") }).collect()
}

/// Tells whether a value has the form that `sort` describes. Null fits every form. A text with a `${…}` also
/// fits every form, because its final value is not known yet.
fn fits(sort: Sort, value: &Value) -> bool {
    match &value.kind {
        ValueKind::Null => true,
        ValueKind::List(_) => sort == Sort::List,
        ValueKind::Map(_) => sort == Sort::Map,
        ValueKind::Text(_) => value.literal().is_none_or(|text| text_fits(sort, text.trim())),
    }
}

fn text_fits(sort: Sort, text: &str) -> bool {
    match sort {
        Sort::Text => true,
        // An empty text means that the property has no value.
        _ if text.is_empty() => true,
        Sort::Integer => {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        }
        Sort::Float => text.parse::<f64>().is_ok(),
        Sort::Boolean => {
            ["true", "false", "yes", "no", "on", "off"].iter().any(|word| word.eq_ignore_ascii_case(text))
        }
        // A list or map is often given as JSON text.
        Sort::Map => text.starts_with('{'),
        Sort::List => text.starts_with('['),
    }
}

/// Reads the section `data-types`. If the declaration of a type is invalid, its name still counts as a known type.
pub(crate) fn read_data_types(reader: &mut Reader<'_>, root: &Mapping) -> DataTypes {
    let mapping = get(root, "data-types").and_then(|node| reader.mapping(node, "`data-types`"));
    let mut found = DataTypes::new();
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let body = reader.mapping(&entry.value, &format!("the data type `{}`", entry.key.text()));
        if let Some(body) = body {
            reader.unknown_keys(body, &["derived-from", "properties", "description"], "a data type");
        }
        let field = |key: &str| body.and_then(|body| get(body, key));
        let derived_from = field("derived-from").and_then(|node| reader.text(node, "`derived-from`"));
        let properties = read_properties(reader, field("properties"), Dots::Tolerated);
        let data_type = DataType { name_span: entry.key.span(), derived_from, properties };
        found.insert(entry.key.text().to_owned(), data_type);
    }
    found
}
