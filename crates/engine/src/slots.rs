//! The slots of locations: at a location with `max-jobs`, a limited number of jobs run at once.
//!
//! A call, a health check and a search each hold one slot while they run, and run one job at a time. The machine
//! requests the slots of calls (`machine::queues`).

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use windlass_driver::Location;

/// The slots of all locations with `max-jobs`. Clones share the slots, so one limit holds for all processes, health
/// checks and searches of a program together.
#[derive(Debug, Clone, Default)]
pub struct JobSlots(Arc<Mutex<HashMap<LimitedLocation, Arc<Semaphore>>>>);

/// A location with `max-jobs`, which limits the number of concurrent jobs. Values of this type are the keys of the map
/// in [`JobSlots`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LimitedLocation {
    name: String,
    max_jobs: NonZeroU32,
}

/// A slot of a location. When this value is dropped, the slot is free again.
#[derive(Debug)]
pub(crate) struct JobSlot {
    location: LimitedLocation,
    _permit: OwnedSemaphorePermit,
}

impl LimitedLocation {
    /// Returns the key of a location in [`JobSlots`]; `None` if the location has no `max-jobs`.
    pub(crate) fn of(location: &Location) -> Option<Self> {
        location.max_jobs.map(|max_jobs| Self { name: location.name.clone(), max_jobs })
    }
}

impl JobSlots {
    /// Waits for a free slot. Slots are given in the order of requests.
    pub(crate) async fn take(&self, location: LimitedLocation) -> JobSlot {
        let slots = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let most = usize::try_from(location.max_jobs.get()).unwrap_or(usize::MAX);
            let new = || Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
            all.entry(location.clone()).or_insert_with(new).clone()
        };
        let permit = slots.acquire_owned().await.expect("the slots of a location are never closed");
        JobSlot { location, _permit: permit }
    }

    /// Waits for a free slot of a location. Returns `None` at once if the location has no `max-jobs`.
    pub(crate) async fn take_at(&self, location: &Location) -> Option<JobSlot> {
        Some(self.take(LimitedLocation::of(location)?).await)
    }
}

impl JobSlot {
    pub(crate) fn location(&self) -> &LimitedLocation {
        &self.location
    }
}
