//! The store that several machines share: a schema of a PostgreSQL database.
//!
//! The store gives the same guarantees as the store in one file, by other means. One connection applies batches
//! (`writer`). A few connections make changes outside of batches, such as the renewal of a lease, and a few
//! connections read (`pool`). The server's clock decides whether a lease has expired.
//!
//! A batch locks the row of its lease, so that no other holder can take the lease while the batch is written. The
//! batch also locks the single row of the table `feed`, which contains the number of the last event. So the
//! events of all writers are numbered in commit order. The store does not change the server's setting
//! `synchronous_commit`. With `on`, the default, the store reports a batch as committed only when the batch is on
//! a disk. The store reports this by the [`Ticket`] of the batch.
//!
//! No PostgreSQL type is visible outside this module.

mod apply;
mod connect;
mod documents;
mod fault;
mod feed;
mod leases;
mod limits;
mod options;
mod owners;
mod packages;
mod pool;
mod prune;
mod read;
mod rename;
mod requests;
mod row;
mod statements;
mod tls;
mod versions;
mod writer;
mod xact;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_model::id::StoreId;
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, Clock, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};

pub use self::connect::{FORM, is_address};
pub use self::options::{CONNECT_TIMEOUT, OnServer, Options, SCHEMA};

use self::connect::Address;
use self::pool::Connections;
use self::statements::Statements;
use self::writer::{QueuedWrite, Work, WriterTask, announce};
use crate::batch::Batch;
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::holder::Holder;
use crate::lease::{Lease, LeaseRules, LeaseTerms};
use crate::queue::{QUEUE, Waiting};
use crate::seal::Seal;
use crate::snapshot::{History, Owned, ProcessHistory, Snapshot};
use crate::store::Store;
use crate::ticket::Ticket;
use crate::watch::Watch;

/// The store in a schema of a PostgreSQL database.
///
/// The futures of the store need a tokio runtime with a timer and with I/O. Committed batches are written
/// even after the store is dropped, as long as the runtime lives.
pub struct PostgresStore {
    id: StoreId,
    name: String,
    seal: Arc<Seal>,
    clock: Arc<dyn Clock>,
    rules: LeaseRules,
    poll_every: Duration,
    readers: Connections,
    changers: Connections,
    last: Arc<watch::Sender<Seq>>,
    writes: mpsc::Sender<QueuedWrite>,
    waiting: Arc<Waiting>,
}

impl PostgresStore {
    /// Opens the store at an address such as `postgres://windlass@db.example.org/windlass`.
    ///
    /// # Errors
    /// `StoreError::Address` if the address is invalid, [`StoreError::Io`] if the server can't be reached.
    /// [`StoreError::Missing`] if there is no store and the options forbid creating one.
    /// [`StoreError::Newer`] if a newer windlass has changed the store. [`StoreError::Key`] if the key can't
    /// be obtained or belongs to another store. Every error of the server is returned, too.
    pub async fn open(url: &str, options: Options) -> Result<Self, StoreError> {
        let address = Address::parse(url, &options)?;
        let opened = connect::open(&address, &options).await?;
        let patience = options.terms.expire_after;
        let readers = Connections::new(&address, options.own.readers, patience)?;
        let changers = Connections::new(&address, CHANGERS, patience)?;
        let last = readers.read(|db| Box::pin(read::last_event(db))).await?;
        let last = Arc::new(watch::Sender::new(last));
        let (writes, queue) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Waiting::default());
        let seal = Arc::new(opened.seal);
        let task = WriterTask {
            address: address.clone(),
            client: Some(opened.client),
            statements: Statements::default(),
            seal: seal.clone(),
            patience,
            last: last.clone(),
            fence: Fence::default(),
            unanswered: None,
            waiting: waiting.clone(),
        };
        tokio::spawn(task.serve(queue));
        Ok(Self {
            id: opened.id,
            name: address.name,
            seal,
            clock: options.clock,
            rules: LeaseRules::new(options.terms, options.processes),
            poll_every: options.poll_every,
            readers,
            changers,
            last,
            writes,
            waiting,
        })
    }

    /// Returns the address, without the password. The type is [`Path`], because errors such as [`StoreError::Locked`]
    /// name a store by a path.
    pub fn address(&self) -> &Path {
        Path::new(&self.name)
    }

    /// Announces a durable event to all watches.
    fn announce(&self, seq: Seq) {
        announce(&self.last, seq);
    }

    /// Queues a write. The future resolves once the write is durable. The writer task executes the write even if the
    /// future is not polled.
    fn write(&self, leases: Vec<Lease>, work: Work) -> BoxFuture<'static, Result<Seq, StoreError>> {
        let (reply, answer) = oneshot::channel();
        // After the queue has refused a batch, it refuses all later batches of the same leases. It never refuses the
        // release of a lease for this reason.
        let fenced = if matches!(work, Work::Release) { Vec::new() } else { leases.clone() };
        if let Err(refusal) = self.waiting.more(&fenced) {
            return Box::pin(std::future::ready(Err(refusal)));
        }
        match self.writes.try_send(QueuedWrite { leases, work, reply }) {
            Ok(()) => Box::pin(async { answer.await.unwrap_or(Err(StoreError::Closed)) }),
            Err(TrySendError::Full(_)) => {
                self.waiting.refused(&fenced);
                Box::pin(std::future::ready(Err(StoreError::Behind { path: self.name.as_str().into() })))
            }
            Err(TrySendError::Closed(_)) => Box::pin(std::future::ready(Err(StoreError::Closed))),
        }
    }
}

