//! Reads recorded assemblies, with their packages, earlier versions and earlier processes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_driver::{Package, Registry};
use windlass_lifecycle::Plan;
use windlass_model::assembly::PackageDigest;
use windlass_model::record::{
    AssemblyRecord, Failure, FailureKind, Intent, ProcessRecord, ProcessStatus, StepEnd, StepState,
    VersionRecord,
};
use windlass_model::work::Work;
use windlass_model::{AssemblyName, DescriptorName, ElementName, ProcessId, Side, Timestamp};
use windlass_plan::StepNumber;
use windlass_store::{Snapshot, Store, StoreError};

use super::consent::Consent;
use super::draft::{Limits, PreviousState};
use super::env::resources;
use super::request::Request;
use super::versions::{earlier, installed, is_mixed};
use crate::commands;
use crate::error::EngineError;
use crate::values::{self, Unknown};
use crate::world::{Configuration, Packages, World};

/// The recorded assemblies of a store.
#[derive(Clone, Copy)]
pub(super) struct Records<'e> {
    pub(super) store: &'e dyn Store,
    /// The drivers. Each driver tells whether it can manage the instances of an old package with a new package.
    pub(super) drivers: &'e Registry,
    /// The cache of records that many assemblies share; `None` means that such records are read again for each
    /// assembly.
    pub(super) shared: Option<&'e SharedRecords>,
}

/// A cache of records that many assemblies share: packages, and configurations of factories. Packages never
/// change. A configuration is cached when the first application of its factory is read.
#[derive(Default)]
pub(super) struct SharedRecords {
    packages: Mutex<HashMap<PackageDigest, Arc<Package>>>,
    configurations: Mutex<HashMap<AssemblyName, Configuration>>,
}

