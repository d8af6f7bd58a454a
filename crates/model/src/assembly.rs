//! The engine's half: the desired assembly, as a flat list of elements and relationships.
//!
//! A [`Topology`] is the result of checking, composing and binding descriptors. Every element has its full
//! name, every reference names an element, and every relationship lists its ends. It is pure data, is stored
//! with the assembly, and holds no secret.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use windlass_secret::SecretRef;

use crate::links::Links;
use crate::name::{
    AssemblyName, CommandName, ComponentName, DescriptorName, ElementName, MetricName, OperationName,
    PropertyName, RelationshipName,
};
use crate::policy::{Metric, Policy};
use crate::references::References;
use crate::state::{Modifier, State, Transition, Transitions};
use crate::template::{End, Template};

/// The place of a declaration: file, line and column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The file, as the user named it. All declarations of one file share the name.
    #[serde(with = "shared_text")]
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Serializes shared text. The `rc` feature of serde does the same, but would be forced on embedders.
mod shared_text {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One of the two versions of an assembly that an upgrade has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The version from which the elements were created. It is used to stop and remove them.
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
    /// A named action that an operator calls by hand.
    Command(CommandName),
}

impl Action {
    /// Returns the name of the transition or the operation.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Transition(transition) => transition.as_str(),
            Self::Operation(name) => name.as_str(),
            Self::Command(name) => name.as_str(),
        }
    }

    /// Returns the transition; none for an operation, which does not change the state of its element.
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

/// The kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementKind {
    /// A composition: the root, or one nested in it. Its state is the lowest state of its children.
    Assembly,
    /// The nodes of a cluster, or of a quantity above one. Its state is the lowest state of its nodes.
    Group,
    /// A part that a driver manages.
    Resource,
    /// An existing instance. It is always Active.
    Reference,
}

/// The object that a reference refers to, by the source in which it was found.
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

/// An element of an assembly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The full name.
    pub name: ElementName,
    /// The kind.
    pub kind: ElementKind,
    /// The element that contains it; none for the root.
    pub parent: Option<ElementName>,
    /// Its entry in the composition or in the references of the parent.
    pub component: Option<ComponentName>,
    /// Its number within its group, from 1; none outside of groups.
    pub index: Option<u32>,
    /// The name of its descriptor.
    pub descriptor: DescriptorName,
    /// Its properties, in the order of declaration.
    pub properties: IndexMap<PropertyName, Property>,
    /// The transitions that its resource declares, in lifecycle order.
    pub transitions: Transitions,
    /// The operations that can be called on it, each with the resource that executes it.
    pub operations: IndexMap<OperationName, Operation>,
    /// The metrics that it publishes. An assembly has the metrics that it promotes.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<MetricName, Metric>,
    /// The size limits of a cluster; none for other elements.
    pub cluster: Option<Cluster>,
    /// The object that a reference refers to; none for other elements, or if it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referent: Option<Referent>,
    /// The place of its declaration.
    pub origin: Option<Origin>,
}

impl Element {
    /// Tells whether the resource declares `transition`.
    pub fn declares(&self, transition: Transition) -> bool {
        self.transitions.contains(transition)
    }

    /// Tells whether the resource has the state `Created`, because it declares Create or Delete.
    pub fn has_created(&self) -> bool {
        self.transitions.has_created()
    }
}

/// The target of an element's operation: the resource itself, or a part that it was promoted from.
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

/// A property of an element.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the language, each on its own")]
pub struct Property {
    /// The value; none if nothing gives one. For example, a driver publishes the value later.
    pub value: Option<Template>,
    /// Whether only the element itself gives the value: from its descriptor or its driver.
    pub read_only: bool,
    /// Whether the value may change while the element is Active.
    pub volatile: bool,
    /// Whether the value is stored sealed and shown as `***`.
    pub sensitive: bool,
    /// Whether only the element itself can read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The place of its declaration.
    pub origin: Option<Origin>,
}

