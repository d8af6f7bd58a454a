//! Removes old processes, old versions, and old events of health checks and discoveries from the store.
//!
//! The events of imports and exports always stay. Before an import, the engine searches these events for an earlier
//! import of the same export. If there is one, the engine refuses the import.

use std::collections::{BTreeMap, BTreeSet};

use windlass_lifecycle::describes;
use windlass_model::record::{Event, EventDraft, ProcessRecord, VersionRecord};
use windlass_model::retention::Retention;
use windlass_model::{AssemblyName, ProcessId, Seq, Timestamp};
use windlass_store::{Batch, Change, Holder, Lease, Snapshot};

use super::previous::last_of_assembly;
use super::upkeep::Upkeep;
use super::versions::of_version;
use crate::error::EngineError;
use crate::keeper::Renewal;
use crate::recordings;

/// The number of records that are read or removed at once.
const MANY: usize = 200;

/// The result of [`Upkeep::prune`] and [`Upkeep::prunable`] for one assembly: the records that `prune` has removed, or
/// would remove. The oldest records come first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// The ids of the removed processes. The steps, calls, jobs and events of these processes are removed, too.
    pub processes: Vec<ProcessId>,
    /// The removed versions. Each id is the id of the process that wrote the version. A rollback to a removed version
    /// is not possible.
    pub versions: Vec<ProcessId>,
    /// The sequence numbers of the removed events. These events come from health checks and discoveries, and belong to
    /// no process.
    pub checks: Vec<Seq>,
}

impl Pruned {
    /// Tells whether nothing is removed.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.versions.is_empty() && self.checks.is_empty()
    }
}

impl Upkeep<'_> {
    /// Returns the records that [`prune`](Self::prune) would remove. The assembly need not exist any more.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn prunable(&self, name: &AssemblyName, keep: Retention) -> Result<Pruned, EngineError> {
        let age = i64::try_from(keep.older.0.as_millis()).unwrap_or(i64::MAX);
        let cutoff = Timestamp::from_millis(self.clock.now().as_millis().saturating_sub(age));
        let checks = self.old_checks(name, cutoff).await?;
        let mut old = self.old_processes(name, keep.keep, cutoff).await?;
        let exists = self.store.assembly(name).await?.is_some();
        if exists && let Some(last) = last_of_assembly(&**self.store, name).await? {
            // A retry takes over the limits of this process.
            old.remove(&last.id);
        }
        if old.is_empty() {
            return Ok(Pruned { checks, ..Pruned::default() });
        }
        let snapshot = self.store.load_sealed(name).await?;
        let versions = self.store.versions(name).await?;
        Ok(Pruned { checks, ..doomed(&old, &versions, snapshot.as_ref(), keep.keep) })
    }

    /// Removes old records of an assembly. Before the removal, the function takes the lease of the assembly. `keep`
    /// contains an age and a number. A process is removed only if it is older than this age, and at least this number
    /// of newer processes exist. The same rule applies to versions. An event of a health check or a discovery is
    /// removed if it is older than this age.
    ///
    /// The function keeps open processes, undecided calls, and the process that a retry would resume. It also keeps
    /// all records that are necessary for a rollback to a kept version.
    ///
    /// # Errors
    /// [`EngineError::Store`] if another holder has the lease, or the store fails. Earlier removals remain.
    pub async fn prune(
        &self,
        name: &AssemblyName,
        keep: Retention,
        holder: &Holder,
    ) -> Result<Pruned, EngineError> {
        // Usually no record has to be removed. The lease is then not taken.
        if self.prunable(name, keep).await?.is_empty() {
            return Ok(Pruned::default());
        }
        let lease = self.store.lease(name, holder).await?;
        let mut renewal = Renewal::start(self.store.clone(), lease.clone());
        let pruned = renewal.keeping(self.prune_under(&lease, keep)).await;
        renewal.release().await;
        pruned
    }

    async fn prune_under(&self, lease: &Lease, keep: Retention) -> Result<Pruned, EngineError> {
        let pruned = self.prunable(&lease.scope, keep).await?;
        // One batch of records removes all versions. If the store keeps a version as a difference from
        // removed versions, the store then rewrites the version only once.
        let versions: Batch = pruned.versions.iter().map(|process| Change::DropVersion(*process)).collect();
        self.store.commit(lease, versions).await?;
        for processes in pruned.processes.chunks(MANY) {
            let mut batch = recordings::drop_of(&**self.store, &lease.scope, processes).await?;
            batch.extend(processes.iter().map(|process| Change::DropProcess(*process)));
            self.store.commit(lease, batch).await?;
        }
        for events in pruned.checks.chunks(MANY) {
            let batch: Batch = events.iter().map(|event| Change::DropEvent(*event)).collect();
            self.store.commit(lease, batch).await?;
        }
        Ok(pruned)
    }

    /// Reads the events of health checks and discoveries that occurred before `cutoff`. The result never contains
    /// the last event of the store. If that event were removed, the store could use the number of the event a
    /// second time.
    async fn old_checks(&self, name: &AssemblyName, cutoff: Timestamp) -> Result<Vec<Seq>, EngineError> {
        let (mut old, mut after) = (Vec::new(), Seq::START);
        let last = self.store.last_event().await?;
        loop {
            let page = self.store.events_of(name, after, MANY).await?;
            let before = page.iter().take_while(|event| event.draft.at < cutoff && event.seq < last);
            let read = before.clone().count();
            old.extend(before.filter(|event| is_of_check(&event.draft)).map(|event| event.seq));
            match page.last() {
                Some(event) if read == MANY => after = event.seq,
                _ => return Ok(old),
            }
        }
    }

    /// Reads the ids of the old processes of an assembly. A process is old if it ended before `cutoff`, and if at least
    /// `keep` newer processes exist.
    async fn old_processes(
        &self,
        name: &AssemblyName,
        keep: usize,
        cutoff: Timestamp,
    ) -> Result<BTreeSet<ProcessId>, EngineError> {
        let newest = self.store.processes_of(name, None, keep).await?;
        if newest.len() < keep {
            return Ok(BTreeSet::new());
        }
        let mut before = newest.last().map(|process| process.id);
        let mut old = BTreeSet::new();
        loop {
            let page = self.store.processes_of(name, before, MANY).await?;
            let Some(last) = page.last() else { return Ok(old) };
            before = Some(last.id);
            let is_old = |process: &&ProcessRecord| {
                process.status.is_final() && process.ended.is_some_and(|ended| ended < cutoff)
            };
            old.extend(page.iter().filter(is_old).map(|process| process.id));
        }
    }
}

