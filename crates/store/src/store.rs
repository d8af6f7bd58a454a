//! The contract that every store fulfils.

use std::fmt;

use async_trait::async_trait;
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_model::id::StoreId;
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};

use crate::batch::Batch;
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::holder::Holder;
use crate::lease::{Lease, LeaseTerms};
use crate::snapshot::{History, Owned, ProcessHistory, Snapshot};
use crate::ticket::Ticket;
use crate::watch::Watch;

/// A durable store for the state of windlass.
///
/// Reading needs no lease; writing needs the [`Lease`] of the written assembly. A store guarantees:
///
/// * **Durable**: once a [`Ticket`] resolves with `Ok`, its batch survives `kill -9` and a power cut.
/// * **Atomic**: a [`Batch`] is applied completely or not at all. A refused batch does not affect the batches
///   of other leases.
/// * **In order**: batches are applied in the order of the calls of [`commit`](Store::commit). Once a batch
///   of a lease fails, all later batches of that lease are refused. So after a failure, the store contains
///   the batches of a lease up to some point, without gaps.
/// * **Fenced**: a holder that lost its lease can't change the assembly any more, however late it writes.
/// * **Numbered**: events are numbered 1, 2, 3 … over all assemblies and processes, in the order in which
///   they became durable.
///
/// The suite in `testing::conformance` (feature `testing`) verifies every implementation, also an implementation in
/// another crate. Such an implementation checks batches with [`Batch::leases`] and [`Batch::foreign_to`], and creates
/// its watches with [`Watch::new`].
#[async_trait]
pub trait Store: Send + Sync {
    /// Returns the store's id, which was created with the store.
    fn id(&self) -> &StoreId;

