//! The host: executes the machine's commands. All waiting of the engine happens here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use windlass_driver::{Call, Driver};
use windlass_model::record::{Effect, Failure, FailureKind};
use windlass_model::{Clock, Timestamp};
use windlass_store::{Lease, Store, StoreError};

use crate::journal::{CallContext, Checkpoint, Entry, Journal, RemoteCall};
use crate::keeper;
use crate::machine::{Command, Event, Machine};
use crate::panic::{caught, only};
use crate::places::Places;
use crate::slots::JobSlots;
use crate::stop::Stop;

/// The environment in which a machine runs.
pub(crate) struct Host {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lease: Lease,
    /// The leases of the other assemblies that the process changes.
    pub(crate) beside: Vec<Lease>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) places: Arc<dyn Places>,
    pub(crate) slots: JobSlots,
    pub(crate) stop: Stop,
}

type Work = Pin<Box<dyn Future<Output = Result<Option<Event>, StoreError>> + Send>>;

struct Running<'a> {
    host: &'a Host,
    journal: Journal,
    work: FuturesUnordered<Work>,
    replies: std::collections::HashMap<u64, tokio::sync::oneshot::Sender<Result<(), Failure>>>,
    next_reply: u64,
    finished: bool,
}

impl Host {
    /// Returns the leases of the assembly and of the others that the process changes.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        std::iter::once(&self.lease).chain(&self.beside).cloned().collect()
    }

    /// Runs a machine to its end, while `lost` waits for the loss of a lease.
    ///
    /// # Errors
    /// An error of the store. Nothing can be made durable then, so nothing new is started. The next process
    /// finds the running jobs by their ids.
    pub(crate) async fn run(
        &self,
        machine: &mut Machine,
        journal: JournalParts,
        lost: impl Future<Output = StoreError>,
    ) -> Result<(), StoreError> {
        let patience = journal.patience;
        let (checkpoints, mut incoming) = mpsc::channel(QUEUE);
        let (entries, mut entered) = mpsc::channel::<Entry>(QUEUE);
        let journal = Journal {
            store: self.store.clone(),
            lease: self.lease.clone(),
            clock: self.clock.clone(),
            jobs: Arc::new(journal.jobs),
            elsewhere: Arc::new(journal.elsewhere),
            grace: journal.grace,
            reserved: Arc::default(),
            stop: self.stop.clone(),
            checkpoints,
            entries,
        };
        let mut running = Running {
            host: self,
            journal,
            work: FuturesUnordered::new(),
            replies: std::collections::HashMap::new(),
            next_reply: 0,
            finished: false,
        };
        let process = machine.process().map(|process| process.id);
        let mut lost = std::pin::pin!(lost);
        let mut listen =
            std::pin::pin!(keeper::listen(self.store.clone(), process, self.stop.clone(), patience));
        // After a stop nothing begins, not even the first step.
        let mut told_to_stop = self.stop.soon.is_cancelled();
        let first = if told_to_stop { Event::Cancel } else { Event::Begin };
        running.carry_out(machine.on(self.clock.now(), first));
        while !(running.finished && running.work.is_empty()) {
            let event = tokio::select! {
                biased;
                () = self.stop.soon.cancelled(), if !told_to_stop => {
                    told_to_stop = true;
                    Some(Event::Cancel)
                }
                // The next two futures are rarely ready. They come before the work, which may always be ready.
                lost = &mut lost => return Err(lost),
                () = &mut listen => None,
                Some(checkpoint) = incoming.recv() => Some(running.checkpoint(checkpoint)),
                Some(entry) = entered.recv() => {
                    running.settle(entry);
                    None
                }
                Some(done) = running.work.next() => match done {
                    Ok(event) => event,
                    Err(error) => return Err(running.root_cause(error)),
                },
            };
            if let Some(event) = event {
                // One event creates at most one batch. If the store has no room for it for a whole term, the
                // leases are lost.
                tokio::select! {
                    () = self.store.room() => {}
                    lost = &mut lost => return Err(lost),
                }
                running.carry_out(machine.on(self.clock.now(), event));
            }
        }
        while let Ok(entry) = entered.try_recv() {
            running.settle(entry);
        }
        while let Some(done) = running.work.next().await {
            done?;
        }
        Ok(())
    }
}

/// Maximum number of messages from drivers that wait for the host.
const QUEUE: usize = 64;

/// The initial content of a [`Journal`].
#[derive(Default)]
pub(crate) struct JournalParts {
    pub(crate) jobs: std::collections::BTreeMap<String, windlass_model::record::JobRecord>,
    pub(crate) elsewhere: std::collections::HashMap<windlass_model::CallId, RemoteCall>,
    pub(crate) grace: Duration,
    pub(crate) patience: Duration,
}

/// Waits until an entry is durable, and removes the job that is no longer needed then.
async fn settle(entry: Entry) -> Result<(), StoreError> {
    entry.ticket.await?;
    let Some((runtime, job)) = entry.remove else { return Ok(()) };
    // A job that can't be removed now does no harm. A later process finds it by its owner.
    if let Err(error) = runtime.remove(&job).await {
        tracing::warn!(%job, %error, "a job could not be removed");
    }
    Ok(())
}

