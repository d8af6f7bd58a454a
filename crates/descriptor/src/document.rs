//! Descriptors as typed documents: what a file says, with the place of everything in it.

use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::assembly::OperationCall;
use windlass_model::name::{DescriptorKind, RelationshipName};
use windlass_model::version::VersionRange;
use windlass_model::{AssemblyName, ComponentName, DescriptorName, Modifier, OperationName, State};
use windlass_source::{Diagnostics, LoadOptions, Node, Source, Span, load_one};

use crate::codes;
use crate::property::Properties;
use crate::read::{Reader, Spanned};
use crate::resource::ResourceDescriptor;
use crate::template::Value;

/// A descriptor of either kind.
#[derive(Debug, Clone)]
pub enum Descriptor {
    /// An assembly.
    Assembly(Arc<AssemblyDescriptor>),
    /// A resource.
    Resource(Arc<ResourceDescriptor>),
}

impl Descriptor {
    /// Returns its name, if it has a valid one.
    pub fn name(&self) -> Option<&DescriptorName> {
        match self {
            Self::Assembly(assembly) => assembly.name.as_ref().map(|name| &name.value),
            Self::Resource(resource) => resource.name.as_ref().map(|name| &name.value),
        }
    }

    /// Returns the text it was read from.
    pub fn source(&self) -> &Arc<Source> {
        match self {
            Self::Assembly(assembly) => &assembly.source,
            Self::Resource(resource) => &resource.source,
        }
    }

    /// Returns its declared properties.
    pub fn properties(&self) -> &Properties {
        match self {
            Self::Assembly(assembly) => &assembly.properties,
            Self::Resource(resource) => &resource.properties,
        }
    }

    /// Tells whether it declares an operation.
    pub fn has_operation(&self, operation: &OperationName) -> bool {
        match self {
            Self::Assembly(assembly) => assembly.operations.contains_key(operation),
            Self::Resource(resource) => resource.operations.contains_key(operation),
        }
    }

    /// Returns the names of its operations.
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
    /// The text it was read from.
    pub source: Arc<Source>,
    /// Its name.
    pub name: Option<Spanned<DescriptorName>>,
    /// What it is for.
    pub description: Option<String>,
    /// Its own properties.
    pub properties: Properties,
    /// What it offers to others.
    pub capabilities: IndexMap<String, Span>,
    /// What it needs of others.
    pub requirements: IndexMap<String, Span>,
    /// The operations of its parts that it offers as its own.
    pub operations: IndexMap<OperationName, Promotion>,
    /// Its parts.
    pub composition: IndexMap<ComponentName, Component>,
    /// What must exist before it.
    pub references: IndexMap<ComponentName, ReferenceDecl>,
    /// The relationships between them.
    pub relationships: IndexMap<RelationshipName, RelationshipDecl>,
    /// Its policies.
    pub policies: IndexMap<String, Policy>,
}

/// An operation of a part that the assembly offers as its own.
#[derive(Debug, Clone)]
pub struct Promotion {
    /// Where its name stands.
    pub span: Span,
    /// `component.operation`.
    pub source: Option<Spanned<(ComponentName, OperationName)>>,
}

/// A part of an assembly.
#[derive(Debug, Clone)]
pub struct Component {
    /// Where its name stands.
    pub name_span: Span,
    /// The descriptor it is made from.
    pub kind: Option<Spanned<DescriptorName>>,
    /// How many there are, outside of clusters.
    pub quantity: Option<Value>,
    /// The bounds, if it is a cluster.
    pub cluster: Option<ClusterDecl>,
    /// The values it is given.
    pub properties: Properties,
}

impl Component {
    /// Returns where its number of nodes stands, or else its name.
    pub(crate) fn size_span(&self) -> Span {
        let cluster =
            self.cluster.as_ref().map(|cluster| cluster.initial.as_ref().map_or(cluster.span, |v| v.span));
        cluster.or(self.quantity.as_ref().map(|quantity| quantity.span)).unwrap_or(self.name_span)
    }

    /// Tells whether the component may have any other number of nodes than one.
    pub fn is_plural(&self) -> bool {
        self.cluster.is_some() || self.quantity.as_ref().is_some_and(|q| q.literal() != Some("1"))
    }
}

/// The `cluster` section of a component.
#[derive(Debug, Clone)]
pub struct ClusterDecl {
    /// Where it stands.
    pub span: Span,
    /// The nodes to begin with.
    pub initial: Option<Value>,
    /// The fewest nodes.
    pub minimum: Option<Value>,
    /// The most nodes.
    pub maximum: Option<Value>,
    /// The nodes of one step of scaling.
    pub increment: Option<Value>,
}

