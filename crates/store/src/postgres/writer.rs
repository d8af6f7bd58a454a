//! The one task that writes.
//!
//! Orders come through a channel. Whatever waits when the task is ready becomes one transaction, so that many batches
//! share one flush to disk; each order has a savepoint of its own, so that a refused one takes nothing else back. A
//! connection that breaks is made anew for the next order.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_postgres::Client;
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, Clock, ProcessId, RequestId, Seq};
use windlass_secret::Sensitive;

use super::connect::Address;
use super::fault::{Fault, Outcome};
use super::statements::Statements;
use super::{apply, leases, requests};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::fence::Fence;
use crate::holder::{Holder, Processes};
use crate::lease::{Lease, LeasePolicy, LeaseTerms};
use crate::seal::Seal;

/// How many orders share one transaction at most.
const GROUP: usize = 256;

/// Where an answer goes.
type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Something to write.
pub(super) enum Order {
    Commit { lease: Lease, batch: Batch, reply: Reply<Seq> },
    Grant { scope: AssemblyName, holder: Holder, reply: Reply<Lease> },
    Renew { lease: Lease, reply: Reply<()> },
    Release { lease: Lease, reply: Reply<()> },
    AskToStop { scope: AssemblyName, process: ProcessId, reply: Reply<()> },
    Reserve { reply: Reply<ProcessId> },
    Submit { request: Box<RequestRecord>, asked: Sensitive<Vec<u8>>, reply: Reply<Seq> },
    Withdraw { request: RequestId, reply: Reply<Withdrawn> },
}

/// A request that was to be withdrawn, and the number of the event that says so.
type Withdrawn = (Option<RequestRecord>, Option<Seq>);

/// An answer that waits for its transaction.
enum Answer {
    Seq(Reply<Seq>, Result<Seq, StoreError>),
    Lease(Reply<Lease>, Result<Lease, StoreError>),
    Unit(Reply<()>, Result<(), StoreError>),
    Process(Reply<ProcessId>, Result<ProcessId, StoreError>),
    Withdrawn(Reply<Withdrawn>, Result<Withdrawn, StoreError>),
}

impl Answer {
    /// Tells how it ended: as by itself, or as the transaction it ran in. Whoever no longer listens does not want to
    /// know.
    fn give(self, transaction: Result<(), StoreError>) {
        match self {
            Self::Seq(reply, answer) => drop(reply.send(transaction.and(answer))),
            Self::Lease(reply, answer) => drop(reply.send(transaction.and(answer))),
            Self::Unit(reply, answer) => drop(reply.send(transaction.and(answer))),
            Self::Process(reply, answer) => drop(reply.send(transaction.and(answer))),
            Self::Withdrawn(reply, answer) => drop(reply.send(transaction.and(answer))),
        }
    }

    /// Returns the number of the last event that it stands for.
    fn last(&self) -> Option<Seq> {
        match self {
            Self::Seq(_, Ok(last)) => Some(*last),
            Self::Withdrawn(_, Ok((_, last))) => *last,
            _ => None,
        }
    }
}

/// What the task works with.
pub(super) struct WriterTask {
    pub(super) address: Address,
    pub(super) client: Option<Client>,
    pub(super) statements: Statements,
    pub(super) seal: Arc<Seal>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) processes: Arc<dyn Processes>,
    pub(super) terms: LeaseTerms,
    /// Where the number of the last durable event is told.
    pub(super) last: watch::Sender<Seq>,
    /// The leases of which a batch was not applied.
    pub(super) fence: Fence,
}

impl WriterTask {
    /// Writes until nobody can give orders any more.
    pub(super) async fn serve(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut group = Vec::new();
        while orders.recv_many(&mut group, GROUP).await > 0 {
            self.store(std::mem::take(&mut group)).await;
        }
    }

    async fn store(&mut self, group: Vec<Order>) {
        let scopes: Vec<Lease> = group
            .iter()
            .flat_map(|order| match order {
                Order::Commit { lease, batch, .. } => batch.leases(lease).cloned().collect(),
                _ => Vec::new(),
            })
            .collect();
        let mut answers = Vec::with_capacity(group.len());
        let outcome = self.transaction(group, &mut answers).await;
        if outcome.is_err() {
            for lease in &scopes {
                self.fence.close(lease);
            }
        }
        let events = answers.iter().filter_map(Answer::last);
        // Told before the tickets resolve, so that who has a ticket's number finds the event.
        if let (Ok(()), Some(last)) = (&outcome, events.max()) {
            self.last.send_if_modified(|known| *known < last && std::mem::replace(known, last) != last);
        }
        for answer in answers {
            answer.give(outcome.clone());
        }
    }

    async fn transaction(&mut self, group: Vec<Order>, answers: &mut Vec<Answer>) -> Result<(), StoreError> {
        let (client, mut broken) = match self.connected().await {
            Ok(client) => (client, None),
            Err(error) => {
                // Every order is answered, with the reason.
                answers.extend(group.into_iter().map(|order| refuse(order, &error)));
                return Err(error);
            }
        };
        if let Err(error) = client.batch_execute("BEGIN").await {
            broken = Some(Fault::from(error).at(Path::new(&self.address.name)));
        }
        for order in group {
            if let Some(error) = &broken {
                answers.push(refuse(order, error));
                continue;
            }
            match self.attempt(&client, order).await {
                (answer, None) => answers.push(answer),
                (answer, Some(error)) => {
                    answers.push(answer);
                    broken = Some(error);
                }
            }
        }
        let ended = match &broken {
            None => client
                .batch_execute("COMMIT")
                .await
                .map_err(|e| Fault::from(e).at(Path::new(&self.address.name))),
            Some(error) => {
                let _ = client.batch_execute("ROLLBACK").await;
                Err(error.clone())
            }
        };
        if !client.is_closed() {
            self.client = Some(client);
        }
        ended
    }

