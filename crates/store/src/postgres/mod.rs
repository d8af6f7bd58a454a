//! The store that several machines share: a schema of a PostgreSQL database.
//!
//! It keeps the same promises as the store in one file, by other means. One connection writes (`writer`), a few read.
//! A batch locks the row of its lease, so that a lease can't be taken over while something is written under it, and the
//! one row of the feed, so that events are numbered in the order of the commits whoever makes them. `synchronous_commit`
//! is left as the server has it: `on`, the default, is what makes a ticket stand for bytes on a disk.
//!
//! Everything about PostgreSQL stays in here; no type of it is seen outside.

mod apply;
mod connect;
mod fault;
mod leases;
mod options;
mod read;
mod requests;
mod statements;
mod tls;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime};
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_postgres::{IsolationLevel, Transaction};
use windlass_model::assembly::PackageDigest;
use windlass_model::id::StoreId;
use windlass_model::record::{AssemblyRecord, EventRecord, PackageRecord, ProcessRecord, VersionRecord};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, Clock, ProcessId, RequestId, Seq};
use windlass_secret::{SecretRef, Sensitive};

pub use self::options::{CONNECT_TIMEOUT, OnServer, Options, SCHEMA};

use self::connect::Address;
use self::fault::{Fault, Outcome};
use self::statements::Statements;
use self::writer::{Order, WriterTask};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::fence::Fence;
use crate::holder::{Holder, Processes};
use crate::lease::{Lease, LeasePolicy, LeaseTerms};
use crate::seal::Seal;
use crate::snapshot::{History, Snapshot};
use crate::store::Store;
use crate::ticket::Ticket;
use crate::watch::{Polling, Watch};

/// The store in a schema of a PostgreSQL database.
///
/// Its futures need a tokio runtime with time and I/O. What was committed is written also when the store is dropped, as
/// long as the runtime lives.
pub struct PostgresStore {
    id: StoreId,
    name: String,
    seal: Arc<Seal>,
    clock: Arc<dyn Clock>,
    processes: Arc<dyn Processes>,
    terms: LeaseTerms,
    poll_every: Duration,
    readers: Readers,
    last: watch::Receiver<Seq>,
    orders: mpsc::UnboundedSender<Order>,
}

impl PostgresStore {
    /// Opens the store that an address such as `postgres://windlass@db.example.org/windlass` names.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the server can't be reached or the address understood, [`StoreError::Missing`] when there
    /// is no store and none is to be made, [`StoreError::Newer`], [`StoreError::Key`] when the key can't be had or is
    /// another one's, and what the server may refuse.
    pub async fn open(url: &str, options: Options) -> Result<Self, StoreError> {
        let address = Address::parse(url, &options)?;
        let opened = connect::open(&address, &options).await?;
        let readers = Readers::new(&address, options.own.readers)?;
        let last = readers.read(|db| Box::pin(read::last_event(db))).await?;
        let (teller, last) = watch::channel(last);
        let (orders, queue) = mpsc::unbounded_channel();
        let seal = Arc::new(opened.seal);
        let writer = WriterTask {
            address: address.clone(),
            client: Some(opened.client),
            statements: Statements::default(),
            seal: seal.clone(),
            clock: options.clock.clone(),
            processes: options.processes.clone(),
            terms: options.terms,
            last: teller,
            fence: Fence::default(),
        };
        tokio::spawn(writer.serve(queue));
        Ok(Self {
            id: opened.id,
            name: address.name,
            seal,
            clock: options.clock,
            processes: options.processes,
            terms: options.terms,
            poll_every: options.poll_every,
            readers,
            last,
            orders,
        })
    }

    /// Returns the address, without the password.
    pub fn address(&self) -> &Path {
        Path::new(&self.name)
    }

    /// Hands over an order; the future resolves once it is durable, and need not be polled for that.
    fn order<T: Send + 'static>(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Order,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (reply, answer) = oneshot::channel();
        // A task that has ended drops the order, and with it the reply: the answer below is `Closed`.
        let _ = self.orders.send(order(reply));
        Box::pin(async { answer.await.unwrap_or(Err(StoreError::Closed)) })
    }
}

/// Connections that read, each request at one point in time.
#[derive(Clone)]
struct Readers {
    pool: Pool,
    address: Arc<Address>,
}