impl Records<'_> {
    /// Builds the world of a recorded assembly, with its installed version and its packages.
    pub(super) async fn loaded(&self, snapshot: Snapshot) -> Result<World, EngineError> {
        let versions = self.versions_since_reached(&snapshot).await?;
        let packages = self.packages(&snapshot, &versions).await?;
        let commands = commands::open(self.store, &snapshot).await?;
        let mut world = World::load(snapshot);
        world.commands = commands;
        world.installed = Some(installed(&world.assembly, &versions, &world));
        world.packages = Packages::new(packages);
        // A missing package is no error here. Only a call that needs the package fails.
        let _ = world.packages.desire(&world.assembly.packages, &[]);
        world.packages.ask_what_is_kept(world.elements.values(), self.drivers);
        // Boxed because of its size.
        world.configuration = Box::pin(self.configuration(&world.assembly)).await?;
        Ok(world)
    }

    /// Reads the configuration for the calls of an application. Each application belongs to a factory, and the calls
    /// use the configuration of this factory. Each value has the type that the factory's manifest declares.
    ///
    /// Returns `None` if `assembly` is not an application: it then has no [owner](AssemblyRecord::owner). The calls of
    /// such an assembly use the configuration of their location.
    pub(super) async fn configuration(
        &self,
        assembly: &AssemblyRecord,
    ) -> Result<Option<Configuration>, EngineError> {
        let Some(owner) = &assembly.owner else { return Ok(None) };
        if let Some(known) = self.shared.and_then(|shared| lock(&shared.configurations).get(owner).cloned()) {
            return Ok(Some(known));
        }
        let configuration = self.configuration_of(owner).await?;
        if let Some(shared) = self.shared {
            lock(&shared.configurations).insert(owner.clone(), configuration.clone());
        }
        Ok(Some(configuration))
    }

    /// Reads the configuration of a factory.
    pub(super) async fn configuration_of(&self, owner: &AssemblyName) -> Result<Configuration, EngineError> {
        let Some(snapshot) = self.store.load(owner).await? else {
            let message = format!(
                "its factory `{owner}` is gone; launch it again under that name: `windlass app launch TITLE --name {owner}`"
            );
            return Ok(Err(Failure::new(FailureKind::Refused, message)));
        };
        // Only the values of the factory itself are read, so the other packages are not needed.
        let world = World::load(snapshot);
        let Some(factory) = resources(world.topology()).next() else { return Ok(Ok(BTreeMap::new())) };
        let digest = world.assembly.packages.get(&factory.descriptor);
        let package = match digest {
            Some(digest) => self.package(digest, Some(&factory.descriptor)).await?,
            None => None,
        };
        let values = match values::properties(&world, factory, Side::Desired, Unknown::Refused) {
            Ok(values) => values,
            Err(failure) => {
                let message = format!("the configuration of its factory `{owner}`: {}", failure.message);
                return Ok(Err(Failure { message, ..failure }));
            }
        };
        let pins = package.as_deref().and_then(Package::pins);
        Ok(Ok(pins.map(|pins| pins.configuration(&values)).unwrap_or_default()))
    }

    /// Reads a package from the store. If an assembly pins the package, `pinned_by` is the name of the package's
    /// descriptor. If the store lacks a pinned package, the function returns [`EngineError::PackageGone`] with this
    /// name. Without `pinned_by`, the function returns `None` for a missing package.
    pub(super) async fn package(
        &self,
        digest: &PackageDigest,
        pinned_by: Option<&DescriptorName>,
    ) -> Result<Option<Arc<Package>>, EngineError> {
        if let Some(known) = self.shared.and_then(|shared| lock(&shared.packages).get(digest).cloned()) {
            return Ok(Some(known));
        }
        let Some(record) = self.store.package(digest).await? else {
            return match pinned_by {
                Some(name) => Err(EngineError::PackageGone(name.clone())),
                None => Ok(None),
            };
        };
        let name = record.name.clone();
        let package = Package::from_record(record)
            .map_err(|error| EngineError::PackageUnreadable { name, cause: error.to_string() })?;
        let package = Arc::new(package);
        if let Some(shared) = self.shared {
            lock(&shared.packages).insert(digest.clone(), package.clone());
        }
        Ok(Some(package))
    }

    /// Reads the versions that are needed to describe the existing elements and pairs of the assembly, the oldest
    /// first.
    ///
    /// If the version in the snapshot describes all existing elements and pairs, no other version is needed, and the
    /// list is empty. Otherwise, the list contains the version that all elements have
    /// [reached](AssemblyRecord::reached), and all later versions.
    async fn versions_since_reached(&self, snapshot: &Snapshot) -> Result<Vec<VersionRecord>, EngineError> {
        if !is_mixed(snapshot) {
            return Ok(Vec::new());
        }
        let reached = snapshot.assembly.reached.unwrap_or(ProcessId(0));
        Ok(self.store.versions_since(&snapshot.assembly.name, reached).await?)
    }

    /// Reads the packages of the desired assembly, the packages from which existing elements were created, and the
    /// packages of `versions`. `versions` contains recorded versions of the assembly. A missing package is an error
    /// only if the desired assembly pins this package.
    async fn packages(
        &self,
        snapshot: &Snapshot,
        versions: &[VersionRecord],
    ) -> Result<HashMap<PackageDigest, Arc<Package>>, EngineError> {
        let made = snapshot.elements.values().filter_map(|element| Some(&element.made.as_ref()?.package));
        let mut digests: BTreeMap<&PackageDigest, Option<&DescriptorName>> =
            made.map(|digest| (digest, None)).collect();
        // The packages of versions from before the last removal of the assembly are gone.
        let of_versions = versions.iter().flat_map(|version| version.assembly.packages.values());
        digests.extend(of_versions.map(|digest| (digest, None)));
        digests.extend(snapshot.assembly.packages.iter().map(|(name, digest)| (digest, Some(name))));
        let mut packages = HashMap::new();
        for (digest, descriptor) in digests {
            if let Some(package) = self.package(digest, descriptor).await? {
                packages.insert(digest.clone(), package);
            }
        }
        Ok(packages)
    }

    /// Reads the history of an assembly, as far as the plan for `intent` depends on the history. For example, a
    /// rollback depends on the earlier versions. If `snapshot` is `None`, the assembly is new and has no history.
    pub(super) async fn previous(
        &self,
        intent: &Intent,
        snapshot: Option<&Snapshot>,
    ) -> Result<PreviousState, EngineError> {
        let Some(snapshot) = snapshot else { return Ok(PreviousState::default()) };
        let name = &snapshot.assembly.name;
        let unfinished = if intent.resumes_itself() { self.unfinished(name).await? } else { None };
        let reached = snapshot.assembly.reached.unwrap_or(ProcessId(0));
        let mut unreached = BTreeSet::new();
        let versions = match (intent, &unfinished) {
            (Intent::Rollback(Some(to)), _) | (Intent::Rollback(None), Some(Intent::Rollback(Some(to)))) => {
                self.store.versions_since(name, reached.min(*to)).await?
            }
            (Intent::Rollback(None), _) => {
                self.versions_to_roll_back(snapshot, reached, &mut unreached).await?
            }
            _ => self.versions_since_reached(snapshot).await?,
        };
        let packages = self.packages(snapshot, &versions).await?;
        let last = match intent {
            Intent::Retry => last_of_assembly(self.store, name).await?,
            _ => None,
        };
        // A `down` needs no consent. But if a user has cancelled it, it may have been a mistake.
        let is_cancelled_removal = |process: &ProcessRecord| {
            process.intent == Intent::Down && process.status == ProcessStatus::Cancelled
        };
        let incomplete = last
            .as_ref()
            .filter(|process| process.status != ProcessStatus::Completed && !is_cancelled_removal(process));
        let permitted = incomplete.map(Consent::to_resume);
        let (limits, resumed) = last.map(retried).unwrap_or_default();
        let paused = self.paused(name).await?;
        let converging = BTreeSet::new();
        Ok(PreviousState {
            versions,
            unreached,
            packages,
            unfinished,
            limits,
            resumed,
            permitted,
            paused,
            converging,
        })
    }

    /// Returns the request that is really executed. If the last process has failed and demands a rollback, a retry
    /// becomes this rollback. The rollback needs no further consent of the user. All other requests stay as they are.
    pub(super) async fn followed(
        &self,
        requested: Request,
        snapshot: Option<&Snapshot>,
    ) -> Result<Request, EngineError> {
        let (Intent::Retry, Some(snapshot)) = (&requested.intent, snapshot) else { return Ok(requested) };
        let last = last_of_assembly(self.store, &snapshot.assembly.name).await?;
        let Some(intent) = last.and_then(|last| last.follow_up) else { return Ok(requested) };
        Ok(Request { intent, consent: Consent::Any, ..requested })
    }

    /// Returns the groups for which the last process was interrupted during a pause, each with the planned end of
    /// the pause. A pause is a step that waits between two batches of nodes of a group.
    async fn paused(&self, name: &AssemblyName) -> Result<BTreeMap<ElementName, Timestamp>, EngineError> {
        let last = self.store.processes_of(name, None, 1).await?.pop();
        let last = last.filter(|process| process.status != ProcessStatus::Completed);
        // Few plans have pauses. A plan is parsed only if its text contains the word `pause`.
        let Some(process) = last.filter(|process| process.plan.as_str().contains("\"pause\"")) else {
            return Ok(BTreeMap::new());
        };
        let Ok(plan) = serde_json::from_str::<Plan>(process.plan.as_str()) else {
            return Ok(BTreeMap::new());
        };
        let history = self.store.process_history(process.id).await?;
        let steps = history.map(|history| history.steps).unwrap_or_default();
        let interrupted = steps.into_iter().filter_map(|step| {
            let Work::Pause { before, pause } = plan.step(StepNumber(step.step.0))?.task.work()? else {
                return None;
            };
            let until = step.started?.plus_millis(pause.millis().into());
            (step.state != StepState::Done(StepEnd::Succeeded)).then(|| (before.group.clone(), until))
        });
        Ok(interrupted.collect())
    }

    /// Reads the newest versions of the assembly, back to the version to which a rollback returns.
    ///
    /// A rollback returns to the newest version that differs from the recorded assembly, and that the assembly has
    /// reached. While the nodes of a group change, the group may have additional nodes. A version that differs only in
    /// these additional nodes does not count as different. The function adds the versions that were never reached to
    /// `unreached`.
    async fn versions_to_roll_back(
        &self,
        snapshot: &Snapshot,
        reached: ProcessId,
        unreached: &mut BTreeSet<ProcessId>,
    ) -> Result<Vec<VersionRecord>, EngineError> {
        let record = &snapshot.assembly;
        let mut since = record.version.map_or(0, |version| version.0.saturating_sub(1));
        loop {
            let versions = self.store.versions_since(&record.name, reached.min(ProcessId(since))).await?;
            while let Ok(version) = earlier(&versions, record, None, unreached) {
                if self.was_reached(version, &versions).await? {
                    return Ok(versions);
                }
                unreached.insert(version.process);
            }
            let oldest = versions.first().map_or(0, |version| version.process.0);
            if oldest == 0 || oldest > since {
                return Ok(versions);
            }
            since = oldest - 1;
        }
    }

    /// Tells whether a process has established a version: a process of the whole assembly has completed while the version
    /// was the desired one. `versions` contains the version and all later versions, the oldest first.
    async fn was_reached(
        &self,
        version: &VersionRecord,
        versions: &[VersionRecord],
    ) -> Result<bool, EngineError> {
        const PAGE: usize = 16;
        let next = versions.iter().find(|other| other.process > version.process);
        if next.is_some_and(|next| next.assembly.reached >= Some(version.process)) {
            return Ok(true);
        }
        let mut before = next.map(|next| next.process);
        loop {
            let page = self.store.processes_of(&version.assembly.name, before, PAGE).await?;
            let is_last = page.len() < PAGE;
            before = page.last().map(|process| process.id);
            let oldest = before.unwrap_or(ProcessId(0));
            let mut tried = page.into_iter().filter(|process| process.id >= version.process);
            let has_completed = tried.any(|process| {
                process.status == ProcessStatus::Completed && process.intent.concerns_assembly()
            });
            if has_completed {
                return Ok(true);
            }
            if is_last || oldest <= version.process {
                return Ok(false);
            }
        }
    }

    /// Returns the intent of the last process, unless that process has completed.
    async fn unfinished(&self, name: &AssemblyName) -> Result<Option<Intent>, EngineError> {
        let last = self.store.processes_of(name, None, 1).await?.pop();
        Ok(last.filter(|process| process.status != ProcessStatus::Completed).map(|process| process.intent))
    }
}

/// Returns the last process whose intent concerns the whole assembly. Processes that heal a part or call a command
/// are skipped.
pub(super) async fn last_of_assembly(
    store: &dyn Store,
    name: &AssemblyName,
) -> Result<Option<ProcessRecord>, StoreError> {
    const PAGE: usize = 16;
    let mut before = None;
    loop {
        let page = store.processes_of(name, before, PAGE).await?;
        let is_last = page.len() < PAGE;
        before = page.last().map(|process| process.id);
        let found = page.into_iter().find(|process| process.intent.concerns_assembly());
        if found.is_some() || is_last {
            return Ok(found);
        }
    }
}

/// Returns the limits that a retry takes over from the last process, and the intent of the process if the retry keeps
/// this intent. A retry keeps the intent of an adoption or a rollback that has not completed.
fn retried(last: ProcessRecord) -> (Limits, Option<Intent>) {
    let ProcessRecord { intent, status, target, except, max_unavailable, max_surge, .. } = last;
    let is_kept = matches!(intent, Intent::Adopt | Intent::Rollback(_)) && status != ProcessStatus::Completed;
    (Limits { target, except, max_unavailable, max_surge }, is_kept.then_some(intent))
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
