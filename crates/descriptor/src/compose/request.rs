//! The input of a composition, and the references that it resolves.

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

/// Default maximum number of elements that result from `quantity`, `cluster` and repeatedly nested
/// assemblies. Without this limit, a file of three lines could create any number of elements.
pub const MAX_NODES: usize = 10_000;

/// An existing instance that references may resolve to.
#[derive(Debug, Clone, PartialEq)]
pub struct Existing {
    /// Descriptor of the instance.
    pub descriptor: DescriptorName,
    /// Name of the instance.
    pub name: String,
    /// Properties of the instance.
    pub properties: BTreeMap<String, Json>,
    /// Names of the properties that are secret.
    pub sensitive: BTreeSet<String>,
    /// Identity that is recorded in a reference to the instance.
    pub referent: Referent,
    /// Operations that relationships may call on the instance.
    pub operations: Offered,
    /// Reason why no reference may resolve to it, as a sentence fragment: `it is going down`.
    pub unfit: Option<String>,
}

impl Existing {
    /// Creates an instance that a project lists.
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
    /// The instance offers no operations.
    Nothing,
    /// The operations that another assembly promotes, each with the resource on which it is called.
    Promoted(IndexMap<OperationName, Operation>),
    /// The operations that the instance's descriptor in the catalog declares. Its package runs on the
    /// instance itself.
    OfDescriptor,
}

/// The places of parameters that come from files, for messages.
#[derive(Debug, Clone, Default)]
pub struct GivenPlaces {
    /// Places of the names.
    pub names: BTreeMap<String, Place>,
    /// Places of the entries of lists.
    pub entries: BTreeMap<String, Vec<Place>>,
    /// Names of fields that the entries of an inventory do not contain, because their values can't be used:
    /// for example Jinja expressions.
    pub left_out: BTreeMap<String, BTreeSet<String>>,
    /// Names of the files whose whole texts are values.
    pub files: BTreeMap<String, String>,
}

/// The search criteria of a reference.
#[derive(Debug, Clone)]
pub struct ReferenceRequest {
    /// Element of the reference.
    pub element: ElementName,
    /// Type, with the accepted versions.
    pub kind: ReferenceType,
    /// Required properties of the instance, such as `name` and the location.
    pub properties: BTreeMap<PropertyName, Sensitive<String>>,
    /// The newest accepted resource of the catalog that declares `queries`. Its drivers can search for the
    /// instance.
    pub queries: Option<DescriptorName>,
    /// The matching instance, if there is exactly one.
    pub found: Option<Existing>,
    /// Whether no instance matches yet and a [search](Search::Later) follows.
    pub pending: bool,
    /// Place of the type.
    pub place: Place,
}

/// The input of a composition.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Name of the assembly instance.
    pub name: &'a AssemblyName,
    /// Values of the assembly's properties. Text is literal: a `${…}` in it has no meaning.
    pub parameters: &'a BTreeMap<String, Json>,
    /// Source of the descriptors of components.
    pub catalog: &'a dyn Catalog,
    /// Instances that references may resolve to.
    pub existing: &'a [Existing],
    /// Earlier results of references. As long as an earlier result matches, it is kept, even if other
    /// instances match too.
    pub bound: &'a BTreeMap<ElementName, Referent>,
    /// State of the search for references with `queries`.
    pub search: Search<'a>,
    /// Maximum number of elements that result from `quantity`, `cluster` and nested assemblies. [`MAX_NODES`]
    /// unless a project sets it; [`MAX_ELEMENTS`] is the upper limit.
    pub nodes: usize,
}

impl<'a> Request<'a> {
    /// Creates a request for a new assembly without parameters and without a search.
    pub fn new(
        name: &'a AssemblyName,
        parameters: &'a BTreeMap<String, Json>,
        catalog: &'a dyn Catalog,
    ) -> Self {
        static NOTHING: BTreeMap<ElementName, Referent> = BTreeMap::new();
        let (existing, search) = (&[][..], Search::Never);
        Self { name, parameters, catalog, existing, bound: &NOTHING, search, nodes: MAX_NODES }
    }

    /// Sets the instances that references may resolve to.
    #[must_use]
    pub fn existing(self, existing: &'a [Existing]) -> Self {
        Self { existing, ..self }
    }

    /// Sets the maximum number of elements that result from `quantity`, `cluster` and nested assemblies.
    #[must_use]
    pub fn nodes(self, nodes: usize) -> Self {
        Self { nodes, ..self }
    }
}

/// The search by drivers for references that no known instance matches.
#[derive(Debug, Clone, Copy)]
pub enum Search<'a> {
    /// There is no search, and a reference without a match is an error.
    Never,
    /// A search follows. Until then, a reference without a match is [pending](ReferenceRequest::pending).
    Later,
    /// The search is complete. For each reference, the value contains the results, or the reason why the
    /// search failed.
    Done(&'a BTreeMap<ElementName, Result<Vec<Existing>, String>>),
}