impl Readers {
    fn new(address: &Address, connections: usize) -> Result<Self, StoreError> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), address.tls.clone(), recycling);
        let pool = Pool::builder(manager)
            .max_size(connections)
            .runtime(Runtime::Tokio1)
            .create_timeout(Some(address.patience()))
            .build();
        let detail = |error: deadpool_postgres::BuildError| StoreError::Database {
            path: address.name.as_str().into(),
            detail: error.to_string(),
        };
        Ok(Self { pool: pool.map_err(detail)?, address: Arc::new(address.clone()) })
    }

    async fn read<T: Send>(
        &self,
        work: impl for<'a> FnOnce(&'a Transaction<'a>) -> BoxFuture<'a, Outcome<T>> + Send,
    ) -> Result<T, StoreError> {
        let mut client = self.pool.get().await.map_err(|error| self.unreachable(error))?;
        let found = async {
            let transaction = client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .await?;
            let found = work(&transaction).await?;
            transaction.commit().await?;
            Ok::<T, Fault>(found)
        };
        found.await.map_err(|fault| fault.at(Path::new(&self.address.name)))
    }

    fn unreachable(&self, error: PoolError) -> StoreError {
        match error {
            PoolError::Backend(error) => Fault::from(error).at(Path::new(&self.address.name)),
            PoolError::Timeout(_) => self.address.silent(),
            other => StoreError::Io {
                action: "reach the store",
                path: self.address.name.as_str().into(),
                source: Arc::new(std::io::Error::other(other.to_string())),
            },
        }
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn id(&self) -> &StoreId {
        &self.id
    }

    fn lease_terms(&self) -> LeaseTerms {
        self.terms
    }

    async fn lease(&self, scope: &AssemblyName, holder: &Holder) -> Result<Lease, StoreError> {
        let (scope, holder) = (scope.clone(), holder.clone());
        self.order(|reply| Order::Grant { scope, holder, reply }).await
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.order(|reply| Order::Renew { lease, reply }).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.order(|reply| Order::Release { lease, reply }).await
    }

    async fn holder(&self, scope: &AssemblyName) -> Result<Option<Holder>, StoreError> {
        let scope = scope.clone();
        let standing = self
            .readers
            .read(move |db| Box::pin(async move { leases::standing(db, &scope, "").await }))
            .await?;
        let policy = LeasePolicy { now: self.clock.now(), terms: self.terms, processes: &*self.processes };
        Ok(policy.holder(standing))
    }

    async fn ask_to_stop(&self, scope: &AssemblyName, process: ProcessId) -> Result<(), StoreError> {
        let scope = scope.clone();
        self.order(|reply| Order::AskToStop { scope, process, reply }).await
    }

    async fn is_asked_to_stop(&self, process: ProcessId) -> Result<bool, StoreError> {
        self.readers.read(move |db| Box::pin(leases::is_asked_to_stop(db, process))).await
    }

    fn commit(&self, lease: &Lease, batch: Batch) -> Ticket {
        let lease = lease.clone();
        Ticket::new(self.order(|reply| Order::Commit { lease, batch, reply }))
    }

    async fn submit(&self, request: &RequestRecord, asked: Sensitive<Vec<u8>>) -> Result<(), StoreError> {
        let request = Box::new(request.clone());
        self.order(|reply| Order::Submit { request, asked, reply }).await.map(|_| ())
    }

    async fn withdraw(&self, request: RequestId) -> Result<Option<RequestRecord>, StoreError> {
        self.order(|reply| Order::Withdraw { request, reply }).await.map(|(record, _)| record)
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

    async fn reserve_process(&self) -> Result<ProcessId, StoreError> {
        self.order(|reply| Order::Reserve { reply }).await
    }

    async fn load(&self, scope: &AssemblyName) -> Result<Option<Snapshot>, StoreError> {
        let (scope, seal) = (scope.clone(), self.seal.clone());
        self.readers.read(move |db| Box::pin(async move { read::load(db, &seal, &scope).await })).await
    }

    async fn assemblies(&self) -> Result<Vec<AssemblyRecord>, StoreError> {
        self.readers.read(|db| Box::pin(read::assemblies(db))).await
    }

    async fn referrers(&self, scope: &AssemblyName) -> Result<Vec<AssemblyName>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::referrers(db, &scope).await })).await
    }

    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        self.readers.read(|db| Box::pin(read::processes(db))).await
    }

    async fn open_processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        self.readers.read(|db| Box::pin(read::open_processes(db))).await
    }

    async fn history(&self, scope: &AssemblyName) -> Result<History, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::history(db, &scope).await })).await
    }

    async fn versions(&self, scope: &AssemblyName) -> Result<Vec<VersionRecord>, StoreError> {
        let scope = scope.clone();
        self.readers.read(move |db| Box::pin(async move { read::versions(db, &scope).await })).await
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
        let last = Arc::new(move || -> BoxFuture<'static, _> {
            let readers = readers.clone();
            Box::pin(async move { readers.read(|db| Box::pin(read::last_event(db))).await })
        });
        Watch::new(after, self.last.clone(), Some(Polling { every: self.poll_every, last }))
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
