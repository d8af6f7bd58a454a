//! The topology of an assembly: flat lists of its elements and relationships. Drivers do not change the topology.
//!
//! A [`Topology`] is composed from descriptors, or compiled from a manifest. Each element has its full name, and
//! each relationship lists its sources and targets. Each reference `${…}` in a value names an element, or the
//! source or target of a relationship. The topology is stored with the assembly, and contains no secret.

mod element;
mod property;
mod relationship;
mod topology;
mod update;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::element::{Cluster, Element, ElementKind, OnPackageChange, Operation, Referent};
pub use self::property::{Origin, Property};
pub use self::relationship::{Endpoint, OperationCall, Relationship};
pub use self::topology::Topology;
pub use self::update::{
    MaxSurge, MaxSurgeError, MaxUnavailable, MaxUnavailableError, OnFailure, Pause, PauseError, Update,
};
use crate::name::{CommandName, OperationName};
use crate::state::Transition;

/// One of the two versions of an assembly that a change involves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The version from which the existing elements were created. windlass uses the values and packages of this
    /// version to stop and remove these elements.
    Installed,
    /// The version that the assembly should have.
    #[default]
    Desired,
}

/// An action of a driver on an instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Action {
    /// A lifecycle transition.
    Transition(Transition),
    /// An operation of a relationship.
    Operation(OperationName),
    /// A command that a person calls.
    Command(CommandName),
}

impl Action {
    /// Returns the name of the transition, operation or command.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Transition(transition) => transition.as_str(),
            Self::Operation(name) => name.as_str(),
            Self::Command(name) => name.as_str(),
        }
    }

    /// Returns the transition; none for operations and commands, which do not change the state of an element.
    pub fn transition(&self) -> Option<Transition> {
        match self {
            Self::Transition(transition) => Some(*transition),
            Self::Operation(_) | Self::Command(_) => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The digest of a package's content, `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackageDigest(pub String);

impl fmt::Display for PackageDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
