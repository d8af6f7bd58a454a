//! Candidates for the references of an assembly: other assemblies of the store, and instances that drivers
//! find. Instances that the project lists are not handled here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use windlass_descriptor::{Catalog as _, Descriptor, Existing, Offered, ReferenceRequest};
use windlass_driver::location::{DEPLOYMENT_LOCATION, RESOURCE_MANAGER};
use windlass_driver::{Found, Package, Placement, Purpose};
use windlass_engine::{DiscoveryQuery, EngineEnv, EngineError, Offer, Stop};
use windlass_model::assembly::Referent;
use windlass_model::id::StoreId;
use windlass_model::record::AssemblyRecord;
use windlass_model::resolve::text_of;
use windlass_model::{AssemblyName, DescriptorName, ElementName};
use windlass_project::DiskCatalog;
use windlass_store::{Store, StoreError};

use crate::pages::for_each_assembly;

/// A search for the assemblies of the store that are possible targets for the references of the assembly `own`.
pub(crate) struct Neighbours {
    own: AssemblyName,
    /// The record of `own`; `None` if the assembly `own` does not exist yet.
    record: Option<AssemblyRecord>,
}

/// The assemblies that each assembly references. Assemblies without references are omitted.
type References = BTreeMap<AssemblyName, BTreeSet<AssemblyName>>;

impl Neighbours {
    pub(crate) async fn of(store: Option<&dyn Store>, own: &AssemblyName) -> Result<Self, StoreError> {
        let record = match store {
            Some(store) => store.assembly(own).await?,
            None => None,
        };
        Ok(Self { own: own.clone(), record })
    }

    /// Returns the references of the assembly `self.own`, each with the assembly or instance to which the reference
    /// refers now.
    pub(crate) fn bound(&self) -> BTreeMap<ElementName, Referent> {
        let elements = self.record.iter().flat_map(|record| record.topology.elements());
        elements.filter_map(|element| Some((element.name.clone(), element.referent.clone()?))).collect()
    }

    /// Finds assemblies with the descriptor that a reference in `wanted` names. Versions of the descriptor are not
    /// compared. The assembly `self.own` is left out. Some assemblies in the result can't be the target of a
    /// reference at present, for example because they are being taken down. For such an assembly, the field
    /// [`unfit`](Existing::unfit) contains the reason.
    pub(crate) async fn candidates(
        &self,
        store: Option<&dyn Store>,
        wanted: &[ReferenceRequest],
    ) -> Result<Vec<Existing>, StoreError> {
        // Without references, there is no need to read the assemblies of the store, which may be thousands.
        let Some(store) = store.filter(|_| !wanted.is_empty()) else { return Ok(Vec::new()) };
        let is_wanted = |record: &AssemblyRecord| {
            let (name, kind) = (&record.descriptor.name, record.descriptor.kind);
            record.name != self.own && wanted.iter().any(|of| of.kind.name == *name && of.kind.kind == kind)
        };
        let (mut suitable, mut references) = (Vec::new(), References::new());
        let visit = |record: AssemblyRecord| {
            if is_wanted(&record) {
                suitable.push(record.name.clone());
            }
            if !record.references.is_empty() {
                references.insert(record.name, record.references);
            }
        };
        for_each_assembly(store, visit).await?;
        let bound: BTreeSet<Referent> = self.bound().into_values().collect();
        let mut candidates = Vec::new();
        for name in suitable {
            let Some(snapshot) = store.load(&name).await? else { continue };
            let offer = windlass_engine::offer(snapshot);
            let unfit =
                self.unfit(&references, &offer, bound.contains(&Referent::Assembly(offer.name.clone())));
            candidates.push(existing(offer, unfit));
        }
        Ok(candidates)
    }

    /// Returns the reason why references of the assembly `self.own` must not refer to the offered assembly. Returns
    /// `None` if they may refer to the offered assembly. `is_bound` tells whether one of these references already
    /// refers to the offered assembly. If `is_bound` is false, the offered assembly must be Active.
    ///
    /// `references` contains the references of all assemblies. The properties that a reference requests are not
    /// compared here.
    fn unfit(&self, references: &References, offer: &Offer, is_bound: bool) -> Option<String> {
        if offer.is_going_down {
            return Some("it is being taken down".to_owned());
        }
        if let Some(way) = self.way_back(references, &offer.name) {
            return Some(format!("it references this assembly itself: {way}"));
        }
        let state = offer.below.filter(|_| !is_bound)?;
        Some(format!("it is {state}, not Active"))
    }