/// A relationship between two lists of elements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relationship {
    /// Its name in the assembly.
    pub name: RelationshipName,
    /// The assembly element that declares it.
    pub assembly: ElementName,
    /// The elements that have the capability: resources, groups, assemblies or references.
    pub sources: Vec<Endpoint>,
    /// The elements that have the requirement: resources, groups or assemblies.
    pub targets: Vec<Endpoint>,
    /// The minimum state of the source.
    pub source_state: State,
    /// Whether the relationship is created before or after the source reaches its state.
    pub source_modifier: Modifier,
    /// The minimum state of the target.
    pub target_state: State,
    /// Whether the relationship is created before or after the target reaches its state.
    pub target_modifier: Modifier,
    /// The values that its operations receive.
    pub properties: IndexMap<PropertyName, Property>,
    /// The operations that create it, in call order.
    pub create: Vec<OperationCall>,
    /// The operations that cease it, in call order.
    pub cease: Vec<OperationCall>,
    /// The place of its declaration.
    pub origin: Option<Origin>,
}

impl Relationship {
    /// Returns the operations of `cease` that undo the operation at index `at` of `create`.
    ///
    /// If `create` and `cease` call an end equally often, the nth operation of `cease` undoes the nth of
    /// `create`. If not, all operations of `cease` on that end undo all operations of `create` on it. They
    /// are returned for the first of these, because it is undone last. If `create` does not call that end,
    /// they are returned for the first operation of `create`.
    pub fn undo_of(&self, at: usize) -> Vec<OperationCall> {
        let of_end = |list: &[OperationCall], end: End| -> Vec<usize> {
            list.iter().enumerate().filter(|(_, call)| call.end == end).map(|(at, _)| at).collect()
        };
        let first_undone = |place: usize| {
            let end = self.cease[place].end;
            let (made, ended) = (of_end(&self.create, end), of_end(&self.cease, end));
            if made.len() == ended.len() {
                ended.iter().position(|ended| *ended == place).map_or(0, |nth| made[nth])
            } else {
                made.first().copied().unwrap_or(0)
            }
        };
        let own = (0..self.cease.len()).filter(|place| first_undone(*place) == at);
        own.map(|place| self.cease[place].clone()).collect()
    }
}

/// One end of a relationship, as the descriptor declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The element.
    pub element: ElementName,
    /// The name of the capability or requirement; none for a bare reference.
    pub capability: Option<String>,
}

/// An operation that a relationship calls on one of its ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCall {
    /// The end.
    pub end: End,
    /// The operation's name.
    pub operation: OperationName,
}

impl fmt::Display for OperationCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.end, self.operation)
    }
}

/// A desired assembly: all elements and relationships, bound.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "TopologyData", into = "TopologyData")]
pub struct Topology {
    data: TopologyData,
    places: Places,
    /// For each element, the positions of the elements directly inside it.
    children: Links<u32>,
    references: References,
    /// The positions of the relationships, by the assembly that declares them.
    relationships: HashMap<ElementName, HashMap<RelationshipName, usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TopologyData {
    version: u32,
    name: AssemblyName,
    elements: Vec<Element>,
    relationships: Vec<Relationship>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    policies: Vec<Policy>,
}

/// The positions of elements, by their names.
///
/// The table has positions only, and the names stay in the elements. So a look-up in a large assembly stays
/// in the processor's caches.
#[derive(Clone, Default)]
struct Places {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl std::fmt::Debug for Places {
    /// Writes only the length: the hashes differ between processes, and the rest follows from the elements.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("len", &self.table.len()).finish_non_exhaustive()
    }
}

impl Places {
    /// Collects the positions of elements. If two have the same name, the later one is found.
    fn of(elements: &[Element]) -> Self {
        let mut places =
            Self { table: HashTable::with_capacity(elements.len()), hasher: DefaultHashBuilder::default() };
        let Self { table, hasher } = &mut places;
        for (at, element) in (0_u32..).zip(elements) {
            let name = |at: u32| &elements[at as usize].name;
            let is_same = |other: &u32| *name(*other) == element.name;
            match table.entry(hasher.hash_one(&element.name), is_same, |at| hasher.hash_one(name(*at))) {
                Entry::Occupied(mut entry) => *entry.get_mut() = at,
                Entry::Vacant(entry) => drop(entry.insert(at)),
            }
        }
        places
    }

