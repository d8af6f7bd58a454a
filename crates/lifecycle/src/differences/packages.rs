//! The differences between two packages of the same resource version, as data for people and programs.

use std::fmt;

use serde::{Serialize, Serializer};
use windlass_model::{Action, DescriptorName, ElementName};

/// The difference between two packages of one descriptor: the installed package, which at least one resource uses,
/// and the desired package.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PackageDiff {
    /// The descriptor of the package.
    pub descriptor: DescriptorName,
    /// The resources that use the installed package, sorted by name.
    pub parts: Vec<ElementName>,
    /// Whether the packages differ in the drivers of actions, or in the properties of these drivers.
    pub drivers: bool,
    /// The files that differ, sorted by path.
    pub files: Vec<FileChange>,
}

/// The change of a file in a package.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileChange {
    /// The path of the file in the package.
    pub path: String,
    /// The kind of the change.
    pub kind: FileChangeKind,
    /// The actions that use the file.
    pub affects: Affected,
}

/// The kind of a file's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    /// Only the desired package contains the file.
    Added,
    /// The content or the executable bit of the file differs.
    Changed,
    /// Only the installed package contains the file.
    Removed,
}

/// The actions that a changed file affects: all actions, or a list of actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Affected {
    /// Every action may use the file.
    All,
    /// Only these actions use the file. The list may be empty.
    Only(Vec<Action>),
}

impl Serialize for Affected {
    /// Serializes `Only` as a list of the names of the actions, and `All` as null.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_none(),
            Self::Only(actions) => serializer.collect_seq(actions.iter().map(Action::as_str)),
        }
    }
}

impl FileChangeKind {
    fn symbol(self) -> char {
        match self {
            Self::Added => '+',
            Self::Changed => '~',
            Self::Removed => '-',
        }
    }
}

impl fmt::Display for FileChange {
    /// Writes a line such as `~ scripts/Start.sh: affects Start`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.symbol(), self.path)?;
        match &self.affects {
            Affected::All => f.write_str(": affects any action"),
            Affected::Only(actions) if actions.is_empty() => Ok(()),
            Affected::Only(actions) => {
                let names: Vec<&str> = actions.iter().map(Action::as_str).collect();
                write!(f, ": affects {}", names.join(", "))
            }
        }
    }
}