    /// Finds a chain of references that leads from the assembly `from` to the assembly `self.own`. The result is a text
    /// such as `` `a` -> `b` -> `own` ``. `None` means that there is no such chain.
    fn way_back(&self, references: &References, from: &AssemblyName) -> Option<String> {
        let mut came: BTreeMap<AssemblyName, AssemblyName> = BTreeMap::new();
        let mut open = vec![from.clone()];
        while let Some(name) = open.pop() {
            for next in references.get(&name).into_iter().flatten().cloned() {
                if next == self.own {
                    let mut way = vec![format!("`{next}`"), format!("`{name}`")];
                    let mut at = &name;
                    while let Some(before) = came.get(at) {
                        way.push(format!("`{before}`"));
                        at = before;
                    }
                    way.reverse();
                    return Some(way.join(" -> "));
                }
                if next != *from && !came.contains_key(&next) {
                    came.insert(next.clone(), name.clone());
                    open.push(next);
                }
            }
        }
        None
    }
}

fn existing(offer: Offer, unfit: Option<String>) -> Existing {
    let sensitive = offer.properties.iter().filter(|(_, value)| value.sensitive);
    let sensitive = sensitive.map(|(name, _)| name.to_string()).collect();
    let properties = offer.properties.into_iter().map(|(name, value)| (name.to_string(), value.value));
    Existing {
        descriptor: offer.descriptor,
        name: offer.name.to_string(),
        properties: properties.collect(),
        sensitive,
        referent: Referent::Assembly(offer.name),
        operations: Offered::Promoted(offer.operations.into_iter().collect()),
        unfit,
    }
}

/// A search for instances that fit a reference.
pub(crate) struct ReferenceSearch<'a> {
    pub(crate) engine_env: &'a EngineEnv,
    pub(crate) catalog: &'a DiskCatalog,
    /// The id of the store; `None` if the project has no store yet.
    pub(crate) store: Option<StoreId>,
    pub(crate) stop: &'a Stop,
}

impl ReferenceSearch<'_> {
    /// Searches for instances that fit a reference. The driver of the resource type performs the search.
    ///
    /// # Errors
    /// The outer error is [`EngineError::Stopped`] after a stop. The inner error is the reason why the search failed.
    pub(crate) async fn look_for(
        &self,
        reference: &ReferenceRequest,
        package: Arc<Package>,
    ) -> Result<Result<Vec<Existing>, String>, EngineError> {
        let asked: BTreeMap<String, Value> = reference
            .properties
            .iter()
            .map(|(name, value)| (name.to_string(), Value::from(value.expose().as_str())))
            .collect();
        let place = |name| asked.get(name).map(text_of).filter(|text| !text.is_empty());
        let (location, manager) = (place(DEPLOYMENT_LOCATION), place(RESOURCE_MANAGER));
        let placement = Placement { location, manager, ..Placement::default() };
        let quest = DiscoveryQuery {
            package: package.clone(),
            placement,
            properties: asked.clone(),
            configuration: None,
            purpose: Purpose::Reference,
            store: self.store.clone(),
        };
        let found = self.engine_env.discover(&quest, self.stop).await;
        if self.stop.is_requested() {
            return Err(EngineError::Stopped);
        }
        let found = match found {
            Ok(found) => found,
            Err(failure) => {
                let detail = failure.detail.as_ref().map(|detail| format!(": {}", detail.trim()));
                return Ok(Err(format!("{failure}{}", detail.unwrap_or_default())));
            }
        };
        let sensitive: BTreeSet<String> = match self.catalog.find(package.name()) {
            Some(Descriptor::Resource(descriptor)) => {
                let properties = descriptor.properties.iter().filter(|(_, decl)| decl.sensitive);
                properties.map(|(name, _)| name.to_string()).collect()
            }
            _ => BTreeSet::new(),
        };
        let candidate = |thing| discovered(thing, package.name(), &asked, &sensitive);
        Ok(Ok(found.into_iter().map(candidate).collect()))
    }
}

/// Converts an instance that a driver found into a candidate for a reference. `asked` contains the properties for which
/// the driver searched. If the driver reports no location, the candidate gets the location in `asked`. The same applies
/// to the resource manager. If the driver reports no property `id`, this property gets the natural id as its value.
fn discovered(
    found: Found,
    resource: &DescriptorName,
    asked: &BTreeMap<String, Value>,
    sensitive: &BTreeSet<String>,
) -> Existing {
    let Found { natural, mut properties, .. } = found;
    for name in [DEPLOYMENT_LOCATION, RESOURCE_MANAGER] {
        if let Some(place) = asked.get(name) {
            properties.entry(name.to_owned()).or_insert_with(|| place.clone());
        }
    }
    properties.entry("id".to_owned()).or_insert_with(|| natural.as_str().into());
    Existing {
        descriptor: resource.clone(),
        name: properties.get("name").map_or_else(|| natural.clone(), text_of),
        properties,
        sensitive: sensitive.clone(),
        referent: Referent::Found(natural),
        operations: Offered::OfDescriptor,
        unfit: None,
    }
}