impl Running<'_> {
    fn carry_out(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Commit { batch, acks } => {
                    let ticket = self.host.store.commit(&self.host.lease, batch);
                    self.work.push(Box::pin(async move { ticket.await.map(|_| Some(Event::Durable(acks))) }));
                }
                Command::Perform { call, driver, failed_endpoint } => {
                    self.perform(call, driver, failed_endpoint);
                }
                Command::Observe { call, driver } => self.observe(call, driver),
                Command::Wake { call, at } => {
                    let wait = until(self.host.clock.now(), at);
                    let soon = self.host.stop.soon.clone();
                    self.work.push(Box::pin(async move {
                        tokio::select! {
                            () = tokio::time::sleep(wait) => {}
                            () = soon.cancelled() => {}
                        }
                        Ok(Some(Event::Due(call)))
                    }));
                }
                Command::Pause { step, until: end } => {
                    let wait = until(self.host.clock.now(), end);
                    let soon = self.host.stop.soon.clone();
                    self.work.push(Box::pin(async move {
                        tokio::select! {
                            () = tokio::time::sleep(wait) => Ok(Some(Event::PauseEnded(step))),
                            () = soon.cancelled() => Ok(None),
                        }
                    }));
                }
                Command::TakeSlot(location) => {
                    let (slots, soon) = (self.host.slots.clone(), self.host.stop.soon.clone());
                    self.work.push(Box::pin(async move {
                        tokio::select! {
                            biased;
                            () = soon.cancelled() => Ok(None),
                            slot = slots.take(location) => Ok(Some(Event::Slot(slot))),
                        }
                    }));
                }
                Command::Reply { reply, result } => {
                    if let Some(sender) = self.replies.remove(&reply) {
                        // A driver that no longer listens has been dropped with its call.
                        let _ = sender.send(result);
                    }
                }
                Command::Finished => self.finished = true,
            }
        }
    }

    fn perform(&mut self, call: Box<Call>, driver: Arc<dyn Driver>, failed_endpoint: Option<Failure>) {
        let nature = driver.nature(&call.package, &call.action);
        let once = nature.is_some_and(|nature| nature.effect == Effect::Once);
        let context = self.context(&call).once(once).begins_unless(failed_endpoint);
        let (overdue, until_ended) = (self.overdue(), self.overdue());
        self.work.push(Box::pin(async move {
            let calls = std::slice::from_ref(&*call);
            let result = match answered(driver.perform(&context, calls), overdue).await {
                Ok(answer) => answer,
                Err(failure) => tokio::select! {
                    ended = context.end_jobs() => ended.and(Err(failure)),
                    () = until_ended => Err(not_ended()),
                },
            };
            let result = match result {
                Ok(report) => context.claim(&report).await.map(|()| report),
                failed => failed,
            };
            context.keep_last_job(&call, result.as_ref().err()).await;
            let artifacts = context.take_artifacts();
            Ok(Some(Event::Performed { call: call.id, result, artifacts }))
        }));
    }

    fn observe(&mut self, call: Box<Call>, driver: Arc<dyn Driver>) {
        let context = self.context(&call).looking(self.host.clock.now());
        let overdue = self.overdue();
        self.work.push(Box::pin(async move {
            let calls = std::slice::from_ref(&*call);
            let result = answered(driver.observe(&context, calls), overdue).await.unwrap_or_else(Err);
            let artifacts = context.take_artifacts();
            Ok(Some(Event::Observed { call: call.id, result, artifacts }))
        }));
    }

    /// Awaits an entry of the journal in the background. A removal that hangs must not delay a stop.
    fn settle(&mut self, entry: Entry) {
        let overdue = self.overdue();
        self.work.push(Box::pin(async move {
            tokio::select! {
                settled = settle(entry) => settled.map(|()| None),
                () = overdue => Ok(None),
            }
        }));
    }

    /// Waits until stopped work is no longer awaited.
    fn overdue(&self) -> impl Future<Output = ()> + Send + use<> {
        let (stop, grace) = (self.host.stop.clone(), self.journal.grace);
        async move { stop.is_overdue(grace).await }
    }

    /// Returns the error that made the store refuse all later batches. Tickets resolve in order, so that error
    /// is already available.
    fn root_cause(&mut self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::AfterFailure { .. }) {
            return error;
        }
        while let Some(Some(done)) = self.work.next().now_or_never() {
            match done {
                Err(StoreError::AfterFailure { .. }) | Ok(_) => {}
                Err(cause) => return cause,
            }
        }
        error
    }

    fn context(&self, call: &Call) -> CallContext {
        CallContext::new(self.journal.clone(), self.host.places.clone(), call)
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) -> Event {
        let Checkpoint { call, report, hidden, reply } = checkpoint;
        self.next_reply += 1;
        self.replies.insert(self.next_reply, reply);
        Event::Checkpoint { call, report, hidden, reply: self.next_reply }
    }
}

fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::from_millis(at.millis_since(now))
}

/// Returns a driver's answer to one call. A driver that ignores a stop has lost its call.
///
/// # Errors
/// The driver has a fault: it panicked, or gave another number of answers than one. Jobs of it may still run.
async fn answered<T>(
    answers: impl Future<Output = Vec<Result<T, Failure>>>,
    overdue: impl Future<Output = ()>,
) -> Result<Result<T, Failure>, Failure> {
    tokio::select! {
        biased;
        answers = caught(answers) => answers.and_then(only),
        () = overdue => Ok(Err(not_ended())),
    }
}

fn not_ended() -> Failure {
    Failure::new(FailureKind::Lost, "it was stopped on request, and its driver did not end")
}
