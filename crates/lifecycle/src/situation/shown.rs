//! Values for display ([`Shown`]), and changes of a relationship's values ([`ValueChange`]).

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use windlass_model::resolve::{Answer, Missing, ResolveError, Resolved, text_of};
use windlass_model::{ElementName, PropertyName};

/// A property of a relationship whose value has changed since the relationship was created.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueChange {
    /// The property of the relationship.
    pub property: PropertyName,
    /// The value at the creation of the relationship.
    pub before: Shown,
    /// The value now, after the change.
    pub after: Shown,
}

/// A value for display.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Shown {
    /// There is no value.
    Nothing,
    /// An earlier value that is not recorded.
    Unknown,
    /// A value that is not sensitive.
    Value(Value),
    /// A sensitive value, which is not displayed.
    Masked,
    /// A value that is known once these parts are installed.
    KnownAfter(Vec<ElementName>),
}

impl Shown {
    /// Returns the displayable form of a resolved value.
    pub fn of(resolved: &Resolved) -> Self {
        match &resolved.value {
            Value::Null => Self::Nothing,
            _ if resolved.sensitive => Self::Masked,
            value => Self::Value(value.clone()),
        }
    }

    pub(crate) fn answer(answer: &Result<Answer, ResolveError>) -> Self {
        match answer {
            Ok(Answer::Known(resolved)) => Self::of(resolved),
            Ok(Answer::Waiting(missing)) => {
                let mut parts: Vec<ElementName> = missing
                    .iter()
                    .filter_map(|missing| match missing {
                        Missing::Output { element, .. } => Some(element.clone()),
                        _ => None,
                    })
                    .collect();
                parts.dedup();
                Self::KnownAfter(parts)
            }
            Err(_) => Self::Nothing,
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("(none)"),
            Self::Unknown => f.write_str("(unknown)"),
            // An empty text is written with quotes, because it would be invisible without them.
            Self::Value(value) if value.as_str() == Some("") => f.write_str("\"\""),
            // Further lines are indented below the name of the property.
            Self::Value(value) => f.write_str(&text_of(value).replace('\n', "\n      ")),
            Self::Masked => f.write_str("***"),
            Self::KnownAfter(parts) => {
                let names: Vec<&str> = parts.iter().map(ElementName::local).collect();
                write!(f, "(known once {} is installed)", names.join(", "))
            }
        }
    }
}
