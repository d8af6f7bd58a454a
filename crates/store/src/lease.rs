//! The right to write to one assembly. One program at a time holds this right.
//!
//! A holder renews its lease every [`LeaseTerms::renew_every`]. Another program that requests the lease in
//! the meantime gets an error that names the holder. Another program can take the lease after
//! [`LeaseTerms::expire_after`] without renewal, or as soon as the holder is provably dead. The new lease has
//! a higher [`Epoch`]. Each batch names the epoch of its lease. So if a suspended holder resumes after it
//! lost the lease, its batches are refused.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_model::{AssemblyName, Epoch, Timestamp};

use crate::error::StoreError;
use crate::holder::{Holder, Processes};
use crate::uptime::Moment;

/// Default interval between renewals.
pub const RENEW_EVERY: Duration = Duration::from_secs(5);

/// Default time without renewal after which a lease expires. The time is six times [`RENEW_EVERY`].
pub const EXPIRE_AFTER: Duration = Duration::from_secs(30);

/// The renewal interval and the expiry of leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerms {
    /// Interval at which the holder renews the lease.
    pub renew_every: Duration,
    /// Time without renewal after which another program may take the lease.
    pub expire_after: Duration,
}

impl Default for LeaseTerms {
    fn default() -> Self {
        Self { renew_every: RENEW_EVERY, expire_after: EXPIRE_AFTER }
    }
}

/// The right to write to one assembly.
///
/// If the value is dropped in Rust, the lease does not end. It ends by [`release`](crate::Store::release), by
/// expiry, or with its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the assembly stays locked until the lease is released or expires"]
pub struct Lease {
    /// The assembly that the lease is for.
    pub scope: AssemblyName,
    /// The epoch, which is higher than the epochs of all earlier leases on the assembly.
    pub epoch: Epoch,
    /// The program that holds the lease.
    pub holder: Holder,
    /// The time at which the lease was taken.
    pub since: Timestamp,
}

impl Lease {
    /// Returns the error for a lease that is no longer the current lease.
    pub(crate) fn lost(&self) -> StoreError {
        StoreError::LeaseLost { scope: self.scope.clone(), epoch: self.epoch }
    }
}

/// The stored state of an assembly's lease: the last epoch, and the holder of a lease that was not released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) epoch: Epoch,
    pub(crate) hold: Option<Hold>,
}

/// A lease whose holder has not released it. The lease may have expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) holder: Holder,
    pub(crate) since: Timestamp,
    pub(crate) renewed: Moment,
}

/// The data from which the store decides about a lease. The decision also depends on the stored state of the
/// lease, the [`Standing`].
pub(crate) struct LeasePolicy<'a> {
    /// The time on the store's own clock. If several machines share the store, this is the clock of the
    /// database server.
    pub(crate) now: Moment,
    pub(crate) rules: &'a LeaseRules,
}

/// The settings by which an open store decides about leases, and the leases that it could not release.
#[derive(Clone)]
pub(crate) struct LeaseRules {
    pub(crate) terms: LeaseTerms,
    pub(crate) processes: Arc<dyn Processes>,
    pub(crate) unreleased: UnreleasedLeases,
}

impl LeaseRules {
    pub(crate) fn new(terms: LeaseTerms, processes: Arc<dyn Processes>) -> Self {
        Self { terms, processes, unreleased: UnreleasedLeases::default() }
    }

    /// Returns the data by which the store decides about leases at the time `now`.
    pub(crate) fn policy(&self, now: Moment) -> LeasePolicy<'_> {
        LeasePolicy { now, rules: self }
    }
}

/// The leases that this program no longer needs, but could not release, because the store has failed.
///
/// The holder of such a lease can take the lease again at once. So a program is not refused because of its own lease.
/// Another program gets the lease when it is released or has expired.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnreleasedLeases(Arc<Mutex<BTreeMap<AssemblyName, Epoch>>>);

impl UnreleasedLeases {
    /// Records whether a release of `lease` has failed. `released` is the result of the release.
    pub(crate) fn note<T>(&self, lease: &Lease, released: &Result<T, StoreError>) {
        let mut leases = self.lock();
        let last = leases.get(&lease.scope).copied();
        match released {
            Ok(_) | Err(StoreError::LeaseLost { .. }) => {
                if last.is_some_and(|last| last <= lease.epoch) {
                    leases.remove(&lease.scope);
                }
            }
            Err(_) => drop(leases.insert(lease.scope.clone(), last.unwrap_or(lease.epoch).max(lease.epoch))),
        }
    }

    fn has(&self, scope: &AssemblyName, epoch: Epoch) -> bool {
        self.lock().get(scope) == Some(&epoch)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AssemblyName, Epoch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeasePolicy<'_> {
    /// Grants the lease on `scope` to `holder`, or returns an error that names the current holder.
    pub(crate) fn grant(
        &self,
        scope: &AssemblyName,
        standing: Option<&Standing>,
        holder: &Holder,
    ) -> Result<Lease, StoreError> {
        let is_own = |standing: &Standing, hold: &Hold| {
            hold.holder == *holder && self.rules.unreleased.has(scope, standing.epoch)
        };
        match standing.and_then(|standing| Some((standing, standing.hold.as_ref()?))) {
            Some((standing, hold)) if !self.is_over(hold) && !is_own(standing, hold) => {
                Err(StoreError::Held {
                    scope: scope.clone(),
                    by: Box::new(hold.holder.clone()),
                    since: hold.since,
                })
            }
            _ => Ok(Lease {
                scope: scope.clone(),
                epoch: next(standing.map(|standing| standing.epoch)),
                holder: holder.clone(),
                since: self.now.at,
            }),
        }
    }

    /// Returns the holder of the lease; none if the lease is free or could be taken over.
    pub(crate) fn holder(&self, standing: Option<Standing>) -> Option<Holder> {
        standing?.hold.filter(|hold| !self.is_over(hold)).map(|hold| hold.holder)
    }

    fn is_over(&self, hold: &Hold) -> bool {
        let idle = u128::from(self.now.millis_since(&hold.renewed));
        idle > self.rules.terms.expire_after.as_millis() || self.rules.processes.is_dead(&hold.holder)
    }
}

fn next(epoch: Option<Epoch>) -> Epoch {
    Epoch(epoch.map_or(NonZeroU64::MIN, |Epoch(last)| last.saturating_add(1)))
}

impl Standing {
    /// Returns `true` if `lease` is the stored lease, and if this lease was not released.
    pub(crate) fn is_held_by(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.hold.is_some()
    }
}
