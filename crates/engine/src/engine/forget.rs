//! Removes the records of an assembly, or of one of its parts, without calling a driver.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::assembly::ElementKind;
use windlass_model::record::{ElementRecord, Event, EventDraft, Given, PairRecord, ProcessStatus};
use windlass_model::{AssemblyName, ElementName, InstanceId, State};
use windlass_store::{Batch, Holder, Lease, Snapshot};

use super::references::{refuse_if_entangled, refuse_loss};
use super::unfinished::refuse_unfinished;
use super::upkeep::{Upkeep, give_back, unknown};
use crate::error::{EngineError, Loss};
use crate::keeper::give_up;
use crate::sealing::{markers, secrets_of};

/// The result of [`Upkeep::forget`] and [`Upkeep::forgettable`]: the records that `forget` has removed, or would
/// remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenRecords {
    /// The resources that exist or may exist, according to their records. The list is sorted by name.
    pub parts: Vec<ForgottenPart>,
    /// The number of pairs that are completely created, according to their records. A pair is a relationship between
    /// two nodes.
    pub pairs: usize,
}

/// A resource whose records are removed. The resource itself stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenPart {
    /// The name of the resource.
    pub name: ElementName,
    /// The recorded state of the resource.
    pub state: State,
    /// The natural id of the instance: its id outside of windlass, such as the id of a machine in a cloud. `None` if
    /// the instance has no natural id, or if the id is secret.
    pub natural: Option<String>,
}

impl Upkeep<'_> {
    /// Returns the records that [`forget`](Self::forget) would remove.
    ///
    /// # Errors
    /// The reason why [`forget`](Self::forget) would be refused.
    pub async fn forgettable(
        &self,
        name: &AssemblyName,
        part: Option<&ElementName>,
    ) -> Result<ForgottenRecords, EngineError> {
        if let Some(by) = self.store.holder(name).await? {
            return Err(EngineError::Busy { name: name.clone(), by: Box::new(by) });
        }
        let snapshot = self.unentangled(name, part).await?;
        Ok(Forgetting::new(&snapshot, part).records())
    }

    /// Removes the records of an assembly, or of one part and the parts inside it, and calls no driver. If the
    /// descriptor still contains a forgotten part, the next `up` creates this part again. The history of the
    /// assembly stays.
    ///
    /// # Errors
    /// - An error if the assembly is leased.
    /// - An error if only one part of a launched application is to be forgotten.
    /// - An error if other assemblies reference the assembly. With [`Options::force`](super::Options::force),
    ///   the records are removed nevertheless.
    /// - An error if a process of the assembly was interrupted, since jobs of this process may still run. With
    ///   `Options::force`, the records of the whole assembly are removed nevertheless. If only one part is to
    ///   be forgotten, the error occurs even with `Options::force`.
    pub async fn forget(
        &self,
        name: &AssemblyName,
        part: Option<&ElementName>,
        holder: &Holder,
    ) -> Result<ForgottenRecords, EngineError> {
        let lease = self.store.lease(name, holder).await?;
        match self.forget_under(&lease, part).await {
            Ok(records) => {
                give_up(self.store, lease).await;
                Ok(records)
            }
            Err(error) => Err(give_back(self.store, lease, error).await),
        }
    }

    /// Loads the records of an assembly, and checks that they may be removed. `part` is the only part to forget; `None`
    /// means the whole assembly.
    ///
    /// # Errors
    /// The reason why the records must stay. For example, another assembly references the assembly.
    async fn unentangled(
        &self,
        name: &AssemblyName,
        part: Option<&ElementName>,
    ) -> Result<Snapshot, EngineError> {
        let Some(snapshot) = self.store.load_sealed(name).await? else {
            return Err(unknown(&**self.store, name).await?);
        };
        if part.is_some() && snapshot.assembly.application.is_some() {
            return Err(EngineError::PartOfApplication(name.clone()));
        }
        // If a part with open calls were forgotten, the next intent would settle these calls. Their results
        // would then be applied to the new record of the part.
        if part.is_some() || !self.force {
            refuse_unfinished(&snapshot)?;
        }
        if self.force {
            return Ok(snapshot);
        }
        refuse_if_entangled(&**self.store, name).await?;
        refuse_loss(&**self.store, name, Loss::Forgotten).await?;
        Ok(snapshot)
    }

    async fn forget_under(
        &self,
        lease: &Lease,
        part: Option<&ElementName>,
    ) -> Result<ForgottenRecords, EngineError> {
        let name = &lease.scope;
        let snapshot = self.unentangled(name, part).await?;
        let forgetting = Forgetting::new(&snapshot, part);
        let records = forgetting.records();
        let now = self.clock.now();
        let body = Event::Forgotten { part: part.cloned() };
        let mut batch =
            Batch::new().event(EventDraft { at: now, assembly: name.clone(), process: None, body });
        for mut process in snapshot.processes.iter().cloned() {
            process.status = ProcessStatus::Cancelled;
            process.ended = Some(now);
            process.reason = Some("its records were removed by `windlass forget`".to_owned());
            batch = batch.put_process(process);
        }
        if part.is_none() {
            batch = batch.drop_assembly(name.clone());
        } else {
            for pair in forgetting.pairs() {
                for given in pair.given.iter().flat_map(BTreeMap::values) {
                    if let Given::Secret(secret) = given {
                        batch = batch.drop_secret(secret.clone());
                    }
                }
                batch = batch.drop_pair(pair.key.clone());
            }
            for record in forgetting.elements() {
                let instance = snapshot.instances.get(&record.name);
                let sealed = record.private.values().flat_map(markers);
                for secret in sealed.chain(instance.into_iter().flat_map(secrets_of)) {
                    batch = batch.drop_secret(secret);
                }
                batch = batch.drop_element(record.name.clone());
                // The part gets a new id, so that no later job is mistaken for a job of the forgotten
                // instance.
                if snapshot.assembly.topology.get(&record.name).is_some() {
                    batch = batch.put_element(ElementRecord::new(
                        record.name.clone(),
                        InstanceId::random(self.entropy),
                        now,
                    ));
                }
            }
        }
        self.store.commit(lease, batch).await?;
        Ok(records)
    }
}

