//! Paths of components.

use std::fmt;

use windlass_model::pins::Name;

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
