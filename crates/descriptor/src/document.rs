//! Descriptors as typed documents: the content of a file, with the place of every part.

use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::assembly::{OperationCall, Update};
use windlass_model::name::{DescriptorKind, DescriptorParts, RelationshipName};
use windlass_model::version::VersionRange;
use windlass_model::{AssemblyName, ComponentName, DescriptorName, Modifier, OperationName, State};
use windlass_source::{Source, Span};

use crate::metric::{Metrics, Policies};
use crate::property::Properties;
use crate::property_types::DataTypes;
use crate::reader::Spanned;
use crate::resource::ResourceDescriptor;
use crate::template::Value;

/// A descriptor of either kind.
#[derive(Debug, Clone)]
pub enum Descriptor {
    /// The descriptor of an assembly.
    Assembly(Arc<AssemblyDescriptor>),
    /// The descriptor of a resource.
    Resource(Arc<ResourceDescriptor>),
}

impl Descriptor {
    /// Returns the name, if it is valid.
    pub fn name(&self) -> Option<&DescriptorName> {
        match self {
            Self::Assembly(assembly) => assembly.name.as_ref().map(|name| &name.value),
            Self::Resource(resource) => resource.name.as_ref().map(|name| &name.value),
        }
    }

    /// Returns the text from which the descriptor was read.
    pub fn source(&self) -> &Arc<Source> {
        match self {
            Self::Assembly(assembly) => &assembly.source,
            Self::Resource(resource) => &resource.source,
        }
    }

    /// Returns the declared properties.
    pub fn properties(&self) -> &Properties {
        match self {
            Self::Assembly(assembly) => &assembly.properties,
            Self::Resource(resource) => &resource.properties,
        }
    }

    /// Tells whether the descriptor declares an operation.
    pub fn has_operation(&self, operation: &OperationName) -> bool {
        match self {
            Self::Assembly(assembly) => assembly.operations.contains_key(operation),
            Self::Resource(resource) => resource.operations.contains_key(operation),
        }
    }

    /// Returns the metrics of the descriptor.
    pub fn metrics(&self) -> &Metrics {
        match self {
            Self::Assembly(assembly) => &assembly.metrics,
            Self::Resource(resource) => &resource.metrics,
        }
    }

    /// Returns the capabilities with their places.
    pub fn capabilities(&self) -> &IndexMap<String, Span> {
        match self {
            Self::Assembly(assembly) => &assembly.capabilities,
            Self::Resource(resource) => &resource.capabilities,
        }
    }

    /// Returns the requirements with their places.
    pub fn requirements(&self) -> &IndexMap<String, Span> {
        match self {
            Self::Assembly(assembly) => &assembly.requirements,
            Self::Resource(resource) => &resource.requirements,
        }
    }

    /// Returns the declared data types.
    pub fn data_types(&self) -> &DataTypes {
        match self {
            Self::Assembly(assembly) => &assembly.data_types,
            Self::Resource(resource) => &resource.data_types,
        }
    }

    /// Returns the properties that only the resource itself can read; an assembly has none.
    pub fn private_properties(&self) -> Option<&Properties> {
        match self {
            Self::Assembly(_) => None,
            Self::Resource(resource) => Some(&resource.private_properties),
        }
    }

    /// Returns the names of the operations.
    pub fn operation_names(&self) -> Vec<&str> {
        match self {
            Self::Assembly(assembly) => assembly.operations.keys().map(OperationName::as_str).collect(),
            Self::Resource(resource) => resource.operations.keys().map(OperationName::as_str).collect(),
        }
    }
}

/// An assembly descriptor.
#[derive(Debug, Clone)]
pub struct AssemblyDescriptor {
    /// Text from which the descriptor was read.
    pub source: Arc<Source>,
    /// Name, if it is valid.
    pub name: Option<Spanned<DescriptorName>>,
    /// Description of the assembly.
    pub description: Option<String>,
    /// Whether the components are protected from removal and replacement; an extension of the language.
    pub protect: bool,
    /// Properties of the assembly itself.
    pub properties: Properties,
    /// Capabilities offered to others.
    pub capabilities: IndexMap<String, Span>,
    /// Requirements on other assemblies.
    pub requirements: IndexMap<String, Span>,
    /// Promoted operations of its components.
    pub operations: IndexMap<OperationName, Promotion>,
    /// Components of the assembly.
    pub composition: IndexMap<ComponentName, Component>,
    /// References to existing instances.
    pub references: IndexMap<ComponentName, ReferenceDecl>,
    /// Relationships between components and references.
    pub relationships: IndexMap<RelationshipName, RelationshipDecl>,
    /// Promoted metrics of its components.
    pub metrics: Metrics,
    /// Policies of the assembly.
    pub policies: Policies,
    /// Data types that the descriptor declares.
    pub data_types: DataTypes,
}

/// An operation of a component that the assembly promotes.
#[derive(Debug, Clone)]
pub struct Promotion {
    /// Place of the name.
    pub span: Span,
    /// The promoted operation, `component.operation`.
    pub source: Option<Spanned<(ComponentName, OperationName)>>,
}

