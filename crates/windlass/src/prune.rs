//! Removal of old processes and versions, according to the project's retention.

use serde::Serialize;
use windlass_engine::{EngineError, Pruned};
use windlass_model::retention::Retention;
use windlass_model::{AssemblyName, ProcessId};
use windlass_store::StoreError;

use crate::error::Error;
use crate::upkeep::Upkeep;

/// The records that were removed, or that would be removed.
#[derive(Debug, Clone, Serialize)]
pub struct PruneView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// Whether the records were only listed and not removed.
    pub dry_run: bool,
    /// For each assembly, windlass keeps the `keep` newest processes and the `keep` newest versions.
    pub keep: usize,
    /// Minimum age of removed records, such as `90d`.
    pub older: String,
    /// The assemblies with removed records, by name.
    pub assemblies: Vec<PrunedView>,
    /// The assemblies that were skipped, because another program holds their leases.
    pub held: Vec<HeldView>,
    /// The assemblies for which the prune failed. Some of their old records may have been removed.
    pub failed: Vec<UnprunedView>,
}

/// The removed records of an assembly.
#[derive(Debug, Clone, Serialize)]
pub struct PrunedView {
    /// The name of the assembly. The assembly may no longer exist: its records stay until they are pruned.
    pub name: AssemblyName,
    /// The removed processes, with their steps, calls, jobs and events.
    pub processes: Vec<ProcessId>,
    /// The removed versions of the assembly. Each version is identified by the process that created it.
    pub versions: Vec<ProcessId>,
    /// The number of removed entries of health checks and discoveries.
    pub checks: usize,
}

/// An assembly that was skipped, because another program holds its lease.
#[derive(Debug, Clone, Serialize)]
pub struct HeldView {
    /// The name of the assembly.
    pub name: AssemblyName,
    /// The holder of the assembly's lease.
    pub by: String,
}

/// An assembly for which the prune failed. Some of its old records may have been removed.
#[derive(Debug, Clone, Serialize)]
pub struct UnprunedView {
    /// The name of the assembly.
    pub name: AssemblyName,
    /// The error.
    pub error: String,
}

impl Upkeep<'_> {
    /// Removes old records of an assembly, or of all assemblies. A record is old if it is not among the
    /// newest `keep.keep` and is older than `keep.older`. With `dry_run`, only lists the records.
    ///
    /// # Errors
    ///
    /// Fails if the store contains neither the given assembly nor a process of this assembly. Also fails if the
    /// store as a whole fails, for example because its disk is full. If the records of only some assemblies can't be
    /// read or removed, each error is an entry of [`PruneView::failed`], and the other assemblies are pruned.
    pub async fn prune(
        &self,
        name: Option<&AssemblyName>,
        keep: Retention,
        dry_run: bool,
    ) -> Result<PruneView, Error> {
        let mut view = PruneView {
            version: 1,
            dry_run,
            keep: keep.keep,
            older: keep.older.to_string(),
            assemblies: Vec::new(),
            held: Vec::new(),
            failed: Vec::new(),
        };
        let store = match name {
            Some(name) => Some(self.windlass.store_of(name).await?),
            None => self.windlass.store(false).await?,
        };
        let Some(store) = store else { return Ok(view) };
        let names = match name {
            Some(name) => {
                let known = !store.processes_of(name, None, 1).await?.is_empty();
                if !known && store.assembly(name).await?.is_none() {
                    return Err(self.windlass.unknown(store, name).await);
                }
                vec![name.clone()]
            }
            None => store.remembered().await?,
        };
        let engine = self.windlass.engine(store);
        let is_alone = name.is_some();
        for name in names {
            let pruned = if dry_run {
                engine.upkeep().prunable(&name, keep).await
            } else {
                engine.upkeep().prune(&name, keep, &self.windlass.holder()).await
            };
            match pruned {
                Ok(pruned) if !pruned.is_empty() => {
                    let Pruned { processes, versions, checks } = pruned;
                    view.assemblies.push(PrunedView { name, processes, versions, checks: checks.len() });
                }
                Ok(_) => {}
                Err(EngineError::Store(StoreError::Held { by, .. })) => {
                    view.held.push(HeldView { name, by: by.to_string() });
                }
                Err(error) if is_alone || concerns_all(&error) => return Err(error.into()),
                Err(error) => view.failed.push(UnprunedView { name, error: error.to_string() }),
            }
        }
        Ok(view)
    }
}

/// Tells whether an error concerns the store as a whole, so that the prune of another assembly would fail, too.
fn concerns_all(error: &EngineError) -> bool {
    use StoreError::{Behind, Closed, Full, Io, Locked, ReadOnly};
    let EngineError::Store(error) = error else { return false };
    matches!(error, Io { .. } | Closed | Full { .. } | ReadOnly { .. } | Locked { .. } | Behind { .. })
}