    fn get(&self, elements: &[Element], name: &ElementName) -> Option<u32> {
        let is_it = |at: &u32| elements[*at as usize].name == *name;
        self.table.find(self.hasher.hash_one(name), is_it).copied()
    }
}

impl PartialEq for Topology {
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl Eq for Topology {}

/// The version of the format of a topology.
const VERSION: u32 = 1;

impl TryFrom<TopologyData> for Topology {
    type Error = String;

    fn try_from(data: TopologyData) -> Result<Self, String> {
        match data.version {
            VERSION => Ok(Self::of(data)),
            other => Err(format!(
                "a topology of version {other} can't be read; this program reads version {VERSION}"
            )),
        }
    }
}

impl Topology {
    fn of(data: TopologyData) -> Self {
        let places = Places::of(&data.elements);
        let parents: Vec<(u32, u32)> = (0..)
            .zip(&data.elements)
            .filter_map(|(at, element)| Some((places.get(&data.elements, element.parent.as_ref()?)?, at)))
            .collect();
        let children = Links::group(data.elements.len(), parents.into_iter());
        let references = References::of(&data.elements, |name| places.get(&data.elements, name));
        let mut relationships: HashMap<_, HashMap<_, _>> = HashMap::new();
        for (at, relationship) in data.relationships.iter().enumerate() {
            let of_assembly = relationships.entry(relationship.assembly.clone()).or_default();
            of_assembly.insert(relationship.name.clone(), at);
        }
        Self { data, places, children, references, relationships }
    }
}

impl From<Topology> for TopologyData {
    fn from(topology: Topology) -> Self {
        topology.data
    }
}

impl Topology {
    /// Creates a topology. The root is the first element, and parents come before their children.
    pub fn new(name: AssemblyName, elements: Vec<Element>, relationships: Vec<Relationship>) -> Self {
        Self::of(TopologyData { version: VERSION, name, elements, relationships, policies: Vec::new() })
    }

    /// Adds policies, in the order of declaration.
    #[must_use]
    pub fn with_policies(mut self, policies: impl IntoIterator<Item = Policy>) -> Self {
        self.data.policies.extend(policies);
        self
    }

    /// Returns the assembly's name.
    pub fn name(&self) -> &AssemblyName {
        &self.data.name
    }

    /// Replaces the names of secrets in all values.
    pub fn rename_secrets(&mut self, names: &BTreeMap<SecretRef, SecretRef>) {
        if names.is_empty() {
            return;
        }
        let elements = self.data.elements.iter_mut().map(|element| &mut element.properties);
        let relationships = self.data.relationships.iter_mut().map(|of| &mut of.properties);
        let policies = self.data.policies.iter_mut().map(|policy| &mut policy.properties);
        for properties in elements.chain(relationships).chain(policies) {
            for value in properties.values_mut().filter_map(|property| property.value.as_mut()) {
                value.rename_secrets(names);
            }
        }
    }

    /// Returns all elements. The root is the first, and parents come before their children.
    pub fn elements(&self) -> &[Element] {
        &self.data.elements
    }

    /// Returns all relationships, in the order of declaration.
    pub fn relationships(&self) -> &[Relationship] {
        &self.data.relationships
    }

    /// Returns all policies: those of assemblies for their parts, and those of each resource for itself.
    pub fn policies(&self) -> &[Policy] {
        &self.data.policies
    }

    /// Finds a relationship by the assembly that declares it, and its name in that assembly.
    pub fn relationship(&self, assembly: &ElementName, name: &str) -> Option<&Relationship> {
        self.relationships.get(assembly)?.get(name).map(|at| &self.data.relationships[*at])
    }

    /// Returns the root element.
    pub fn root(&self) -> Option<&Element> {
        self.data.elements.first()
    }

    /// Finds an element by its full name.
    pub fn get(&self, name: &ElementName) -> Option<&Element> {
        self.position(name).map(|at| &self.data.elements[at])
    }

    /// Returns the position of an element in [`Topology::elements`].
    pub fn position(&self, name: &ElementName) -> Option<usize> {
        self.places.get(&self.data.elements, name).map(|at| at as usize)
    }

