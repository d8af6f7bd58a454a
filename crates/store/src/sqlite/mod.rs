//! The store in one SQLite file.
//!
//! The file is in WAL mode with `synchronous = FULL`, so a batch is acknowledged only after it is flushed to
//! disk. One thread writes (`writer`). Readers have their own connections and never wait for the writer.
//! Other programs may read and write the same file. No SQLite type is visible outside this module.

mod apply;
mod documents;
mod fault;
mod frozen;
mod identity;
mod leases;
mod open;
mod options;
mod owners;
mod packages;
mod prune;
mod read;
mod readers;
mod rename;
mod requests;
mod row;
mod schema;
mod versions;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::watch;
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_model::id::StoreId;
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, Clock, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};

pub use self::options::{BUSY_TIMEOUT, InFile, Options};

use self::fault::{Fault, Outcome};
use self::open::Opened;
use self::readers::Readers;
use self::writer::{QueuedWrite, Wipes, Writer, WriterThread};
use crate::batch::{Batch, Change};
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::holder::Holder;
use crate::lease::{Lease, LeaseRules, LeaseTerms};
use crate::seal::Seal;
use crate::snapshot::{History, Owned, ProcessHistory, Snapshot};
use crate::store::Store;
use crate::ticket::Ticket;
use crate::uptime::{Moment, Uptime};
use crate::watch::Watch;

/// The store in one SQLite file.
///
/// The futures of the store need a tokio runtime with a timer. Dropping the store waits until all committed
/// batches are stored.
pub struct SqliteStore {
    id: StoreId,
    path: Arc<PathBuf>,
    seal: Arc<Seal>,
    clock: Arc<dyn Clock>,
    uptime: Arc<dyn Uptime>,
    rules: LeaseRules,
    poll_every: Duration,
    readers: Arc<Readers>,
    last: watch::Receiver<Seq>,
    writer: Writer,
}

impl SqliteStore {
    /// Opens the store at `path`, and migrates a store of an older version. The call waits for the disk. If
    /// another program has locked the file, the call waits for it up to the busy timeout.
    ///
    /// In a read-only folder or on a full disk, the method can open only an existing store of the current version,
    /// and only if the option `create` is false. Each write to the open store then fails with
    /// [`StoreError::ReadOnly`] or [`StoreError::Full`]. A read fails with the same error if another program has
    /// changed the store since it was opened.
    ///
    /// If the file is removed while the store is open, each read and each write fails with [`StoreError::Missing`]. If
    /// another file replaces it, they fail with [`StoreError::Closed`].
    ///
    /// This method needs no tokio runtime. The futures of the open store need a tokio runtime with timers: outside of
    /// a runtime, a read panics.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is no store and the options forbid creating one.
    /// [`StoreError::NotAStore`], [`StoreError::Newer`] or [`StoreError::Locked`] if the file can't be used.
    /// [`StoreError::Key`] if the key can't be obtained or belongs to another store. Every error of the disk
    /// is returned, too.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let path = Arc::new(path.as_ref().to_owned());
        let Opened { db, id, file, seal, frozen } = open::open(&path, &options)?;
        let last = read::last_event(&db).map_err(|fault| fault.at(&path))?;
        let (teller, last) = watch::channel(last);
        let writer = match &frozen {
            Some(frozen) => Ok(Writer::refusing(path.clone(), frozen.reason.clone())),
            None => Writer::start(WriterThread {
                db,
                path: path.clone(),
                file: file.clone(),
                busy: options.own.busy_timeout,
                last: teller,
                fence: Fence::default(),
                waiting: Arc::default(),
            }),
        };
        let writer = writer.map_err(|error| StoreError::Io {
            action: "start the writer of",
            path: path.to_path_buf(),
            source: Arc::new(error),
        })?;
        Ok(Self {
            id,
            readers: Arc::new(Readers::new(path.clone(), options.own.busy_timeout, file, frozen)),
            path,
            seal: Arc::new(seal),
            clock: options.clock,
            uptime: options.own.uptime,
            rules: LeaseRules::new(options.terms, options.processes),
            poll_every: options.poll_every,
            last,
            writer,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a function that reads the clocks by which the store decides whether a lease has expired.
    fn time(&self) -> impl Fn() -> Moment + Send + 'static {
        let (clock, uptime) = (self.clock.clone(), self.uptime.clone());
        move || Moment { at: clock.now(), tick: uptime.now() }
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.submit(QueuedWrite::of(work)).await
    }
}

#[async_trait]
impl Store for SqliteStore {
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
        let (scope, holder) = (scope.clone(), holder.clone());
        let (rules, time) = (self.rules.clone(), self.time());
        self.write(move |db| {
            let policy = rules.policy(time());
            leases::grant(db, &policy, &scope, &holder)
        })
        .await
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        let (lease, now) = (lease.clone(), self.time()());
        self.write(move |db| leases::renew(db, &lease, &now)).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.room().await;
        let holder = lease.clone();
        let released = self.write(move |db| leases::release(db, &holder)).await;
        self.rules.unreleased.note(&lease, &released);
        released
    }

