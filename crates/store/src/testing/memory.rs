//! An in-memory store, without files and threads. It reads the time only from clocks that the caller passes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, watch};
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_model::id::{Entropy, StoreId};
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, Clock, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};

use super::records::Records;
use crate::batch::{Batch, Change};
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::holder::{Holder, Processes, SystemProcesses};
use crate::lease::{Hold, Lease, LeasePolicy, LeaseRules, LeaseTerms, Standing};
use crate::snapshot::{History, Owned, ProcessHistory, Snapshot};
use crate::store::{Store, reserved};
use crate::ticket::Ticket;
use crate::uptime::Moment;
use crate::watch::Watch;

/// A store that keeps its records in memory. A clone is another handle on the same records, like a second program
/// that opens the same file.
///
/// All methods complete without waiting. The [`Ticket`]s of commits also resolve without waiting, unless the test
/// sets a latency. So a simulation on tokio's paused clock runs without real waiting. The store gives all
/// guarantees of [`Store`] except durability: the records are lost when the last handle is dropped.
#[derive(Clone)]
pub struct MemoryStore {
    id: StoreId,
    rules: LeaseRules,
    /// The wall clock that this handle reads.
    clock: Arc<dyn Clock>,
    /// The store's own clock. By this clock, the store decides whether a lease has expired.
    time: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    last: watch::Sender<Seq>,
    cut: Option<Cut>,
}

/// A simulated death of a program in the middle of a commit: see [`MemoryStore::cut`].
#[derive(Clone)]
pub struct Cut(Arc<CutState>);

struct CutState {
    /// Number of commits that remain until the simulated death of the program. The program dies at the last of these
    /// commits. `keeps_last` tells whether the store applies the batch of this last commit.
    left: AtomicU64,
    keeps_last: bool,
    dead: Notify,
}

impl Cut {
    /// Waits until the simulated program is dead. The code of the simulated program may keep running after this death.
    /// So a test must stop this code, or ignore its results.
    pub async fn dead(&self) {
        while !self.is_dead() {
            let dead = self.0.dead.notified();
            if !self.is_dead() {
                dead.await;
            }
        }
    }

    /// Makes the simulated program die now. From now on, the store ignores the batches that the simulated program
    /// commits.
    pub fn kill(&self) {
        self.0.left.store(0, Ordering::SeqCst);
        self.0.dead.notify_waiters();
    }

    /// Tells whether the simulated program is dead.
    pub fn is_dead(&self) -> bool {
        self.0.left.load(Ordering::SeqCst) == 0
    }

    /// Counts one more commit of the simulated program. Returns true if the store must apply the batch of this commit.
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
    /// Delay between applying a batch and reporting it as durable.
    latency: Duration,
    /// The error of an outage; none if there is no outage. During an outage, renewals of leases, releases of leases and
    /// queries of stop requests fail.
    outage: Option<StoreError>,
    /// The assemblies whose events can't be written any more.
    sabotaged: BTreeSet<AssemblyName>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new(clock: Arc<dyn Clock>, entropy: &dyn Entropy) -> Self {
        Self {
            id: StoreId::random(entropy),
            rules: LeaseRules::new(LeaseTerms::default(), Arc::new(SystemProcesses)),
            time: clock.clone(),
            clock,
            state: Arc::default(),
            last: watch::Sender::new(Seq::START),
            cut: None,
        }
    }

    /// Sets the lease terms.
    #[must_use]
    pub fn with_terms(mut self, terms: LeaseTerms) -> Self {
        self.rules.terms = terms;
        self
    }

    /// Sets the source that knows which holders are dead.
    #[must_use]
    pub fn with_processes(mut self, processes: Arc<dyn Processes>) -> Self {
        self.rules.processes = processes;
        self
    }

    /// Sets the wall clock that this handle reads. Handles simulate programs on different machines, so the clock of
    /// this handle may differ from the store's own clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the next batch fail with `error`, as a full disk would.
    pub fn fail_next(&self, error: StoreError) {
        self.state().failure = Some(error);
    }

    /// Delays the durability of every batch by `latency`, as on a slow disk.
    pub fn set_latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Begins an outage: each renewal of a lease, each release of a lease and each query of stop requests fails with
    /// `error`. `None` ends the outage.
    pub fn set_outage(&self, error: Option<StoreError>) {
        self.state().outage = error;
    }

    /// Makes the commit of each later batch fail if the batch adds an event of the assembly `scope`.
    pub fn sabotage(&self, scope: AssemblyName) {
        self.state().sabotaged.insert(scope);
    }

    /// Ends all simulated failures and delays.
    pub fn recover(&self) {
        let mut state = self.state();
        (state.failure, state.outage, state.latency) = (None, None, Duration::ZERO);
        state.sabotaged.clear();
    }

