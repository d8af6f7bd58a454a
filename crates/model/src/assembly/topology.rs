//! The topology of an assembly: its elements, relationships and policies. Indexes find elements and
//! relationships by their names.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};
use serde::{Deserialize, Serialize};
use windlass_secret::SecretRef;

use super::element::{Element, ElementKind, Referent};
use super::relationship::Relationship;
use crate::links::Links;
use crate::name::{AssemblyName, ElementName, PropertyName, RelationshipName};
use crate::policy::Policy;
use crate::references::References;
use crate::template::{Part, Template};

/// All elements, relationships and policies of an assembly. Each reference `${…}` in their values names an element,
/// or the source or target of a relationship.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "TopologyData", into = "TopologyData")]
pub struct Topology {
    data: TopologyData,
    places: Places,
    /// For each element, the positions of the elements directly inside it.
    children: Links<u32>,
    references: References,
    /// The positions of the relationships, by the assembly that declares them, and then by name.
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
    /// The name that the assembly had when the topology was composed, if the assembly was renamed since. It
    /// is stored as text, so that later renames don't change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_as: Option<String>,
}

/// The positions of elements, by their names.
///
/// The table contains only positions, and the names stay in the elements. So the table is small, and a
/// look-up in a large assembly mostly hits the processor's caches.
#[derive(Clone, Default)]
struct Places {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl std::fmt::Debug for Places {
    /// Writes only the number of positions, because the order of the table depends on random hashes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("len", &self.table.len()).finish_non_exhaustive()
    }
}

impl Places {
    /// Collects the positions of elements. If two elements have the same name, [`get`](Self::get) finds the
    /// later one.
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

/// The version of the format in which a topology is stored.
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
    fn of(mut data: TopologyData) -> Self {
        for relationship in &mut data.relationships {
            let lists = [&mut relationship.sources, &mut relationship.targets];
            for ends in lists.into_iter().filter(|ends| ends.len() > 1) {
                let mut seen = HashSet::new();
                ends.retain(|end| seen.insert(end.element.clone()));
            }
        }
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
    /// Creates a topology without policies. The caller passes the root as the first element, and each other element
    /// after its parent.
    ///
    /// If a relationship lists a source or target several times, with different capabilities, the topology contains
    /// only the first entry. Otherwise, windlass would call each operation several times for one pair.
    pub fn new(name: AssemblyName, elements: Vec<Element>, relationships: Vec<Relationship>) -> Self {
        Self::of(TopologyData {
            version: VERSION,
            name,
            elements,
            relationships,
            policies: Vec::new(),
            made_as: None,
        })
    }

    /// Makes [`instance_name`](Self::instance_name) use the same assembly name as in `other`. The method is meant
    /// for a topology that was derived from `other`.
    #[must_use]
    pub fn made_as(mut self, other: &Self) -> Self {
        self.data.made_as.clone_from(&other.data.made_as);
        self
    }

    /// Records that the assembly had the name `name` before a rename. After several renames, only the oldest name
    /// is recorded. If a rename gives the assembly its oldest name again, the topology no longer records this name.
    pub(crate) fn renamed_from(&mut self, name: &AssemblyName) {
        let made_as = self.data.made_as.get_or_insert_with(|| name.to_string());
        if *made_as == self.data.name.as_str() {
            self.data.made_as = None;
        }
    }

    /// Returns the value of `${instance.name}` for an element: the full name of the element, such as `shop__web`.
    ///
    /// If the assembly `shop` is renamed to `store`, the element gets the name `store__web`, but the value remains
    /// `shop__web`. The value changes only when a new topology is composed from the descriptors.
    pub fn instance_name(&self, element: &ElementName) -> ElementName {
        let made_as = self.data.made_as.as_ref().and_then(|name| name.parse().ok());
        match made_as.filter(|_| element.assembly() == self.data.name) {
            Some(name) => element.within(&name),
            None => element.clone(),
        }
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

    /// Renames secrets in all values. `names` maps the old names of secrets to the new names.
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

    /// Finds the first property whose value contains the secret. Returns the name of its element, and the name of
    /// the property.
    pub fn property_of_secret(&self, secret: &SecretRef) -> Option<(&ElementName, &PropertyName)> {
        let has = |value: &Template| {
            let mut found = false;
            value.for_each_part(&mut |part| found |= matches!(part, Part::Secret(id) if id == secret));
            found
        };
        let find =
            |element: &Element| element.properties.values().position(|of| of.value.as_ref().is_some_and(has));
        self.data.elements.iter().find_map(|element| {
            let (property, _) = element.properties.get_index(find(element)?)?;
            Some((&element.name, property))
        })
    }

    /// Protects the whole assembly from removal and replacement.
    pub fn protect(&mut self) {
        if let Some(root) = self.data.elements.first_mut() {
            root.protected = true;
        }
    }

    /// Protects the elements that are protected in another version of this assembly.
    pub fn protect_as(&mut self, other: &Self) {
        for element in other.elements().iter().filter(|element| element.protected) {
            if let Some(at) = self.position(&element.name) {
                self.data.elements[at].protected = true;
            }
        }
    }

    /// Returns the element that protects `name` from removal and replacement: the element itself, or the
    /// nearest protected element around it.
    pub fn protector(&self, name: &ElementName) -> Option<&Element> {
        let parent = |element: &&Element| self.get(element.parent.as_ref()?);
        std::iter::successors(self.get(name), parent).find(|element| element.protected)
    }

    /// Returns all elements. The root is the first, and parents come before their children.
    pub fn elements(&self) -> &[Element] {
        &self.data.elements
    }

    /// Returns all relationships, in the order of declaration.
    pub fn relationships(&self) -> &[Relationship] {
        &self.data.relationships
    }

    /// Returns all policies: those of the assembly, of its nested assemblies, and of its resources.
    pub fn policies(&self) -> &[Policy] {
        &self.data.policies
    }

    /// Finds a relationship by the assembly that declares it, and its name in that assembly.
    pub fn relationship(&self, assembly: &ElementName, name: &str) -> Option<&Relationship> {
        self.relationships.get(assembly)?.get(name).map(|at| &self.data.relationships[*at])
    }

    /// Returns the element that stands for the whole assembly. This element contains all other elements. None if the
    /// topology has no elements.
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

    /// Returns the references `${…}` between the properties of the topology.
    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    /// Returns the elements directly inside `name`, in the order of declaration.
    pub fn children(&self, name: &ElementName) -> impl Iterator<Item = &Element> {
        self.child_positions(name).map(|at| &self.data.elements[at])
    }

    /// Returns the positions of the elements directly inside `name`, in the order of declaration.
    pub fn child_positions(&self, name: &ElementName) -> impl Iterator<Item = usize> {
        let places = self.places.get(&self.data.elements, name).map_or(&[][..], |at| self.children.of(at));
        places.iter().map(|at| *at as usize)
    }

    /// Returns the names of the other assemblies to which elements of the kind [`ElementKind::Reference`] resolve.
    pub fn referenced(&self) -> BTreeSet<AssemblyName> {
        let referents = self.elements().iter().filter_map(|element| element.referent.as_ref());
        let assembly = |referent: &Referent| match referent {
            Referent::Assembly(name) => Some(name.clone()),
            _ => None,
        };
        referents.filter_map(assembly).collect()
    }

    /// Returns the nodes of the group `name`. If `name` is not a group, returns only the element `name`.
    pub fn nodes<'a>(&'a self, name: &ElementName) -> Vec<&'a Element> {
        match self.get(name) {
            Some(element) if element.kind == ElementKind::Group => self.children(name).collect(),
            Some(element) => vec![element],
            None => Vec::new(),
        }
    }