    async fn holder(&self, scope: &AssemblyName) -> Result<Option<Holder>, StoreError> {
        let scope = scope.clone();
        let (rules, time) = (self.rules.clone(), self.time());
        self.readers
            .read(move |db| {
                let policy = rules.policy(time());
                leases::holder(db, &policy, &scope)
            })
            .await
    }

    async fn ask_to_stop(&self, scope: &AssemblyName, process: ProcessId) -> Result<(), StoreError> {
        let scope = scope.clone();
        self.write(move |db| leases::ask_to_stop(db, &scope, process)).await
    }

    async fn is_asked_to_stop(&self, process: ProcessId) -> Result<bool, StoreError> {
        self.readers.read(move |db| leases::is_asked_to_stop(db, process)).await
    }

    fn commit(&self, lease: &Lease, batch: Batch) -> Ticket {
        let wipes = wipes(&batch);
        let leases = batch.leases(lease).cloned().collect();
        let (seal, holder) = (self.seal.clone(), lease.clone());
        let work = move |db: &Connection| apply::batch(db, &seal, &holder, &batch);
        Ticket::new(self.writer.submit(QueuedWrite { leases, wipes, work }))
    }

    async fn create(&self, scope: &AssemblyName, holder: &Holder, batch: Batch) -> Result<bool, StoreError> {
        let (scope, holder, seal) = (scope.clone(), holder.clone(), self.seal.clone());
        let (rules, time) = (self.rules.clone(), self.time());
        let wipes = wipes(&batch);
        // One write grants the lease, searches for the name, applies the batch and releases the lease.
        // Four writes would cost four savepoints and four replies.
        let work = move |db: &Connection| {
            let policy = rules.policy(time());
            let lease = leases::grant(db, &policy, &scope, &holder)?;
            let is_new = !requests::is_taken(db, &scope)?;
            if is_new {
                apply::batch(db, &seal, &lease, &batch)?;
            }
            leases::release(db, &lease)?;
            Ok(is_new)
        };
        self.writer.submit(QueuedWrite { leases: Vec::new(), wipes, work }).await
    }

    async fn room(&self) {
        self.writer.room().await;
    }