/// Number of connections for changes outside of batches, such as the renewal of a lease.
const CHANGERS: usize = 3;

#[async_trait]
impl Store for PostgresStore {
    fn id(&self) -> &StoreId {
        &self.id
    }

    fn check_key(&self) -> Result<(), StoreError> {
        Ok(self.seal.problem()?)
    }

    fn lease_terms(&self) -> LeaseTerms {
        self.rules.terms
    }

    async fn lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError> {
        let (rules, scope, holder) = (self.rules.clone(), scope.clone(), holder.clone());
        let grant = self.changers.change(move |db| {
            let (rules, scope, holder) = (rules.clone(), scope.clone(), holder.clone());
            Box::pin(async move { leases::grant(db, &rules, &scope, &holder).await })
        });
        grant.await
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        let renew = self.changers.change(move |db| {
            let lease = lease.clone();
            Box::pin(async move { leases::renew(db, &lease).await })
        });
        renew.await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.waiting.room().await;
        let released = self.write(vec![lease.clone()], Work::Release).await;
        self.rules.unreleased.note(&lease, &released);
        released.map(|_| ())
    }

    async fn holder(&self, scope: &AssemblyName) -> Result<Option<Holder>, StoreError> {
        let (rules, scope) = (self.rules.clone(), scope.clone());
        let holder = self.readers.read(move |db| {
            Box::pin(async move {
                let standing = leases::standing(db, &scope, "").await?;
                Ok(rules.policy(leases::now(db).await?).holder(standing))
            })
        });
        holder.await
    }

    async fn ask_to_stop(&self, scope: &AssemblyName, process: ProcessId) -> Result<(), StoreError> {
        let scope = scope.clone();
        let ask = self.changers.change(move |db| {
            let scope = scope.clone();
            Box::pin(async move { leases::ask_to_stop(db, &scope, process).await })
        });
        ask.await
    }

    async fn is_asked_to_stop(&self, process: ProcessId) -> Result<bool, StoreError> {
        self.readers.read(move |db| Box::pin(leases::is_asked_to_stop(db, process))).await
    }

    fn commit(&self, lease: &Lease, batch: Batch) -> Ticket {
        let leases = batch.leases(lease).cloned().collect();
        Ticket::new(self.write(leases, Work::Commit(batch)))
    }

    async fn room(&self) {
        self.waiting.room().await;
    }

