//! Reading and resolution of references.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use windlass_manifest::environment::{DEFAULT, Environment};
use windlass_manifest::name::ComponentPath;
use windlass_manifest::resolution::{Offers, Provider, ServiceState};
use windlass_manifest::{ServiceReference, Services, check, resolve};
use windlass_model::AssemblyName;
use windlass_model::document::DocumentName;
use windlass_model::pins::PinId;
use windlass_model::record::AssemblyRecord;
use windlass_source::suggest;
use windlass_store::{Snapshot, Store};

use super::past::{self, PastTargets};
use super::view::{InstanceReferenceView, ServiceReferenceView, why};
use crate::applications::{environments_in, revision_in};
use crate::error::Error;

/// Number of application records that are read at once.
const PAGE: usize = 500;

/// The instances of a factory. The key is the natural id of an instance. The value is the application that manages the
/// instance.
pub(crate) type Instances = BTreeMap<String, AssemblyName>;

/// A reader of the connections of applications. It reads each record once and keeps it. A kept record can
/// become outdated, so each command creates a reader of its own.
pub(crate) struct Wiring {
    pub(super) store: Arc<dyn Store>,
    assemblies: BTreeMap<AssemblyName, Option<Arc<AssemblyRecord>>>,
    revisions: BTreeMap<(String, u32), Option<Arc<Services>>>,
    environments: Option<Arc<BTreeMap<DocumentName, Arc<Environment>>>>,
    offers: BTreeMap<DocumentName, Arc<Offers>>,
    instances: BTreeMap<AssemblyName, Arc<Instances>>,
    past: BTreeMap<AssemblyName, Arc<PastTargets>>,
}

/// The state of a mapping in an environment. A factory receives the instances of another factory through a mapping: a
/// pin such as `vms.vm-by-id`.
pub(crate) enum Mapping {
    /// The mapping receives the instances of the factory with this name.
    Bound(AssemblyName),
    /// The factory receives no instances through the mapping. The text states the reason.
    Open(String),
}

