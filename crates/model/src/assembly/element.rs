//! The elements of a topology: assemblies, groups, resources and references.

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
    /// An assembly: the root, or a nested assembly. Its state is the lowest state of its children.
    Assembly,
    /// All nodes of one component. If the descriptor declares a `cluster` for a component, or a `quantity` other than
    /// the number 1, the nodes of the component form a group. The state of a group is the lowest state of its nodes.
    Group,
    /// A part that a driver manages.
    Resource,
    /// A reference to something that exists outside of the assembly, such as a network. A reference is always
    /// Active.
    Reference,
}

/// The identity of the existing instance to which a reference resolves. Each variant stands for one way in
/// which windlass finds such instances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Referent {
    /// An instance that the project file `windlass.yaml` lists under `existing`. The text is the `name` of the instance
    /// in this list.
    Listed(String),
    /// Another assembly of the store.
    Assembly(AssemblyName),
    /// An instance that a driver has found by a search. The text is the natural id that the driver reported for
    /// the instance.
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

/// The reaction of an instance to a change of its package, if the version of the resource stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnPackageChange {
    /// The instance stays as it is, and no driver is called. Later actions on the instance use the new
    /// package.
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
    /// The element that directly contains this element; none for the root.
    pub parent: Option<ElementName>,
    /// The name of the element's component. An entry of the section `composition` or of the section
    /// `references` in a descriptor has this name. None for the root.
    pub component: Option<ComponentName>,
    /// The element's number within its group, from 1; none if the element is in no group, or if the nodes of
    /// the group have keys.
    pub index: Option<u32>,
    /// The element's key within its group; none if the element is in no group, or if the nodes of the group
    /// have numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<NodeKey>,
    /// The name of the element's descriptor.
    pub descriptor: DescriptorName,
    /// The properties of the element, in the order of declaration.
    pub properties: IndexMap<PropertyName, Property>,
    /// The transitions that the resource declares, in lifecycle order. Empty for an element that is not a resource.
    pub transitions: Transitions,
    /// The operations that can be called on the element, each with the resource that executes the operation.
    pub operations: IndexMap<OperationName, Operation>,
    /// The metrics that the element publishes. An assembly publishes metrics that it promotes from its
    /// components.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<MetricName, Metric>,
    /// The size limits of a cluster; none for other elements.
    pub cluster: Option<Cluster>,
    /// The existing instance to which a reference resolves, for example another assembly. None if the element
    /// is not a reference, or if the instance was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referent: Option<Referent>,
    /// Whether the element is protected: no intent may remove or replace the element, or any element inside
    /// it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// The reaction to a change of the package, as the resource descriptor declares it by `on-package-change`. None if
    /// the descriptor does not declare a reaction, or if the element is not a resource. For the default, see
    /// [`package_change`](Self::package_change).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_package_change: Option<OnPackageChange>,
    /// The declared rules for changes of a group's nodes; none for other elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
    /// The place of the element's declaration.
    pub origin: Option<Origin>,
}

impl Element {
    /// Returns how the instance of a resource reacts if its package changes, but the version of the resource stays the
    /// same. The default depends on the resource: `Reconfigure` if the resource declares the transition Reconfigure,
    /// and `Keep` if not.
    pub fn package_change(&self) -> OnPackageChange {
        self.on_package_change.unwrap_or(if self.declares(Transition::Reconfigure) {
            OnPackageChange::Reconfigure
        } else {
            OnPackageChange::Keep
        })
    }

    /// Tells whether the element is a resource that declares `transition`.
    pub fn declares(&self, transition: Transition) -> bool {
        self.transitions.contains(transition)
    }

    /// Tells whether the element is a resource whose lifecycle includes the state `Created`. The lifecycle includes
    /// this state if the resource declares the transition Create or Delete.
    pub fn has_created(&self) -> bool {
        self.transitions.has_created()
    }
}

/// An operation of an element. A resource executes its operations itself. An assembly passes each of its
/// operations on to a resource inside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The resource that executes the operation.
    pub element: ElementName,
    /// The name that `element` gives to the operation. An assembly may offer the operation under another name.
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
