//! Descriptors as typed documents: the content of a file, with the place of every part.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::assembly::OperationCall;
use windlass_model::name::{DescriptorKind, DescriptorParts, RelationshipName};
use windlass_model::version::VersionRange;
use windlass_model::{AssemblyName, ComponentName, DescriptorName, Modifier, OperationName, State};
use windlass_source::{Diagnostic, Diagnostics, LoadOptions, Mapping, Node, Source, Span, load_one};

use crate::codes;
use crate::foreign::{Foreign, foreign};
use crate::metric::{Metrics, Policies};
use crate::property::Properties;
use crate::property_types::DataTypes;
use crate::quotes;
use crate::read::{Reader, Spanned, get};
use crate::resource::ResourceDescriptor;
use crate::surroundings::Surroundings;
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
    /// Returns the name, if it is valid.
    pub fn name(&self) -> Option<&DescriptorName> {
        match self {
            Self::Assembly(assembly) => assembly.name.as_ref().map(|name| &name.value),
            Self::Resource(resource) => resource.name.as_ref().map(|name| &name.value),
        }
    }

    /// Returns the text that it was read from.
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

    /// Tells whether it declares an operation.
    pub fn has_operation(&self, operation: &OperationName) -> bool {
        match self {
            Self::Assembly(assembly) => assembly.operations.contains_key(operation),
            Self::Resource(resource) => resource.operations.contains_key(operation),
        }
    }

    /// Returns the metrics.
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
    /// Text that it was read from.
    pub source: Arc<Source>,
    /// Name, if it is valid.
    pub name: Option<Spanned<DescriptorName>>,
    /// Description.
    pub description: Option<String>,
    /// Properties of the assembly itself.
    pub properties: Properties,
    /// Capabilities offered to others.
    pub capabilities: IndexMap<String, Span>,
    /// Requirements on others.
    pub requirements: IndexMap<String, Span>,
    /// Promoted operations of its components.
    pub operations: IndexMap<OperationName, Promotion>,
    /// Components.
    pub composition: IndexMap<ComponentName, Component>,
    /// References to existing instances.
    pub references: IndexMap<ComponentName, ReferenceDecl>,
    /// Relationships between components and references.
    pub relationships: IndexMap<RelationshipName, RelationshipDecl>,
    /// Promoted metrics of its components.
    pub metrics: Metrics,
    /// Policies.
    pub policies: Policies,
    /// Declared data types.
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
    /// Descriptor that it is created from.
    pub kind: Option<Spanned<DescriptorName>>,
    /// `type`, if it is an unresolved placeholder of the tool `lmctl`.
    pub placeholder: Option<Box<Spanned<String>>>,
    /// Number of nodes, outside of clusters.
    pub quantity: Option<Value>,
    /// Bounds, if it is a cluster.
    pub cluster: Option<Box<ClusterDecl>>,
    /// Given values.
    pub properties: Properties,
}

impl Component {
    /// Returns the place of its number of nodes, or else of its name.
    pub(crate) fn size_span(&self) -> Span {
        let cluster =
            self.cluster.as_ref().map(|cluster| cluster.initial.as_ref().map_or(cluster.span, |v| v.span));
        cluster.or(self.quantity.as_ref().map(|quantity| quantity.span)).unwrap_or(self.name_span)
    }

    /// Returns the literal initial number of nodes; 0 if it is not a literal number.
    pub(crate) fn fewest_written(&self) -> u32 {
        let number = |value: Option<&Value>| value?.literal()?.trim().parse().ok();
        let size = match &self.cluster {
            Some(cluster) => number(cluster.initial.as_ref().or(cluster.minimum.as_ref())),
            None => number(self.quantity.as_ref()),
        };
        size.unwrap_or(0)
    }

    /// Tells whether the component may have any number of nodes other than one.
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
}

/// A reference to an existing instance.
#[derive(Debug, Clone)]
pub struct ReferenceDecl {
    /// Place of the name.
    pub name_span: Span,
    /// Accepted types.
    pub kind: Option<Spanned<ReferenceType>>,
    /// `type`, if it is an unresolved placeholder of the tool `lmctl`.
    pub placeholder: Option<Box<Spanned<String>>>,
    /// Required properties.
    pub properties: Properties,
}

/// The `type` of a reference: a descriptor's name with a range of versions.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceType {
    /// Kind of the descriptor.
    pub kind: DescriptorKind,
    /// Middle part of the name.
    pub name: AssemblyName,
    /// Accepted versions.
    pub versions: VersionRange,
}