    async fn submit(&self, request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> Result<(), StoreError> {
        let (seal, request) = (self.seal.clone(), request.clone());
        let submit = self.changers.change(move |db| {
            let (seal, request, asked) = (seal.clone(), request.clone(), asked.clone());
            Box::pin(async move { requests::submit(db, &seal, &request, &asked).await })
        });
        let seq = submit.await?;
        self.announce(seq);
        Ok(())
    }

    async fn submit_new(
        &self,
        request: &RequestRecord,
        asked: Sensitive<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let (rules, seal, request) = (self.rules.clone(), self.seal.clone(), request.clone());
        let submit = self.changers.change(move |db| {
            let (rules, seal, request, asked) = (rules.clone(), seal.clone(), request.clone(), asked.clone());
            Box::pin(async move { requests::submit_new(db, &rules, &seal, &request, &asked).await })
        });
        let seq = submit.await?;
        if let Some(seq) = seq {
            self.announce(seq);
        }
        Ok(seq.is_some())
    }

    async fn withdraw(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError> {
        let now = self.clock.now();
        let withdraw = self
            .changers
            .change(move |db| Box::pin(async move { requests::withdraw(db, request, now).await }));
        let (record, seq) = withdraw.await?;
        if let Some(seq) = seq {
            self.announce(seq);
        }
        Ok(record)
    }

    async fn request(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError> {
        self.readers.read(move |db| Box::pin(requests::find(db, request))).await
    }

    async fn requests(&self) -> Result<Vec<RequestRecord>, StoreError> {
        self.readers.read(|db| Box::pin(requests::open(db))).await
    }

    async fn asked(&self, request: RequestId) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        let seal = self.seal.clone();
        self.readers.read(move |db| Box::pin(async move { requests::asked(db, &seal, request).await })).await
    }

    async fn owned(
        &self,
        owner: &AssemblyName,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<Owned>, StoreError> {
        let owner = owner.clone();
        let after = after.map(ToString::to_string).unwrap_or_default();
        let page = self
            .readers
            .read(move |db| Box::pin(async move { owners::owned(db, &owner, &after, limit).await }));
        page.await
    }

    async fn claim(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        let (lease, claim) = (lease.clone(), claim.clone());
        let change = self.changers.change(move |db| {
            let (lease, claim) = (lease.clone(), claim.clone());
            Box::pin(async move { owners::claim(db, &lease, &claim).await })
        });
        change.await
    }

    async fn claimants(&self, natural_id: &str) -> Result<Vec<Claimant>, StoreError> {
        let natural_id = natural_id.to_owned();
        let found =
            self.readers.read(move |db| Box::pin(async move { owners::claimants(db, &natural_id).await }));
        found.await
    }

    async fn put_document(
        &self,
        draft: DocumentDraft,
        packages: Vec<PackageRecord>,
    ) -> Result<Revision, StoreError> {
        let (seal, content) = (self.seal.clone(), Arc::new((draft, packages)));
        let put = self.changers.change(move |db| {
            let (seal, content) = (seal.clone(), content.clone());
            Box::pin(async move { documents::store(db, &seal, &content.0, &content.1).await })
        });
        put.await
    }

    async fn drop_document(&self, key: &DocumentKey, expected: Expected) -> Result<(), StoreError> {
        let key = key.clone();
        let drop = self.changers.change(move |db| {
            let key = key.clone();
            Box::pin(async move { documents::remove(db, &key, expected).await })
        });
        drop.await
    }

    async fn document(&self, key: &DocumentKey) -> Result<Option<DocumentRecord>, StoreError> {
        let key = key.clone();
        self.readers.read(move |db| Box::pin(async move { documents::find(db, &key).await })).await
    }

    async fn document_secrets(&self, key: &DocumentKey) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        let (key, seal) = (key.clone(), self.seal.clone());
        self.readers.read(move |db| Box::pin(async move { documents::secrets(db, &seal, &key).await })).await
    }

    async fn documents(
        &self,
        scope: &DocumentScope,
        kind: &DocumentKind,
        after: Option<&DocumentName>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, StoreError> {
        let (scope, kind) = (scope.clone(), kind.clone());
        let after = after.map(ToString::to_string).unwrap_or_default();
        let page = self
            .readers
            .read(move |db| Box::pin(async move { documents::page(db, &scope, &kind, &after, limit).await }));
        page.await
    }

    async fn reserve_processes(&self, count: u32) -> Result<Vec<ProcessId>, StoreError> {
        self.changers.change(move |db| Box::pin(leases::reserve_processes(db, count))).await
    }

    async fn load(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        let (scope, seal) = (scope.clone(), self.seal.clone());
        self.readers.read(move |db| Box::pin(async move { read::load(db, Some(&seal), &scope).await })).await
    }

    async fn load_sealed(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::load(db, None, &scope).await })).await
    }

