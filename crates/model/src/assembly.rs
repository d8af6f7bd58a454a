//! The engine's half: the assembly that a user wants, as a flat list of elements and relationships.
//!
//! A [`Topology`] is what is left of descriptors once they are checked, composed and bound: every element has its
//! full name, every reference names an element, every relationship lists its ends. It is pure data, is stored with
//! the assembly, and holds no secret.

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
    AssemblyName, ComponentName, DescriptorName, ElementName, MetricName, OperationName, PropertyName,
    RelationshipName,
};
use crate::policy::{Metric, Policy};
use crate::references::References;
use crate::state::{Modifier, State, Transition, Transitions};
use crate::template::{End, Template};

/// Where something was declared: file, line and column, both from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The file as the user named it. All that was declared in one file shares its name.
    #[serde(with = "shared_text")]
    pub file: Arc<str>,
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// Shared text as text: the feature of serde for it would be forced on embedders.
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

/// Which version of an assembly something belongs to, where an upgrade knows two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// What things were made from: that is how they are stopped and removed.
    Installed,
    /// What should be there.
    #[default]
    Desired,
}

/// What a driver is asked to do with an instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Action {
    /// A step of its life.
    Transition(Transition),
    /// An operation of a relationship.
    Operation(OperationName),
}

impl Action {
    /// Returns the word for the action: the transition's or the operation's name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Transition(transition) => transition.as_str(),
            Self::Operation(name) => name.as_str(),
        }
    }

    /// Returns the transition; none of an action that leaves the state of its element as it is.
    pub fn transition(&self) -> Option<Transition> {
        match self {
            Self::Transition(transition) => Some(*transition),
            Self::Operation(_) => None,
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

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementKind {
    /// A composition: the root, or one nested in it. Its state is the lowest of its children's.
    Assembly,
    /// The nodes of a cluster, or of a quantity above one. Its state is the lowest of its nodes'.
    Group,
    /// A part that a driver brings to life.
    Resource,
    /// Something that exists already; always Active.
    Reference,
}

/// What a reference stands for, and so where it was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Referent {
    /// Something that the project lists as existing, by its name.
    Listed(String),
    /// Another assembly of the store.
    Assembly(AssemblyName),
    /// Something that a driver has found, by the driver's id of it.
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

/// A part of an assembly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The full name.
    pub name: ElementName,
    /// What the element is.
    pub kind: ElementKind,
    /// The element it is in; none for the root.
    pub parent: Option<ElementName>,
    /// Its entry in the composition or references of the parent.
    pub component: Option<ComponentName>,
    /// Its number within its group, from 1.
    pub index: Option<u32>,
    /// The name of its descriptor.
    pub descriptor: DescriptorName,
    /// Its properties, in the order of declaration.
    pub properties: IndexMap<PropertyName, Property>,
    /// The transitions that its resource declares, in the order of a life.
    pub transitions: Transitions,
    /// The operations that can be called on it, and where each leads.
    pub operations: IndexMap<OperationName, Operation>,
    /// The metrics that it publishes or, as an assembly, promotes.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<MetricName, Metric>,
    /// The size limits of a cluster.
    pub cluster: Option<Cluster>,
    /// What a reference stands for; none for all else, and where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referent: Option<Referent>,
    /// Where it was declared.
    pub origin: Option<Origin>,
}

impl Element {
    /// Tells whether the resource declares `transition`.
    pub fn declares(&self, transition: Transition) -> bool {
        self.transitions.contains(transition)
    }

    /// Tells whether `Created` is a state of its own: the resource declares Create or Delete.
    pub fn has_created(&self) -> bool {
        self.transitions.has_created()
    }
}

/// How an element's operation is reached: on the resource itself, or promoted from a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The resource that the operation runs on in the end.
    pub element: ElementName,
    /// The operation's name there.
    pub operation: OperationName,
}

/// The size limits of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The fewest nodes.
    pub minimum: u32,
    /// The most nodes; none means no limit.
    pub maximum: Option<u32>,
    /// The nodes added or removed in one step of scaling.
    pub increment: u32,
}