    async fn submit(&self, request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> Result<(), StoreError> {
        let (seal, request) = (self.seal.clone(), request.clone());
        self.write(move |db| requests::submit(db, &seal, &request, &asked)).await
    }

    async fn submit_new(
        &self,
        request: &RequestRecord,
        asked: Sensitive<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let (seal, request) = (self.seal.clone(), request.clone());
        let (rules, time) = (self.rules.clone(), self.time());
        let work = move |db: &Connection| {
            let policy = rules.policy(time());
            requests::submit_new(db, &policy, &seal, &request, &asked)
        };
        self.writer.submit(QueuedWrite { leases: Vec::new(), wipes: Wipes::Later, work }).await
    }

    async fn withdraw(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError> {
        let now = self.clock.now();
        let work = move |db: &Connection| requests::withdraw(db, request, now);
        self.writer.submit(QueuedWrite { leases: Vec::new(), wipes: Wipes::Later, work }).await
    }

    async fn request(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError> {
        self.readers.read(move |db| requests::find(db, request)).await
    }

    async fn requests(&self) -> Result<Vec<RequestRecord>, StoreError> {
        self.readers.read(requests::open).await
    }

    async fn asked(&self, request: RequestId) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        let seal = self.seal.clone();
        self.readers.read(move |db| requests::asked(db, &seal, request)).await
    }

    async fn owned(
        &self,
        owner: &AssemblyName,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<Owned>, StoreError> {
        let owner = owner.clone();
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.readers.read(move |db| owners::owned(db, &owner, &after, limit)).await
    }

    async fn claim(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        let (lease, claim) = (lease.clone(), claim.clone());
        self.write(move |db| owners::claim(db, &lease, &claim)).await
    }

    async fn claimants(&self, natural_id: &str) -> Result<Vec<Claimant>, StoreError> {
        let natural_id = natural_id.to_owned();
        self.readers.read(move |db| owners::claimants(db, &natural_id)).await
    }

    async fn put_document(
        &self,
        draft: DocumentDraft,
        packages: Vec<PackageRecord>,
    ) -> Result<Revision, StoreError> {
        let seal = self.seal.clone();
        let work = move |db: &Connection| {
            for package in &packages {
                packages::put(db, package)?;
            }
            let stored = match documents::put(db, &seal, &draft) {
                Err(fault) if fault.is_orphan() => {
                    return Err(Fault::Store(StoreError::NoPackage { key: Box::new(draft.key.clone()) }));
                }
                stored => stored?,
            };
            stored
                .ok_or_else(|| Fault::Store(StoreError::DocumentChanged { key: Box::new(draft.key.clone()) }))
        };
        self.writer.submit(QueuedWrite { leases: Vec::new(), wipes: Wipes::Later, work }).await
    }

    async fn drop_document(&self, key: &DocumentKey, expected: Expected) -> Result<(), StoreError> {
        let key = key.clone();
        let work = move |db: &Connection| {
            if documents::drop(db, &key, expected)? {
                return Ok(());
            }
            Err(Fault::Store(StoreError::DocumentChanged { key: Box::new(key.clone()) }))
        };
        self.writer.submit(QueuedWrite { leases: Vec::new(), wipes: Wipes::Later, work }).await
    }

    async fn document(&self, key: &DocumentKey) -> Result<Option<DocumentRecord>, StoreError> {
        let key = key.clone();
        self.readers.read(move |db| documents::find(db, &key)).await
    }

    async fn document_secrets(&self, key: &DocumentKey) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        let (key, seal) = (key.clone(), self.seal.clone());
        self.readers.read(move |db| documents::secrets(db, &seal, &key)).await
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
        self.readers.read(move |db| documents::page(db, &scope, &kind, &after, limit)).await
    }

    async fn reserve_processes(&self, count: u32) -> Result<Vec<ProcessId>, StoreError> {
        self.write(move |db| leases::reserve_processes(db, count)).await
    }

    async fn load(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        let (scope, seal) = (scope.clone(), self.seal.clone());
        self.readers.read(move |db| read::load(db, Some(&seal), &scope)).await
    }

    async fn load_all(&self, scopes: &[AssemblyName]) -> Result<Vec<Snapshot>, StoreError> {
        let (scopes, seal) = (scopes.to_vec(), self.seal.clone());
        let load = move |db: &Connection| {
            let loaded = scopes.iter().filter_map(|scope| read::load(db, Some(&seal), scope).transpose());
            loaded.collect()
        };
        self.readers.read(load).await
    }

    async fn load_sealed(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| read::load(db, None, &scope)).await
    }

    async fn assemblies(
        &self,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<AssemblyRecord>, StoreError> {
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.readers.read(move |db| read::assemblies(db, &after, limit)).await
    }

    async fn assembly_names(&self) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(read::assembly_names).await
    }

    async fn owned_names(&self) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(read::owned_names).await
    }

