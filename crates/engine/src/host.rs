//! The host: carries the machine's commands out. All waiting of the engine happens here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_driver::{Call, Driver, Observed, Report};
use windlass_model::record::{Failure, FailureKind};
use windlass_model::{Clock, ProcessId, Timestamp};
use windlass_store::{Lease, Store, StoreError};

use crate::journal::{CallContext, Checkpoint, Elsewhere, Entry, Journal};
use crate::machine::{Command, Event, Machine};
use crate::places::Places;

/// When the user wants to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Nothing new is started, and what runs may end.
    pub soon: CancellationToken,
    /// What runs is stopped.
    pub now: CancellationToken,
}

impl Stop {
    /// Makes a stop for one of several things that run side by side: it comes with this one, and also alone.
    pub(crate) fn of_one(&self) -> Self {
        Self { soon: self.soon.child_token(), now: self.now.child_token() }
    }
}

/// What the host needs.
pub(crate) struct Host {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lease: Lease,
    /// The leases of the other assemblies that are changed.
    pub(crate) beside: Vec<Lease>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) places: Arc<dyn Places>,
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
    /// How long what runs may go on when somebody else asks the process to stop.
    patience: std::time::Duration,
}

impl Host {
    /// Runs a machine to its end.
    ///
    /// # Errors
    ///
    /// When the store fails: nothing more can be made durable then, so nothing more is started. What runs is found
    /// again by the next run.
    pub(crate) async fn run(&self, machine: &mut Machine, journal: JournalParts) -> Result<(), StoreError> {
        let patience = journal.patience;
        let (checkpoints, mut incoming) = mpsc::channel(64);
        let (entries, mut entered) = mpsc::unbounded_channel::<Entry>();
        let journal = Journal {
            store: self.store.clone(),
            lease: self.lease.clone(),
            clock: self.clock.clone(),
            jobs: Arc::new(journal.jobs),
            elsewhere: Arc::new(journal.elsewhere),
            grace: journal.grace,
            stop: self.stop.now.clone(),
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
            patience,
        };
        let every = self.store.lease_terms().renew_every;
        let mut renew = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        renew.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut ask = tokio::time::interval_at(tokio::time::Instant::now() + ASK_EVERY, ASK_EVERY);
        ask.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let process = machine.process().map(|process| process.id);
        let mut told_to_stop = false;
        running.carry_out(machine.on(self.clock.now(), Event::Begin));
        while !(running.finished && running.work.is_empty()) {
            let event = tokio::select! {
                biased;
                () = self.stop.soon.cancelled(), if !told_to_stop => {
                    told_to_stop = true;
                    Some(Event::Cancel)
                }
                Some(checkpoint) = incoming.recv() => Some(running.checkpoint(checkpoint)),
                Some(entry) = entered.recv() => {
                    running.work.push(Box::pin(settle(entry)));
                    None
                }
                Some(done) = running.work.next() => match done {
                    Ok(event) => event,
                    Err(error) => return Err(running.root_cause(error)),
                },
                // Beside the rest of the work: a store that is slow to answer holds up no call.
                _ = renew.tick() => {
                    for lease in std::iter::once(&self.lease).chain(&self.beside) {
                        let (store, lease) = (self.store.clone(), lease.clone());
                        running.work.push(Box::pin(async move { store.renew(&lease).await.map(|()| None) }));
                    }
                    None
                }
                _ = ask.tick(), if !told_to_stop => {
                    running.ask_whether_to_stop(process);
                    None
                }
            };
            if let Some(event) = event {
                running.carry_out(machine.on(self.clock.now(), event));
            }
        }
        while let Ok(entry) = entered.try_recv() {
            settle(entry).await?;
        }
        Ok(())
    }
}

/// How often it is asked whether somebody wants the process to stop.
const ASK_EVERY: std::time::Duration = std::time::Duration::from_secs(1);

/// What the journal of a run starts with.
#[derive(Default)]
pub(crate) struct JournalParts {
    pub(crate) jobs: std::collections::BTreeMap<String, windlass_model::record::JobRecord>,
    pub(crate) elsewhere: std::collections::HashMap<windlass_model::CallId, Elsewhere>,
    pub(crate) grace: std::time::Duration,
    pub(crate) patience: std::time::Duration,
}

/// Waits until something is durable, and removes the job that is no longer needed then.
async fn settle(entry: Entry) -> Result<Option<Event>, StoreError> {
    entry.ticket.await?;
    let Some((runtime, job)) = entry.remove else { return Ok(None) };
    // What can't be removed now is found by its owner later; it does no harm.
    if let Err(error) = runtime.remove(&job).await {
        tracing::warn!(%job, %error, "a job could not be removed");
    }
    Ok(None)
}

impl Running<'_> {
    fn carry_out(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Commit { batch, acks } => {
                    let ticket = self.host.store.commit(&self.host.lease, batch);
                    self.work.push(Box::pin(async move { ticket.await.map(|_| Some(Event::Durable(acks))) }));
                }
                Command::Perform { call, driver } => {
                    let context = self.context(&call);
                    self.work.push(Box::pin(perform(context, driver, call)));
                }
                Command::Observe { call, driver } => {
                    let context = self.context(&call).looking(self.host.clock.now());
                    self.work.push(Box::pin(observe(context, driver, call)));
                }
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

    /// Looks whether somebody has asked the process to stop; if so, it stops as by Ctrl-C: what runs has the grace to end.
    fn ask_whether_to_stop(&mut self, process: Option<ProcessId>) {
        let Some(process) = process else { return };
        let (store, stop, patience) = (self.host.store.clone(), self.host.stop.clone(), self.patience);
        self.work.push(Box::pin(async move {
            if store.is_asked_to_stop(process).await? && !stop.soon.is_cancelled() {
                stop.soon.cancel();
                tokio::spawn(async move {
                    tokio::time::sleep(patience).await;
                    stop.now.cancel();
                });
            }
            Ok(None)
        }));
    }

    /// Finds what made the store refuse everything after it: tickets resolve in order, so it has resolved too.
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
        self.next_reply += 1;
        self.replies.insert(self.next_reply, checkpoint.reply);
        Event::Checkpoint { call: checkpoint.call, report: checkpoint.report, reply: self.next_reply }
    }
}

fn until(now: Timestamp, at: Timestamp) -> std::time::Duration {
    std::time::Duration::from_millis(at.millis_since(now))
}

async fn perform(
    context: CallContext,
    driver: Arc<dyn Driver>,
    call: Box<Call>,
) -> Result<Option<Event>, StoreError> {
    let calls = std::slice::from_ref(&*call);
    let result: Result<Report, Failure> = only(driver.perform(&context, calls).await);
    let remains = context.take_remains();
    Ok(Some(Event::Performed { call: call.id, result, remains }))
}

async fn observe(
    context: CallContext,
    driver: Arc<dyn Driver>,
    call: Box<Call>,
) -> Result<Option<Event>, StoreError> {
    let calls = std::slice::from_ref(&*call);
    let result: Result<Observed, Failure> = only(driver.observe(&context, calls).await);
    let remains = context.take_remains();
    Ok(Some(Event::Observed { call: call.id, result, remains }))
}

/// Returns the one answer to one call.
fn only<T>(mut answers: Vec<Result<T, Failure>>) -> Result<T, Failure> {
    match answers.len() {
        1 => answers.remove(0),
        count => {
            Err(Failure::new(FailureKind::Protocol, format!("the driver answered {count} times to one call")))
        }
    }
}
