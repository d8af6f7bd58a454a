//! Moves an assembly from one store to another. A *bundle* contains the data of the assembly during the move. At
//! any time, the assembly belongs to exactly one of three places: the first store, the bundle, or the second store.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_driver::{Package, Stop};
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{DocumentDraft, Expected};
use windlass_model::record::{
    AssemblyRecord, ElementRecord, Event as Happening, EventDraft, InstanceRecord, Intent, PackageRecord,
    PairRecord, ProcessRecord, VersionRecord,
};
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, Clock, ProcessId, Timestamp, TransferId};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Holder, Lease, Snapshot, Store, StoreError};

use super::imported::{imported, time_of_import};
use super::moved::{self, Moved, with_moved};
use super::previous::last_of_assembly;
use super::references::{leave, refuse_if_entangled, refuse_loss, stays};
use super::reserved::refuse_if_reserved;
use super::unfinished::refuse_unfinished;
use super::upkeep::{Upkeep, give_back, unknown};
use crate::claim::claim_of;
use crate::commands;
use crate::error::{EngineError, Loss, MovedTo};
use crate::exported::{self, exported};
use crate::keeper::{Leases, give_up, renewing};

/// An assembly outside a store, with all data that a later intent on the assembly needs. Steps, calls, jobs and events
/// are not included.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bundle {
    /// The id of the export; `None` if the bundle was read from a file without such an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferId>,
    /// The record of the assembly.
    pub assembly: AssemblyRecord,
    /// The other assemblies to which the assembly and its versions refer, each with the time at which it was created.
    /// The name and this time identify an assembly, even after a rename. Empty in a file of an earlier build of
    /// windlass.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub referenced: BTreeMap<AssemblyName, Timestamp>,
    /// The records of the assembly's elements.
    pub elements: Vec<ElementRecord>,
    /// The instances of the assembly's elements, as reported by drivers.
    pub instances: Vec<InstanceRecord>,
    /// The assembly's relationships, one entry per pair of nodes.
    pub pairs: Vec<PairRecord>,
    /// The processes that wrote the [versions](Self::versions), and the processes that created or configured the
    /// elements.
    pub processes: Vec<ProcessRecord>,
    /// The versions of the assembly, the oldest first, without the versions of an earlier assembly of the same name.
    pub versions: Vec<VersionRecord>,
    /// The packages of the assembly's elements and versions. `serde` skips this field. The program that writes the
    /// bundle to a file also writes the packages to the file. There, the content of each package file consists of
    /// hexadecimal digits.
    #[serde(skip)]
    pub packages: Vec<PackageRecord>,
    /// The assembly's secrets, in plain text. `serde` skips this field. The program that writes the bundle to a file
    /// seals the secrets, and adds the sealed secrets to the file.
    #[serde(skip)]
    pub secrets: BTreeMap<SecretRef, Sensitive<Vec<u8>>>,
}

/// An assembly that is being exported, with its lease.
#[must_use = "the store owns it until it is completed"]
pub struct HandOver {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lease: Lease,
    bundle: Bundle,
}

