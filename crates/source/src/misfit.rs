//! Describes why a document doesn't match a Rust type. The description is for the author of the document, so it does
//! not mention Rust types.

use std::fmt::{self, Display};

use serde::de::{Error, Expected, Unexpected};

/// An error of deserialisation, with the details that serde reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) message: String,
    /// The unknown key or value; `None` if the error has another cause.
    pub(crate) unknown: Option<Unknown>,
}

/// An unknown key or value of a document. `name` is the unknown word, and `known` contains the permitted words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub(crate) name: String,
    pub(crate) known: &'static [&'static str],
    /// Whether the name is a key; otherwise it is a value.
    pub(crate) is_key: bool,
}

impl Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), unknown: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {}, found {}", wanted(expected), shown(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let unknown = Unknown { name: name.to_owned(), known, is_key: true };
        Self { message: format!("unknown key `{name}`"), unknown: Some(unknown) }
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        let unknown = Unknown { name: name.to_owned(), known, is_key: false };
        Self { message: format!("unknown value `{name}`"), unknown: Some(unknown) }
    }

    fn missing_field(name: &'static str) -> Self {
        Self::custom(format!("missing key `{name}`"))
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::custom(format!("key `{name}` is given twice"))
    }
}

impl Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

fn shown(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("the number `{value}`"),
        Unexpected::Signed(value) => format!("the number `{value}`"),
        Unexpected::Float(value) => format!("the number `{value}`"),
        Unexpected::Char(value) => format!("the text `{value}`"),
        Unexpected::Str(value) => format!("the text `{value}`"),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a mapping".to_owned(),
        other => other.to_string(),
    }
}

/// Describes an expected type in words for the author of a document. For example, the function replaces `f64` by
/// `a number`. It returns all unknown descriptions unchanged, such as the description from a hand-written
/// `Deserialize`.
fn wanted(expected: &dyn Expected) -> String {
    let name = expected.to_string();
    let known = match name.as_str() {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" | "u128" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" | "i128" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" => "text",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list",
        "a map" => "a mapping",
        "unit" => "null",
        name if name.starts_with("struct ") => "a mapping",
        name if name.starts_with("enum ") => "one of its values, or a mapping with one key",
        _ => return name,
    };
    known.to_owned()
}
