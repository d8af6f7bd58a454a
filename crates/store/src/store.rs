//! The contract that every store keeps.

use async_trait::async_trait;
use windlass_model::assembly::PackageDigest;
use windlass_model::id::StoreId;
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};

use crate::batch::Batch;
use crate::error::StoreError;
use crate::holder::Holder;
use crate::lease::{Lease, LeaseTerms};
use crate::snapshot::{History, ProcessHistory, Snapshot};
use crate::ticket::Ticket;
use crate::watch::Watch;

/// Keeps what windlass must not forget.
///
/// Reading needs nothing; writing needs the [`Lease`] of the assembly that is written. What a store promises:
///
/// * **Durable**: a [`Ticket`] that resolves with `Ok` stands for bytes that survive `kill -9` and a power cut.
/// * **Whole**: a [`Batch`] is applied whole or not at all, alone: a refused one takes no other with it.
/// * **In order**: batches are applied in the order of the calls of [`commit`](Store::commit), and once one of a
///   lease fails, all later ones of that lease are refused. So what a holder finds after a failure, its own or the
///   machine's, is what it committed up to some batch, without gaps.
/// * **Fenced**: a holder that lost its lease changes nothing any more, however late it wakes up.
/// * **Numbered**: events are numbered 1, 2, 3 … over all assemblies and processes, in the order in which they
///   became durable.
///
/// The suite in `testing::conformance` (feature `testing`) holds every implementation to this.
#[async_trait]
pub trait Store: Send + Sync {
    /// Returns the store's id, made when the store was.
    fn id(&self) -> &StoreId;

    /// Returns how often leases are to be renewed, and when they expire.
    fn lease_terms(&self) -> LeaseTerms;

    /// Takes the lease on an assembly, which need not exist yet.
    ///
    /// A lease that another holder left behind is taken over when that holder is provably dead or has not renewed it
    /// in time. Every new lease has a higher epoch than all before it.
    ///
    /// # Errors
    /// [`StoreError::Held`] names who holds it, which may be the caller itself.
    async fn lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError>;

