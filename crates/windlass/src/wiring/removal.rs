//! The references that prevent the removal of an assembly.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use windlass_engine::{EngineError, Loss};
use windlass_model::document::DocumentName;
use windlass_model::{AssemblyName, State};
use windlass_store::Store;

use super::past;
use super::reader::{Mapping, Wiring, owned, reported};
use crate::error::Error;

/// The number of assemblies that are read at once.
const PAGE: usize = 500;

/// The references to the assembly `name`, which is about to be removed. Other assemblies can refer only to launched
/// applications and launched factories.
pub(crate) struct Removal {
    store: Arc<dyn Store>,
    name: AssemblyName,
    is_factory: bool,
    /// Whether a resource of the assembly exists. If no other assembly refers to the assembly, the value is not needed,
    /// and is always false.
    is_there: bool,
    /// The other assemblies that refer to the assembly `name`.
    by: BTreeSet<AssemblyName>,
    /// The references from instances to the assembly `name`. An entry consists of the factory of the referring
    /// instance, the mapping, and the key. Example: an instance of the factory `web-factory` has the reference
    /// `{mapping: vms.vm-by-id, key: i-123}`, and the instance of the assembly `name` has the natural id `i-123`.
    /// The entry for this reference is `("web-factory", "vms.vm-by-id", "i-123")`.
    keys: BTreeSet<(AssemblyName, String, String)>,
}

impl Removal {
    /// Finds the references to an assembly.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn of(store: &Arc<dyn Store>, name: &AssemblyName) -> Result<Self, Error> {
        let mut removal = Self {
            store: store.clone(),
            name: name.clone(),
            is_factory: false,
            is_there: false,
            by: BTreeSet::new(),
            keys: BTreeSet::new(),
        };
        let mut wiring = Wiring::new(store.clone());
        let Some(record) = wiring.assembly(name).await? else { return Ok(removal) };
        if record.application.is_none() {
            return Ok(removal);
        }
        if let Some(factory) = &record.owner {
            wiring.referring_instances(factory, &mut removal).await?;
        } else {
            removal.is_factory = true;
            wiring.referring_services(&mut removal).await?;
        }
        if !removal.by.is_empty()
            && let Some(snapshot) = store.load_sealed(name).await?
        {
            removal.is_there = snapshot.elements.values().any(|record| record.state != State::Absent);
        }
        Ok(removal)
    }

    /// Refuses the removal if two conditions hold: other assemblies refer to the assembly, and a resource of the
    /// assembly still exists. If scripts have reported all resources as destroyed, no resource exists any more. If
    /// `is_forced` is true, the function refuses no removal.
    ///
    /// # Errors
    /// Returns [`EngineError::Referenced`] if the removal is refused.
    pub(crate) fn refuse(&self, loss: Loss, is_forced: bool) -> Result<(), EngineError> {
        if self.by.is_empty() || is_forced || !self.is_there {
            return Ok(());
        }
        let by = self.by.iter().cloned().collect();
        Err(EngineError::Referenced { name: self.name.clone(), by, loss })
    }

    /// Returns the other assemblies that refer to the assembly which is about to be removed.
    pub(crate) fn into_referrers(self) -> BTreeSet<AssemblyName> {
        self.by
    }

    /// Stores the name of the assembly for each reference from an instance to the assembly. After the removal of
    /// the assembly, windlass then shows these references as dangling, because their target was removed. Without
    /// the stored name, windlass would show them as pending, as if the target had never existed. As long as a
    /// reference can be resolved, the stored name has no effect.
    ///
    /// If the assembly is a factory, also deletes the names that are stored for the references from the factory's own
    /// instances. Otherwise, a later factory of the same name would read these names.
    ///
    /// # Errors
    /// Fails if the store can't be read or written.
    pub(crate) async fn note(&self) -> Result<(), Error> {
        if self.is_factory {
            past::forget(&*self.store, &self.name).await?;
        }
        for (factory, mapping, key) in &self.keys {
            past::note(&*self.store, factory, (mapping, key), &self.name).await?;
        }
        Ok(())
    }
}

