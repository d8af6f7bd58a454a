//! A store that another crate implements, with public functions only.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_model::id::StoreId;
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::testing::conformance::Harness;
use windlass_store::testing::{CountingEntropy, Graveyard, ManualClock, MemoryStore, SkewedClock, samples};
use windlass_store::{
    Batch, Change, Claim, Claimant, History, Holder, Lease, LeaseTerms, Owned, ProcessHistory, Snapshot,
    Store, StoreError, Ticket, Watch,
};

/// A store that forwards most calls to another store. It checks each batch itself, and has its own watches.
struct Decorator {
    inner: MemoryStore,
    last: Arc<watch::Sender<Seq>>,
}

impl Decorator {
    /// Returns the reason why a store must refuse the batch, as far as the names in the changes show it.
    fn refusal(lease: &Lease, batch: &Batch) -> Option<StoreError> {
        let is_held = |scope: &AssemblyName| batch.leases(lease).any(|lease| lease.scope == *scope);
        let renames = batch.changes().iter().filter_map(|change| match change {
            Change::Rename(rename) => Some(rename),
            _ => None,
        });
        let reason = batch.foreign_to(&lease.scope);
        assert!(reason.is_some() || renames.into_iter().all(|rename| rename.scopes().all(is_held)));
        reason.map(|reason| StoreError::Refused { scope: lease.scope.clone(), reason })
    }
}

/// Implements [`Store`] for a type with the field `inner`. The functions of the second list forward to `inner`.
macro_rules! implement {
    ($self:ident: $store:ty { $($own:tt)* } forward { $($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)* }) => {
        #[async_trait]
        impl Store for $store {
            $($own)*
            $(async fn $name(&$self, $($arg: $ty),*) -> Result<$out, StoreError> {
                $self.inner.$name($($arg),*).await
            })*
        }
    };
}

implement! {
    self: Decorator {
        fn id(&self) -> &StoreId {
            self.inner.id()
        }

        fn lease_terms(&self) -> LeaseTerms {
            self.inner.lease_terms()
        }

        fn commit(&self, lease: &Lease, batch: Batch) -> Ticket {
            let refusal = Self::refusal(lease, &batch);
            let ticket = self.inner.commit(lease, batch);
            Ticket::new(async move {
                let outcome = ticket.await;
                assert!(refusal.is_none() || outcome.is_err());
                outcome
            })
        }

        fn watch(&self, after: Seq) -> Watch {
            let inner = self.inner.clone();
            Watch::new(after, self.last.subscribe()).polling(Duration::from_millis(1), move || {
                let inner = inner.clone();
                async move { inner.last_event().await }
            })
        }
    }
    forward {
        lease(scope: &AssemblyName, holder: &Holder) -> Lease;
        renew(lease: &Lease) -> ();
        release(lease: Lease) -> ();
        holder(scope: &AssemblyName) -> Option<Holder>;
        ask_to_stop(scope: &AssemblyName, process: ProcessId) -> ();
        is_asked_to_stop(process: ProcessId) -> bool;
        submit(request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> ();
        submit_new(request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> bool;
        withdraw(request: RequestId) -> Option<RequestRecord>;
        request(request: RequestId) -> Option<RequestRecord>;
        requests() -> Vec<RequestRecord>;
        asked(request: RequestId) -> Option<Sensitive<Vec<u8>>>;
        reserve_processes(count: u32) -> Vec<ProcessId>;
        load(scope: &AssemblyName) -> Option<Snapshot>;
        load_sealed(scope: &AssemblyName) -> Option<Snapshot>;
        assemblies(after: Option<&AssemblyName>, limit: usize) -> Vec<AssemblyRecord>;
        assembly_names() -> Vec<AssemblyName>;
        owned_names() -> Vec<AssemblyName>;
        assembly(scope: &AssemblyName) -> Option<AssemblyRecord>;
        changed(after: Seq) -> Vec<AssemblyName>;
        remembered() -> Vec<AssemblyName>;
        referrers(scope: &AssemblyName) -> Vec<AssemblyName>;
        former_referrers(scope: &AssemblyName) -> Vec<AssemblyName>;
        owned(owner: &AssemblyName, after: Option<&AssemblyName>, limit: usize) -> Vec<Owned>;
        claim(lease: &Lease, claim: &Claim) -> ();
        claimants(natural_id: &str) -> Vec<Claimant>;
        put_document(draft: DocumentDraft, packages: Vec<PackageRecord>) -> Revision;
        drop_document(key: &DocumentKey, expected: Expected) -> ();
        document(key: &DocumentKey) -> Option<DocumentRecord>;
        document_secrets(key: &DocumentKey) -> Option<Sensitive<Vec<u8>>>;
        documents(scope: &DocumentScope, kind: &DocumentKind, after: Option<&DocumentName>, limit: usize) -> Vec<DocumentRecord>;
        processes() -> Vec<ProcessRecord>;
        open_processes() -> Vec<ProcessRecord>;
        process(process: ProcessId) -> Option<ProcessRecord>;
        processes_of(scope: &AssemblyName, before: Option<ProcessId>, limit: usize) -> Vec<ProcessRecord>;
        process_history(process: ProcessId) -> Option<ProcessHistory>;
        history(scope: &AssemblyName) -> History;
        versions(scope: &AssemblyName) -> Vec<VersionRecord>;
        versions_since(scope: &AssemblyName, process: ProcessId) -> Vec<VersionRecord>;
        package(digest: &PackageDigest) -> Option<PackageRecord>;
        secret(secret: &SecretRef) -> Option<Sensitive<Vec<u8>>>;
        events(after: Seq, limit: usize) -> Vec<EventRecord>;
        events_of(scope: &AssemblyName, after: Seq, limit: usize) -> Vec<EventRecord>;
        last_event() -> Seq;
    }
}

struct InMemory {
    clock: Arc<ManualClock>,
    time: Arc<ManualClock>,
    graveyard: Arc<Graveyard>,
    store: MemoryStore,
    last: Arc<watch::Sender<Seq>>,
}

impl InMemory {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(samples::TIME));
        let graveyard = Arc::new(Graveyard::default());
        let time = Arc::new(ManualClock::at(samples::TIME));
        let store = MemoryStore::new(time.clone(), &CountingEntropy::default())
            .with_clock(clock.clone())
            .with_processes(graveyard.clone());
        Self { clock, time, graveyard, store, last: Arc::new(watch::Sender::new(Seq::START)) }
    }

    fn decorator(&self, inner: MemoryStore) -> Box<dyn Store> {
        Box::new(Decorator { inner, last: self.last.clone() })
    }
}

#[async_trait]
impl Harness for InMemory {
    async fn open(&self) -> Box<dyn Store> {
        self.decorator(self.store.clone())
    }

    async fn open_askew(&self, millis: i64) -> Box<dyn Store> {
        let clock = Arc::new(SkewedClock::new(self.clock.clone(), millis));
        self.decorator(self.store.clone().with_clock(clock))
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.time.advance(by);
    }

    async fn sabotage(&self, scope: &AssemblyName) {
        self.store.sabotage(scope.clone());
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn graveyard(&self) -> &Graveyard {
        &self.graveyard
    }
}

windlass_store::conformance_tests!(InMemory::new());