    /// Returns a handle for a simulated program that dies when it writes a certain batch. `batch` is the number of this
    /// batch, counted from 1. If `keeps_last` is true, the program dies just after the write; otherwise, just before.
    ///
    /// The tickets of this batch and of later batches never resolve. The dead program neither renews nor releases
    /// leases.
    #[must_use]
    pub fn cut(&self, batch: u64, keeps_last: bool) -> (Self, Cut) {
        let left = AtomicU64::new(batch.max(1));
        let cut = Cut(Arc::new(CutState { left, keeps_last, dead: Notify::new() }));
        (Self { cut: Some(cut.clone()), ..self.clone() }, cut)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no one panics while holding the state")
    }

    /// Waits forever if the program of this handle is dead.
    async fn alive(&self) {
        if self.cut.as_ref().is_some_and(Cut::is_dead) {
            std::future::pending::<()>().await;
        }
    }

    fn policy(&self) -> LeasePolicy<'_> {
        self.rules.policy(Moment::by_clock(self.time.now()))
    }

    fn take_lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError> {
        let mut state = self.state();
        let policy = self.policy();
        let lease = policy.grant(scope, state.leases.get(scope), holder)?;
        let hold = Hold { holder: lease.holder.clone(), since: lease.since, renewed: policy.now.clone() };
        state.leases.insert(scope.clone(), Standing { epoch: lease.epoch, hold: Some(hold) });
        Ok(lease)
    }
}

impl State {
    fn outage(&self) -> Result<(), StoreError> {
        self.outage.clone().map_or(Ok(()), Err)
    }

    fn release(&mut self, lease: &Lease) -> Result<(), StoreError> {
        self.outage()?;
        self.standing(lease)?.hold = None;
        Ok(())
    }

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
        let has_events = batch.changes().iter().any(|change| matches!(change, Change::Event(_)));
        if has_events && self.sabotaged.contains(scope) {
            return Err(StoreError::Database { path: "memory".into(), detail: "sabotage".to_owned() });
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
        self.rules.terms
    }

    async fn lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError> {
        self.take_lease(scope, holder)
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        self.alive().await;
        let now = Moment::by_clock(self.time.now());
        let mut state = self.state();
        state.outage()?;
        if let Some(hold) = &mut state.standing(lease)?.hold {
            hold.renewed = now;
        }
        Ok(())
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.alive().await;
        let released = self.state().release(&lease);
        self.rules.unreleased.note(&lease, &released);
        released
    }

    async fn holder(&self, scope: &AssemblyName) -> Result<Option<Holder>, StoreError> {
        let policy = self.policy();
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
        let state = self.state();
        state.outage()?;
        Ok(state.stops.contains(&process))
    }

    fn commit(&self, lease: &Lease, batch: Batch) -> Ticket {
        if self.cut.as_ref().is_some_and(|cut| !cut.applies()) {
            return Ticket::new(std::future::pending());
        }
        let mut state = self.state();
        let outcome = state.commit(lease, batch);
        // Publishes the number of the last event while `state` is locked. No other batch can be applied in
        // between, so the published numbers never decrease.
        self.last.send_replace(state.records.last());
        if self.cut.as_ref().is_some_and(Cut::is_dead) {
            return Ticket::new(std::future::pending());
        }
        if state.latency.is_zero() {
            return Ticket::ready(outcome);
        }
        let latency = tokio::time::sleep(state.latency);
        Ticket::new(async move {
            latency.await;
            outcome
        })
    }

