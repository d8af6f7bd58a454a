//! Names of components, interfaces and pins, and the ids made of them.

use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;
use thiserror::Error;

/// Maximum bytes of a name in a message; a name can be as long as its document.
const SHOWN: usize = 200;

/// An invalid name or id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty, or has another character than letters, digits, `_` and `-`.
    #[error("`{}` is not a name: names have ASCII letters, digits, `_` and `-` only", shown(.0))]
    Form(String),
    /// The id of a pin is not `interface.pin`.
    #[error("`{}` is not the id of a pin, which is `interface.pin`", shown(.0))]
    PinId(String),
}

fn shown(text: &str) -> String {
    let end = (0..=SHOWN.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

/// The name of a component, an interface, a pin or an argument. The language has one form for all of them:
/// ASCII letters, digits, `_` and `-`, at least one of them, and never a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(SmolStr);

impl Name {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Tells whether a character may be part of a name.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() || !text.chars().all(is_name_char) {
            return Err(NameError::Form(text.to_owned()));
        }
        Ok(Self(text.into()))
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a pin within its component: `interface.pin`, as scripts and parameters have it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinId {
    /// The interface.
    pub interface: Name,
    /// The pin.
    pub pin: Name,
}

impl PinId {
    /// Tells whether this is the pin with these two names.
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

impl fmt::Display for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.interface, self.pin)
    }
}

/// A path of component names from a composite to a component inside it: `main.workflow`. The empty path is
/// the composite itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ComponentPath(pub Vec<Name>);

impl ComponentPath {
    /// Returns the path of a component directly inside the one at this path.
    #[must_use]
    pub fn child(&self, name: &Name) -> Self {
        Self(self.0.iter().chain([name]).cloned().collect())
    }
}

impl fmt::Display for ComponentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(f, "{}{name}", if at > 0 { "." } else { "" })?;
        }
        Ok(())
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
