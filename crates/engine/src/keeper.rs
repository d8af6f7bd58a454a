//! Tasks beside a process: renewing its leases, and reading stop requests.
//!
//! A store that fails once or answers late ends no process. Only a lost lease does, or one that was not renewed
//! for its whole term.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};
use windlass_model::ProcessId;
use windlass_store::{Lease, LeaseTerms, Store, StoreError};

use crate::stop::Stop;

/// Interval at which stop requests are read.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Renews leases until one is lost, or was not renewed for a whole term. Returns the error.
pub(crate) async fn keep(store: Arc<dyn Store>, leases: Vec<Lease>) -> StoreError {
    let LeaseTerms { renew_every, expire_after } = store.lease_terms();
    let mut renewed = Instant::now();
    let mut tick = interval_at(renewed + renew_every, renew_every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut trouble = None;
    loop {
        let over = renewed + expire_after;
        let began = match timeout_at(over, tick.tick()).await {
            Ok(_) => Instant::now(),
            Err(_) => return trouble.unwrap_or_else(|| lost(&leases)),
        };
        match timeout_at(over, renew(&*store, &leases)).await {
            Ok(Ok(())) => (renewed, trouble) = (began, None),
            Ok(Err(lost @ StoreError::LeaseLost { .. })) => return lost,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a lease could not be renewed; windlass tries again");
                trouble = Some(error);
            }
            Err(_) => return trouble.unwrap_or_else(|| lost(&leases)),
        }
    }
}

/// Renews all leases, even if one fails. A lost lease has precedence over other errors.
async fn renew(store: &dyn Store, leases: &[Lease]) -> Result<(), StoreError> {
    let renewed = futures::future::join_all(leases.iter().map(|lease| store.renew(lease))).await;
    let mut failed: Vec<StoreError> = renewed.into_iter().filter_map(Result::err).collect();
    let lost = failed.iter().position(|error| matches!(error, StoreError::LeaseLost { .. }));
    if failed.is_empty() { Ok(()) } else { Err(failed.swap_remove(lost.unwrap_or(0))) }
}

fn lost(leases: &[Lease]) -> StoreError {
    match leases.first() {
        Some(Lease { scope, epoch, .. }) => StoreError::LeaseLost { scope: scope.clone(), epoch: *epoch },
        None => StoreError::Closed,
    }
}

/// Awaits `work` while the lease is renewed.
pub(crate) async fn keeping<T, E: From<StoreError>>(
    store: Arc<dyn Store>,
    lease: &Lease,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    tokio::select! {
        biased;
        done = work => done,
        lost = keep(store, vec![lease.clone()]) => Err(lost.into()),
    }
}

/// Reads stop requests for a process. A request stops it like Ctrl-C, and running jobs have `patience` to end.
/// Never returns.
pub(crate) async fn listen(
    store: Arc<dyn Store>,
    process: Option<ProcessId>,
    stop: Stop,
    patience: Duration,
) {
    let Some(process) = process else { return std::future::pending().await };
    let mut tick = interval_at(Instant::now() + ASK_EVERY, ASK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !stop.soon.is_cancelled() {
        tick.tick().await;
        match store.is_asked_to_stop(process).await {
            Ok(true) if !stop.soon.is_cancelled() => {
                stop.soon.cancel();
                tokio::time::sleep(patience).await;
                stop.now.cancel();
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, %process, "can't check for a request to stop");
            }
        }
    }
    std::future::pending::<()>().await;
}