    async fn assembly(&self, scope: &AssemblyName) -> Result<Option<AssemblyRecord>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| read::assembly(db, &scope)).await
    }

    async fn changed(&self, after: Seq) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(move |db| read::changed(db, after)).await
    }

    async fn remembered(&self) -> Result<Vec<AssemblyName>, StoreError> {
        self.readers.read(read::remembered).await
    }

    async fn referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| read::referrers(db, &scope)).await
    }

    async fn former_referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| read::former_referrers(db, &scope)).await
    }

    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        self.readers.read(read::processes).await
    }

    async fn open_processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        self.readers.read(read::open_processes).await
    }

    async fn process(&self, process: ProcessId) -> Result<Option<ProcessRecord>, StoreError> {
        self.readers.read(move |db| read::process(db, process)).await
    }

    async fn processes_of(
        &self,
        scope: &AssemblyName,
        before: Option<ProcessId>,
        limit: usize,
    ) -> Result<Vec<ProcessRecord>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| read::processes_of(db, &scope, before, limit)).await
    }

    async fn process_history(&self, process: ProcessId) -> Result<Option<ProcessHistory>, StoreError> {
        self.readers.read(move |db| read::history_of(db, process)).await
    }

    async fn history(&self, scope: &AssemblyName) -> Result<History, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| read::history(db, &scope)).await
    }

    async fn versions(&self, scope: &AssemblyName) -> Result<Vec<VersionRecord>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| versions::since(db, &scope, ProcessId(0))).await
    }

    async fn versions_since(
        &self,
        scope: &AssemblyName,
        process: ProcessId,
    ) -> Result<Vec<VersionRecord>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| versions::since(db, &scope, process)).await
    }

    async fn package(&self, digest: &PackageDigest) -> Result<Option<PackageRecord>, StoreError> {
        let digest = digest.clone();
        self.readers.read(move |db| read::package(db, &digest)).await
    }

    async fn secret(&self, secret: &SecretRef) -> Result<Option<Sensitive<Vec<u8>>>, StoreError> {
        let (secret, seal) = (secret.clone(), self.seal.clone());
        self.readers.read(move |db| read::secret(db, &seal, &secret)).await
    }

    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        self.readers.read(move |db| read::events(db, after, limit)).await
    }

    async fn events_of(
        &self,
        scope: &AssemblyName,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<EventRecord>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| read::events_of(db, &scope, after, limit)).await
    }

    async fn last_event(&self) -> Result<Seq, StoreError> {
        self.readers.read(read::last_event).await
    }

    fn watch(&self, after: Seq) -> Watch {
        let readers = self.readers.clone();
        Watch::new(after, self.last.clone()).polling(self.poll_every, move || {
            let readers = readers.clone();
            async move { readers.read(read::last_event).await }
        })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("id", &self.id).field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns whether and when the writer thread truncates the write-ahead log after a batch. The log must be
/// truncated if the batch drops or replaces secrets, because the log may still contain the old secrets.
fn wipes(batch: &Batch) -> Wipes {
    let wipes = batch.changes().iter().map(|change| match change {
        Change::DropAssembly(_) => Wipes::Now,
        Change::PutSecret { .. }
        | Change::DropSecret(_)
        | Change::EndRequest(_)
        | Change::PutDocument(_)
        | Change::DropDocument(..) => Wipes::Later,
        _ => Wipes::Never,
    });
    wipes.max().unwrap_or(Wipes::Never)
}
