//! The state that a docker runtime shares with the tasks of its jobs: the client of the container engine, the
//! table of jobs, the removals.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{sleep, timeout},
};

use crate::{
    JobId, RuntimeError,
    docker::{
        Description, DockerOptions, Engine, EngineError, container,
        engine::{FIRST_PAUSE, LAST_PAUSE},
        error::unavailable,
        handle::Handle,
        tools::Tools,
    },
};

/// The state that a runtime shares with the tasks of its jobs.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) description: Description,
    pub(crate) options: DockerOptions,
    pub(crate) client: String,
    pub(crate) tools: Arc<Tools>,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) jobs: Mutex<HashMap<JobId, Handle>>,
    /// Removed jobs whose containers are still being deleted.
    pub(crate) leaving: watch::Sender<BTreeSet<JobId>>,
    /// One permit for each concurrent removal.
    pub(crate) removals: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn jobs(&self) -> MutexGuard<'_, HashMap<JobId, Handle>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn handle(&self, id: &JobId) -> Option<Handle> {
        self.jobs().get(id).cloned()
    }

    pub(crate) fn is_leaving(&self, id: &JobId) -> bool {
        self.leaving.borrow().contains(id)
    }

    /// Waits until the container of a removed job is deleted.
    pub(crate) async fn has_left(&self, id: &JobId) -> Result<(), RuntimeError> {
        let mut leaving = self.leaving.subscribe();
        let left = leaving.wait_for(|leaving| !leaving.contains(id));
        match timeout(self.options.patience, left).await {
            Ok(_we_live) => Ok(()),
            Err(_) => Err(unavailable("the leftovers of a removed job with this id can't be removed yet")),
        }
    }

    /// Waits for a permit for one more removal.
    pub(crate) async fn removal(&self) -> Result<OwnedSemaphorePermit, RuntimeError> {
        let removal = timeout(self.options.patience, self.removals.clone().acquire_owned()).await;
        removal
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| unavailable("the leftovers of other jobs can't be removed yet"))
    }

    pub(crate) async fn force_remove(&self, id: &JobId) -> Result<(), EngineError> {
        self.engine.remove_container(&container::name(id), true).await
    }
}

/// Deletes the container of a removed job. Retries as long as the container engine is unavailable and the
/// runtime exists. Without retries, the container would remain, and the runtime would find the removed job
/// again.
pub(crate) async fn remove_in_background(shared: Weak<Shared>, id: JobId) {
    let mut pause = FIRST_PAUSE;
    while let Some(shared) = shared.upgrade() {
        match shared.force_remove(&id).await {
            Err(error) if error.is_outage() || error.is_being_removed() => {}
            _ => {
                shared.leaving.send_modify(|leaving| {
                    let _was_there = leaving.remove(&id);
                });
                return;
            }
        }
        drop(shared);
        sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}
