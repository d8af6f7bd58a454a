//! The tasks that run during a process: one task renews the leases of the process, and another task reads stop
//! requests.
//!
//! If the store fails or answers late, the process continues, and each task tries again. The process ends if a
//! lease is lost, or if a lease expires because no renewal has succeeded in time.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use windlass_driver::Stop;
use windlass_model::ProcessId;
use windlass_store::{Lease, LeaseTerms, Store, StoreError};

/// The interval at which stop requests are read.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Renews leases until a lease is lost, or expires because no renewal has succeeded in time. Returns an error that
/// states the cause.
pub(crate) async fn keep(store: Arc<dyn Store>, leases: Leases) -> StoreError {
    let LeaseTerms { renew_every, expire_after } = store.lease_terms();
    let mut renewed = Instant::now();
    let mut tick = interval_at(renewed + renew_every, renew_every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut trouble = None;
    loop {
        let over = renewed + expire_after;
        let began = match timeout_at(over, tick.tick()).await {
            Ok(_) => Instant::now(),
            Err(_) => return trouble.unwrap_or_else(|| lost(&leases.all())),
        };
        match timeout_at(over, renew(&*store, &leases.all())).await {
            Ok(Ok(())) => (renewed, trouble) = (began, None),
            Ok(Err(lost @ StoreError::LeaseLost { .. })) => return lost,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a lease could not be renewed; windlass tries again");
                trouble = Some(error);
            }
            Err(_) => return trouble.unwrap_or_else(|| lost(&leases.all())),
        }
    }
}

/// Renews all leases, even if the renewal of one lease fails. Among several errors, the error about a lost
/// lease is returned.
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

/// The leases of a process.
#[derive(Clone, Default)]
pub(crate) struct Leases(Arc<Mutex<Vec<Lease>>>);

impl Leases {
    pub(crate) fn new(leases: Vec<Lease>) -> Self {
        Self(Arc::new(Mutex::new(leases)))
    }

    /// Adds a lease, which is renewed from now on.
    pub(crate) fn add(&self, lease: Lease) {
        self.lock().push(lease);
    }

    /// Removes all leases, and returns them.
    pub(crate) fn take(&self) -> Vec<Lease> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<Lease> {
        self.lock().clone()
    }
}

/// Awaits `work`, and renews `leases` meanwhile. `work` may add further leases. The function never releases a lease.
///
/// If a lease is lost before `work` ends, the function drops `work`, and returns the error of [`keep`].
pub(crate) async fn renewing<T, E: From<StoreError>>(
    store: Arc<dyn Store>,
    leases: &Leases,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    tokio::select! {
        biased;
        done = work => done,
        lost = keep(store, leases.clone()) => Err(lost.into()),
    }
}

/// The leases of a process, and the task that renews them until the process ends.
///
/// If a `Renewal` is dropped, the task releases all these leases. So another program can take them at once, and need
/// not wait until they expire.
pub(crate) struct Renewal {
    store: Arc<dyn Store>,
    lease: Lease,
    /// All leases of the process: the lease of the assembly, and the leases of other assemblies that the process
    /// changes.
    leases: Leases,
    task: JoinHandle<()>,
    lost: watch::Receiver<Option<StoreError>>,
    dropped: DropGuard,
}

impl Renewal {
    /// Starts the task that renews `lease`. The task renews the lease until the `Renewal` is released or dropped, or
    /// until the lease is lost.
    pub(crate) fn start(store: Arc<dyn Store>, lease: Lease) -> Self {
        let leases = Leases::new(vec![lease.clone()]);
        let dropped = CancellationToken::new();
        let (sender, lost) = watch::channel(None);
        let task = tokio::spawn({
            let (store, leases, dropped) = (store.clone(), leases.clone(), dropped.clone());
            async move {
                tokio::select! {
                    lost = keep(store.clone(), leases.clone()) => {
                        sender.send_replace(Some(lost));
                        dropped.cancelled().await;
                    }
                    () = dropped.cancelled() => {}
                }
                release(&*store, leases.all()).await;
            }
        });
        Self { store, lease, leases, task, lost, dropped: dropped.drop_guard() }
    }

    /// Returns the lease of the assembly.
    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Adds leases of other assemblies. From now on, the task also renews these leases.
    pub(crate) fn add(&self, leases: impl IntoIterator<Item = Lease>) {
        self.leases.lock().extend(leases);
    }

    /// Returns an error if a lease of the process was lost, or has expired because no renewal succeeded in time.
    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.lost.borrow().clone()
    }

    /// Waits until [`failure`](Self::failure) returns an error. Returns the error.
    pub(crate) async fn lost(&mut self) -> StoreError {
        loop {
            if let Some(lost) = self.failure() {
                return lost;
            }
            if self.lost.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Awaits `work`, and returns its result. If [`lost`](Self::lost) returns an error first, the function drops
    /// `work`, and returns this error.
    pub(crate) async fn keeping<T, E: From<StoreError>>(
        &mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        tokio::select! {
            biased;
            done = work => done,
            lost = self.lost() => Err(lost.into()),
        }
    }

    /// Ends the renewal, and releases all leases. If the store fails, the task tries again in the background, until the
    /// leases have expired.
    pub(crate) async fn release(self) {
        if !are_released(&*self.store, &self.leases.all()).await {
            // The drop of `self` tells the task to release the leases.
            return;
        }
        self.dropped.disarm();
        self.task.abort();
        // The caller may close the store next. The task uses the store until the task has ended.
        let _ = self.task.await;
    }
}

/// Releases a lease of work whose changes are stored, or that needs none. If the store fails, windlass tries again in
/// the background, until the lease has expired. So a failed release hides no result of the work.
pub(crate) async fn give_up(store: &Arc<dyn Store>, lease: Lease) {
    let leases = vec![lease];
    if !are_released(&**store, &leases).await {
        let store = store.clone();
        tokio::spawn(async move { release(&*store, leases).await });
    }
}

/// Releases leases. While the store fails, the function tries again, until the leases have expired.
async fn release(store: &dyn Store, leases: Vec<Lease>) {
    const PAUSE: Duration = Duration::from_secs(1);
    let over = Instant::now() + store.lease_terms().expire_after;
    while !are_released(store, &leases).await && Instant::now() < over {
        tokio::time::sleep(PAUSE).await;
    }
}

/// Releases leases. Returns `false` if the store has failed, so that a lease may still be held.
async fn are_released(store: &dyn Store, leases: &[Lease]) -> bool {
    let mut are_released = true;
    for lease in leases {
        match store.release(lease.clone()).await {
            // A lost lease needs no release. A closed store can't release it.
            Ok(()) | Err(StoreError::LeaseLost { .. } | StoreError::Closed) => {}
            Err(error) => {
                tracing::warn!(%error, assembly = %lease.scope, "a lease could not be released; windlass tries again");
                are_released = false;
            }
        }
    }
    are_released
}

/// Reads stop requests for a process. A request stops the process like Ctrl-C, and gives running jobs the
/// time `patience` to end. Never returns.
pub(crate) async fn listen(
    store: Arc<dyn Store>,
    process: Option<ProcessId>,
    stop: Stop,
    patience: Duration,
) {
    let Some(process) = process else { return std::future::pending().await };
    let mut tick = interval_at(Instant::now() + ASK_EVERY, ASK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !stop.is_requested() {
        tick.tick().await;
        match store.is_asked_to_stop(process).await {
            Ok(true) if !stop.is_requested() => {
                stop.request();
                tokio::time::sleep(patience).await;
                stop.request_now();
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, %process, "can't check for a request to stop");
            }
        }
    }
    std::future::pending::<()>().await;
}
