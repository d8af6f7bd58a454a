//! The name under which a secret value is stored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use thiserror::Error;

/// The opaque id of a secret value in the store. Records contain the id instead of the value.
///
/// An id has 1 to 128 characters of `A`–`Z`, `a`–`z`, `0`–`9`, `-`, `_`, `.`, `:` and `/`. It is displayed as
/// `secret:<id>`, and represented in JSON data by the marker `{"$secret": "<id>"}`.
///
/// ```
/// use serde_json::json;
/// use windlass_secret::SecretRef;
///
/// let reference: SecretRef = "demo/db.password".parse()?;
/// assert_eq!(reference.to_string(), "secret:demo/db.password");
/// assert_eq!(reference.to_value(), json!({"$secret": "demo/db.password"}));
/// assert_eq!(SecretRef::from_value(&reference.to_value()), Some(reference));
/// assert_eq!(SecretRef::from_value(&json!({"$secret": "a", "other": 1})), None);
/// # Ok::<(), windlass_secret::SecretRefError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretRef(String);

/// The key of the JSON marker.
const MARKER: &str = "$secret";

const LONGEST: usize = 128;

/// The reason why a text is no [`SecretRef`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SecretRefError {
    /// The text is empty or too long.
    #[error("a secret's id has 1 to {LONGEST} characters, not {0}")]
    Length(usize),
    /// The text contains a character that is not allowed.
    #[error("a secret's id has letters, digits and `-_.:/`, not {0:?}")]
    Character(char),
}

impl SecretRef {
    /// Returns the id of the secret.
    pub fn id(&self) -> &str {
        &self.0
    }

    /// Returns the marker `{"$secret": "<id>"}`.
    pub fn to_value(&self) -> Value {
        json!({ MARKER: self.0 })
    }

    /// Returns the id in the marker `{"$secret": "<id>"}`. Returns `None` for any other value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object().filter(|object| object.len() == 1)?;
        object.get(MARKER)?.as_str()?.parse().ok()
    }
}

impl FromStr for SecretRef {
    type Err = SecretRefError;

    fn from_str(id: &str) -> Result<Self, SecretRefError> {
        let length = id.chars().count();
        if !(1..=LONGEST).contains(&length) {
            return Err(SecretRefError::Length(length));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
        match id.chars().find(|&c| !allowed(c)) {
            Some(c) => Err(SecretRefError::Character(c)),
            None => Ok(Self(id.to_owned())),
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret:{}", self.0)
    }
}

/// Serialises the id as a newtype with the name of this type, so that a serializer can recognize ids.
impl Serialize for SecretRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("SecretRef", self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for SecretRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