impl Upkeep<'_> {
    /// Takes the lease of an assembly, and bundles the assembly.
    ///
    /// # Errors
    /// An error if the assembly is leased, was interrupted, or is referenced by other assemblies. After an
    /// error nothing has changed.
    pub async fn hand_over(&self, name: &AssemblyName, holder: &Holder) -> Result<HandOver, EngineError> {
        let lease = self.store.lease(name, holder).await?;
        match self.bundle(name).await {
            Ok(bundle) => {
                let (store, clock) = (self.store.clone(), self.clock.clone());
                Ok(HandOver { store, clock, lease, bundle })
            }
            Err(error) => Err(give_back(self.store, lease, error).await),
        }
    }

    /// Checks that an assembly can be [handed over](Self::hand_over), without changing anything.
    ///
    /// # Errors
    /// The reason why the assembly can't be handed over.
    pub async fn can_hand_over(&self, name: &AssemblyName) -> Result<(), EngineError> {
        if let Some(by) = self.store.holder(name).await? {
            return Err(EngineError::Busy { name: name.clone(), by: Box::new(by) });
        }
        self.bundle(name).await.map(drop)
    }

    async fn bundle(&self, name: &AssemblyName) -> Result<Bundle, EngineError> {
        let Some(snapshot) = self.store.load(name).await? else {
            return Err(unknown(&**self.store, name).await?);
        };
        refuse_unfinished(&snapshot)?;
        if !self.force {
            refuse_if_entangled(&**self.store, name).await?;
            refuse_loss(&**self.store, name, Loss::Exported).await?;
            self.refuse_open_commands(&snapshot).await?;
        }
        let mut packages = BTreeMap::new();
        let made = snapshot.elements.values().filter_map(|element| Some(&element.made.as_ref()?.package));
        for digest in snapshot.assembly.packages.values().chain(made) {
            self.fetch(digest, &mut packages).await?;
        }
        let mut versions = Vec::new();
        for version in self.store.versions(name).await? {
            // An earlier assembly may have had the same name. The packages of its versions are gone, and a
            // rollback never returns to these versions. The bundle therefore omits these versions.
            let mut whole = true;
            for digest in version.assembly.packages.values() {
                whole &= self.fetch(digest, &mut packages).await?;
            }
            if whole && version.assembly.created == snapshot.assembly.created {
                versions.push(version);
            }
        }
        let mut referenced = BTreeMap::new();
        let records = versions.iter().map(|version| &version.assembly).chain([&snapshot.assembly]);
        let others: BTreeSet<&AssemblyName> = records.flat_map(|record| &record.references).collect();
        for other in others {
            referenced.extend(self.store.assembly(other).await?.map(|found| (other.clone(), found.created)));
        }
        let mut bundle = Bundle {
            transfer: Some(TransferId::random(self.entropy)),
            referenced,
            processes: Vec::new(),
            assembly: snapshot.assembly,
            elements: snapshot.elements.into_values().collect(),
            instances: snapshot.instances.into_values().collect(),
            pairs: snapshot.pairs.into_values().collect(),
            versions,
            packages: packages.into_values().collect(),
            secrets: snapshot.secrets,
        };
        let mut named = bundle.numbers();
        // A retry in the other store takes over the limits of this process.
        named.extend(last_of_assembly(&**self.store, name).await?.map(|process| process.id));
        for process in named {
            let found = self.store.process(process).await?;
            bundle.processes.extend(found.filter(|process| process.assembly == *name));
        }
        Ok(bundle)
    }

    /// Returns an error if health checks may still report results of commands. An export does not contain the commands,
    /// so their results would be lost.
    async fn refuse_open_commands(&self, snapshot: &Snapshot) -> Result<(), EngineError> {
        let now = self.clock.now();
        let commands = commands::open(&**self.store, snapshot).await?.into_values();
        let commands: Vec<_> = commands
            .filter(|record| !record.is_overdue(now))
            .map(|record| (record.id, record.command))
            .collect();
        if commands.is_empty() {
            return Ok(());
        }
        Err(EngineError::OpenCommands { name: snapshot.assembly.name.clone(), commands })
    }

    /// Reads a package from the store, and adds it to `packages`. If `packages` contains the package already, nothing
    /// is read. Returns `false` if the store does not have the package.
    async fn fetch(
        &self,
        digest: &PackageDigest,
        packages: &mut BTreeMap<PackageDigest, PackageRecord>,
    ) -> Result<bool, EngineError> {
        if !packages.contains_key(digest) {
            match self.store.package(digest).await? {
                Some(package) => drop(packages.insert(digest.clone(), package)),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Imports an assembly that another store has handed over; `file` is the name of the bundle's file.
    ///
    /// # Errors
    /// An error if the export was imported before, the name is taken, a referenced assembly is missing, or a
    /// package is damaged. After an error nothing has changed.
    pub async fn take_over(
        &self,
        bundle: Bundle,
        file: &str,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<(), EngineError> {
        intact(&bundle)?;
        let bundle = with_present_names(&**self.store, bundle).await?;
        let name = bundle.assembly.name.clone();
        let lease = self.store.lease(&name, holder).await?;
        let visits = Leases::new(vec![lease.clone()]);
        let taken = self.take_over_under(&lease, bundle, file, stop, &visits);
        let taken = renewing(self.store.clone(), &visits, taken).await;
        leave(&**self.store, visits.take().into_iter().filter(|visit| visit.scope != name).collect()).await;
        match taken {
            Ok(()) => {
                give_up(self.store, lease).await;
                Ok(())
            }
            Err(error) => Err(give_back(self.store, lease, error).await),
        }
    }

    /// Checks that an assembly can be [taken over](Self::take_over), without changing anything.
    ///
    /// # Errors
    /// The reason why the assembly can't be taken over.
    pub async fn can_take_over(&self, bundle: Bundle) -> Result<(), EngineError> {
        intact(&bundle)?;
        let bundle = with_present_names(&**self.store, bundle).await?;
        let name = &bundle.assembly.name;
        self.is_new(name, &bundle).await?;
        for reference in &bundle.assembly.references {
            stays(&**self.store, reference, name).await?;
        }
        Ok(())
    }

    /// Returns an error if the bundle can't be imported into this store. There are three reasons:
    ///
    /// - The same export was imported before.
    /// - The store already has an assembly of the same name.
    /// - Another application of the same factory already manages the instance of the exported application. Both
    ///   applications have the same natural id: the id of the instance outside of windlass.
    async fn is_new(&self, name: &AssemblyName, bundle: &Bundle) -> Result<(), EngineError> {
        let here = self.store.assembly(name).await?.is_some();
        if let Some((owner, natural)) = owned(bundle) {
            claim_of(&**self.store, name, owner, natural).await?;
        }
        if let Some(transfer) = &bundle.transfer
            && let Some(at) = time_of_import(&**self.store, name, transfer).await?
        {
            let here = if here { Some(name.clone()) } else { self.present_name(name).await? };
            return Err(EngineError::ImportedBefore { name: name.clone(), at, here });
        }
        if here {
            return Err(EngineError::AlreadyHere(name.clone()));
        }
        refuse_if_reserved(&**self.store, name, None).await
    }

    /// Imports the assembly of a bundle. `lease` is the lease of this assembly. The function takes the leases of the
    /// assemblies that the imported assembly references, and adds these leases to `leases`. The caller renews and
    /// releases all leases in `leases`.
    async fn take_over_under(
        &self,
        lease: &Lease,
        bundle: Bundle,
        file: &str,
        stop: &Stop,
        leases: &Leases,
    ) -> Result<(), EngineError> {
        let name = &lease.scope;
        self.is_new(name, &bundle).await?;
        for reference in &bundle.assembly.references {
            leases.add(self.visitor.patiently(reference, lease, stop).await?);
            stays(&**self.store, reference, name).await?;
        }
        self.put(lease, bundle, file, &leases.all()).await
    }

    /// Returns the present name of an assembly that was renamed; `None` if it was not renamed, or no longer exists.
    async fn present_name(&self, name: &AssemblyName) -> Result<Option<AssemblyName>, EngineError> {
        Ok(match moved::present_place(&**self.store, name).await? {
            Some(MovedTo::Assembly(present)) => Some(present),
            Some(MovedTo::File(_)) | None => None,
        })
    }

    /// Finds the processes that both the bundle and this store contain. Returns a map from their ids in the bundle
    /// to their ids in this store. There are such processes if, for example, the assembly was exported from this
    /// store before.
    ///
    /// The function looks up the processes of the bundle, the oldest first, and stops at the first process that
    /// this store does not contain. The import gives new ids to this process and all later processes. New ids are
    /// higher than all ids in this store, so the order of the ids is still the order of the processes.
    async fn known_processes(
        &self,
        name: &AssemblyName,
        bundle: &Bundle,
    ) -> Result<BTreeMap<ProcessId, ProcessId>, EngineError> {
        let newest_first = self.store.processes_of(name, None, usize::MAX).await?;
        let mut here = newest_first.iter().rev();
        let exported: BTreeMap<ProcessId, &ProcessRecord> =
            bundle.processes.iter().map(|process| (process.id, process)).collect();
        let mut known = BTreeMap::new();
        for number in bundle.numbers() {
            let same = |here: &&ProcessRecord| {
                exported.get(&number).is_some_and(|exported| is_same(exported, here, &known))
            };
            let Some(found) = here.find(same) else { break };
            known.insert(number, found.id);
        }
        Ok(known)
    }

    /// Records the assembly of a bundle. If the lease `lease` or one of the leases in the list `beside` is lost, the
    /// function records nothing.
    async fn put(
        &self,
        lease: &Lease,
        mut bundle: Bundle,
        file: &str,
        beside: &[Lease],
    ) -> Result<(), EngineError> {
        let known = self.known_processes(&lease.scope, &bundle).await?;
        let claim = owned(&bundle).map(|(owner, natural)| (owner.clone(), natural.to_owned()));
        let new: Vec<ProcessId> =
            bundle.numbers().into_iter().filter(|number| !known.contains_key(number)).collect();
        let mut numbers = known.clone();
        if !new.is_empty() {
            let count = u32::try_from(new.len()).unwrap_or(u32::MAX);
            numbers.extend(new.into_iter().zip(self.store.reserve_processes(count).await?));
        }
        // This store already has these processes, with their steps.
        bundle.processes.retain(|process| !known.contains_key(&process.id));
        bundle.renumber(&numbers);
        let now = self.clock.now();
        let import = bundle.transfer.as_ref().map(|transfer| imported(transfer, now));
        let body = Happening::Imported { transfer: bundle.transfer, file: file.to_owned() };
        let mut batch = import.into_iter().fold(Batch::new(), Batch::put_document);
        for package in bundle.packages {
            batch = batch.put_package(package);
        }
        let (name, created) = (bundle.assembly.name.clone(), bundle.assembly.created);
        batch = batch.put_assembly(bundle.assembly);
        for (secret, value) in bundle.secrets {
            batch = batch.put_secret(secret, name.clone(), value);
        }
        for element in bundle.elements {
            batch = batch.put_element(element);
        }
        for instance in bundle.instances {
            batch = batch.put_instance(instance);
        }
        for pair in bundle.pairs {
            batch = batch.put_pair(pair);
        }
        for process in bundle.processes {
            batch = batch.put_process(process);
        }
        for version in bundle.versions {
            batch = batch.put_version(version);
        }
        batch = batch.event(said(&name, now, body));
        batch = moved::imported_again(&**self.store, &name, created, batch).await?;
        if let Some((owner, natural)) = &claim {
            batch = batch.claim(claim_of(&**self.store, &name, owner, natural).await?);
            for key in exported::keys_of(&**self.store, (owner, natural)).await? {
                batch = batch.drop_document(key, Expected::Any);
            }
        }
        let beside = beside.iter().filter(|held| held.scope != name);
        match (self.store.commit(lease, batch.fenced_by(beside)).await, claim) {
            (Err(error @ StoreError::Refused { .. }), Some((owner, natural))) => {
                // Another command may have adopted the instance after the first check.
                claim_of(&**self.store, &name, &owner, &natural).await?;
                Err(error.into())
            }
            (committed, _) => Ok(committed.map(drop)?),
        }
    }
}

/// Replaces the names of referenced assemblies in a bundle, if these assemblies were renamed after the export.
async fn with_present_names(store: &dyn Store, mut bundle: Bundle) -> Result<Bundle, EngineError> {
    let mut present = BTreeMap::new();
    for (name, created) in &bundle.referenced {
        let to = moved::present_name(store, name, *created).await?;
        present.extend(to.filter(|to| to != name).map(|to| (name.clone(), to)));
    }
    // The file of an earlier build does not identify the factory, but the record of the export does.
    if let (Some(owner), Some(transfer)) = (&bundle.assembly.owner, &bundle.transfer)
        && !bundle.referenced.contains_key(owner)
    {
        let to = exported::present_factory(store, transfer).await?;
        present.extend(to.filter(|to| to != owner).map(|to| (owner.clone(), to)));
    }
    if present.is_empty() {
        return Ok(bundle);
    }
    // Two assemblies may have exchanged their names. So the old names are first replaced by names that occur nowhere.
    let text = serde_json::to_string(&bundle).expect("a bundle is plain data");
    let interim = |number: &usize| format!("renamed-{number}").parse().expect("it is a valid name");
    let mut free = (0..).filter(|number| !text.contains(&format!("renamed-{number}")));
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (from, to) in present {
        let between: AssemblyName = interim(&free.next().expect("there are enough numbers"));
        first.push(Renaming { from, to: between.clone() });
        second.push(Renaming { from: between, to });
    }
    let (packages, secrets) = (mem::take(&mut bundle.packages), mem::take(&mut bundle.secrets));
    for renaming in first.into_iter().chain(second) {
        bundle = renaming.record(&bundle).expect("a bundle is plain data");
    }
    Ok(Bundle { packages, secrets, ..bundle })
}

/// Returns the factory that owns the application in `bundle`, and the natural id of this application. No other
/// application of the factory may have this id. Returns `None` if the assembly in `bundle` is not an application,
/// or has no natural id.
fn owned(bundle: &Bundle) -> Option<(&AssemblyName, &str)> {
    let natural = bundle.instances.iter().find_map(|instance| instance.natural.as_deref());
    bundle.assembly.owner.as_ref().zip(natural)
}

/// Returns the documents which record that the assembly in `bundle` was exported to `file`.
async fn documents(store: &dyn Store, bundle: &Bundle, file: &str) -> Result<Vec<DocumentDraft>, StoreError> {
    let AssemblyRecord { name, created, .. } = &bundle.assembly;
    // The bundle lacks some processes, such as those that changed no version. So the store is asked for the last one.
    let last = store.processes_of(name, None, 1).await?.pop().map(|process| process.id);
    let moved = Moved { to: MovedTo::File(file.to_owned()), last, created: Some(*created) };
    let mut documents = vec![with_moved(store, name, moved).await?];
    if let (Some(transfer), Some(instance)) = (&bundle.transfer, owned(bundle)) {
        documents.push(exported(store, transfer, name, instance, file).await?);
    }
    Ok(documents)
}

/// Refuses packages whose content doesn't match their digest.
fn intact(bundle: &Bundle) -> Result<(), EngineError> {
    for record in &bundle.packages {
        let unreadable = |cause: String| EngineError::PackageUnreadable { name: record.name.clone(), cause };
        let package = Package::from_record(record.clone()).map_err(|error| unreadable(error.to_string()))?;
        if !package.is_intact() {
            return Err(unreadable("its content does not match its digest".to_owned()));
        }
    }
    Ok(())
}

/// Tells whether two records describe the same process. An assembly runs one process at a time, so the times at
/// which a process starts and ends identify it.
fn is_same(there: &ProcessRecord, here: &ProcessRecord, known: &BTreeMap<ProcessId, ProcessId>) -> bool {
    let mut intent = there.intent.clone();
    if let Some(to) = intent.process_mut() {
        *to = known.get(to).copied().unwrap_or(*to);
    }
    let times = |process: &ProcessRecord| (process.created, process.ended);
    times(there) == times(here) && intent == here.intent && there.status == here.status
}

fn said(name: &AssemblyName, at: Timestamp, body: Happening) -> EventDraft {
    EventDraft { at, assembly: name.clone(), process: None, body }
}

impl HandOver {
    /// Returns the bundle that is handed over.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Gives the bundle the id of an earlier export that was interrupted.
    pub fn of(mut self, transfer: TransferId) -> Self {
        self.bundle.transfer = Some(transfer);
        self
    }

    /// Removes the assembly from the store. From then on, the assembly belongs to the bundle in `file`.
    ///
    /// # Errors
    /// An error of the store. The assembly then still belongs to the store.
    pub async fn complete(self, file: &str) -> Result<(), EngineError> {
        let Self { store, clock, lease, bundle } = self;
        let name = &bundle.assembly.name;
        let mut batch = Batch::new();
        if let Some(transfer) = bundle.transfer.clone() {
            let body = Happening::Exported { transfer, file: file.to_owned() };
            batch = batch.event(said(name, clock.now(), body));
        }
        let documents = match documents(&*store, &bundle, file).await {
            Ok(documents) => documents,
            Err(error) => return Err(give_back(&store, lease, error.into()).await),
        };
        let batch = documents.into_iter().fold(batch, Batch::put_document).drop_assembly(name.clone());
        match store.commit(&lease, batch).await {
            Ok(_) => {
                give_up(&store, lease).await;
                Ok(())
            }
            Err(error) => Err(give_back(&store, lease, error.into()).await),
        }
    }

    /// Releases the lease, and leaves the assembly in its store.
    pub async fn abandon(self) {
        give_up(&self.store, self.lease).await;
    }
}

impl Bundle {
    /// Returns the ids of all processes that the bundle names, in order.
    fn numbers(&self) -> BTreeSet<ProcessId> {
        let mut numbers: BTreeSet<ProcessId> = self.processes.iter().map(|process| process.id).collect();
        let of_versions =
            self.versions.iter().flat_map(|of| [Some(of.process), of.assembly.version, of.assembly.reached]);
        numbers.extend(of_versions.chain([self.assembly.version, self.assembly.reached]).flatten());
        let made = self.elements.iter().filter_map(|element| element.made.as_ref());
        numbers.extend(made.flat_map(|made| [made.installed_by, made.configured_by]));
        let former = self.instances.iter().flat_map(|instance| instance.former_outputs.values());
        numbers.extend(former.map(|former| former.since));
        numbers
    }

    /// Replaces the process ids in the bundle by process ids of the store that imports the bundle. `numbers` maps
    /// each old id to its new id.
    fn renumber(&mut self, numbers: &BTreeMap<ProcessId, ProcessId>) {
        let number = |id: &mut ProcessId| {
            if let Some(new) = numbers.get(id) {
                *id = *new;
            }
        };
        let assemblies = self.versions.iter_mut().map(|version| &mut version.assembly);
        for assembly in assemblies.chain([&mut self.assembly]) {
            assembly.version.iter_mut().chain(&mut assembly.reached).for_each(number);
        }
        self.versions.iter_mut().for_each(|version| number(&mut version.process));
        for made in self.elements.iter_mut().filter_map(|element| element.made.as_mut()) {
            number(&mut made.installed_by);
            number(&mut made.configured_by);
        }
        let former = self.instances.iter_mut().flat_map(|instance| instance.former_outputs.values_mut());
        former.for_each(|former| number(&mut former.since));
        for process in &mut self.processes {
            number(&mut process.id);
            process.continues = process.continues.and_then(|id| numbers.get(&id).copied());
            process.intent.process_mut().into_iter().for_each(number);
            process.follow_up.iter_mut().filter_map(Intent::process_mut).for_each(number);
        }
    }
}
