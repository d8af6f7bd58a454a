//! The elements of an assembly.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::property::{Origin, Property};
use super::update::Update;
use crate::name::{
    AssemblyName, ComponentName, DescriptorName, ElementName, MetricName, NodeKey, OperationName,
    PropertyName,
};
use crate::policy::Metric;
use crate::state::{Transition, Transitions, WordError};

/// The kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementKind {
    /// A composition: the root, or one nested in it. Its state is the lowest state of its children.
    Assembly,
    /// The nodes of a cluster, or of a component with a quantity above one. Its state is the lowest state of
    /// its nodes.
    Group,
    /// A part that a driver manages.
    Resource,
    /// An existing instance. It is always Active.
    Reference,
}

/// The object that a reference refers to. Each variant is a source in which such objects are found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Referent {
    /// An entry of the project, by its name.
    Listed(String),
    /// Another assembly of the store.
    Assembly(AssemblyName),
    /// An object that a driver discovered, by its natural id.
    Found(String),
}

impl fmt::Display for Referent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(name) => write!(f, "`{name}` of the project"),
            Self::Assembly(name) => write!(f, "the assembly `{name}`"),
            Self::Found(id) => write!(f, "`{id}`, which was found"),
        }
    }
}

/// The effect of a changed package on an instance whose version stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnPackageChange {
    /// The instance uses the new package from then on. No driver is called.
    Keep,
    /// The instance is reconfigured.
    Reconfigure,
    /// The instance is removed and re-created.
    Replace,
}

impl FromStr for OnPackageChange {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        match word {
            "keep" => Ok(Self::Keep),
            "reconfigure" => Ok(Self::Reconfigure),
            "replace" => Ok(Self::Replace),
            _ => Err(WordError {
                word: word.to_owned(),
                kind: "effect of a changed package",
                expected: "keep, reconfigure, replace",
            }),
        }
    }
}

/// An element of an assembly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The full name of the element.
    pub name: ElementName,
    /// The kind of the element.
    pub kind: ElementKind,
    /// The element that contains it; none for the root.
    pub parent: Option<ElementName>,
    /// The name of its entry in the composition or in the references of the parent; none for the root.
    pub component: Option<ComponentName>,
    /// The element's number within its group, from 1; none outside of groups, and for nodes with keys.
    pub index: Option<u32>,
    /// The element's key within its group; none outside of groups, and for numbered nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<NodeKey>,
    /// The name of its descriptor.
    pub descriptor: DescriptorName,
    /// The properties of the element, in the order of declaration.
    pub properties: IndexMap<PropertyName, Property>,
    /// The transitions that its resource declares, in lifecycle order.
    pub transitions: Transitions,
    /// The operations that can be called on the element, each with the resource that executes the operation.
    pub operations: IndexMap<OperationName, Operation>,
    /// The metrics that it publishes. For an assembly, these are the metrics that it promotes.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<MetricName, Metric>,
    /// The size limits of a cluster; none for other elements.
    pub cluster: Option<Cluster>,
    /// The object that a reference refers to; none for other elements, or if it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referent: Option<Referent>,
    /// Whether the removal and the replacement of the element, and of all elements in it, are forbidden.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// The declared effect of a changed package; see [`Element::package_change`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_package_change: Option<OnPackageChange>,
    /// The declared rules for changes of its nodes; none for elements other than groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
    /// The place of its declaration.
    pub origin: Option<Origin>,
}

impl Element {
    /// Returns the effect of a package that changed while its version stayed the same. Without a declared
    /// effect, the element is reconfigured if it declares Reconfigure, and kept otherwise.
    pub fn package_change(&self) -> OnPackageChange {
        self.on_package_change.unwrap_or(if self.declares(Transition::Reconfigure) {
            OnPackageChange::Reconfigure
        } else {
            OnPackageChange::Keep
        })
    }

    /// Tells whether the resource declares `transition`.
    pub fn declares(&self, transition: Transition) -> bool {
        self.transitions.contains(transition)
    }

    /// Tells whether the resource has the state `Created`, because it declares Create or Delete.
    pub fn has_created(&self) -> bool {
        self.transitions.has_created()
    }
}

/// The target of an element's operation. For a resource, it is the resource itself. An assembly promotes
/// operations of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The resource that executes the operation.
    pub element: ElementName,
    /// The operation's name on that resource.
    pub operation: OperationName,
}

/// The size limits of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The minimum number of nodes.
    pub minimum: u32,
    /// The maximum number of nodes; none means no limit.
    pub maximum: Option<u32>,
    /// The number of nodes that one scaling adds or removes.
    pub increment: u32,
}