    /// Says that the holder is still there; to be called every [`LeaseTerms::renew_every`].
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has taken over.
    async fn renew(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Gives the lease back, after all batches that were committed under it.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has taken over; nothing is left to give back then.
    async fn release(&self, lease: Lease) -> Result<(), StoreError>;

    /// Says who holds the lease on an assembly: none when it is free or could be taken over.
    async fn holder(&self, scope: &AssemblyName) -> Result<Option<Holder>, StoreError>;

    /// Asks whoever runs a process to stop. It needs no lease, and changes nothing of a process that has ended.
    ///
    /// # Errors
    /// [`StoreError::NoProcess`].
    async fn ask_to_stop(&self, scope: &AssemblyName, process: ProcessId) -> Result<(), StoreError>;

    /// Tells whether a process was asked to stop.
    async fn is_asked_to_stop(&self, process: ProcessId) -> Result<bool, StoreError>;

    /// Leaves an intent for whoever takes the lease of its assembly; it needs none itself. `asked`, what exactly is to be
    /// done, is sealed, and forgotten when the request ends: by [`Change::EndRequest`](crate::Change::EndRequest) or
    /// because it is withdrawn.
    async fn submit(&self, request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> Result<(), StoreError>;

    /// Takes a request back unless it has ended, and returns it as it is then; none when there is none. It needs no
    /// lease.
    async fn withdraw(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError>;

    /// Reads a request, also one that has ended.
    async fn request(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError>;

    /// Reads the open requests of all assemblies, oldest first.
    async fn requests(&self) -> Result<Vec<RequestRecord>, StoreError>;

    /// Opens what exactly a request asks; none when it has ended.
    ///
    /// # Errors
    /// [`StoreError::Key`] when it can't be opened.
    async fn asked(&self, request: RequestId) -> Result<Option<Sensitive<Vec<u8>>>, StoreError>;

    /// Hands over a batch, and returns at once with a ticket that resolves when the batch is durable.
    ///
    /// The batch is applied whether or not the ticket is awaited. It never waits; see [`room`](Self::room).
    ///
    /// # Errors
    /// The ticket resolves with [`StoreError::LeaseLost`] for a stale epoch, [`StoreError::Refused`] for a batch
    /// that breaks a rule, [`StoreError::AfterFailure`] when an earlier batch of this lease was not applied.
    fn commit(&self, lease: &Lease, batch: Batch) -> Ticket;

    /// Waits until the store has written so much of what was committed that more can be handed over. Whoever commits again
    /// and again without waiting for tickets waits for this: a store refuses what it has no place for, with
    /// [`StoreError::Behind`].
    async fn room(&self) {}

    /// Returns a process id that no one else gets, also after a crash. Ids grow; some may never be used, and requests take
    /// theirs from the same counter.
    async fn reserve_process(&self) -> Result<ProcessId, StoreError>;

    /// Reads all that the engine needs to go on with an assembly, at one point in time; none when there is no such
    /// assembly.
    ///
    /// # Errors
    /// Beside what reading may meet, [`StoreError::Key`] when a secret can't be opened.
    async fn load(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError>;

    /// Reads all assemblies, sorted by name.
    async fn assemblies(&self) -> Result<Vec<AssemblyRecord>, StoreError>;

    /// Reads the names of all assemblies, sorted.
    async fn assembly_names(&self) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads an assembly without its parts.
    async fn assembly(&self, scope: &AssemblyName) -> Result<Option<AssemblyRecord>, StoreError>;

    /// Reads the names of the assemblies of which events tell that have come after a place, sorted. What is committed with
    /// no event does not count.
    async fn changed(&self, after: Seq) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads the names of the assemblies of which processes are on record, sorted: also of those that are gone.
    async fn remembered(&self) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads the names of the assemblies that reference this one, sorted.
    async fn referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError>;

    /// Reads all processes of all assemblies, also of those that are gone: oldest first.
    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError>;

    /// Reads the processes of all assemblies that have not ended: oldest first.
    async fn open_processes(&self) -> Result<Vec<ProcessRecord>, StoreError>;

    /// Reads a process, whosever it is.
    async fn process(&self, process: ProcessId) -> Result<Option<ProcessRecord>, StoreError>;

    /// Reads up to `limit` processes of an assembly that are older than one, also after it is gone: newest first. With none
    /// it begins with the newest.
    async fn processes_of(
        &self,
        scope: &AssemblyName,
        before: Option<ProcessId>,
        limit: usize,
    ) -> Result<Vec<ProcessRecord>, StoreError>;

    /// Reads what was done in one process.
    async fn process_history(&self, process: ProcessId) -> Result<Option<ProcessHistory>, StoreError>;

    /// Reads what was done for an assembly, also after it is gone: oldest process first.
    async fn history(&self, scope: &AssemblyName) -> Result<History, StoreError>;

    /// Reads what an assembly was asked to be, also after it is gone: oldest first.
    async fn versions(&self, scope: &AssemblyName) -> Result<Vec<VersionRecord>, StoreError>;

    /// Reads what an assembly was asked to be from the version on that was the newest when a process began; from the first on
    /// that is still on record where that version is not. Oldest first.
    async fn versions_since(
        &self,
        scope: &AssemblyName,
        process: ProcessId,
    ) -> Result<Vec<VersionRecord>, StoreError>;

    /// Reads a pinned package with its files.
    async fn package(&self, digest: &PackageDigest) -> Result<Option<PackageRecord>, StoreError>;

    /// Opens one secret.
    ///
    /// # Errors
    /// [`StoreError::Key`] when it can't be opened.
    async fn secret(&self, secret: &SecretRef) -> Result<Option<Sensitive<Vec<u8>>>, StoreError>;

    /// Reads up to `limit` events after a place, in order. [`Seq::START`] is before the first.
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<EventRecord>, StoreError>;

    /// Reads up to `limit` events of one assembly after a place, in order.
    async fn events_of(
        &self,
        scope: &AssemblyName,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<EventRecord>, StoreError>;

    /// Returns the number of the last event so far; [`Seq::START`] when there is none.
    async fn last_event(&self) -> Result<Seq, StoreError>;

    /// Watches for events after a place, whoever commits them.
    fn watch(&self, after: Seq) -> Watch;
}