/// A component of an assembly.
#[derive(Debug, Clone)]
pub struct Component {
    /// Place of the name.
    pub name_span: Span,
    /// Descriptor from which the component is created.
    pub kind: Option<Spanned<DescriptorName>>,
    /// `type`, if it is an unresolved placeholder of the tool `lmctl`.
    pub placeholder: Option<Box<Spanned<String>>>,
    /// Whether the component is protected from removal and replacement; an extension of the language.
    pub protect: bool,
    /// Number of nodes, outside of clusters.
    pub quantity: Option<Value>,
    /// Bounds of a cluster; none for other components.
    pub cluster: Option<Box<ClusterDecl>>,
    /// Components that must be Active before its first transition; an extension of the language.
    pub depends_on: Vec<Spanned<ComponentName>>,
    /// Rules for changes of its nodes; an extension of the language.
    pub update: Option<Update>,
    /// Values that the component is given.
    pub properties: Properties,
}

impl Component {
    /// Returns the place where the number of nodes is declared, or else the place of the component's name.
    pub(crate) fn size_span(&self) -> Span {
        let cluster =
            self.cluster.as_ref().map(|cluster| cluster.initial.as_ref().map_or(cluster.span, |v| v.span));
        let cluster = self.each().map(|each| each.list.span).or(cluster);
        cluster.or(self.quantity.as_ref().map(|quantity| quantity.span)).unwrap_or(self.name_span)
    }

    /// Returns the initial number of nodes if it is written as a number. Otherwise returns 0.
    pub(crate) fn fewest_written(&self) -> u32 {
        if self.each().is_some() {
            return 0;
        }
        let number = |value: Option<&Value>| value?.literal()?.trim().parse().ok();
        let size = match &self.cluster {
            Some(cluster) => number(cluster.initial.as_ref().or(cluster.minimum.as_ref())),
            None => number(self.quantity.as_ref()),
        };
        size.unwrap_or(0)
    }

    /// Returns the list that declares the nodes; none if the nodes have no keys.
    pub fn each(&self) -> Option<&EachDecl> {
        self.cluster.as_ref()?.each.as_ref()
    }

    /// Tells whether the component may have a number of nodes other than one.
    pub fn is_plural(&self) -> bool {
        self.cluster.is_some() || self.quantity.as_ref().is_some_and(|q| q.literal() != Some("1"))
    }
}

/// The `cluster` section of a component.
#[derive(Debug, Clone)]
pub struct ClusterDecl {
    /// Place of the section.
    pub span: Span,
    /// Initial number of nodes.
    pub initial: Option<Value>,
    /// Minimum number of nodes.
    pub minimum: Option<Value>,
    /// Maximum number of nodes.
    pub maximum: Option<Value>,
    /// Number of nodes of one scaling step.
    pub increment: Option<Value>,
    /// List that declares the nodes, in place of numbers; an extension of the language.
    pub each: Option<EachDecl>,
}

/// `each` and `key` of a cluster: a list of maps that declares one node for each map.
#[derive(Debug, Clone)]
pub struct EachDecl {
    /// The list, or a reference to a property that contains the list.
    pub list: Value,
    /// Field of the maps that identifies a node.
    pub key: Spanned<String>,
}

/// A reference to an existing instance.
#[derive(Debug, Clone)]
pub struct ReferenceDecl {
    /// Place of the name.
    pub name_span: Span,
    /// Types that the reference accepts.
    pub kind: Option<Spanned<ReferenceType>>,
    /// `type`, if it is an unresolved placeholder of the tool `lmctl`.
    pub placeholder: Option<Box<Spanned<String>>>,
    /// Properties that the instance must have.
    pub properties: Properties,
}

/// The `type` of a reference: a descriptor's name with a range of versions.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceType {
    /// Kind of the descriptor.
    pub kind: DescriptorKind,
    /// Middle part of the name.
    pub name: AssemblyName,
    /// Versions of the descriptor that are accepted.
    pub versions: VersionRange,
}

impl ReferenceType {
    /// Returns the only accepted descriptor; none if the range is not a single version.
    pub fn exact(&self) -> Option<DescriptorName> {
        let version = self.versions.exact()?.clone();
        Some(DescriptorParts { kind: self.kind, name: self.name.clone(), version }.into())
    }

    /// Tells whether the reference is to an assembly, not to a resource.
    pub fn is_assembly(&self) -> bool {
        self.kind == DescriptorKind::Assembly
    }

    /// Tells whether the reference accepts an instance of a descriptor.
    pub fn accepts(&self, name: &DescriptorName) -> bool {
        self.kind == name.kind && self.name == name.name && self.versions.contains(&name.version)
    }
}

impl std::fmt::Display for ReferenceType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}::{}", self.kind, self.name, self.versions)
    }
}

/// A relationship that an assembly declares.
#[derive(Debug, Clone)]
pub struct RelationshipDecl {
    /// Place of the name.
    pub name_span: Span,
    /// Source ends: the key `source-capabilities`.
    pub sources: Vec<Spanned<EndpointDecl>>,
    /// Target ends: the key `target-requirements`.
    pub targets: Vec<Spanned<EndpointDecl>>,
    /// State of the source: the key `source-state`.
    pub source_state: State,
    /// Modifier of the source's state: the key `source-state-modifier`; defaults to post.
    pub source_modifier: Modifier,
    /// State of the target: the key `target-state`.
    pub target_state: State,
    /// Modifier of the target's state: the key `target-state-modifier`; defaults to pre.
    pub target_modifier: Modifier,
    /// Values for the operations.
    pub properties: Properties,
    /// Operations of the creation: the key `lifecycle.Create`.
    pub create: Vec<Spanned<OperationCall>>,
    /// Operations of the cessation: the key `lifecycle.Cease`.
    pub cease: Vec<Spanned<OperationCall>>,
}

/// A declared end of a relationship.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointDecl {
    /// Name of the component or reference.
    pub component: ComponentName,
    /// Name of the capability or requirement.
    pub capability: Option<String>,
}