/// The records to remove: all records of an assembly, or the records of one part and of the parts inside it.
struct Forgetting<'s> {
    snapshot: &'s Snapshot,
    part: Option<&'s ElementName>,
    groups: BTreeSet<&'s ElementName>,
}

impl<'s> Forgetting<'s> {
    fn new(snapshot: &'s Snapshot, part: Option<&'s ElementName>) -> Self {
        let is_resource = |kind| kind == ElementKind::Resource;
        let elements = snapshot.assembly.topology.elements().iter();
        let groups = elements.filter(|element| !is_resource(element.kind)).map(|element| &element.name);
        Self { snapshot, part, groups: groups.collect() }
    }

    fn has(&self, name: &ElementName) -> bool {
        self.part.is_none_or(|part| name.is_in(part))
    }

    fn elements(&self) -> impl Iterator<Item = &'s ElementRecord> {
        self.snapshot.elements.values().filter(|record| self.has(&record.name))
    }

    fn pairs(&self) -> impl Iterator<Item = &'s PairRecord> {
        let pairs = self.snapshot.pairs.values();
        pairs.filter(|pair| self.has(&pair.key.source) || self.has(&pair.key.target))
    }

    fn records(&self) -> ForgottenRecords {
        let is_there = |record: &&ElementRecord| {
            !self.groups.contains(&record.name)
                && (record.state != State::Absent || record.made.is_some() || record.attempted.is_some())
        };
        let natural =
            |name: &ElementName| self.snapshot.instances.get(name).and_then(|found| found.natural.clone());
        let part = |record: &ElementRecord| ForgottenPart {
            name: record.name.clone(),
            state: record.state,
            natural: natural(&record.name),
        };
        let created = self.pairs().filter(|pair| pair.created).count();
        ForgottenRecords { parts: self.elements().filter(is_there).map(part).collect(), pairs: created }
    }
}
