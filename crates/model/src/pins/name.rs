//! Names in application manifests, and the ids of pins.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::newtype::checked_text;

/// The maximum number of bytes that a message shows of a name. An invalid name can be as long as the document
/// that contains it.
const SHOWN: usize = 200;

/// The error for an invalid name, or for an invalid id of a pin.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty, or contains a character other than letters, digits, `_` and `-`.
    #[error("`{}` is not a name: names have ASCII letters, digits, `_` and `-` only", shown(.0))]
    Form(String),
    /// The text is not the id of a pin. Such an id is the name of an interface, a dot, and the name of a pin in
    /// this interface.
    #[error("`{}` is not the id of a pin, which is `interface.pin`", shown(.0))]
    PinId(String),
}

fn shown(text: &str) -> String {
    let end = (0..=SHOWN.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

/// Tells whether a character may be part of a [`Name`].
pub fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

checked_text! {
    /// The name of a component, an interface, a pin or an argument in an application manifest: one or more
    /// ASCII letters, digits, `_` and `-`, and no dot.
    Name: NameError = |text| {
        let is_valid = !text.is_empty() && text.chars().all(is_name_char);
        if is_valid { Ok(()) } else { Err(NameError::Form(text.to_owned())) }
    };
}

/// The id of a pin within its component, in the form `interface.pin`. Scripts and parameters use this form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PinId {
    /// The name of the interface.
    pub interface: Name,
    /// The name of the pin in the interface.
    pub pin: Name,
}

impl PinId {
    /// Tells whether this is the id of the pin `pin` of the interface `interface`.
    pub fn is(&self, interface: &str, pin: &str) -> bool {
        self.interface.as_str() == interface && self.pin.as_str() == pin
    }
}

impl FromStr for PinId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let parts = text.split_once('.');
        let names = parts.and_then(|(interface, pin)| Some((interface.parse().ok()?, pin.parse().ok()?)));
        let (interface, pin) = names.ok_or_else(|| NameError::PinId(text.to_owned()))?;
        Ok(Self { interface, pin })
    }
}

impl TryFrom<String> for PinId {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<PinId> for String {
    fn from(id: PinId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.interface, self.pin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_have_one_form() {
        assert!("vm-by-id".parse::<Name>().is_ok() && "0_A".parse::<Name>().is_ok());
        assert_eq!(
            "a.b".parse::<Name>().unwrap_err().to_string(),
            "`a.b` is not a name: names have ASCII letters, digits, `_` and `-` only"
        );
        assert!("".parse::<Name>().is_err() && "é".parse::<Name>().is_err());
        let id: PinId = "control.reboot".parse().unwrap();
        assert!(id.is("control", "reboot") && id.to_string() == "control.reboot");
        for wrong in ["reboot", "a.b.c", ".b", "a."] {
            assert!(matches!(wrong.parse::<PinId>(), Err(NameError::PinId(_))), "{wrong}");
        }
    }

    #[test]
    fn a_message_repeats_the_beginning_of_a_long_name() {
        assert!("é".repeat(1_000_000).parse::<Name>().unwrap_err().to_string().len() < 400);
    }
}
