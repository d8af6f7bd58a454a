//! Refuses batches that follow a failed batch of the same lease, so that the stored batches of a lease have
//! no gap.

use std::collections::BTreeMap;

use windlass_model::{AssemblyName, Epoch};

use crate::error::StoreError;
use crate::lease::Lease;

/// The leases that have a failed batch.
///
/// The store refuses all further batches of such a lease. The engine commits batches without waiting until the
/// earlier batches are stored. After a failed batch, a later batch could succeed: for example, a full disk may
/// reject a large batch and accept a small one. The store could then contain the result of a job, but not its start.
///
/// If the assembly gets a new lease, the new lease has a new epoch. So the failure does not affect the new lease.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fence(BTreeMap<AssemblyName, Epoch>);

impl Fence {
    /// Accepts a batch of `lease` unless an earlier batch of the lease has failed.
    pub(crate) fn pass(&self, lease: &Lease) -> Result<(), StoreError> {
        if self.0.get(&lease.scope) == Some(&lease.epoch) {
            return Err(StoreError::AfterFailure { scope: lease.scope.clone() });
        }
        Ok(())
    }

    /// Records that a batch of `lease` has failed. If the assembly has a newer lease by now, the failed batch
    /// does not affect the newer lease.
    pub(crate) fn close(&mut self, lease: &Lease) {
        let epoch = self.0.entry(lease.scope.clone()).or_insert(lease.epoch);
        *epoch = lease.epoch.max(*epoch);
    }
}
