//! The input of a composition, and the instances that the composition finds for references.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::Value as Json;
use windlass_model::assembly::{Operation, Referent};
use windlass_model::{AssemblyName, DescriptorName, ElementName, OperationName, PropertyName};
use windlass_secret::Sensitive;
use windlass_source::Place;

use crate::catalog::Catalog;
use crate::document::ReferenceType;

/// Maximum number of elements of an assembly.
pub const MAX_ELEMENTS: usize = 200_000;

/// Default maximum number of copied elements. Without this limit, a file of three lines could create any number of
/// elements.
///
/// In a group, each node except the first is a copy. If several components nest the same assembly, each nested assembly
/// except the first is a copy. A copy and all parts inside it are copied elements.
pub const MAX_NODES: usize = 10_000;

/// An existing instance to which references may resolve.
#[derive(Debug, Clone, PartialEq)]
pub struct Existing {
    /// Name of the descriptor from which the instance was created.
    pub descriptor: DescriptorName,
    /// Name of the instance.
    pub name: String,
    /// Properties of the instance.
    pub properties: BTreeMap<String, Json>,
    /// Names of the properties whose values are secrets.
    pub sensitive: BTreeSet<String>,
    /// Identity of the instance. If a reference resolves to this instance, the topology stores this identity.
    pub referent: Referent,
    /// Operations that relationships may call on the instance.
    pub operations: Offered,
    /// Reason why no reference may resolve to the instance; `None` if references may resolve to the instance. The
    /// reason is a part of a sentence, such as `it is going down`.
    pub unfit: Option<String>,
}

impl Existing {
    /// Creates an instance from an entry of `existing:` in `windlass.yaml`.
    pub fn listed(descriptor: DescriptorName, name: String, properties: BTreeMap<String, Json>) -> Self {
        let referent = Referent::Listed(name.clone());
        Self {
            descriptor,
            name,
            properties,
            sensitive: BTreeSet::new(),
            referent,
            operations: Offered::Nothing,
            unfit: None,
        }
    }
}

/// The operations that relationships may call on an existing instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Offered {
    /// The instance has no operations.
    Nothing,
    /// The instance is an assembly that windlass manages. The assembly offers these operations of its components
    /// as its own. Each [`Operation`] contains the name of the resource that executes the operation.
    Promoted(IndexMap<OperationName, Operation>),
    /// The instance has the operations that its descriptor in the catalog declares. The scripts in the package of
    /// the descriptor execute these operations on the instance itself.
    OfDescriptor,
}

/// For each parameter from a file, the place of the parameter in the file. Messages show these places.
#[derive(Debug, Clone, Default)]
pub struct GivenPlaces {
    /// The place at which each parameter is named. The key is the name of the parameter.
    pub names: BTreeMap<String, Place>,
    /// Places of the entries of lists, by the name of the parameter that contains the list.
    pub entries: BTreeMap<String, Vec<Place>>,
    /// For each parameter whose list comes from an Ansible inventory: the names of the variables that windlass has
    /// left out of the list entries. An example is a variable whose value is a Jinja expression. The key of the map
    /// is the name of the parameter.
    pub left_out: BTreeMap<String, BTreeSet<String>>,
    /// Paths of files, by the name of a parameter. The value of the parameter is the whole text of the file.
    pub files: BTreeMap<String, String>,
    /// For each parameter that comes from an argument or from an environment variable, its source in words, such as
    /// `` by `-p nodes` ``.
    pub sources: BTreeMap<String, String>,
}

impl GivenPlaces {
    /// Copies the data about the parameter `name` from `other`, such as the place of the parameter in its file.
    pub fn copy(&mut self, other: &Self, name: &str) {
        let owned = || name.to_owned();
        self.names.extend(other.names.get(name).map(|place| (owned(), place.clone())));
        self.entries.extend(other.entries.get(name).map(|places| (owned(), places.clone())));
        self.left_out.extend(other.left_out.get(name).map(|names| (owned(), names.clone())));
        self.files.extend(other.files.get(name).map(|file| (owned(), file.clone())));
        self.sources.extend(other.sources.get(name).map(|source| (owned(), source.clone())));
    }
}