    async fn submit(&self, request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> Result<(), StoreError> {
        let mut state = self.state();
        state.records.submit(request, asked);
        self.last.send_replace(state.records.last());
        Ok(())
    }

    async fn submit_new(
        &self,
        request: &RequestRecord,
        asked: Sensitive<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let policy = self.policy();
        let mut state = self.state();
        let name = &request.assembly;
        let is_asked = state.records.requests().iter().any(|open| open.assembly == *name);
        let is_held = policy.holder(state.leases.get(name).cloned()).is_some();
        if is_asked || is_held || state.records.assemblies().iter().any(|assembly| assembly.name == *name) {
            return Ok(false);
        }
        state.records.submit(request, asked);
        self.last.send_replace(state.records.last());
        Ok(true)
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

    async fn owned(
        &self,
        owner: &AssemblyName,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<Owned>, StoreError> {
        let all = self.state().records.owned(owner).into_iter();
        Ok(all.filter(|of| after.is_none_or(|after| of.assembly > *after)).take(limit).collect())
    }

    async fn claim(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        self.alive().await;
        let mut state = self.state();
        state.standing(lease)?;
        state.records.claim(&lease.scope, claim)
    }

    async fn claimants(&self, natural_id: &str) -> Result<Vec<Claimant>, StoreError> {
        Ok(self.state().records.claimants(natural_id))
    }

    async fn put_document(
        &self,
        draft: DocumentDraft,
        packages: Vec<PackageRecord>,
    ) -> Result<Revision, StoreError> {
        self.state().records.put_document(draft, packages)
    }

    async fn drop_document(&self, key: &DocumentKey, expected: Expected) -> Result<(), StoreError> {
        self.state().records.drop_document(key, expected)
    }

    async fn document(&self, key: &DocumentKey) -> Result<Option<DocumentRecord>, StoreError> {
        Ok(self.state().records.document(key))
    }

    async fn document_secrets(&self, key: &DocumentKey) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        Ok(self.state().records.document_secrets(key))
    }

    async fn documents(
        &self,
        scope: &DocumentScope,
        kind: &DocumentKind,
        after: Option<&DocumentName>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, StoreError> {
        Ok(self.state().records.documents(scope, kind, after, limit))
    }

    async fn reserve_processes(&self, count: u32) -> Result<Vec<ProcessId>, StoreError> {
        let mut state = self.state();
        state.reserved += u64::from(count);
        Ok(reserved(state.reserved, count))
    }

    async fn load(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.state().records.load(scope))
    }

    async fn load_sealed(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        let found = self.state().records.load(scope);
        Ok(found.map(|snapshot| Snapshot { secrets: BTreeMap::new(), ..snapshot }))
    }

    async fn assemblies(
        &self,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<AssemblyRecord>, StoreError> {
        let assemblies = self.state().records.assemblies().into_iter();
        Ok(assemblies.filter(|one| after.is_none_or(|after| one.name > *after)).take(limit).collect())
    }

    async fn assembly_names(&self) -> Result<Vec<AssemblyName>, StoreError> {
        Ok(self.state().records.assemblies().into_iter().map(|assembly| assembly.name).collect())
    }

    async fn owned_names(&self) -> Result<Vec<AssemblyName>, StoreError> {
        let assemblies = self.state().records.assemblies().into_iter();
        Ok(assemblies.filter(|assembly| assembly.owner.is_some()).map(|assembly| assembly.name).collect())
    }

    async fn assembly(&self, scope: &AssemblyName) -> Result<Option<AssemblyRecord>, StoreError> {
        Ok(self.state().records.assemblies().into_iter().find(|assembly| assembly.name == *scope))
    }

    async fn changed(&self, after: Seq) -> Result<Vec<AssemblyName>, StoreError> {
        let events = self.state().records.events(after, usize::MAX);
        let names: BTreeSet<_> = events.into_iter().map(|event| event.draft.assembly).collect();
        Ok(names.into_iter().collect())
    }

    async fn remembered(&self) -> Result<Vec<AssemblyName>, StoreError> {
        let processes = self.state().records.processes();
        let names: BTreeSet<_> = processes.into_iter().map(|process| process.assembly).collect();
        Ok(names.into_iter().collect())
    }

    async fn referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let assemblies = self.state().records.assemblies();
        let theirs = assemblies
            .into_iter()
            .filter(|assembly| assembly.name != *scope && assembly.references.contains(scope));
        Ok(theirs.map(|assembly| assembly.name).collect())
    }

    async fn former_referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let state = self.state();
        let assemblies = state.records.assemblies().into_iter();
        let others = assemblies
            .filter(|assembly| assembly.name != *scope && !assembly.references.contains(scope))
            .map(|assembly| assembly.name);
        let has_referred = |name: &AssemblyName| {
            let versions = state.records.versions(name);
            versions.iter().any(|version| version.assembly.references.contains(scope))
        };
        Ok(others.filter(has_referred).collect())
    }

    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        Ok(self.state().records.processes())
    }

    async fn open_processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        let mut processes = self.state().records.processes();
        processes.retain(|process| !process.status.is_final());
        Ok(processes)
    }

    async fn process(&self, process: ProcessId) -> Result<Option<ProcessRecord>, StoreError> {
        Ok(self.state().records.process(process))
    }

    async fn processes_of(
        &self,
        scope: &AssemblyName,
        before: Option<ProcessId>,
        limit: usize,
    ) -> Result<Vec<ProcessRecord>, StoreError> {
        let mut processes = self.state().records.processes();
        processes.retain(|of| of.assembly == *scope && before.is_none_or(|before| of.id < before));
        Ok(processes.into_iter().rev().take(limit).collect())
    }

    async fn process_history(&self, process: ProcessId) -> Result<Option<ProcessHistory>, StoreError> {
        Ok(self.state().records.history_of(process))
    }

    async fn history(&self, scope: &AssemblyName) -> Result<History, StoreError> {
        Ok(self.state().records.history(scope))
    }

    async fn versions(&self, scope: &AssemblyName) -> Result<Vec<VersionRecord>, StoreError> {
        Ok(self.state().records.versions(scope))
    }

    async fn versions_since(
        &self,
        scope: &AssemblyName,
        process: ProcessId,
    ) -> Result<Vec<VersionRecord>, StoreError> {
        let mut versions = self.state().records.versions(scope);
        let first = versions.iter().rposition(|version| version.process <= process).unwrap_or(0);
        Ok(versions.split_off(first))
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
        Watch::new(after, self.last.subscribe())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("id", &self.id).finish_non_exhaustive()
    }
}
