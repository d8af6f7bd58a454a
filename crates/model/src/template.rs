//! Templates: the values of properties. The references `${…}` in a template are bound to elements.
//!
//! In a descriptor, the reference `${balancer.publicIp}` is text. In a template, it is the full name of the
//! element `balancer` and the name of the property, so no later code has to search for the element. Templates
//! are part of the stored topology and contain no secret: a sensitive literal is a [`SecretRef`].

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_secret::SecretRef;

use crate::name::{ElementName, PropertyName};

/// A value that may read other values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Template {
    /// The template has no value.
    Null,
    /// Literal texts and references `${…}`, joined.
    Text(Vec<Part>),
    /// A list of values.
    List(Vec<Template>),
    /// A map of values.
    Map(BTreeMap<String, Template>),
}

/// A part of a text template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Part {
    /// A literal text.
    Literal(String),
    /// The value of a property.
    Property {
        /// The element that has the property.
        element: ElementName,
        /// The name of the property.
        property: PropertyName,
    },
    /// A value that the engine gives to an element: `${instance.name}`.
    Instance {
        /// The name of the element.
        element: ElementName,
        /// The field of the element's instance.
        field: InstanceField,
    },
    /// The value of a property of the source or the target of a relationship, such as `${source.privateIp}`.
    End {
        /// The end of the relationship that has the property: the source or the target.
        end: End,
        /// The name of the property of the source or target element. The names `name`, `id` and `index` are
        /// special. If the element declares no property with such a name, the name stands for a field of the
        /// element's instance ([`InstanceField`]).
        property: PropertyName,
    },
    /// A reference to a sensitive literal. The store keeps the literal encrypted.
    Secret(SecretRef),
}

/// A field of `${instance.…}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstanceField {
    /// The element's full name.
    Name,
    /// The instance id.
    Id,
    /// The element's number in its group, from 1. If the nodes of the group have keys, the value is the element's key.
    /// Outside of groups, the value is 1.
    Index,
}

impl InstanceField {
    /// All fields of an instance.
    pub const ALL: [Self; 3] = [Self::Name, Self::Id, Self::Index];

    /// Returns the word used in `${instance.…}`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Id => "id",
            Self::Index => "index",
        }
    }

    /// Parses the word used in `${instance.…}`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == word)
    }
}

/// One of the two elements of a [relationship](crate::Relationship): its source or its target. In
/// `${source.address}` and `${target.address}`, the words `source` and `target` name these elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The source, which the descriptor of the relationship names under `source-capabilities`.
    Source,
    /// The target, which the descriptor of the relationship names under `target-requirements`.
    Target,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

impl Template {
    /// Creates a template of fixed text.
    pub fn literal(text: impl Into<String>) -> Self {
        Self::Text(vec![Part::Literal(text.into())])
    }

    /// Renames secrets. `names` maps the old names of secrets to the new names.
    pub(crate) fn rename_secrets(&mut self, names: &BTreeMap<SecretRef, SecretRef>) {
        match self {
            Self::Null => {}
            Self::Text(parts) => {
                for part in parts {
                    if let Part::Secret(secret) = part
                        && let Some(name) = names.get(secret)
                    {
                        *secret = name.clone();
                    }
                }
            }
            Self::List(items) => items.iter_mut().for_each(|item| item.rename_secrets(names)),
            Self::Map(entries) => entries.values_mut().for_each(|entry| entry.rename_secrets(names)),
        }
    }

    /// Creates a template that consists of a single reference, such as `${shop__lb.address}`.
    pub fn property(element: ElementName, property: PropertyName) -> Self {
        Self::Text(vec![Part::Property { element, property }])
    }

    /// Returns the text of a template that is only a fixed text; none for other templates.
    pub fn as_literal(&self) -> Option<&str> {
        match self {
            Self::Text(parts) => match &parts[..] {
                [] => Some(""),
                [Part::Literal(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// Calls `visit` for each part. The parts of a text and the items of a list are visited from the first to
    /// the last. The entries of a map are visited in the order of their keys.
    pub fn for_each_part<'a>(&'a self, visit: &mut dyn FnMut(&'a Part)) {
        match self {
            Self::Null => {}
            Self::Text(parts) => parts.iter().for_each(visit),
            Self::List(items) => items.iter().for_each(|item| item.for_each_part(visit)),
            Self::Map(entries) => entries.values().for_each(|entry| entry.for_each_part(visit)),
        }
    }

    /// Returns a copy in which the result of `bind` replaces each reference to the source or the target of a
    /// relationship, such as `${source.port}`.
    pub fn bind_ends(&self, bind: &dyn Fn(End, &PropertyName) -> Part) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Text(parts) => Self::Text(parts.iter().map(|part| bind_part(part, bind)).collect()),
            Self::List(items) => Self::List(items.iter().map(|item| item.bind_ends(bind)).collect()),
            Self::Map(entries) => {
                Self::Map(entries.iter().map(|(key, entry)| (key.clone(), entry.bind_ends(bind))).collect())
            }
        }
    }
}

fn bind_part(part: &Part, bind: &dyn Fn(End, &PropertyName) -> Part) -> Part {
    match part {
        Part::End { end, property } => bind(*end, property),
        other => other.clone(),
    }
}

impl fmt::Display for Part {
    /// Writes a literal as it is, a secret as `***`, and any other part as `${…}` with full names of
    /// elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(text),
            Self::Property { element, property } => write!(f, "${{{element}.{property}}}"),
            Self::Instance { element, field } => write!(f, "${{{element}.instance.{}}}", field.as_str()),
            Self::End { end, property } => write!(f, "${{{end}.{property}}}"),
            Self::Secret(_) => f.write_str("***"),
        }
    }
}