impl ReferenceType {
    /// Returns the only accepted name, if the range is a single version.
    pub fn exact(&self) -> Option<DescriptorName> {
        let version = self.versions.exact()?.clone();
        Some(DescriptorParts { kind: self.kind, name: self.name.clone(), version }.into())
    }

    /// Tells whether it refers to an assembly, and not to a resource.
    pub fn is_assembly(&self) -> bool {
        self.kind == DescriptorKind::Assembly
    }

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

/// A declared relationship.
#[derive(Debug, Clone)]
pub struct RelationshipDecl {
    /// Place of the name.
    pub name_span: Span,
    /// `source-capabilities`.
    pub sources: Vec<Spanned<EndpointDecl>>,
    /// `target-requirements`.
    pub targets: Vec<Spanned<EndpointDecl>>,
    /// `source-state`.
    pub source_state: State,
    /// `source-state-modifier`; defaults to post.
    pub source_modifier: Modifier,
    /// `target-state`.
    pub target_state: State,
    /// `target-state-modifier`; defaults to pre.
    pub target_modifier: Modifier,
    /// Values for the operations.
    pub properties: Properties,
    /// `lifecycle.Create`.
    pub create: Vec<Spanned<OperationCall>>,
    /// `lifecycle.Cease`.
    pub cease: Vec<Spanned<OperationCall>>,
}

/// A declared end of a relationship.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointDecl {
    /// Component or reference.
    pub component: ComponentName,
    /// Capability or requirement.
    pub capability: Option<String>,
}

/// The result of reading: the readable part of a descriptor, and all problems.
#[derive(Debug, Clone)]
pub struct Read {
    /// Descriptor; `None` when not even its kind is known.
    pub descriptor: Option<Descriptor>,
    /// Problems, in the order of their places.
    pub diagnostics: Diagnostics,
}

/// Reads a descriptor. An invalid document still yields its readable parts.
pub fn read(source: &Arc<Source>) -> Read {
    read_in(source, &Surroundings::default())
}

/// Reads a descriptor that belongs to a project.
pub fn read_in(source: &Arc<Source>, around: &Surroundings) -> Read {
    let loaded = load_one(source, &LoadOptions::default());
    let mut diagnostics = loaded.diagnostics;
    let mut found = Diagnostics::new();
    let mut reader = Reader::new(source, around, &mut found);
    let descriptor = loaded.root.as_ref().and_then(|root| read_root(&mut reader, root));
    if let Some(said) = no_descriptor(source, loaded.root.as_ref(), &diagnostics, &found) {
        return Read { descriptor: None, diagnostics: vec![said].into() };
    }
    // Errors that start at a syntax error are consequences of it.
    let broken: BTreeSet<u32> = diagnostics.iter().filter(|said| said.is_error()).filter_map(start).collect();
    // An entry is not empty if its line could not be read.
    let lines: BTreeSet<usize> = broken.iter().map(|at| source.position(*at).line).collect();
    let emptied = |said: &Diagnostic| {
        let line = said.place().map(|place| place.start().line);
        said.code == codes::EMPTY_ENTRY && line.is_some_and(|at| lines.range(at..=at + 1).next().is_some())
    };
    let follows = |said: &Diagnostic| start(said).is_some_and(|at| broken.contains(&at)) || emptied(said);
    diagnostics.extend(found.into_iter().filter(|said| !follows(said)));
    if let Some(root) = &loaded.root {
        quotes::warn(source, root, &mut diagnostics);
    }
    diagnostics.sort();
    Read { descriptor, diagnostics }
}

/// Reports a document with errors that is no descriptor, which is then its only error.
fn no_descriptor(
    source: &Arc<Source>,
    root: Option<&Node>,
    loaded: &Diagnostics,
    found: &Diagnostics,
) -> Option<Diagnostic> {
    let is_cut = loaded.iter().any(|said| said.code == windlass_source::codes::LIMIT);
    if is_cut || !(loaded.has_errors() || found.has_errors()) {
        return None;
    }
    let Foreign { what, span, help } = foreign(source, root, loaded.has_errors())?;
    let message = format!("this is not a descriptor: it looks like {what}");
    let help = help.unwrap_or("name the file that begins with `name: assembly::…`, or the folder it is in");
    Some(Diagnostic::error(codes::NOT_A_DESCRIPTOR, message).at(source.place(span)).help(help))
}

fn start(diagnostic: &Diagnostic) -> Option<u32> {
    diagnostic.place().map(|place| place.span().start)
}

