//! Descriptors as Rust types: the content of a file, with the places of its parts.

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

/// A descriptor of an assembly or of a resource.
#[derive(Debug, Clone)]
pub enum Descriptor {
    /// The descriptor of an assembly.
    Assembly(Arc<AssemblyDescriptor>),
    /// The descriptor of a resource.
    Resource(Arc<ResourceDescriptor>),
}

impl Descriptor {
    /// Returns the name; none if it is missing or invalid.
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

    /// Returns the metrics that the descriptor declares.
    pub fn metrics(&self) -> &Metrics {
        match self {
            Self::Assembly(assembly) => &assembly.metrics,
            Self::Resource(resource) => &resource.metrics,
        }
    }

    /// Returns the names of the capabilities, with their places.
    pub fn capabilities(&self) -> &IndexMap<String, Span> {
        match self {
            Self::Assembly(assembly) => &assembly.capabilities,
            Self::Resource(resource) => &resource.capabilities,
        }
    }

    /// Returns the names of the requirements, with their places.
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

    /// Returns the properties that only the resource itself can read. An assembly has no private properties.
    pub fn private_properties(&self) -> Option<&Properties> {
        match self {
            Self::Assembly(_) => None,
            Self::Resource(resource) => Some(&resource.private_properties),
        }
    }

    /// Returns the names of the operations that the descriptor declares.
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
    /// Name of the descriptor; none if it is missing or invalid.
    pub name: Option<Spanned<DescriptorName>>,
    /// Description of the assembly.
    pub description: Option<String>,
    /// Whether the assembly is protected. windlass neither removes nor replaces a part of a protected assembly. The
    /// value comes from the key `protect`, which is an extension of the descriptor language.
    pub protect: bool,
    /// Properties of the assembly itself.
    pub properties: Properties,
    /// Capabilities of the assembly, with the places of their names. A relationship leads from a capability of
    /// its source to a requirement of its target. So if a relationship uses a capability of the assembly, the
    /// assembly is the source of the relationship.
    pub capabilities: IndexMap<String, Span>,
    /// Requirements of the assembly, with the places of their names. A relationship leads from a capability of its
    /// source to a requirement of its target. So if a relationship uses a requirement of the assembly, the assembly is
    /// the target of the relationship.
    pub requirements: IndexMap<String, Span>,
    /// Operations that the assembly offers, by name. Each operation belongs to a component of the assembly.
    pub operations: IndexMap<OperationName, Promotion>,
    /// Components of the assembly.
    pub composition: IndexMap<ComponentName, Component>,
    /// References to existing instances.
    pub references: IndexMap<ComponentName, ReferenceDecl>,
    /// Relationships between components and references.
    pub relationships: IndexMap<RelationshipName, RelationshipDecl>,
    /// Metrics that the assembly offers, by name. Each metric belongs to a component of the assembly.
    pub metrics: Metrics,
    /// Policies of the assembly.
    pub policies: Policies,
    /// Data types that the descriptor declares.
    pub data_types: DataTypes,
}

/// An entry of the section `operations`: the assembly offers an operation of one of its components as its own. The
/// name of the entry may differ from the name of the component's operation.
#[derive(Debug, Clone)]
pub struct Promotion {
    /// Place of the name.
    pub span: Span,
    /// The key `source-operation`: the component and its operation.
    pub source: Option<Spanned<(ComponentName, OperationName)>>,
}

/// A component of an assembly.
#[derive(Debug, Clone)]
pub struct Component {
    /// Place of the name.
    pub name_span: Span,
    /// Name of the descriptor from which the component is created: the key `type`.
    pub kind: Option<Spanned<DescriptorName>>,
    /// The text of the key `type`, if the text is a placeholder of the tool `lmctl`, and the project supplies no
    /// descriptor name for it. The later check of the descriptor reports this placeholder as an error. `None` if the
    /// `type` is no such placeholder, or if the placeholder was already reported.
    pub placeholder: Option<Box<Spanned<String>>>,
    /// Whether the component is protected: the key `protect`. windlass neither removes nor replaces a protected
    /// component. The key is an extension of the descriptor language.
    pub protect: bool,
    /// Number of nodes of a component without `cluster`: the key `quantity`.
    pub quantity: Option<Value>,
    /// The key `cluster`; none for a component that is no cluster.
    pub cluster: Option<Box<ClusterDecl>>,
    /// Components that must be Active before windlass calls the first transition of this component; an
    /// extension of the language.
    pub depends_on: Vec<Spanned<ComponentName>>,
    /// The key `update`: rules for a rolling change of the component's nodes. The key is an extension of the
    /// descriptor language.
    pub update: Option<Update>,
    /// Properties that the assembly gives to the component.
    pub properties: Properties,
}

impl Component {
    /// Returns the place at which the number of nodes is declared. If the number is not declared, returns the
    /// place of the component's name.
    pub(crate) fn size_span(&self) -> Span {
        let cluster =
            self.cluster.as_ref().map(|cluster| cluster.initial.as_ref().map_or(cluster.span, |v| v.span));
        let cluster = self.each().map(|each| each.list.span).or(cluster);
        cluster.or(self.quantity.as_ref().map(|quantity| quantity.span)).unwrap_or(self.name_span)
    }