    async fn assemblies(
        &self,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<AssemblyRecord>, StoreError> {
        let after = after.map(ToString::to_string).unwrap_or_default();
        let page =
            self.readers.read(move |db| Box::pin(async move { read::assemblies(db, &after, limit).await }));
        page.await
    }

    async fn assembly_names(&self) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(|db| Box::pin(read::assembly_names(db))).await
    }

    async fn owned_names(&self) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(|db| Box::pin(read::owned_names(db))).await
    }

    async fn assembly(&self, scope: &AssemblyName) -> Result<Option<AssemblyRecord>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::assembly(db, &scope).await })).await
    }

    async fn changed(&self, after: Seq) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(move |db| Box::pin(read::changed(db, after))).await
    }

    async fn remembered(&self) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(|db| Box::pin(read::remembered(db))).await
    }

    async fn referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::referrers(db, &scope).await })).await
    }

    async fn former_referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::former_referrers(db, &scope).await })).await
    }

    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        self.readers.read(|db| Box::pin(read::processes(db))).await
    }

    async fn open_processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        self.readers.read(|db| Box::pin(read::open_processes(db))).await
    }

    async fn process(&self, process: ProcessId) -> Result<Option<ProcessRecord>, StoreError> {
        self.readers.read(move |db| Box::pin(read::process(db, process))).await
    }

    async fn processes_of(
        &self,
        scope: &AssemblyName,
        before: Option<ProcessId>,
        limit: usize,
    ) -> Result<Vec<ProcessRecord>, StoreError> {
        let scope = scope.clone();
        let page = self
            .readers
            .read(move |db| Box::pin(async move { read::processes_of(db, &scope, before, limit).await }));
        page.await
    }

    async fn process_history(&self, process: ProcessId) -> Result<Option<ProcessHistory>, StoreError> {
        self.readers.read(move |db| Box::pin(read::history_of(db, process))).await
    }

    async fn history(&self, scope: &AssemblyName) -> Result<History, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::history(db, &scope).await })).await
    }

    async fn versions(&self, scope: &AssemblyName) -> Result<Vec<VersionRecord>, StoreError> {
        let scope = scope.clone();
        self.readers
            .read(move |db| Box::pin(async move { versions::since(db, &scope, ProcessId(0)).await }))
            .await
    }

    async fn versions_since(
        &self,
        scope: &AssemblyName,
        process: ProcessId,
    ) -> Result<Vec<VersionRecord>, StoreError> {
        let scope = scope.clone();
        let since =
            self.readers.read(move |db| Box::pin(async move { versions::since(db, &scope, process).await }));
        since.await
    }

    async fn package(&self, digest: &PackageDigest) -> Result<Option<PackageRecord>, StoreError> {
        let digest = digest.clone();
        self.readers.read(move |db| Box::pin(async move { read::package(db, &digest).await })).await
    }

    async fn secret(&self, secret: &SecretRef) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        let (secret, seal) = (secret.clone(), self.seal.clone());
        self.readers.read(move |db| Box::pin(async move { read::secret(db, &seal, &secret).await })).await
    }

    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        self.readers.read(move |db| Box::pin(read::events(db, None, after, limit))).await
    }

    async fn events_of(
        &self,
        scope: &AssemblyName,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<EventRecord>, StoreError> {
        let scope = scope.clone();
        let read = self
            .readers
            .read(move |db| Box::pin(async move { read::events(db, Some(&scope), after, limit).await }));
        read.await
    }

    async fn last_event(&self) -> Result<Seq, StoreError> {
        self.readers.read(|db| Box::pin(read::last_event(db))).await
    }

    fn watch(&self, after: Seq) -> Watch {
        let readers = self.readers.clone();
        Watch::new(after, self.last.subscribe()).polling(self.poll_every, move || {
            let readers = readers.clone();
            async move { readers.read(|db| Box::pin(read::last_event(db))).await }
        })
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("id", &self.id)
            .field("address", &self.name)
            .finish_non_exhaustive()
    }
}