/// Something that must exist already.
#[derive(Debug, Clone)]
pub struct ReferenceDecl {
    /// Where its name stands.
    pub name_span: Span,
    /// What it must be.
    pub kind: Option<Spanned<ReferenceType>>,
    /// What it must look like.
    pub properties: Properties,
}

/// The `type` of a reference: a descriptor's name with a range of versions.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceType {
    /// What the descriptor describes.
    pub kind: DescriptorKind,
    /// The middle part of its name.
    pub name: AssemblyName,
    /// The versions that are accepted.
    pub versions: VersionRange,
}

impl ReferenceType {
    /// Tells whether a descriptor is accepted.
    pub fn accepts(&self, name: &DescriptorName) -> bool {
        self.kind == name.kind && self.name == name.name && self.versions.contains(&name.version)
    }
}

impl std::fmt::Display for ReferenceType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}::{}", self.kind, self.name, self.versions)
    }
}

/// A relationship, as declared.
#[derive(Debug, Clone)]
pub struct RelationshipDecl {
    /// Where its name stands.
    pub name_span: Span,
    /// `source-capabilities`.
    pub sources: Vec<Spanned<EndpointDecl>>,
    /// `target-requirements`.
    pub targets: Vec<Spanned<EndpointDecl>>,
    /// `source-state`.
    pub source_state: State,
    /// `source-state-modifier`; post where none is written.
    pub source_modifier: Modifier,
    /// `target-state`.
    pub target_state: State,
    /// `target-state-modifier`; pre where none is written.
    pub target_modifier: Modifier,
    /// The values for its operations.
    pub properties: Properties,
    /// `lifecycle.Create`.
    pub create: Vec<Spanned<OperationCall>>,
    /// `lifecycle.Cease`.
    pub cease: Vec<Spanned<OperationCall>>,
}

/// An end of a relationship, as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointDecl {
    /// The component or reference.
    pub component: ComponentName,
    /// The capability or requirement.
    pub capability: Option<String>,
}

/// A policy of an assembly.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Where its name stands.
    pub name_span: Span,
    /// `type`, as `policy::scale`.
    pub kind: Option<Spanned<String>>,
    /// `metric`, as `component.metric`.
    pub metric: Option<Spanned<String>>,
    /// `target`: the component to scale.
    pub target: Option<Spanned<String>>,
    /// Its properties: bare values, or mappings with `value`.
    pub properties: IndexMap<String, Value>,
}

/// A descriptor as far as it could be read, and everything that is wrong with it.
#[derive(Debug, Clone)]
pub struct Read {
    /// The descriptor; none when not even its kind can be told.
    pub descriptor: Option<Descriptor>,
    /// The problems, in the order of their places.
    pub diagnostics: Diagnostics,
}

/// Reads a descriptor. A bad document still yields what can be read.
pub fn read(source: &Arc<Source>) -> Read {
    let loaded = load_one(source, &LoadOptions::default());
    let mut diagnostics = loaded.diagnostics;
    let descriptor = loaded.root.as_ref().and_then(|root| read_root(source, root, &mut diagnostics));
    diagnostics.sort();
    Read { descriptor, diagnostics }
}

fn read_root(source: &Arc<Source>, root: &Node, diagnostics: &mut Diagnostics) -> Option<Descriptor> {
    let mut reader = Reader { source, diagnostics };
    let Some(mapping) = root.as_mapping() else {
        reader.error(
            codes::NOT_A_DESCRIPTOR,
            root.span(),
            format!("a descriptor is a mapping with a `name`, and this is {}", root.describe()),
        );
        return None;
    };
    if mapping.get("name").is_none() {
        let span = mapping.entries().first().map_or(root.span(), |entry| entry.key.span());
        reader.error(codes::MISSING_NAME, span, "the descriptor has no `name`");
    }
    let name =
        mapping.get("name").and_then(|node| reader.parse::<DescriptorName>(node, "`name`", codes::NAME));
    let kind = name.as_ref().map(|name| name.value.kind);
    let looks_like = if mapping.get("composition").is_some() || mapping.get("references").is_some() {
        DescriptorKind::Assembly
    } else {
        DescriptorKind::Resource
    };
    Some(match kind.unwrap_or(looks_like) {
        DescriptorKind::Assembly => {
            Descriptor::Assembly(Arc::new(crate::assembly::read(&mut reader, mapping, name)))
        }
        DescriptorKind::Resource => {
            Descriptor::Resource(Arc::new(crate::resource::read(&mut reader, mapping, name)))
        }
    })
}