impl Wiring {
    /// Returns the store from which the records are read.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            assemblies: BTreeMap::new(),
            revisions: BTreeMap::new(),
            environments: None,
            offers: BTreeMap::new(),
            instances: BTreeMap::new(),
            past: BTreeMap::new(),
        }
    }

    /// Returns the record of an assembly, if the assembly exists.
    pub(crate) async fn assembly(
        &mut self,
        name: &AssemblyName,
    ) -> Result<Option<Arc<AssemblyRecord>>, Error> {
        if !self.assemblies.contains_key(name) {
            let found = self.store.assembly(name).await?.map(Arc::new);
            self.assemblies.insert(name.clone(), found);
        }
        Ok(self.assemblies.get(name).cloned().flatten())
    }

    /// Returns the services that the manifest of an application needs. Returns `None` if the application's
    /// revision is no longer published.
    pub(crate) async fn services(&mut self, record: &AssemblyRecord) -> Result<Option<Arc<Services>>, Error> {
        let Some(from) = &record.application else { return Ok(None) };
        let key = (from.title.clone(), from.revision);
        if !self.revisions.contains_key(&key) {
            let published = revision_in(&*self.store, &from.title, from.revision).await?;
            let services = published.map(|published| Arc::new(Services::of(&check(&published.manifest))));
            self.revisions.insert(key.clone(), services);
        }
        Ok(self.revisions.get(&key).cloned().flatten())
    }

    /// Returns all environments. The default environment is included even if the store does not contain it.
    pub(crate) async fn environments(
        &mut self,
    ) -> Result<Arc<BTreeMap<DocumentName, Arc<Environment>>>, Error> {
        if let Some(read) = &self.environments {
            return Ok(read.clone());
        }
        let read = environments_in(&*self.store).await?;
        let mut all: BTreeMap<_, _> = read.into_iter().map(|(name, of)| (name, Arc::new(of))).collect();
        let default: DocumentName = DEFAULT.parse().expect("it is a valid name");
        all.entry(default).or_default();
        let all = Arc::new(all);
        self.environments = Some(all.clone());
        Ok(all)
    }

    /// Returns the existing services of an environment, and the pins that each service exposes.
    pub(crate) async fn offers(
        &mut self,
        name: &DocumentName,
        environment: &Environment,
    ) -> Result<Arc<Offers>, Error> {
        if let Some(read) = self.offers.get(name) {
            return Ok(read.clone());
        }
        let mut offers = Offers::new();
        for (service, of) in &environment.services {
            let Some(record) = self.assembly(service).await? else { continue };
            // Another assembly may have the name of a removed service.
            if record.application.as_ref().is_some_and(|from| from.title == of.application) {
                let services = self.services(&record).await?;
                let exposed = services.map(|services| services.exposed.clone()).unwrap_or_default();
                offers.insert(service.clone(), exposed);
            }
        }
        let offers = Arc::new(offers);
        self.offers.insert(name.clone(), offers.clone());
        Ok(offers)
    }

    /// Resolves those components of an application that have the type `reference.Service`. Such a component is a
    /// placeholder for a service of an environment. The components are resolved in each environment that has the
    /// application as a service. If there is no such environment, they are resolved in the environment in which
    /// the application was launched.
    pub(crate) async fn service_references(
        &mut self,
        record: &AssemblyRecord,
    ) -> Result<Vec<ServiceReferenceView>, Error> {
        if self.services(record).await?.is_none_or(|services| services.references.is_empty()) {
            return Ok(Vec::new());
        }
        let launched_in = record.application.as_ref().map(|from| from.environment.as_str());
        let environments = self.environments().await?;
        let is_service =
            |(_, of): &(&DocumentName, &Arc<Environment>)| of.services.contains_key(&record.name);
        let mut of: Vec<_> = environments.iter().filter(is_service).collect();
        if of.is_empty() {
            of.extend(environments.iter().filter(|(name, _)| Some(name.as_str()) == launched_in));
        }
        let mut views = Vec::new();
        for (name, environment) in of {
            views.extend(self.service_references_in(record, name, environment).await?);
        }
        Ok(views)
    }

    /// Resolves the placeholders in the manifest of an application, in one environment. A placeholder is a component of
    /// the type `reference.Service`.
    pub(crate) async fn service_references_in(
        &mut self,
        record: &AssemblyRecord,
        name: &DocumentName,
        environment: &Environment,
    ) -> Result<Vec<ServiceReferenceView>, Error> {
        let Some(services) = self.services(record).await? else { return Ok(Vec::new()) };
        let offers = self.offers(name, environment).await?;
        let view = |reference: &ServiceReference| {
            let state = resolve(reference, &record.name, environment, &offers);
            ServiceReferenceView::new(&record.name, name, &reference.component, &state)
        };
        Ok(services.references.iter().map(view).collect())
    }

    /// Resolves the placeholder `component` in the environment `environment`: finds the service for which the
    /// placeholder stands. The placeholder is a component of the type `reference.Service` in the manifest of `factory`.
    /// Returns `None` if there is no such placeholder or no such environment.
    async fn component(
        &mut self,
        services: &Services,
        factory: &AssemblyName,
        environment: &DocumentName,
        component: &ComponentPath,
    ) -> Result<Option<ServiceState>, Error> {
        let environments = self.environments().await?;
        let of = environments.get(environment);
        let Some((reference, of)) = services.reference(component).zip(of) else { return Ok(None) };
        let offers = self.offers(environment, of).await?;
        Ok(Some(resolve(reference, factory, of, &offers)))
    }

    /// Finds the factory that supplies instances to the mapping `mapping` in an environment. A mapping is a pin, such
    /// as `vms.vm-by-id`, through which `factory` receives the instances of another factory. If the mapping receives no
    /// instances, the result contains the reason.
    pub(crate) async fn mapping(
        &mut self,
        factory: &AssemblyRecord,
        environment: &DocumentName,
        mapping: &str,
    ) -> Result<Mapping, Error> {
        let name = &factory.name;
        let Some(services) = self.services(factory).await? else {
            return Ok(Mapping::Open(format!("the manifest of `{name}` is no longer published")));
        };
        let id = mapping.parse::<PinId>().ok();
        let Some(source) = id.and_then(|id| services.mappings.get(&id)) else {
            let known: Vec<String> = services.mappings.keys().map(ToString::to_string).collect();
            let near = suggest(mapping, known.iter().map(String::as_str));
            let near = near.map(|near| format!("; did its script mean `{near}`?")).unwrap_or_default();
            return Ok(Mapping::Open(format!("the factory `{name}` has no mapping `{mapping}`{near}")));
        };
        let Some(source) = source else {
            return Ok(Mapping::Open(format!("nothing is bound to `{mapping}` in the manifest of `{name}`")));
        };
        let state = self.component(&services, name, environment, &source.component).await?;
        let unusable = || {
            Mapping::Open(format!(
                "`{}`, which `{mapping}` is bound to, publishes no instances",
                source.component
            ))
        };
        Ok(match state {
            Some(ServiceState::Resolved(Provider::Service(service))) => {
                let record = self.assembly(&service).await?;
                let published = match record {
                    Some(record) => self.services(&record).await?,
                    None => None,
                };
                let has_instances = published.is_some_and(|of| of.instances.contains(&source.pin));
                if has_instances { Mapping::Bound(service) } else { unusable() }
            }
            None | Some(ServiceState::Resolved(Provider::Environment)) => unusable(),
            Some(state) => {
                Mapping::Open(why(name, environment, &source.component, &state).unwrap_or_default())
            }
        })
    }

    /// Returns the instances of a factory. Instances without a known natural id are left out.
    pub(crate) async fn instances(&mut self, factory: &AssemblyName) -> Result<Arc<Instances>, Error> {
        if let Some(read) = self.instances.get(factory) {
            return Ok(read.clone());
        }
        let mut instances = Instances::new();
        for owned in owned(&*self.store, factory).await? {
            let natural = match owned.natural_id {
                Some(natural) => Some(natural),
                // The application was adopted, and the adopting process was killed before it recorded the
                // natural id.
                None => self.store.load_sealed(&owned.assembly).await?.as_ref().and_then(natural_id),
            };
            instances.extend(natural.map(|natural| (natural, owned.assembly)));
        }
        let instances = Arc::new(instances);
        self.instances.insert(factory.clone(), instances.clone());
        Ok(instances)
    }

    /// Returns the ids under which a factory exposes the signal `factory.instances`. A manifest can expose this signal
    /// under several ids. Each id is mapped to all instances of the factory.
    pub(crate) async fn instance_pins(
        &mut self,
        record: &AssemblyRecord,
    ) -> Result<BTreeMap<PinId, Arc<Instances>>, Error> {
        let mut pins = BTreeMap::new();
        if let Some(services) = self.services(record).await? {
            for pin in &services.instances {
                pins.insert(pin.clone(), self.instances(&record.name).await?);
            }
        }
        Ok(pins)
    }

    /// Resolves the references that the scripts of an application have reported. Each reference contains the natural id
    /// of another application's instance.
    pub(crate) async fn instance_references(
        &mut self,
        snapshot: &Snapshot,
    ) -> Result<Vec<InstanceReferenceView>, Error> {
        let record = &snapshot.assembly;
        let reported = reported(snapshot);
        let (Some(owner), Some(from)) = (&record.owner, &record.application) else { return Ok(Vec::new()) };
        let factory = self.assembly(owner).await?;
        let environment = from.environment.parse::<DocumentName>().ok();
        let mut views = Vec::with_capacity(reported.len());
        for Reported { component, mapping, key } in reported {
            let state = match factory.as_ref().zip(environment.as_ref()) {
                Some((factory, environment)) => self.mapping(factory, environment, &mapping).await?,
                None => Mapping::Open(format!("the factory `{owner}` has gone")),
            };
            let (found, why) = match state {
                Mapping::Bound(service) => match self.instances(&service).await?.get(&key) {
                    Some(found) => (Some(found.clone()), String::new()),
                    None => (None, format!("`{service}` has no instance `{key}`")),
                },
                Mapping::Open(why) => (None, why),
            };
            let (state, application, why) = match found {
                Some(found) => ("resolved", Some(found), None),
                None => match self.past(owner).await?.get(&mapping, &key) {
                    Some(gone) => {
                        ("dangling", Some(gone.clone()), Some(format!("`{gone}` has been removed")))
                    }
                    None => ("pending", None, Some(why)),
                },
            };
            views.push(InstanceReferenceView { component, mapping, key, state, application, why });
        }
        Ok(views)
    }

    async fn past(&mut self, factory: &AssemblyName) -> Result<Arc<PastTargets>, Error> {
        if !self.past.contains_key(factory) {
            let read = Arc::new(past::read(&*self.store, factory).await?);
            self.past.insert(factory.clone(), read);
        }
        Ok(self.past.get(factory).cloned().unwrap_or_default())
    }
}

