//! Forgetting what was done long ago.

use std::time::Duration;

use serde::Serialize;
use windlass_engine::Pruned;
use windlass_model::retention::Retention;
use windlass_model::{AssemblyName, ProcessId};
use windlass_store::StoreError;

use crate::daemon::Notice;
use crate::error::Error;
use crate::open::Windlass;

/// How often it is looked what of the past has become too old.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// What was forgotten, or would be.
#[derive(Debug, Clone, Serialize)]
pub struct PruneView {
    /// The version of this form.
    pub version: u32,
    /// Whether it was only looked at.
    pub dry_run: bool,
    /// How many of the newest processes and versions of each assembly are kept.
    pub keep: usize,
    /// What is younger is kept, too: `90d`.
    pub older: String,
    /// The assemblies of which something is forgotten, by name.
    pub assemblies: Vec<PrunedView>,
    /// The assemblies that somebody works on: they are left as they are.
    pub held: Vec<HeldView>,
}

/// What is forgotten of an assembly.
#[derive(Debug, Clone, Serialize)]
pub struct PrunedView {
    /// Its name. It may be gone itself.
    pub name: AssemblyName,
    /// The processes, with their steps, calls, jobs and events.
    pub processes: Vec<ProcessId>,
    /// The versions, by the processes that made them.
    pub versions: Vec<ProcessId>,
}

/// An assembly that somebody works on.
#[derive(Debug, Clone, Serialize)]
pub struct HeldView {
    /// Its name.
    pub name: AssemblyName,
    /// Who works on it.
    pub by: String,
}

impl Windlass {
    /// Returns how much of the past the project keeps, as its `windlass.yaml` says.
    pub fn retention(&self) -> Retention {
        self.project.retention()
    }

    /// Forgets at once and then once a day what of the past of all assemblies has become too old; never ends. What does not
    /// work is told, and tried again the next day.
    pub async fn keep_pruned(&self, tell: &(dyn Fn(Notice) + Send + Sync)) -> std::convert::Infallible {
        let mut day = tokio::time::interval(EVERY);
        day.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            day.tick().await;
            if let Err(error) = self.prune(None, self.retention(), false).await {
                tell(Notice::Trouble(format!("old processes can't be removed: {error}")));
            }
        }
    }

    /// Forgets what of the past of an assembly, or of all, is neither among the newest nor young enough; with `dry_run` it
    /// says what that would be.
    ///
    /// # Errors
    ///
    /// When nothing was ever done for the assembly, or the store fails.
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
        };
        let store = match name {
            Some(name) => Some(self.store_of(name).await?),
            None => self.store(false).await?,
        };
        let Some(store) = store else { return Ok(view) };
        let names = match name {
            Some(name) => {
                let known = !store.processes_of(name, None, 1).await?.is_empty();
                if !known && store.assembly(name).await?.is_none() {
                    let known = store.assembly_names().await?;
                    return Err(windlass_engine::EngineError::Unknown { name: name.clone(), known }.into());
                }
                vec![name.clone()]
            }
            None => store.remembered().await?,
        };
        let engine = self.engine(store);
        for name in names {
            let pruned = if dry_run {
                engine.prunable(&name, keep).await
            } else {
                engine.prune(&name, keep, &self.holder()).await
            };
            match pruned {
                Ok(Pruned { processes, versions }) if !(processes.is_empty() && versions.is_empty()) => {
                    view.assemblies.push(PrunedView { name, processes, versions });
                }
                Ok(_) => {}
                Err(windlass_engine::EngineError::Store(StoreError::Held { by, .. })) => {
                    view.held.push(HeldView { name, by: by.to_string() });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(view)
    }
}