    /// Returns the initial number of nodes if it is a literal number. If it is not, returns 0.
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

    /// Returns the values of the keys `each` and `key` in the section `cluster`. Returns `None` if the component has no
    /// `cluster`, or if the `cluster` has no `each`.
    pub fn each(&self) -> Option<&EachDecl> {
        self.cluster.as_ref()?.each.as_ref()
    }

    /// Tells whether the component is a group. A component is a group if it has a `cluster`, or a `quantity` other than
    /// the literal 1.
    pub fn is_plural(&self) -> bool {
        self.cluster.is_some() || self.quantity.as_ref().is_some_and(|q| q.literal() != Some("1"))
    }
}

/// The section `cluster` of a component.
#[derive(Debug, Clone)]
pub struct ClusterDecl {
    /// Place of the section.
    pub span: Span,
    /// Initial number of nodes: the key `initial-quantity`.
    pub initial: Option<Value>,
    /// Minimum number of nodes: the key `minimum-nodes`.
    pub minimum: Option<Value>,
    /// Maximum number of nodes: the key `maximum-nodes`.
    pub maximum: Option<Value>,
    /// Number of nodes that one scaling step adds or removes: the key `scaling-increment`.
    pub increment: Option<Value>,
    /// The keys `each` and `key`: the list from which the nodes are created, one node for each entry. If the
    /// section contains `each`, it must not contain the keys for the number of nodes, such as `initial-quantity`.
    /// The keys `each` and `key` are an extension of the descriptor language.
    pub each: Option<EachDecl>,
}

/// The keys `each` and `key` of a cluster: the list from which the nodes are created, and the field that identifies
/// each entry.
#[derive(Debug, Clone)]
pub struct EachDecl {
    /// The key `each`: a list, or a `${…}` that reads a list. Each entry of the list is a map, and declares one node.
    pub list: Value,
    /// The key `key`: the name of a field that each entry of `list` has. The value of this field becomes the last
    /// part of the node's name. If the descriptor omits `key`, the field is `name`.
    pub key: Spanned<String>,
}

/// An entry of `references`: an existing instance that the assembly needs.
#[derive(Debug, Clone)]
pub struct ReferenceDecl {
    /// Place of the name.
    pub name_span: Span,
    /// The key `type`: the descriptor of the instance, with a range of versions.
    pub kind: Option<Spanned<ReferenceType>>,
    /// The text of the key `type`, if the text is a placeholder of the tool `lmctl`, and the project supplies no
    /// descriptor name for it. The later check of the descriptor reports this placeholder as an error. `None` if the
    /// `type` is no such placeholder, or if the placeholder was already reported.
    pub placeholder: Option<Box<Spanned<String>>>,
    /// Property values that the instance must have.
    pub properties: Properties,
}

/// The `type` of a reference: a descriptor's name with a range of versions.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceType {
    /// First part of the descriptor's name: assembly or resource.
    pub kind: DescriptorKind,
    /// Middle part of the descriptor's name.
    pub name: AssemblyName,
    /// Versions that the reference accepts.
    pub versions: VersionRange,
}

impl ReferenceType {
    /// Returns the name of the only descriptor that the reference accepts; none if it accepts several
    /// versions.
    pub fn exact(&self) -> Option<DescriptorName> {
        let version = self.versions.exact()?.clone();
        Some(DescriptorParts { kind: self.kind, name: self.name.clone(), version }.into())
    }

    /// Tells whether the reference names an assembly.
    pub fn is_assembly(&self) -> bool {
        self.kind == DescriptorKind::Assembly
    }

    /// Tells whether the reference accepts an instance of the descriptor with this name.
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
    /// Sources of the relationship: the key `source-capabilities`.
    pub sources: Vec<Spanned<EndpointDecl>>,
    /// Targets of the relationship: the key `target-requirements`.
    pub targets: Vec<Spanned<EndpointDecl>>,
    /// State of a source: the key `source-state`. `source_modifier` tells whether the relationship is created
    /// before or after a source reaches this state.
    pub source_state: State,
    /// The key `source-state-modifier`: whether the relationship is created before (`pre`) or after (`post`) a source
    /// reaches `source_state`. The default is `post`.
    pub source_modifier: Modifier,
    /// State of a target: the key `target-state`. `target_modifier` tells whether the relationship is created
    /// before or after a target reaches this state.
    pub target_state: State,
    /// The key `target-state-modifier`: whether the relationship is created before (`pre`) or after (`post`) a target
    /// reaches `target_state`. The default is `pre`.
    pub target_modifier: Modifier,
    /// Arguments of the operations in `create` and `cease`.
    pub properties: Properties,
    /// Operations that create the relationship: the key `lifecycle.Create`.
    pub create: Vec<Spanned<OperationCall>>,
    /// Operations that remove the relationship: the key `lifecycle.Cease`.
    pub cease: Vec<Spanned<OperationCall>>,
}

/// A source or target in the declaration of a relationship, such as `web.url`.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointDecl {
    /// Name of the component or reference.
    pub component: ComponentName,
    /// Name of the capability or requirement, such as `url` in `web.url`. `None` if the text contains no dot.
    pub capability: Option<String>,
}