    /// Returns the references of the property values.
    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    /// Returns the elements directly inside `name`, in the order of declaration.
    pub fn children(&self, name: &ElementName) -> impl Iterator<Item = &Element> {
        let places = self.places.get(&self.data.elements, name).map_or(&[][..], |at| self.children.of(at));
        places.iter().map(|at| &self.data.elements[*at as usize])
    }

    /// Returns the other assemblies that elements of this one refer to.
    pub fn referenced(&self) -> BTreeSet<AssemblyName> {
        let referents = self.elements().iter().filter_map(|element| element.referent.as_ref());
        let assembly = |referent: &Referent| match referent {
            Referent::Assembly(name) => Some(name.clone()),
            _ => None,
        };
        referents.filter_map(assembly).collect()
    }

    /// Returns the elements of an endpoint: the nodes of a group, or else the element itself.
    pub fn nodes<'a>(&'a self, name: &ElementName) -> Vec<&'a Element> {
        match self.get(name) {
            Some(element) if element.kind == ElementKind::Group => self.children(name).collect(),
            Some(element) => vec![element],
            None => Vec::new(),
        }
    }

    /// Returns the resources at or below `name`. The state of `name` follows from their states.
    pub fn leaves<'a>(&'a self, name: &ElementName) -> Vec<&'a Element> {
        let mut leaves = Vec::new();
        let mut open: Vec<u32> = self.places.get(&self.data.elements, name).into_iter().collect();
        while let Some(at) = open.pop() {
            let element = &self.data.elements[at as usize];
            match element.kind {
                ElementKind::Resource => leaves.push(element),
                ElementKind::Reference => {}
                ElementKind::Assembly | ElementKind::Group => open.extend(self.children.of(at).iter().rev()),
            }
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_of_another_version_is_refused() {
        let topology = Topology::new("t".parse().unwrap(), Vec::new(), Vec::new());
        let text = serde_json::to_string(&topology).unwrap();
        let newer = text.replace(r#""version":1"#, r#""version":2"#);
        let error = serde_json::from_str::<Topology>(&newer).unwrap_err().to_string();
        assert_eq!(error, "a topology of version 2 can't be read; this program reads version 1");
        assert_eq!(serde_json::from_str::<Topology>(&text).unwrap(), topology);
    }

    fn calls(list: &[&str]) -> Vec<OperationCall> {
        let call = |text: &&str| {
            let (end, operation) = text.split_once('.').unwrap();
            let end = if end == "source" { End::Source } else { End::Target };
            OperationCall { end, operation: operation.parse().unwrap() }
        };
        list.iter().map(call).collect()
    }

    fn undo(create: &[&str], cease: &[&str]) -> Vec<String> {
        let relationship = Relationship {
            name: "r".parse().unwrap(),
            assembly: "t".parse().unwrap(),
            sources: Vec::new(),
            targets: Vec::new(),
            source_state: State::Active,
            source_modifier: Modifier::Post,
            target_state: State::Active,
            target_modifier: Modifier::Pre,
            properties: IndexMap::new(),
            create: calls(create),
            cease: calls(cease),
            origin: None,
        };
        let of = |at| -> Vec<String> { relationship.undo_of(at).iter().map(ToString::to_string).collect() };
        (0..create.len()).map(|at| of(at).join(" ")).collect()
    }

    #[test]
    fn what_undoes_an_operation_is_of_its_end_and_at_its_place() {
        assert_eq!(
            undo(&["target.Add", "source.Add"], &["target.Remove", "source.Remove"]),
            ["target.Remove", "source.Remove"]
        );
        assert_eq!(undo(&["target.A", "target.B"], &["target.X", "target.Y"]), ["target.X", "target.Y"]);
        assert_eq!(undo(&["source.A", "target.B"], &["target.Y"]), ["", "target.Y"]);
        assert_eq!(undo(&["source.A", "target.B"], &["target.X", "target.Y"]), ["", "target.X target.Y"]);
        assert_eq!(undo(&["target.A", "target.B"], &["target.Z"]), ["target.Z", ""]);
        assert_eq!(undo(&["source.A"], &["target.Z"]), ["target.Z"]);
        assert_eq!(undo(&["source.A"], &[]), [""]);
    }
}