/// A reference that scripts have reported in the document of an instance.
pub(super) struct Reported {
    pub(super) component: String,
    pub(super) mapping: String,
    pub(super) key: String,
}

/// Returns the references that the scripts of an application have reported.
pub(super) fn reported(snapshot: &Snapshot) -> Vec<Reported> {
    let mut found = Vec::new();
    for instance in snapshot.instances.values() {
        collect(&instance.document["components"], "", &mut found);
    }
    found
}

fn collect(components: &Value, path: &str, found: &mut Vec<Reported>) {
    for (name, component) in components.as_object().into_iter().flatten() {
        let component_path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let reference = &component["reference"];
        if let (Some(mapping), Some(key)) = (reference["mapping"].as_str(), reference["key"].as_str()) {
            let (component, mapping, key) = (component_path.clone(), mapping.to_owned(), key.to_owned());
            found.push(Reported { component, mapping, key });
        }
        collect(&component["components"], &component_path, found);
    }
}

/// Returns the natural id of an application's instance.
fn natural_id(snapshot: &Snapshot) -> Option<String> {
    snapshot.instances.values().find_map(|instance| instance.natural.clone())
}

/// Reads all applications of the factory `owner`.
pub(crate) async fn owned(
    store: &dyn Store,
    owner: &AssemblyName,
) -> Result<Vec<windlass_store::Owned>, Error> {
    let (mut found, mut after): (Vec<windlass_store::Owned>, Option<AssemblyName>) = (Vec::new(), None);
    loop {
        let page = store.owned(owner, after.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|last| last.assembly.clone());
        found.extend(page);
        if is_last {
            return Ok(found);
        }
    }
}
