//! Gives an assembly another name, without calling a driver.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use windlass_driver::Stop;
use windlass_lifecycle::Plan;
use windlass_model::record::{Event, EventDraft, PlanText};
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, ProcessId, Seq};
use windlass_store::{Batch, Holder, Lease, Rename, Snapshot, StoreError};

use super::moved::{Moved, with_moved};
use super::references::{leave, refuse_if_entangled};
use super::unfinished::refuse_unfinished;
use super::upkeep::{Upkeep, give_back, unknown};
use crate::error::{EngineError, MovedTo, NameUse};
use crate::keeper::give_up;
use crate::{commands, exported};

/// The number of records that are read at once.
const PAGE: usize = 500;

impl Upkeep<'_> {
    /// Gives an assembly another name in all of its records, in one batch, and calls no driver. The function also
    /// changes the name in the records of two kinds of other assemblies: assemblies with a reference to the renamed
    /// assembly, also in an earlier version, and assemblies that the renamed assembly owns (`AssemblyRecord::owner`).
    ///
    /// The batch `documents` replaces the old name in the project's documents.
    ///
    /// Returns the names of the other assemblies whose records have changed.
    ///
    /// # Errors
    /// An error if the new name is in use or has a history. An error if one of the assemblies is leased, was
    /// interrupted, or has a pending request. After an error, nothing has changed.
    ///
    /// Another assembly may have been interrupted if only its history contains the old name.
    pub async fn rename(
        &self,
        renaming: &Renaming,
        documents: Batch,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<BTreeSet<AssemblyName>, EngineError> {
        let lease = self.store.lease(&renaming.from, holder).await?;
        let mut beside = Vec::new();
        let renamed = self.rename_under(renaming, documents, &lease, &mut beside, stop).await;
        leave(&**self.store, beside).await;
        match renamed {
            Ok(others) => {
                give_up(self.store, lease).await;
                Ok(others)
            }
            Err(error) => Err(give_back(self.store, lease, error).await),
        }
    }

    /// Gives the assembly its new name. The caller holds the `lease` of the old name.
    ///
    /// The function acquires further leases, and pushes them to `beside`: first the lease of the new name, then the
    /// leases of the other assemblies whose records change.
    async fn rename_under(
        &self,
        renaming: &Renaming,
        documents: Batch,
        lease: &Lease,
        beside: &mut Vec<Lease>,
        stop: &Stop,
    ) -> Result<BTreeSet<AssemblyName>, EngineError> {
        let Renaming { from, to } = renaming;
        self.is_finished(from).await?;
        // Secrets are sealed again, so the key is needed if the assembly has secrets.
        let Some(snapshot) = self.store.load(from).await? else {
            return Err(unknown(&**self.store, from).await?);
        };
        refuse_if_entangled(&**self.store, from).await?;
        if from == to {
            return Err(EngineError::NameInUse { name: to.clone(), by: NameUse::Assembly });
        }
        let new = self.store.lease(to, &lease.holder).await?;
        beside.push(new.clone());
        self.is_free(to).await?;
        let others = self.naming(from).await?;
        for other in &others {
            beside.push(self.visitor.patiently(other, lease, stop).await?);
            self.is_finished_or_free_of(renaming, other).await?;
        }
        for request in self.store.requests().await? {
            if request.assembly == *from || request.assembly == *to || others.contains(&request.assembly) {
                return Err(EngineError::Pending { name: request.assembly, request: request.id });
            }
        }
        let mut plans = BTreeMap::new();
        for scope in others.iter().chain([from]) {
            self.rename_plans(scope, renaming, &mut plans).await?;
        }
        let body = Event::Renamed { from: from.to_string(), to: Some(to.to_string()) };
        let event = EventDraft { at: self.clock.now(), assembly: to.clone(), process: None, body };
        let rename = Rename { renaming: renaming.clone(), others: others.clone(), plans };
        // The history of the old name moves to the new name, so the old name keeps no process.
        let created = snapshot.assembly.created;
        let moved = Moved { to: MovedTo::Assembly(to.clone()), last: None, created: Some(created) };
        let moved = with_moved(&**self.store, from, moved).await?;
        let commands = commands::renamed(&**self.store, renaming).await?;
        let batch = documents.put_document(moved).rename(rename).event(event);
        let exported = exported::renamed(&**self.store, renaming, created).await?;
        let batch = exported.into_iter().fold(batch, Batch::put_document);
        let batch = commands.into_iter().fold(batch, Batch::put_document);
        let leases = beside.iter().filter(|held| held.scope != *to).chain([lease]);
        self.store.commit(&new, batch.beside(leases)).await?;
        Ok(others)
    }

    /// Refuses an assembly that does not exist or has an open process or call.
    async fn is_finished(&self, name: &AssemblyName) -> Result<(), EngineError> {
        match self.store.load_sealed(name).await? {
            None => Err(unknown(&**self.store, name).await?),
            Some(found) => refuse_unfinished(&found),
        }
    }

    /// Refuses the assembly `other` if it has an open process or call, and its present records contain the old name. If
    /// only its history contains the old name, the open process does no harm, because the next intent does not read the
    /// history.
    async fn is_finished_or_free_of(
        &self,
        renaming: &Renaming,
        other: &AssemblyName,
    ) -> Result<(), EngineError> {
        let Some(found) = self.store.load_sealed(other).await? else {
            return Err(unknown(&**self.store, other).await?);
        };
        if is_mentioned(renaming, &found) { refuse_unfinished(&found) } else { Ok(()) }
    }

    /// Refuses a name that an assembly has or had.
    async fn is_free(&self, name: &AssemblyName) -> Result<(), EngineError> {
        let in_use = |by| Err(EngineError::NameInUse { name: name.clone(), by });
        if self.store.assembly(name).await?.is_some() {
            return in_use(NameUse::Assembly);
        }
        let has_processes = !self.store.processes_of(name, None, 1).await?.is_empty();
        // Pruning keeps the last event of the store even if it removes the process of this event. If no process
        // is left, an event of a process therefore does not count as history. An event without a process counts
        // as history.
        let left = self.store.events_of(name, Seq::START, PAGE).await?;
        if has_processes || left.iter().any(|event| event.draft.process.is_none()) {
            return in_use(NameUse::History);
        }
        Ok(())
    }

    /// Returns the assemblies whose records mention the assembly `name`. These are the assemblies that `name` owns
    /// (`AssemblyRecord::owner`), and the assemblies that reference `name`. An assembly that references `name` only in
    /// a stored version counts, too, because a rollback may return to that version.
    async fn naming(&self, name: &AssemblyName) -> Result<BTreeSet<AssemblyName>, EngineError> {
        let mut found: BTreeSet<AssemblyName> = self.store.referrers(name).await?.into_iter().collect();
        found.extend(self.store.former_referrers(name).await?);
        let mut after: Option<AssemblyName> = None;
        loop {
            let page = self.store.owned(name, after.as_ref(), PAGE).await?;
            after = page.last().map(|last| last.assembly.clone());
            let is_last = page.len() < PAGE;
            found.extend(page.into_iter().map(|owned| owned.assembly));
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Reads the plans of all processes of the assembly `name`, applies `renaming` to the plans, and adds them to
    /// `plans`. Skips each plan whose format is so old that the plan can't be read any more.
    async fn rename_plans(
        &self,
        name: &AssemblyName,
        renaming: &Renaming,
        plans: &mut BTreeMap<ProcessId, PlanText>,
    ) -> Result<(), StoreError> {
        for process in self.store.processes_of(name, None, usize::MAX).await? {
            let plan = serde_json::from_str::<Plan>(process.plan.as_str());
            let renamed = plan.and_then(|plan| PlanText::new(&renaming.record(&plan)?));
            plans.extend(renamed.ok().map(|plan| (process.id, plan)));
        }
        Ok(())
    }
}

/// Tells whether the present records of an assembly contain the old name. The plans of processes do not count.
fn is_mentioned(renaming: &Renaming, of: &Snapshot) -> bool {
    let Snapshot { assembly, elements, instances, pairs, processes, calls, jobs, secrets: _ } = of;
    is_changed(renaming, assembly)
        || elements.values().any(|record| is_changed(renaming, record))
        || instances.values().any(|record| is_changed(renaming, record))
        || pairs.values().any(|record| is_changed(renaming, record))
        || processes.iter().any(|record| is_changed(renaming, record))
        || calls.iter().any(|record| is_changed(renaming, record))
        || jobs.iter().any(|record| is_changed(renaming, record))
}

/// Tells whether a renaming changes a record.
fn is_changed(renaming: &Renaming, record: &impl Serialize) -> bool {
    let renamed = renaming.json(record).expect("a record is plain data");
    renamed != serde_json::to_string(record).expect("a record is plain data")
}