    /// Returns the connection, made anew if it is gone.
    async fn connected(&mut self) -> Result<Client, StoreError> {
        match self.client.take() {
            Some(client) if !client.is_closed() => Ok(client),
            _ => {
                self.statements = Statements::default();
                self.address.connect().await.map_err(|fault| fault.at(Path::new(&self.address.name)))
            }
        }
    }

    /// Carries an order out within a savepoint. An error beside the answer means that the transaction can't go on.
    async fn attempt(&mut self, db: &Client, order: Order) -> (Answer, Option<StoreError>) {
        if let Err(error) = db.batch_execute("SAVEPOINT one").await {
            let error = Fault::from(error).at(Path::new(&self.address.name));
            return (refuse(order, &error), Some(error));
        }
        match order {
            Order::Commit { lease, batch, reply } => {
                let outcome = self.commit(db, &lease, &batch).await;
                let (outcome, broken) = self.end(db, outcome).await;
                (Answer::Seq(reply, outcome), broken)
            }
            Order::Grant { scope, holder, reply } => {
                let policy =
                    LeasePolicy { now: self.clock.now(), terms: self.terms, processes: &*self.processes };
                let (outcome, broken) =
                    self.settle(db, leases::grant(db, &policy, &scope, &holder).await).await;
                (Answer::Lease(reply, outcome), broken)
            }
            Order::Renew { lease, reply } => {
                let (outcome, broken) =
                    self.settle(db, leases::renew(db, &lease, self.clock.now()).await).await;
                (Answer::Unit(reply, outcome), broken)
            }
            Order::Release { lease, reply } => {
                let (outcome, broken) = self.settle(db, leases::release(db, &lease).await).await;
                (Answer::Unit(reply, outcome), broken)
            }
            Order::AskToStop { scope, process, reply } => {
                let (outcome, broken) = self.settle(db, leases::ask_to_stop(db, &scope, process).await).await;
                (Answer::Unit(reply, outcome), broken)
            }
            Order::Reserve { reply } => {
                let (outcome, broken) = self.settle(db, leases::reserve_process(db).await).await;
                (Answer::Process(reply, outcome), broken)
            }
            Order::Submit { request, asked, reply } => {
                let outcome = requests::submit(db, &self.seal, &request, &asked).await;
                let (outcome, broken) = self.settle(db, outcome).await;
                (Answer::Seq(reply, outcome), broken)
            }
            Order::Withdraw { request, reply } => {
                let outcome = requests::withdraw(db, request, self.clock.now()).await;
                let (outcome, broken) = self.settle(db, outcome).await;
                (Answer::Withdrawn(reply, outcome), broken)
            }
        }
    }

    /// Applies a batch unless one before it has failed, and remembers when it fails itself.
    async fn commit(&mut self, db: &Client, lease: &Lease, batch: &Batch) -> Result<Seq, StoreError> {
        let outcome = match batch.leases(lease).try_for_each(|lease| self.fence.pass(lease)) {
            Ok(()) => apply::batch(db, &mut self.statements, &self.seal, lease, batch)
                .await
                .map_err(|fault| fault.at(Path::new(&self.address.name))),
            Err(refusal) => Err(refusal),
        };
        if outcome.is_err() {
            batch.leases(lease).for_each(|lease| self.fence.close(lease));
        }
        outcome
    }

    /// As [`end`](Self::end), with the place of what went wrong.
    async fn settle<T>(
        &self,
        db: &Client,
        outcome: Outcome<T>,
    ) -> (Result<T, StoreError>, Option<StoreError>) {
        self.end(db, outcome.map_err(|fault| fault.at(Path::new(&self.address.name)))).await
    }

    /// Keeps what an order did, or takes it back. An error beside the outcome means that the transaction can't go on.
    async fn end<T>(
        &self,
        db: &Client,
        outcome: Result<T, StoreError>,
    ) -> (Result<T, StoreError>, Option<StoreError>) {
        let sql = if outcome.is_ok() {
            "RELEASE SAVEPOINT one"
        } else {
            "ROLLBACK TO SAVEPOINT one; RELEASE SAVEPOINT one"
        };
        match db.batch_execute(sql).await {
            Ok(()) => {
                let broken = outcome.as_ref().err().filter(|error| !error.is_refusal()).cloned();
                (outcome, broken)
            }
            Err(error) => {
                let error = Fault::from(error).at(Path::new(&self.address.name));
                (Err(error.clone()), Some(error))
            }
        }
    }
}

/// Answers an order without carrying it out.
fn refuse(order: Order, error: &StoreError) -> Answer {
    match order {
        Order::Commit { reply, .. } | Order::Submit { reply, .. } => Answer::Seq(reply, Err(error.clone())),
        Order::Grant { reply, .. } => Answer::Lease(reply, Err(error.clone())),
        Order::Renew { reply, .. } | Order::Release { reply, .. } | Order::AskToStop { reply, .. } => {
            Answer::Unit(reply, Err(error.clone()))
        }
        Order::Reserve { reply } => Answer::Process(reply, Err(error.clone())),
        Order::Withdraw { reply, .. } => Answer::Withdrawn(reply, Err(error.clone())),
    }
}
