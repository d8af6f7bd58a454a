//! A store in memory: no file, no thread, no time of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use tokio::sync::{Notify, watch};
use windlass_model::assembly::PackageDigest;
use windlass_model::id::{Entropy, StoreId};
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, Clock, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};

use super::records::Records;
use crate::batch::Batch;
use crate::error::StoreError;
use crate::fence::Fence;
use crate::holder::{Holder, Processes, SystemProcesses};
use crate::lease::{Hold, Lease, LeasePolicy, LeaseTerms, Standing};
use crate::snapshot::{History, Snapshot};
use crate::store::Store;
use crate::ticket::Ticket;
use crate::watch::Watch;

/// A store in memory. A clone is another handle on the same records, as a second process has on a file.
///
/// Nothing in it waits: every future is ready at once, so a simulation on tokio's paused clock runs as fast as it can.
/// It keeps its promises to the letter but for one: it ends with its last handle.
#[derive(Clone)]
pub struct MemoryStore {
    id: StoreId,
    terms: LeaseTerms,
    clock: Arc<dyn Clock>,
    processes: Arc<dyn Processes>,
    state: Arc<Mutex<State>>,
    last: watch::Sender<Seq>,
    cut: Option<Cut>,
}

/// The death of a process in the middle of a commit: see [`MemoryStore::cut`].
#[derive(Clone)]
pub struct Cut(Arc<CutState>);

struct CutState {
    /// How many batches are still to come, the last included.
    left: AtomicU64,
    keeps_last: bool,
    dead: Notify,
}

impl Cut {
    /// Resolves when the process is dead. What it still does then, nobody must see.
    pub async fn dead(&self) {
        while !self.is_dead() {
            let dead = self.0.dead.notified();
            if !self.is_dead() {
                dead.await;
            }
        }
    }

    /// Tells whether the process is dead.
    pub fn is_dead(&self) -> bool {
        self.0.left.load(Ordering::SeqCst) == 0
    }

    /// Counts a batch, and tells whether it is applied.
    fn applies(&self) -> bool {
        let left = self.0.left.load(Ordering::SeqCst);
        self.0.left.store(left.saturating_sub(1), Ordering::SeqCst);
        if left <= 1 {
            self.0.dead.notify_waiters();
        }
        left > 1 || left == 1 && self.0.keeps_last
    }
}

#[derive(Default)]
struct State {
    leases: BTreeMap<AssemblyName, Standing>,
    fence: Fence,
    reserved: u64,
    stops: BTreeSet<ProcessId>,
    records: Records,
    failure: Option<StoreError>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new(clock: Arc<dyn Clock>, entropy: &dyn Entropy) -> Self {
        Self {
            id: StoreId::random(entropy),
            terms: LeaseTerms::default(),
            clock,
            processes: Arc::new(SystemProcesses),
            state: Arc::default(),
            last: watch::Sender::new(Seq::START),
            cut: None,
        }
    }

    /// Sets the terms of leases.
    #[must_use]
    pub fn with_terms(mut self, terms: LeaseTerms) -> Self {
        self.terms = terms;
        self
    }

    /// Sets who knows which holders are dead.
    #[must_use]
    pub fn with_processes(mut self, processes: Arc<dyn Processes>) -> Self {
        self.processes = processes;
        self
    }

    /// Lets the next batch fail with `error`, as a full disk would.
    pub fn fail_next(&self, error: StoreError) {
        self.state().failure = Some(error);
    }

    /// Returns a handle for a process that dies at its batch with this number, from 1: just before that batch is written,
    /// or just after, when nobody has been told yet. Tickets of that batch and of later ones never resolve.
    #[must_use]
    pub fn cut(&self, batch: u64, keeps_last: bool) -> (Self, Cut) {
        let left = AtomicU64::new(batch.max(1));
        let cut = Cut(Arc::new(CutState { left, keeps_last, dead: Notify::new() }));
        (Self { cut: Some(cut.clone()), ..self.clone() }, cut)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no one panics while holding the state")
    }

    fn take_lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError> {
        let mut state = self.state();
        let policy = LeasePolicy { now: self.clock.now(), terms: self.terms, processes: &*self.processes };
        let lease = policy.grant(scope, state.leases.get(scope), holder)?;
        let hold = Hold { holder: lease.holder.clone(), since: lease.since, renewed: lease.since };
        state.leases.insert(scope.clone(), Standing { epoch: lease.epoch, hold: Some(hold) });
        Ok(lease)
    }
}

impl State {
    fn standing(&mut self, lease: &Lease) -> Result<&mut Standing, StoreError> {
        let standing = self.leases.get_mut(&lease.scope).filter(|standing| standing.is_held_by(lease));
        standing.ok_or_else(|| lease.lost())
    }