/// A property of an element.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the language, each on its own")]
pub struct Property {
    /// Its value; none when nothing gives one, as for what a driver publishes.
    pub value: Option<Template>,
    /// Whether only the part itself may give the value.
    pub read_only: bool,
    /// Whether it may change while the part is Active.
    pub volatile: bool,
    /// Whether the value is kept sealed and shown as `***`.
    pub sensitive: bool,
    /// Whether only the element itself reads it: nothing outside can name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Where it was declared.
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
    /// The least state of the source.
    pub source_state: State,
    /// Whether it is made before or after the source reaches its state.
    pub source_modifier: Modifier,
    /// The least state of the target.
    pub target_state: State,
    /// Whether it is made before or after the target reaches its state.
    pub target_modifier: Modifier,
    /// The values that its operations are given.
    pub properties: IndexMap<PropertyName, Property>,
    /// What is called, in order, when it is made.
    pub create: Vec<OperationCall>,
    /// What is called, in order, when it is ended.
    pub cease: Vec<OperationCall>,
    /// Where it was declared.
    pub origin: Option<Origin>,
}

impl Relationship {
    /// Returns what undoes an operation of `create`, given by its place: those operations of `cease` that belong to it.
    ///
    /// Operations of one end belong together in the order in which they are listed, where `create` and `cease` have as many
    /// of that end. Where they have not, those of `cease` undo all of that end's together, and where an end has operations in
    /// `cease` only, these undo all of `create`. What undoes several operations belongs to the first of them, which is undone
    /// last.
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

/// One end of a relationship, as the descriptor names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The element.
    pub element: ElementName,
    /// The capability or requirement; none for a bare reference.
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

/// An assembly as it should be: all elements and relationships, bound.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "TopologyData", into = "TopologyData")]
pub struct Topology {
    data: TopologyData,
    places: Places,
    /// For each element the places of those directly inside it.
    children: Links<u32>,
    references: References,
    /// The places of the relationships, by the assembly that declares them.
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

/// The places of elements by their names, which stand with the elements alone: a number each, so that a look-up in a
/// large assembly stays in the caches.
#[derive(Clone, Default)]
struct Places {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl std::fmt::Debug for Places {
    /// Nothing of it is the same in two processes, and all of it follows from the elements.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("len", &self.table.len()).finish_non_exhaustive()
    }
}

impl Places {
    /// Takes the places of elements; of two with one name the later.
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

impl From<TopologyData> for Topology {
    fn from(data: TopologyData) -> Self {
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
    /// Makes a topology of elements, parents before their children, the root first.
    pub fn new(name: AssemblyName, elements: Vec<Element>, relationships: Vec<Relationship>) -> Self {
        TopologyData { version: 1, name, elements, relationships, policies: Vec::new() }.into()
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

    /// Gives secrets other names, wherever a value refers to them.
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

    /// Returns all elements, parents before their children, the root first.
    pub fn elements(&self) -> &[Element] {
        &self.data.elements
    }

    /// Returns all relationships, in the order of declaration.
    pub fn relationships(&self) -> &[Relationship] {
        &self.data.relationships
    }

    /// Returns all policies: those of the assemblies for what they scale, those of each resource for itself.
    pub fn policies(&self) -> &[Policy] {
        &self.data.policies
    }

    /// Finds a relationship by the assembly that declares it and its name there.
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

    /// Returns the place of an element in [`Topology::elements`].
    pub fn position(&self, name: &ElementName) -> Option<usize> {
        self.places.get(&self.data.elements, name).map(|at| at as usize)
    }

    /// Returns what the values of properties read.
    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    /// Returns the elements directly inside `name`, in the order of declaration.
    pub fn children(&self, name: &ElementName) -> impl Iterator<Item = &Element> {
        let places = self.places.get(&self.data.elements, name).map_or(&[][..], |at| self.children.of(at));
        places.iter().map(|at| &self.data.elements[*at as usize])
    }

    /// Returns the other assemblies that references stand for.
    pub fn referenced(&self) -> BTreeSet<AssemblyName> {
        let referents = self.elements().iter().filter_map(|element| element.referent.as_ref());
        let assembly = |referent: &Referent| match referent {
            Referent::Assembly(name) => Some(name.clone()),
            _ => None,
        };
        referents.filter_map(assembly).collect()
    }

    /// Returns the elements that an endpoint stands for: the nodes of a group, else the element itself.
    pub fn nodes<'a>(&'a self, name: &ElementName) -> Vec<&'a Element> {
        match self.get(name) {
            Some(element) if element.kind == ElementKind::Group => self.children(name).collect(),
            Some(element) => vec![element],
            None => Vec::new(),
        }
    }

    /// Returns the resources at or below `name`: what has to be moved for it to move.
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
