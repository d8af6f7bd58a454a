//! Refuses what comes after a failure, so that what is stored of a lease's batches has no gap.

use std::collections::BTreeMap;

use windlass_model::{AssemblyName, Epoch};

use crate::error::StoreError;
use crate::lease::Lease;

/// The leases of which a batch was not applied.
///
/// The engine commits without waiting for each ticket. Were a batch applied after an earlier one has failed (the disk
/// was full for the large one, and not for the small one), a call's end would be there without its start. A new lease
/// has a new epoch and starts clean.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fence(BTreeMap<AssemblyName, Epoch>);

impl Fence {
    /// Lets a batch of `lease` through unless one before it has failed.
    pub(crate) fn pass(&self, lease: &Lease) -> Result<(), StoreError> {
        if self.0.get(&lease.scope) == Some(&lease.epoch) {
            return Err(StoreError::AfterFailure { scope: lease.scope.clone() });
        }
        Ok(())
    }

    /// Remembers that a batch of `lease` has failed. What a stale lease tries changes nothing for the current one.
    pub(crate) fn close(&mut self, lease: &Lease) {
        let epoch = self.0.entry(lease.scope.clone()).or_insert(lease.epoch);
        *epoch = lease.epoch.max(*epoch);
    }
}