impl Wiring {
    /// Finds the applications and factories that use the factory `removal.name`, and adds them to `removal.by`.
    /// An application or factory uses this factory if a placeholder in its manifest stands for this factory. The
    /// function also finds applications and factories that are not services of an environment.
    async fn referring_services(&mut self, removal: &mut Removal) -> Result<(), Error> {
        let mut after: Option<AssemblyName> = None;
        loop {
            let page = self.store.assemblies(after.as_ref(), PAGE).await?;
            after = page.last().map(|last| last.name.clone());
            let is_last = page.len() < PAGE;
            for record in page.into_iter().filter(|record| record.name != removal.name) {
                let references = self.service_references(&record).await?;
                let mut resolved = references.iter().filter(|reference| reference.state == "resolved");
                if resolved.any(|reference| reference.service.as_ref() == Some(&removal.name)) {
                    removal.by.insert(record.name);
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Finds the references from instances to the application `removal.name`. Adds each reference to
    /// `removal.keys`, and the application of the referring instance to `removal.by`. `of` is the factory of the
    /// application `removal.name`.
    async fn referring_instances(&mut self, of: &AssemblyName, removal: &mut Removal) -> Result<(), Error> {
        let environments = self.environments().await?;
        let factories = self.factories().await?;
        for environment in environments.keys() {
            for factory in &factories {
                let mappings = self.bound_to(environment, factory, of).await?;
                if !mappings.is_empty() {
                    self.instances_with(environment, factory, &mappings, of, removal).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns the names of all launched factories. The result includes factories that are not services of an
    /// environment, because the instances of these factories may also refer to other instances.
    async fn factories(&mut self) -> Result<Vec<AssemblyName>, Error> {
        // Applications have an owner, and factories have none. A store may contain many applications.
        let owned: HashSet<AssemblyName> = self.store.owned_names().await?.into_iter().collect();
        let mut factories = self.store.assembly_names().await?;
        factories.retain(|name| !owned.contains(name));
        let mut launched = Vec::new();
        for name in factories {
            if self.assembly(&name).await?.is_some_and(|record| record.application.is_some()) {
                launched.push(name);
            }
        }
        Ok(launched)
    }

    /// Finds the applications of `factory` that refer to the application `removal.name`, in one environment.
    /// `removal.by` receives the names of these applications, and `removal.keys` receives their references.
    ///
    /// `of` is the factory that owns the application `removal.name`. `mappings` contains the ids of the pins through
    /// which `factory` receives instances of the factory `of`.
    async fn instances_with(
        &mut self,
        environment: &DocumentName,
        factory: &AssemblyName,
        mappings: &BTreeSet<String>,
        of: &AssemblyName,
        removal: &mut Removal,
    ) -> Result<(), Error> {
        let instances = self.instances(of).await?;
        let own = instances.iter().find(|(_, application)| **application == removal.name);
        let Some((key, _)) = own else { return Ok(()) };
        for owned in owned(&*self.store, factory).await? {
            let Some(snapshot) = self.store.load_sealed(&owned.assembly).await? else { continue };
            let from = snapshot.assembly.application.as_ref();
            let is_elsewhere = from.is_none_or(|from| from.environment != environment.as_str());
            if owned.assembly == removal.name || is_elsewhere {
                continue;
            }
            for reference in reported(&snapshot) {
                if reference.key == *key && mappings.contains(&reference.mapping) {
                    removal.by.insert(owned.assembly.clone());
                    removal.keys.insert((factory.clone(), reference.mapping, reference.key));
                }
            }
        }
        Ok(())
    }

    /// Returns the ids of the pins through which `factory` receives the instances of the factory `other` in an
    /// environment.
    async fn bound_to(
        &mut self,
        environment: &DocumentName,
        factory: &AssemblyName,
        other: &AssemblyName,
    ) -> Result<BTreeSet<String>, Error> {
        let mut bound = BTreeSet::new();
        let Some(record) = self.assembly(factory).await? else { return Ok(bound) };
        let Some(services) = self.services(&record).await? else { return Ok(bound) };
        for mapping in services.mappings.keys().map(ToString::to_string) {
            match self.mapping(&record, environment, &mapping).await? {
                Mapping::Bound(service) if service == *other => drop(bound.insert(mapping)),
                _ => {}
            }
        }
        Ok(bound)
    }
}
