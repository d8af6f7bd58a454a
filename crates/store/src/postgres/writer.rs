//! The one task that applies batches.
//!
//! The task receives [`QueuedWrite`]s through a bounded channel. Each of them commits a batch, or releases a lease.
//! All writes that are waiting when the task is ready form one transaction, so that many batches share one flush to
//! disk. Each write has its own savepoint, so that a refused write does not affect the others. If the whole
//! transaction fails, its writes are retried one by one, and only the faulty writes fail.
//!
//! All transactions lock rows in the same order: leases by name, then the row of the table `feed`, then
//! everything else. So no two transactions deadlock.
//!
//! If the connection breaks, the task tries to connect again, for as long as a lease lasts. After it has
//! connected, it asks the server whether the transaction was committed. If the transaction was not committed,
//! the task applies its writes again.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_postgres::Client;
use windlass_model::Seq;

use super::connect::Address;
use super::fault::{Fault, Outcome, Remedy, remedy};
use super::limits::ANSWER;
use super::pool::{ATTEMPTS, PAUSE};
use super::statements::Statements;
use super::xact::{self, Fate, Xact};
use super::{apply, feed, leases};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::fence::Fence;
use crate::lease::Lease;
use crate::queue::Waiting;
use crate::seal::Seal;

/// Maximum number of writes in one transaction.
const GROUP: usize = 256;

/// A change of the store, queued until the writer task applies it.
pub(super) struct QueuedWrite {
    /// The leases that the write needs. For a release, this is the lease to release. For a batch, the first lease
    /// is the one under which the batch is committed, and [`Batch::beside`] has added all further leases.
    pub(super) leases: Vec<Lease>,
    pub(super) work: Work,
    pub(super) reply: oneshot::Sender<Result<Seq, StoreError>>,
}

/// The change that a [`QueuedWrite`] makes.
pub(super) enum Work {
    Commit(Batch),
    /// Releases the lease, after all batches that were committed under it.
    Release,
}

/// A write that the task is executing, and the result of its last attempt.
struct Pending {
    write: QueuedWrite,
    result: Result<Seq, StoreError>,
}

impl Pending {
    fn own(&self) -> Option<&Lease> {
        self.write.leases.first()
    }
}

/// The task that executes [`QueuedWrite`]s. The task has its own connection.
pub(super) struct WriterTask {
    pub(super) address: Address,
    pub(super) client: Option<Client>,
    pub(super) statements: Statements,
    pub(super) seal: Arc<Seal>,
    /// Maximum time to wait for an unreachable server.
    pub(super) patience: Duration,
    /// Publishes the number of the last durable event.
    pub(super) last: Arc<watch::Sender<Seq>>,
    /// The leases that have a failed batch.
    pub(super) fence: Fence,
    /// The last transaction, if its commit was sent, but not answered. It may be committed or not.
    pub(super) unanswered: Option<Xact>,
    pub(super) waiting: Arc<Waiting>,
}

impl WriterTask {
    /// Processes writes until all senders are gone.
    pub(super) async fn serve(mut self, mut writes: mpsc::Receiver<QueuedWrite>) {
        let mut group = Vec::new();
        while writes.recv_many(&mut group, GROUP).await > 0 {
            self.waiting.taken(group.len());
            let pending = group.drain(..).map(|write| Pending { write, result: Err(StoreError::Closed) });
            self.store(pending.collect()).await;
        }
    }

    async fn store(&mut self, mut group: Vec<Pending>) {
        let fence = self.fence.clone();
        let outcome = self.lasting(&mut group).await;
        match outcome {
            Err(failed) if group.len() > 1 && !failed.is_lost => {
                self.fence = fence;
                for one in group {
                    let mut one = vec![one];
                    let outcome = self.lasting(&mut one).await;
                    self.answer(one, &outcome.map_err(|failed| failed.error));
                }
            }
            outcome => self.answer(group, &outcome.map_err(|failed| failed.error)),
        }
    }

    /// Sends the result of each write to its caller. If the transaction has failed, all callers get the error of
    /// the transaction instead.
    fn answer(&mut self, group: Vec<Pending>, outcome: &Result<(), StoreError>) {
        if outcome.is_err() {
            for pending in &group {
                for lease in &pending.write.leases {
                    self.fence.close(lease);
                }
            }
        }
        let last = group.iter().filter_map(|pending| pending.result.as_ref().ok()).max();
        // The number is published before the tickets resolve. So a caller that has the number from a ticket
        // finds the event.
        if let (Ok(()), Some(last)) = (outcome, last) {
            announce(&self.last, *last);
        }
        for Pending { write, result } in group {
            // The send fails if the caller has dropped the ticket.
            let _ = write.reply.send(outcome.clone().and(result));
        }
    }