/// A reference that the composition has evaluated, and its result.
#[derive(Debug, Clone)]
pub struct ReferenceRequest {
    /// Full name of the element that stands for the reference in the topology.
    pub element: ElementName,
    /// Type of the reference, with the versions that it accepts.
    pub kind: ReferenceType,
    /// Properties that the reference requires of an instance, such as `name` and the location.
    pub properties: BTreeMap<PropertyName, Sensitive<String>>,
    /// Name of the descriptor whose `queries` can search for instances. This is the newest descriptor that the
    /// reference accepts. `None` if the newest descriptor declares no `queries`, or if the catalog contains no
    /// descriptor that the reference accepts.
    pub queries: Option<DescriptorName>,
    /// The instance to which the reference resolves. None if no instance fits, or if several fit.
    pub found: Option<Existing>,
    /// Whether the reference waits for a [search](Search::Later), because no instance fits it yet.
    pub pending: bool,
    /// Place of the key `type` of the reference.
    pub place: Place,
}

/// The input of a composition.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Name of the assembly that is composed.
    pub name: &'a AssemblyName,
    /// Parameters: values for properties of the assembly. A `${…}` in such a value is plain text.
    pub parameters: &'a BTreeMap<String, Json>,
    /// Catalog with the descriptors of components and references.
    pub catalog: &'a dyn Catalog,
    /// Existing instances to which references may resolve.
    pub existing: &'a [Existing],
    /// Instances that an earlier composition has chosen for the references. The key is the name of the element
    /// that stands for the reference. As long as the chosen instance fits, the reference keeps this instance,
    /// even if other instances also fit.
    pub bound: &'a BTreeMap<ElementName, Referent>,
    /// State of the search in which drivers look for instances that fit the references.
    pub search: Search<'a>,
    /// Maximum number of copied elements. For example, the second and each later node of a group are copied. The
    /// default is [`MAX_NODES`]. Another limit, [`MAX_ELEMENTS`], applies to all elements together.
    pub nodes: usize,
}

impl<'a> Request<'a> {
    /// Creates a request for a new assembly. The request contains no existing instances, and drivers do not search for
    /// instances.
    pub fn new(
        name: &'a AssemblyName,
        parameters: &'a BTreeMap<String, Json>,
        catalog: &'a dyn Catalog,
    ) -> Self {
        static NOTHING: BTreeMap<ElementName, Referent> = BTreeMap::new();
        let (existing, search) = (&[][..], Search::Never);
        Self { name, parameters, catalog, existing, bound: &NOTHING, search, nodes: MAX_NODES }
    }

    /// Sets the existing instances to which references may resolve.
    #[must_use]
    pub fn existing(self, existing: &'a [Existing]) -> Self {
        Self { existing, ..self }
    }

    /// Sets the maximum number of copied elements; see [`MAX_NODES`].
    #[must_use]
    pub fn nodes(self, nodes: usize) -> Self {
        Self { nodes, ..self }
    }
}

/// The state of the search for instances that are not known yet. If no known instance fits a reference, drivers
/// can search for one.
#[derive(Debug, Clone, Copy)]
pub enum Search<'a> {
    /// Drivers never search for instances. If no known instance fits a reference, the composition reports an
    /// error.
    Never,
    /// Drivers will search for instances after this composition. If no known instance fits a reference, and a
    /// driver can search for an instance, the reference is [pending](ReferenceRequest::pending).
    Later,
    /// Drivers have searched. For each reference, the map contains the found instances, or the reason why the
    /// search failed.
    Done(&'a BTreeMap<ElementName, Result<Vec<Existing>, String>>),
}