/// Tells whether an event comes from a health check or a discovery, and not from a process.
fn is_of_check(event: &EventDraft) -> bool {
    event.process.is_none() && matches!(event.body, Event::Logged { .. } | Event::StateChanged { .. })
}

/// Returns the old processes and versions that no kept record needs.
fn doomed(
    old: &BTreeSet<ProcessId>,
    versions: &[VersionRecord],
    snapshot: Option<&Snapshot>,
    keep: usize,
) -> Pruned {
    let in_force = snapshot.map(|snapshot| in_force(snapshot, versions)).unwrap_or_default();
    let beyond = versions.len().saturating_sub(keep);
    let may_go =
        |version: &&VersionRecord| old.contains(&version.process) && !in_force.contains(&version.process);
    let gone: BTreeSet<ProcessId> =
        versions[..beyond].iter().filter(may_go).map(|version| version.process).collect();
    let with_version =
        versions.iter().map(|version| version.process).filter(|process| !gone.contains(process));
    let mut needed: BTreeSet<ProcessId> = with_version.collect();
    needed.extend(snapshot.iter().flat_map(|snapshot| &snapshot.calls).map(|call| call.process));
    let processes = old.difference(&needed).copied().collect();
    Pruned { processes, versions: gone.into_iter().collect(), checks: Vec::new() }
}

/// Returns the ids of the versions that are still needed. The id of a version is the id of the process that wrote the
/// version. The needed versions are:
///
/// - the desired version,
/// - the newest version that all elements have [reached](windlass_model::record::AssemblyRecord::reached),
/// - the versions from which existing elements got their values,
/// - the newest version that names the package of an existing element, if the desired version does not use this
///   package,
/// - if the desired version no longer declares an existing pair: the newest version that declares the pair. A pair is a
///   relationship between two elements.
fn in_force(snapshot: &Snapshot, versions: &[VersionRecord]) -> BTreeSet<ProcessId> {
    let assembly = &snapshot.assembly;
    let made = snapshot.elements.values().filter_map(|element| element.made.as_ref());
    let by = made.clone().map(|made| of_version(made, assembly));
    let named: BTreeSet<ProcessId> =
        by.chain([assembly.version, assembly.reached].into_iter().flatten()).collect();
    let newest_at = |process: ProcessId| versions.iter().rfind(|version| version.process <= process);
    let mut found: BTreeSet<ProcessId> =
        named.into_iter().filter_map(|process| Some(newest_at(process)?.process)).collect();
    // An existing element may have been created from a package that the present assembly no longer uses. The
    // version that names this package is then kept, because the store keeps the packages of kept versions.
    let pinned: BTreeSet<_> = assembly.packages.values().collect();
    let mut pins = BTreeMap::new();
    for version in versions {
        pins.extend(version.assembly.packages.values().map(|digest| (digest, version.process)));
    }
    found.extend(
        made.filter(|made| !pinned.contains(&made.package)).filter_map(|made| pins.get(&made.package)),
    );
    let pairs = snapshot.pairs.values().filter(|pair| pair.is_there()).map(|pair| &pair.key);
    let left = pairs.filter(|key| !describes(&assembly.topology, key));
    found.extend(left.filter_map(|key| {
        let version = versions.iter().rfind(|version| describes(&version.assembly.topology, key))?;
        Some(version.process)
    }));
    found
}