    /// Returns the resources inside the element `name`, or the element itself if it is a resource. The state of the
    /// element follows from the states of these resources.
    pub fn leaves<'a>(&'a self, name: &ElementName) -> Vec<&'a Element> {
        let Some(place) = self.places.get(&self.data.elements, name) else { return Vec::new() };
        let element = &self.data.elements[place as usize];
        if element.kind == ElementKind::Resource {
            return vec![element];
        }
        let (mut leaves, mut open) = (Vec::new(), vec![place]);
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
    use crate::assembly::Endpoint;
    use crate::state::{Modifier, State};

    #[test]
    fn a_topology_of_another_version_is_refused() {
        let topology = Topology::new("t".parse().unwrap(), Vec::new(), Vec::new());
        let text = serde_json::to_string(&topology).unwrap();
        assert!(!text.contains("made_as"), "{text}");
        let newer = text.replace(r#""version":1"#, r#""version":2"#);
        let error = serde_json::from_str::<Topology>(&newer).unwrap_err().to_string();
        assert_eq!(error, "a topology of version 2 can't be read; this program reads version 1");
        assert_eq!(serde_json::from_str::<Topology>(&text).unwrap(), topology);
    }

    fn end(element: &str, capability: &str) -> Endpoint {
        Endpoint { element: element.parse().unwrap(), capability: Some(capability.to_owned()) }
    }

    fn relationship(sources: Vec<Endpoint>, targets: Vec<Endpoint>) -> Relationship {
        Relationship {
            name: "r".parse().unwrap(),
            assembly: "t".parse().unwrap(),
            sources,
            targets,
            source_state: State::Active,
            source_modifier: Modifier::Post,
            target_state: State::Active,
            target_modifier: Modifier::Pre,
            properties: indexmap::IndexMap::new(),
            create: Vec::new(),
            cease: Vec::new(),
            origin: None,
        }
    }

    /// Earlier builds stored an element once for each of its capabilities.
    #[test]
    fn a_relationship_has_each_element_once() {
        let (sources, targets) = ([end("t__a", "x"), end("t__b", "x")], [end("t__c", "x"), end("t__d", "y")]);
        let name: AssemblyName = "t".parse().unwrap();
        let of = |sources: &[Endpoint], targets: &[Endpoint]| {
            let relationship = relationship(sources.to_vec(), targets.to_vec());
            Topology::new(name.clone(), Vec::new(), vec![relationship])
        };
        let once = of(&sources, &targets);
        let twice = of(
            &[&sources[..], &[end("t__a", "z")]].concat(),
            &[&targets[..1], &[end("t__c", "z")], &targets[1..]].concat(),
        );
        assert_eq!(twice, once);
        let text = serde_json::to_string(&once).unwrap();
        let first = r#"{"element":"t__a","capability":"x"}"#;
        let stored = text.replacen(first, &format!(r#"{first},{{"element":"t__a","capability":"z"}}"#), 1);
        assert_ne!(stored, text);
        assert_eq!(serde_json::from_str::<Topology>(&stored).unwrap(), once);
    }
}