fn read_root(reader: &mut Reader<'_>, root: &Node) -> Option<Descriptor> {
    let Some(mapping) = root.as_mapping() else {
        let line = reader.source.position(root.span().start).line;
        let first = reader.source.line(line).unwrap_or_default();
        reader.error(
            codes::NOT_A_DESCRIPTOR,
            Span::new(root.span().start, root.span().end.min(first.end)),
            format!("a descriptor is a mapping with a `name`, and this is {}", root.describe()),
        );
        return None;
    };
    if let Some((span, kind)) = other_kind(mapping) {
        let message = format!("this is a descriptor of the kind `{kind}`, of which windlass makes nothing");
        let diagnostic = Diagnostic::warning(codes::OTHER_KIND, message)
            .at(reader.place(span))
            .help("it is left unchecked; windlass reads `assembly` and `resource`");
        reader.diagnostics.push(diagnostic);
        return None;
    }
    let name = name(reader, root, mapping);
    let kind = name.as_ref().map(|name| name.value.kind);
    Some(match kind.unwrap_or_else(|| looks_like(reader, mapping)) {
        DescriptorKind::Assembly => {
            Descriptor::Assembly(Arc::new(crate::assembly::read(reader, mapping, name)))
        }
        DescriptorKind::Resource => {
            Descriptor::Resource(Arc::new(crate::resource::read(reader, mapping, name)))
        }
    })
}

/// Detects a descriptor kind of later versions of the language, with its place.
fn other_kind(root: &Mapping) -> Option<(Span, &'static str)> {
    let name = root.get("name");
    let kind = name.and_then(Node::as_str).and_then(|name| name.split("::").next());
    let other = ["assembly-template", "resource-template", "type", "type-template"];
    if let (Some(name), Some(kind)) = (name, other.into_iter().find(|other| Some(*other) == kind)) {
        return Some((name.span(), kind));
    }
    let template =
        root.entry("template").filter(|entry| entry.value.as_str().is_some_and(|t| t.contains('\n')))?;
    name.is_none().then(|| (template.key.span(), other[0]))
}

/// Reads the name; a missing one is taken from the project.
fn name(reader: &mut Reader<'_>, root: &Node, mapping: &Mapping) -> Option<Spanned<DescriptorName>> {
    let given = reader.around.name.clone();
    let first = mapping.entries().first().map_or(root.span(), |entry| entry.key.span());
    let Some(node) = get(mapping, "name").filter(|node| !node.is_null()) else {
        let span = mapping.entry("name").map_or(first, |entry| entry.key.span());
        let diagnostic = if let Some(name) = &given {
            let message = format!("the descriptor has no `name`; the project file makes it `{name}`");
            Diagnostic::warning(codes::MISSING_NAME, message).help(format!("write `name: {name}`"))
        } else {
            let example = format!("{}::shop::1.0", looks_like(reader, mapping));
            Diagnostic::error(codes::MISSING_NAME, "the descriptor has no `name`").help(format!(
                "begin it with a name, as `name: {example}`; a `lmproject.yml` above it gives one too"
            ))
        };
        let diagnostic = diagnostic.at(reader.place(span));
        reader.diagnostics.push(diagnostic);
        return given.map(|value| Spanned { value, span });
    };
    let text = reader.text(node, "`name`")?;
    let name = match text.value.parse::<DescriptorName>() {
        Ok(name) => name,
        Err(error) => {
            reader.bad_name(codes::NAME, &text, &error);
            return None;
        }
    };
    if let Some(given) = given.filter(|given| *given != name) {
        let message = format!("the project file makes this `{given}`, and it calls itself `{name}`");
        let diagnostic = Diagnostic::error(codes::OTHER_NAME, message)
            .at(reader.place(text.span))
            .help("leave the name out, or write the project's");
        reader.diagnostics.push(diagnostic);
    }
    Some(Spanned { value: name, span: text.span })
}

/// Guesses the kind of a descriptor without a valid name.
fn looks_like(reader: &Reader<'_>, root: &Mapping) -> DescriptorKind {
    let name = root.get("name").and_then(Node::as_str).unwrap_or_default();
    let kinds = [DescriptorKind::Assembly, DescriptorKind::Resource];
    if let Some(kind) = kinds.into_iter().find(|kind| name.starts_with(&format!("{kind}:"))) {
        return kind;
    }
    let has = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
    if has(&["composition", "references", "relationships"]) {
        DescriptorKind::Assembly
    } else if has(&["lifecycle", "default-driver", "infrastructure", "queries"]) {
        DescriptorKind::Resource
    } else {
        // The file name decides when the content doesn't.
        let file = reader.source.name().rsplit('/').next().unwrap_or_default();
        if file.starts_with("assembly.") { DescriptorKind::Assembly } else { DescriptorKind::Resource }
    }
}