    fn commit(&mut self, lease: &Lease, batch: Batch) -> Result<Seq, StoreError> {
        let leases: Vec<Lease> = batch.leases(lease).cloned().collect();
        for lease in &leases {
            self.standing(lease)?;
            self.fence.pass(lease)?;
        }
        let outcome = self.apply(&lease.scope, batch);
        if outcome.is_err() {
            for lease in &leases {
                self.fence.close(lease);
            }
        }
        outcome
    }

    fn apply(&mut self, scope: &AssemblyName, batch: Batch) -> Result<Seq, StoreError> {
        let refused = |reason| StoreError::Refused { scope: scope.clone(), reason };
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        batch.foreign_to(scope).map_or(Ok(()), |reason| Err(refused(reason)))?;
        self.records.apply(scope, batch).map_err(refused)?;
        Ok(self.records.last())
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn id(&self) -> &StoreId {
        &self.id
    }

    fn lease_terms(&self) -> LeaseTerms {
        self.terms
    }

    async fn lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError> {
        self.take_lease(scope, holder)
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        let now = self.clock.now();
        if let Some(hold) = &mut self.state().standing(lease)?.hold {
            hold.renewed = now;
        }
        Ok(())
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.state().standing(&lease)?.hold = None;
        Ok(())
    }

    async fn holder(&self, scope: &AssemblyName) -> Result<Option<Holder>, StoreError> {
        let policy = LeasePolicy { now: self.clock.now(), terms: self.terms, processes: &*self.processes };
        Ok(policy.holder(self.state().leases.get(scope).cloned()))
    }

    async fn ask_to_stop(&self, scope: &AssemblyName, process: ProcessId) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.records.has_process(scope, process) {
            return Err(StoreError::NoProcess { scope: scope.clone(), process });
        }
        state.stops.insert(process);
        Ok(())
    }

    async fn is_asked_to_stop(&self, process: ProcessId) -> Result<bool, StoreError> {
        Ok(self.state().stops.contains(&process))
    }

    fn commit(&self, lease: &Lease, batch: Batch) -> Ticket {
        if self.cut.as_ref().is_some_and(|cut| !cut.applies()) {
            return Ticket::new(std::future::pending());
        }
        let mut state = self.state();
        let outcome = state.commit(lease, batch);
        // Told before the next batch is applied, so that the number never falls.
        self.last.send_replace(state.records.last());
        if self.cut.as_ref().is_some_and(Cut::is_dead) {
            return Ticket::new(std::future::pending());
        }
        Ticket::ready(outcome)
    }

    async fn submit(&self, request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> Result<(), StoreError> {
        let mut state = self.state();
        state.records.submit(request, asked);
        self.last.send_replace(state.records.last());
        Ok(())
    }

    async fn withdraw(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError> {
        let mut state = self.state();
        let withdrawn = state.records.withdraw(request, self.clock.now());
        self.last.send_replace(state.records.last());
        Ok(withdrawn)
    }

    async fn request(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError> {
        Ok(self.state().records.request(request))
    }

    async fn requests(&self) -> Result<Vec<RequestRecord>, StoreError> {
        Ok(self.state().records.requests())
    }

    async fn asked(&self, request: RequestId) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        Ok(self.state().records.asked(request))
    }

    async fn reserve_process(&self) -> Result<ProcessId, StoreError> {
        let mut state = self.state();
        state.reserved += 1;
        Ok(ProcessId(state.reserved))
    }

    async fn load(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.state().records.load(scope))
    }

    async fn assemblies(&self) -> Result<Vec<AssemblyRecord>, StoreError> {
        Ok(self.state().records.assemblies())
    }

    async fn referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let assemblies = self.state().records.assemblies();
        let theirs = assemblies.into_iter().filter(|assembly| assembly.references.contains(scope));
        Ok(theirs.map(|assembly| assembly.name).collect())
    }

    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        Ok(self.state().records.processes())
    }

    async fn open_processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        let mut processes = self.state().records.processes();
        processes.retain(|process| !process.status.is_final());
        Ok(processes)
    }

    async fn history(&self, scope: &AssemblyName) -> Result<History, StoreError> {
        Ok(self.state().records.history(scope))
    }

    async fn versions(&self, scope: &AssemblyName) -> Result<Vec<VersionRecord>, StoreError> {
        Ok(self.state().records.versions(scope))
    }

    async fn package(&self, digest: &PackageDigest) -> Result<Option<PackageRecord>, StoreError> {
        Ok(self.state().records.package(digest))
    }

    async fn secret(&self, secret: &SecretRef) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        Ok(self.state().records.secret(secret))
    }

    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        Ok(self.state().records.events(after, limit))
    }

    async fn events_of(
        &self,
        scope: &AssemblyName,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<EventRecord>, StoreError> {
        Ok(self.state().records.events_of(scope, after, limit))
    }

    async fn last_event(&self) -> Result<Seq, StoreError> {
        Ok(*self.last.borrow())
    }

    fn watch(&self, after: Seq) -> Watch {
        Watch::new(after, self.last.subscribe(), None)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("id", &self.id).finish_non_exhaustive()
    }
}