    /// Applies a group of writes in one transaction. Retries if the connection breaks, or if the transaction
    /// conflicts with concurrent transactions.
    async fn lasting(&mut self, group: &mut [Pending]) -> Result<(), Failed> {
        let fence = self.fence.clone();
        let (mut attempts, mut deadline) = (0, None);
        loop {
            let fault = match self.once(group, &fence).await {
                Ok(()) => return Ok(()),
                Err(fault) => fault,
            };
            attempts += 1;
            let cure = remedy(&fault);
            let retries = match cure {
                Remedy::None => false,
                Remedy::Again => attempts < ATTEMPTS,
                Remedy::Reconnect => {
                    self.client = None;
                    Instant::now() < *deadline.get_or_insert_with(|| Instant::now() + self.patience)
                }
            };
            if !retries {
                // A group that may have been committed is not applied again.
                let is_unanswered = self.unanswered.take().is_some();
                let is_lost = is_unanswered || cure == Remedy::Reconnect;
                let error = fault.at(Path::new(&self.address.name));
                return Err(Failed { error, is_lost });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Makes one attempt to apply a group of writes in one transaction.
    ///
    /// An earlier attempt may have sent its commit, and lost the connection before the answer. So the method first
    /// asks the server whether the earlier transaction was committed. If it was, the group is not applied again.
    async fn once(&mut self, group: &mut [Pending], fence: &Fence) -> Outcome<()> {
        let client = self.connected().await?;
        if let Some(xact) = self.unanswered {
            match within(&self.address, xact::fate(&client, xact)).await? {
                Fate::Committed => {
                    self.unanswered = None;
                    self.client = Some(client);
                    return Ok(());
                }
                Fate::Open => return Err(self.address.silent().into()),
                Fate::Unknown => return Err(self.address.outcome_unknown().into()),
                Fate::Aborted => self.unanswered = None,
            }
        }
        self.fence = fence.clone();
        match self.transaction(&client, group).await {
            Err(fault) if remedy(&fault) == Remedy::Reconnect => return Err(fault),
            Err(fault) => {
                within(&self.address, async { Ok(client.batch_execute("ROLLBACK").await?) }).await?;
                self.client = Some(client);
                return Err(fault);
            }
            Ok(()) => self.client = Some(client),
        }
        Ok(())
    }

    async fn transaction(&mut self, db: &Client, group: &mut [Pending]) -> Outcome<()> {
        let address = self.address.clone();
        within(&address, async { Ok(db.batch_execute("BEGIN").await?) }).await?;
        let scopes: Vec<&str> =
            group.iter().flat_map(|one| &one.write.leases).map(|lease| lease.scope.as_str()).collect();
        within(&address, leases::lock(db, &scopes)).await?;
        if group.iter().any(|one| matches!(one.write.work, Work::Commit(_))) {
            within(&address, feed::lock_feed(db)).await?;
        }
        for one in group.iter_mut() {
            self.attempt(db, one).await?;
        }
        let xact = within(&address, xact::current(db)).await?;
        self.unanswered = Some(xact);
        within(&address, async { Ok(db.batch_execute("COMMIT").await?) }).await?;
        self.unanswered = None;
        Ok(())
    }

    /// Returns the connection, re-established if it is closed.
    async fn connected(&mut self) -> Outcome<Client> {
        match self.client.take() {
            Some(client) if !client.is_closed() => Ok(client),
            _ => {
                self.statements = Statements::default();
                self.address.connect().await
            }
        }
    }

    /// Executes a [`QueuedWrite`], which is a batch or the release of a lease, within a savepoint. If the store
    /// refuses the write, only the changes of this write are undone. An error means that the whole transaction
    /// can't continue.
    async fn attempt(&mut self, db: &Client, one: &mut Pending) -> Outcome<()> {
        let address = self.address.clone();
        if let Err(refusal) = self.pass(one) {
            one.result = Err(refusal);
            return Ok(());
        }
        within(&address, async { Ok(db.batch_execute("SAVEPOINT one").await?) }).await?;
        let done = within(&address, self.carry_out(db, one)).await;
        let (sql, result) = match done {
            Ok(last) => ("RELEASE SAVEPOINT one", Ok(last)),
            Err(Fault::Store(error)) if error.is_refusal() => {
                if matches!(one.write.work, Work::Commit(_)) {
                    one.write.leases.iter().for_each(|lease| self.fence.close(lease));
                }
                ("ROLLBACK TO SAVEPOINT one; RELEASE SAVEPOINT one", Err(error))
            }
            Err(fault) => return Err(fault),
        };
        within(&address, async { Ok(db.batch_execute(sql).await?) }).await?;
        one.result = result;
        Ok(())
    }

    /// Accepts a batch unless an earlier batch of one of its leases has failed. The release of a lease is
    /// always accepted.
    fn pass(&self, one: &Pending) -> Result<(), StoreError> {
        match one.write.work {
            Work::Commit(_) => one.write.leases.iter().try_for_each(|lease| self.fence.pass(lease)),
            Work::Release => Ok(()),
        }
    }

    async fn carry_out(&mut self, db: &Client, one: &Pending) -> Outcome<Seq> {
        let Some(lease) = one.own() else { return Err(StoreError::Closed.into()) };
        match &one.write.work {
            Work::Commit(batch) => apply::batch(db, &mut self.statements, &self.seal, lease, batch).await,
            Work::Release => leases::release(db, lease).await.map(|()| Seq::START),
        }
    }
}

/// The reason why a group of writes was not applied.
struct Failed {
    error: StoreError,
    /// True if the server can't be reached, or if the server may have committed the group. If this field is false,
    /// the task retries the writes of the group one by one.
    is_lost: bool,
}

/// Waits for an answer, at most for the time [`ANSWER`].
async fn within<T>(address: &Address, answer: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(outcome) => outcome,
        Err(_) => Err(address.silent().into()),
    }
}

/// Publishes `seq` as the number of the last durable event, unless a higher number was published before.
pub(super) fn announce(last: &watch::Sender<Seq>, seq: Seq) {
    last.send_if_modified(|known| *known < seq && std::mem::replace(known, seq) != seq);
}
