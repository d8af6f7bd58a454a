//! Tables of the keys of a document language, such as the language of descriptors. Each section of a document has its
//! own table. The function [`schema`] generates the JSON Schema of the language from the tables.
//!
//! A crate declares its tables with [`section!`](crate::section!). The code that reads documents takes the names of the
//! keys from the same tables. So a new key is added in one place.
//!
//! Each key of a table has a *form*: the kind of value that the key accepts. In the following example, the key `name`
//! has the form `Text`. The key `parts` has the form `ByName`: its value is a mapping from names to sections with the
//! keys of `PART`.
//!
//! ```
//! use serde_json::{Value, json};
//! use windlass_source::keys::{Body, Definitions, Forms, Section, schema};
//! use windlass_source::section;
//!
//! #[derive(Clone, Copy)]
//! enum Form {
//!     Text,
//!     ByName(&'static Section<Form>),
//! }
//!
//! section! { SHOP: Section<Form>, "Shop", Strict, "A shop.";
//!     "name": Form::Text, required, "Its name.";
//!     "parts": Form::ByName(&PART), "Its parts, by name.";
//! }
//! section! { PART: Section<Form>, "Part", OrNull, "A part.";
//!     "image": Form::Text, "Its image.";
//! }
//!
//! struct Shops;
//!
//! impl Forms for Shops {
//!     type Form = Form;
//!
//!     fn form(&self, form: Form, definitions: &mut Definitions) -> Value {
//!         match form {
//!             Form::Text => json!({"type": "string"}),
//!             Form::ByName(section) => {
//!                 json!({"type": "object", "additionalProperties": definitions.part(self, section)})
//!             }
//!         }
//!     }
//! }
//!
//! let schema = schema(&Shops, &SHOP, "Shop");
//! assert_eq!(SHOP.names, ["name", "parts"]);
//! assert_eq!(schema["required"], json!(["name"]));
//! assert_eq!(schema["$defs"]["Part"]["properties"]["image"]["description"], "Its image.");
//! ```

use serde_json::{Map, Value, json};

/// A section of a document: a mapping whose keys are words of the language. Each key has a *form*, which is
/// the kind of value that the key accepts, such as text. `F` is the type of these forms.
pub struct Section<F: 'static> {
    /// Name of the section's definition in the schema.
    pub name: &'static str,
    /// Description of the section.
    pub about: &'static str,
    /// The values that the section accepts.
    pub body: Body,
    /// Names of the keys, in the canonical order.
    pub names: &'static [&'static str],
    /// The keys, in the canonical order.
    pub keys: &'static [Key<F>],
}

/// The accepted values of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A mapping, which may have undeclared keys.
    Mapping,
    /// A mapping, which may have only declared keys.
    Strict,
    /// A mapping or null. The mapping may have undeclared keys. Null stands for an empty mapping.
    OrNull,
    /// A mapping or null. The mapping may have only declared keys. Null stands for an empty mapping.
    StrictOrNull,
    /// Any value. The code that reads the section gives a warning if the value is not a mapping.
    Anything,
}

/// A key of a section.
pub struct Key<F> {
    /// The name of the key.
    pub name: &'static str,
    /// Form of the key's value.
    pub form: F,
    /// Whether the section must contain the key. The value of an optional key may be null.
    pub is_required: bool,
    /// Description of the key.
    pub about: &'static str,
}

/// Declares a [`Section`](crate::keys::Section): its type, its name in the schema, its accepted values, its
/// description, and its keys. Each key has a form and a description. The word `required` marks a key that
/// must be present.
#[macro_export]
macro_rules! section {
    (
        $name:ident: $type:ty, $title:literal, $body:ident, $about:literal;
        $($key:literal: $form:expr, $($required:ident,)? $key_about:literal;)+
    ) => {
        #[doc = $about]
        pub(crate) static $name: $type = $crate::keys::Section {
            name: $title,
            about: $about,
            body: $crate::keys::Body::$body,
            names: &[$($key),+],
            keys: &[$($crate::keys::Key {
                name: $key,
                form: $form,
                is_required: $crate::section!(@is_required $($required)?),
                about: $key_about,
            }),+],
        };
    };
    (@is_required required) => { true };
    (@is_required) => { false };
}

/// The forms of a document language, with the JSON Schema of each form. A *form* is the kind of value that a key
/// accepts, such as text.
pub trait Forms {
    /// A form: the kind of value that a key accepts. This type is usually an enum, with variants such as `Text` and
    /// `Number`.
    type Form: Copy + 'static;

    /// Returns the JSON Schema of a form, for example `{"type": "string"}`. The schema may be a `$ref` to one of the
    /// `definitions`, which several keys can share.
    ///
    /// A definition does not permit null. If an optional key refers to a definition, [`schema`] permits null for this
    /// key.
    fn form(&self, form: Self::Form, definitions: &mut Definitions) -> Value;
}

/// Returns the JSON Schema (draft 2020-12) of a document.
pub fn schema<T: Forms>(forms: &T, root: &'static Section<T::Form>, title: &str) -> Value {
    let mut definitions = Definitions::default();
    let mut schema = definitions.section(forms, root);
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), title.into());
    schema.insert("$defs".to_owned(), definitions.0.into());
    schema.into()
}

/// The definitions of a schema, by name.
#[derive(Debug, Default)]
pub struct Definitions(Map<String, Value>);

impl Definitions {
    /// Returns a `$ref` to the definition `name`. If this definition does not exist yet, `make` creates it.
    pub fn refer(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.0.contains_key(name) {
            // If a section contains itself, the null that is inserted here ends the recursion.
            self.0.insert(name.to_owned(), Value::Null);
            let definition = make(self);
            self.0.insert(name.to_owned(), definition);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    /// Returns a `$ref` to the definition of a section. If the definition does not exist yet, it is created.
    pub fn part<T: Forms>(&mut self, forms: &T, section: &'static Section<T::Form>) -> Value {
        self.refer(section.name, |definitions| definitions.section(forms, section).into())
    }

    fn section<T: Forms>(&mut self, forms: &T, section: &'static Section<T::Form>) -> Map<String, Value> {
        let mut schema = Map::new();
        let (sort, is_strict) = match section.body {
            Body::Mapping => (json!("object"), false),
            Body::Strict => (json!("object"), true),
            Body::OrNull => (json!(["object", "null"]), false),
            Body::StrictOrNull => (json!(["object", "null"]), true),
            Body::Anything => (Value::Null, false),
        };
        if !sort.is_null() {
            schema.insert("type".to_owned(), sort);
        }
        if is_strict {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        let required: Vec<&str> =
            section.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        let properties = section.keys.iter().map(|key| (key.name.to_owned(), self.key(forms, key)));
        schema.insert("properties".to_owned(), properties.collect::<Map<_, _>>().into());
        schema.insert("description".to_owned(), section.about.into());
        schema
    }

    fn key<T: Forms>(&mut self, forms: &T, key: &Key<T::Form>) -> Value {
        let mut schema = forms.form(key.form, self);
        if !key.is_required && schema.get("$ref").is_some() {
            schema = or_null(&schema);
        }
        schema["description"] = key.about.into();
        schema
    }
}

/// Returns the schema of a value that may also be null.
pub fn or_null(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// Returns the schema of a mapping with arbitrary keys. Each value of the mapping has the schema `value`. The schema
/// also accepts null in place of the whole mapping.
pub fn by_name(value: &Value) -> Value {
    json!({"type": ["object", "null"], "additionalProperties": value})
}
