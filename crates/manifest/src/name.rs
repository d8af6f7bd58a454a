//! Paths of the components of a manifest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use windlass_model::pins::{Name, NameError};

/// A path of component names from a composite to a component inside it: `main.workflow`. The empty path is
/// the path of the composite itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ComponentPath(pub Vec<Name>);

impl ComponentPath {
    /// Returns the path of a component directly inside the component at this path.
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

impl FromStr for ComponentPath {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        text.split('.').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl TryFrom<String> for ComponentPath {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<ComponentPath> for String {
    fn from(path: ComponentPath) -> Self {
        path.to_string()
    }
}