    /// Checks that secrets can be sealed and opened. If the key of a store is missing or wrong, everything
    /// except the secrets can still be read.
    ///
    /// # Errors
    /// [`StoreError::Key`] with the reason.
    fn check_key(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns the renewal interval and the expiry of leases.
    fn lease_terms(&self) -> LeaseTerms;

    /// Takes the lease on an assembly, which need not exist yet. The epoch of the new lease is higher than the epochs
    /// of all earlier leases on the assembly.
    ///
    /// If the lease is held, the store grants a new lease only if the current holder is provably dead, or did not renew
    /// the lease in time. So the store also refuses a second request of the current holder, except after a failed
    /// [`release`](Self::release).
    ///
    /// # Errors
    /// [`StoreError::Held`] names the current holder, which may be the caller itself.
    async fn lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError>;

    /// Renews a lease. The holder calls this every [`LeaseTerms::renew_every`].
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if the lease was released, or another holder has taken it over.
    async fn renew(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Releases the lease. Batches of the lease that are still queued are applied first.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another holder has taken over; in this case nothing is left to release. After any
    /// other error, the lease may still be stored. Its holder can then take the lease again at once from this store
    /// object. For all other holders, the lease is held until it is released or expires.
    async fn release(&self, lease: Lease) -> Result<(), StoreError>;

    /// Returns the holder of the lease on an assembly. Returns `None` if the lease is free or could be taken
    /// over.
    async fn holder(&self, scope: &AssemblyName) -> Result<Option<Holder>, StoreError>;

    /// Requests that a process stops. The caller needs no lease. A process that has ended is not affected.
    ///
    /// # Errors
    /// [`StoreError::NoProcess`] if the assembly has no such process.
    async fn ask_to_stop(&self, scope: &AssemblyName, process: ProcessId) -> Result<(), StoreError>;

    /// Tells whether a stop of the process was requested.
    async fn is_asked_to_stop(&self, process: ProcessId) -> Result<bool, StoreError>;

    /// Submits a request, which a later holder of the assembly's lease executes. The caller needs no lease.
    /// The store seals `asked`, the content of the request. The content is dropped when the request ends, by
    /// [`Change::EndRequest`](crate::Change::EndRequest) or by withdrawal.
    async fn submit(&self, request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> Result<(), StoreError>;

    /// Submits a request that creates an assembly, as [`submit`](Self::submit) does. If an assembly or an open request
    /// has the name already, or if a lease on the name is held, changes nothing and returns `false`. So of several
    /// programs that submit requests with the same name at the same time, only one gets the name.
    ///
    /// The holder of a lease on the name may be creating an assembly. Before it does so, it reads the open requests. So
    /// either the holder finds this request, or this function finds the lease.
    async fn submit_new(
        &self,
        request: &RequestRecord,
        asked: Sensitive<Vec<u8>>,
    ) -> Result<bool, StoreError>;

    /// Withdraws a request if it is open, and returns its new record. If the request is no longer open, its
    /// record is returned unchanged. Returns `None` if there is no such request. The caller needs no lease.
    async fn withdraw(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError>;

    /// Reads a request, including one that has ended.
    async fn request(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError>;

    /// Reads the open requests of all assemblies, oldest first.
    async fn requests(&self) -> Result<Vec<RequestRecord>, StoreError>;

    /// Reads and decrypts the content of a request. Returns `None` if the request has ended or does not exist.
    ///
    /// # Errors
    /// [`StoreError::Key`] if the content can't be decrypted.
    async fn asked(&self, request: RequestId) -> Result<Option<Sensitive<Vec<u8>>>, StoreError>;

    /// Queues a batch, and returns at once with a ticket that resolves when the batch is durable.
    ///
    /// The batch is applied whether or not the ticket is awaited. This function never waits, even if the write
    /// queue is full; see [`room`](Self::room).
    ///
    /// # Errors
    /// The ticket resolves with [`StoreError::LeaseLost`] if the lease was released or taken over, and with
    /// [`StoreError::Refused`] if the batch breaks a rule. It resolves with [`StoreError::AfterFailure`] if an
    /// earlier batch of this lease was not applied.
    fn commit(&self, lease: &Lease, batch: Batch) -> Ticket;

    /// Waits until the write queue has room for more batches. A caller that commits many batches should await
    /// this function, or the [`Ticket`] that [`commit`](Self::commit) returns for each batch. If the queue is
    /// full, the store refuses batches with [`StoreError::Behind`].
    async fn room(&self) {}

    /// Takes the lease on an assembly, commits the first batch of the assembly, and releases the lease. If
    /// the assembly exists already, or an open request has its name, changes nothing and returns `false`.
    ///
    /// # Errors
    /// The errors of [`lease`](Self::lease) and [`commit`](Self::commit).
    async fn create(&self, scope: &AssemblyName, holder: &Holder, batch: Batch) -> Result<bool, StoreError> {
        let lease = self.lease(scope, holder).await?;
        let created = async {
            let is_asked = self.requests().await?.iter().any(|request| request.assembly == *scope);
            if is_asked || self.assembly(scope).await?.is_some() {
                return Ok(false);
            }
            self.commit(&lease, batch).await.map(|_| true)
        };
        let created = created.await;
        let released = self.release(lease).await;
        let created = created?;
        released?;
        Ok(created)
    }

    /// Reserves process ids that are never given out again, not even after a crash. Each id is higher than all ids
    /// that were reserved before. Some ids may stay unused. Request ids come from the same counter.
    async fn reserve_processes(&self, count: u32) -> Result<Vec<ProcessId>, StoreError>;

    /// Reserves one process id.
    ///
    /// # Errors
    /// An error of the disk, the database or the connection.
    async fn reserve_process(&self) -> Result<ProcessId, StoreError> {
        let reserved = self.reserve_processes(1).await?;
        Ok(reserved.into_iter().next().expect("a store reserves as many ids as it is asked for"))
    }

    /// Reads all records that the engine needs to resume work on an assembly, at one point in time. Returns
    /// `None` if the assembly does not exist.
    ///
    /// # Errors
    /// [`StoreError::Key`] if a secret can't be opened, and every error of reading.
    async fn load(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError>;

    /// Reads the records of several assemblies; see [`load`](Self::load). Leaves out assemblies that do not exist.
    /// All records of one assembly are from the same point in time. The records of two assemblies may be from
    /// different points in time.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load).
    async fn load_all(&self, scopes: &[AssemblyName]) -> Result<Vec<Snapshot>, StoreError> {
        let mut found = Vec::new();
        for scope in scopes {
            found.extend(self.load(scope).await?);
        }
        Ok(found)
    }

    /// Reads the same records as [`load`](Self::load), without the secrets, so that no key is needed.
    async fn load_sealed(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError>;

    /// Reads up to `limit` assemblies whose names come after `after`, sorted by name. If `after` is `None`, reads
    /// from the first name.
    async fn assemblies(
        &self,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<AssemblyRecord>, StoreError>;

    /// Reads the names of all assemblies, sorted.
    async fn assembly_names(&self) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads the names of all assemblies that have an owner, sorted.
    async fn owned_names(&self) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads the record of an assembly, without the records of its elements, instances, pairs and secrets.
    async fn assembly(&self, scope: &AssemblyName) -> Result<Option<AssemblyRecord>, StoreError>;

    /// Reads the sorted names of the assemblies that have events after `after`. A change without an event is
    /// not noticed.
    async fn changed(&self, after: Seq) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads the sorted names of all assemblies for which the store contains processes. Deleted assemblies are
    /// included.
    async fn remembered(&self) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads the sorted names of the assemblies that refer to the assembly `scope`.
    async fn referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads the sorted names of the former referrers of the assembly `scope`. A former referrer is an existing
    /// assembly that no longer refers to `scope`. However, one of its stored versions still refers to `scope`.
    async fn former_referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads assemblies of `owner`, sorted by name: the first `limit` assemblies with a name greater than `after`.
    /// If `after` is `None`, the result begins with the first assembly of the owner.
    async fn owned(
        &self,
        owner: &AssemblyName,
        after: Option<&AssemblyName>,
        limit: usize,
    ) -> Result<Vec<Owned>, StoreError>;

    /// Gives the lease's assembly its natural id. No other assembly may have the id, except those in
    /// [`Claim::shared_with`]. Claiming the same id again changes nothing. The id is dropped with the assembly. Unlike a
    /// refused batch, a refused claim does not block later batches of the lease.
    ///
    /// # Errors
    /// [`StoreError::Claimed`] if another assembly has the id, and the claim does not permit it.
    /// [`StoreError::Refused`] if the assembly does not exist or has no owner. [`StoreError::LeaseLost`] if the lease is
    /// lost.
    async fn claim(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError>;

    /// Returns the assemblies that have the natural id `natural_id`, sorted by name.
    async fn claimants(&self, natural_id: &str) -> Result<Vec<Claimant>, StoreError>;

    /// Stores a document of the project ([`DocumentScope::Project`]), and returns the new revision of the document. The
    /// caller needs no lease. To store a document of an assembly, use [`commit`](Self::commit).
    ///
    /// The method also stores each package of `packages` that the store does not contain yet. It drops each package
    /// of the previous revision if no document, assembly or version refers to the package any more.
    ///
    /// # Errors
    /// [`StoreError::DocumentChanged`] if the stored document does not meet the condition
    /// [`expected`](DocumentDraft::expected). [`StoreError::NoPackage`] if a package of the document is neither
    /// stored nor in `packages`.
    async fn put_document(
        &self,
        draft: DocumentDraft,
        packages: Vec<PackageRecord>,
    ) -> Result<Revision, StoreError>;

    /// Drops a document of the project ([`DocumentScope::Project`]) if the document exists. Also drops each package
    /// of the document if no other document, assembly or version refers to the package. The caller needs no lease.
    ///
    /// # Errors
    /// [`StoreError::DocumentChanged`] if the stored document does not meet the condition `expected`.
    async fn drop_document(&self, key: &DocumentKey, expected: Expected) -> Result<(), StoreError>;

    /// Reads a document.
    async fn document(&self, key: &DocumentKey) -> Result<Option<DocumentRecord>, StoreError>;

    /// Reads and decrypts the secret part of a document. Returns `None` if the document has no secret part or does
    /// not exist.
    ///
    /// # Errors
    /// [`StoreError::Key`] if the secret part can't be decrypted.
    async fn document_secrets(&self, key: &DocumentKey) -> Result<Option<Sensitive<Vec<u8>>>, StoreError>;

    /// Reads the documents of a scope and kind, sorted by name. The result begins after the name `after`, or with the
    /// first name if `after` is `None`. The result contains at most `limit` documents.
    async fn documents(
        &self,
        scope: &DocumentScope,
        kind: &DocumentKind,
        after: Option<&DocumentName>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, StoreError>;

    /// Reads all processes of all assemblies, oldest first, including those of deleted assemblies.
    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError>;

    /// Reads all processes that have not ended, oldest first. The processes may belong to different
    /// assemblies.
    async fn open_processes(&self) -> Result<Vec<ProcessRecord>, StoreError>;

    /// Reads a process of any assembly.
    async fn process(&self, process: ProcessId) -> Result<Option<ProcessRecord>, StoreError>;

    /// Reads up to `limit` processes of an assembly, newest first. If `before` contains a process, reads only
    /// processes that are older than this process. Also works after the assembly was deleted.
    async fn processes_of(
        &self,
        scope: &AssemblyName,
        before: Option<ProcessId>,
        limit: usize,
    ) -> Result<Vec<ProcessRecord>, StoreError>;

    /// Reads a process with its steps, calls and jobs.
    async fn process_history(&self, process: ProcessId) -> Result<Option<ProcessHistory>, StoreError>;

    /// Reads the processes of an assembly with their steps, calls and jobs, oldest process first. Also works
    /// after the assembly was deleted.
    async fn history(&self, scope: &AssemblyName) -> Result<History, StoreError>;

    /// Reads the versions of an assembly, oldest first. Also works after the assembly was deleted.
    async fn versions(&self, scope: &AssemblyName) -> Result<Vec<VersionRecord>, StoreError>;

    /// Reads the versions of an assembly, oldest first. The list begins with the version of the process `process`. If
    /// this process has no version, the list begins with the newest version of an earlier process. If no such version
    /// is stored, the list contains all versions.
    async fn versions_since(
        &self,
        scope: &AssemblyName,
        process: ProcessId,
    ) -> Result<Vec<VersionRecord>, StoreError>;

    /// Reads a pinned package with its files.
    async fn package(&self, digest: &PackageDigest) -> Result<Option<PackageRecord>, StoreError>;

    /// Reads and decrypts one secret. Returns `None` if the secret does not exist.
    ///
    /// # Errors
    /// [`StoreError::Key`] if the secret can't be decrypted.
    async fn secret(&self, secret: &SecretRef) -> Result<Option<Sensitive<Vec<u8>>>, StoreError>;

    /// Reads up to `limit` events after a sequence number, in order. [`Seq::START`] is before the first
    /// event.
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<EventRecord>, StoreError>;

    /// Reads up to `limit` events of one assembly after a sequence number, in order.
    async fn events_of(
        &self,
        scope: &AssemblyName,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<EventRecord>, StoreError>;

    /// Returns the number of the last event; [`Seq::START`] if there is none.
    async fn last_event(&self) -> Result<Seq, StoreError>;

    /// Watches for events with a greater number than `after`. Also notices events that another program adds.
    fn watch(&self, after: Seq) -> Watch;
}

impl fmt::Debug for dyn Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("id", self.id()).finish_non_exhaustive()
    }
}

/// Returns the `count` reserved ids, of which `last` is the last.
pub(crate) fn reserved(last: u64, count: u32) -> Vec<ProcessId> {
    (last - u64::from(count) + 1..=last).map(ProcessId).collect()
}
