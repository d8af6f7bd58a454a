//! Executes the commands of a [`ProcessMachine`], the state machine that runs one plan. The dispatcher commits
//! batches of records, calls drivers, and takes slots. A *slot* is the right to run jobs at a location.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use windlass_driver::{Call, Driver, Nature, Stop};
use windlass_model::Clock;
use windlass_model::record::{Effect, Failure, FailureKind};
use windlass_store::{Batch, Lease, Store, StoreError};

use crate::host::{Dispatcher, Host, Incoming, Work};
use crate::journal::{CallContext, Checkpoint, Entry, Journal, RemoteCall};
use crate::keeper;
use crate::machine::{Ack, Command, Event, ProcessMachine};
use crate::panic::{caught, described, only};
use crate::places::Places;
use crate::slots::{JobSlots, LimitedLocation};
use crate::work_time::LAST_ANSWER;

/// The services with which the commands of one [`ProcessMachine`] are executed, such as the store and the clock.
pub(crate) struct ProcessEnv {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lease: Lease,
    /// The leases of the other assemblies that the process changes.
    pub(crate) beside: Vec<Lease>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) places: Arc<dyn Places>,
    pub(crate) slots: JobSlots,
    pub(crate) stop: Stop,
}

impl ProcessEnv {
    /// Returns the leases of the assembly and of the other assemblies that the process changes.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        std::iter::once(&self.lease).chain(&self.beside).cloned().collect()
    }

    /// Runs the state machine of a process until the process ends, or until `lost` reports that a lease was lost.
    ///
    /// # Errors
    /// An error of the store. Jobs of the process may still run after this error. The next process finds these
    /// jobs by their job ids.
    pub(crate) async fn run(
        &self,
        machine: &mut ProcessMachine,
        journal: JournalParts,
        lost: impl Future<Output = StoreError>,
    ) -> Result<(), StoreError> {
        let process = machine.process().map(|process| process.id);
        let requests = keeper::listen(self.store.clone(), process, self.stop.clone(), journal.patience);
        let lost = async {
            tokio::select! {
                lost = lost => lost,
                () = requests => std::future::pending().await,
            }
        };
        let host = Host::new(self.clock.clone(), self.stop.clone());
        host.run(machine, &mut self.dispatcher(journal), lost).await
    }

    fn dispatcher(&self, journal: JournalParts) -> CallDispatcher<'_> {
        let (checkpoints, reported) = mpsc::channel(QUEUE);
        let (entries, entered) = mpsc::channel(QUEUE);
        let journal = Journal {
            store: self.store.clone(),
            lease: self.lease.clone(),
            clock: self.clock.clone(),
            jobs: Arc::new(journal.jobs),
            elsewhere: Arc::new(journal.elsewhere),
            resumes: journal.resumes,
            grace: journal.grace,
            reserved: Arc::default(),
            stop: self.stop.clone(),
            checkpoints,
            entries,
        };
        CallDispatcher { env: self, journal, reported, entered, replies: HashMap::new(), next_reply: 0 }
    }
}

/// The maximum number of messages that a channel to the [`Host`] can hold. If the channel is full, a driver that sends
/// a further message waits.
const QUEUE: usize = 64;

/// The initial content of a [`Journal`], which stores the jobs of calls.
#[derive(Default)]
pub(crate) struct JournalParts {
    pub(crate) jobs: std::collections::BTreeMap<String, windlass_model::record::JobRecord>,
    pub(crate) elsewhere: std::collections::HashMap<windlass_model::CallId, RemoteCall>,
    pub(crate) resumes: bool,
    pub(crate) grace: Duration,
    pub(crate) patience: Duration,
}

/// Waits until the record of a job is durable. If `entry.remove` contains a job, the function then removes this job
/// from its runtime.
async fn settle(entry: Entry) -> Result<(), StoreError> {
    entry.ticket.await?;
    let Some((runtime, job)) = entry.remove else { return Ok(()) };
    // A job that can't be removed now does no harm. A later process finds it by its owner.
    if let Err(error) = runtime.remove(&job).await {
        tracing::warn!(%job, %error, "a job could not be removed");
    }
    Ok(())
}

struct CallDispatcher<'a> {
    env: &'a ProcessEnv,
    journal: Journal,
    /// Receives the intermediate reports of drivers.
    reported: mpsc::Receiver<Checkpoint>,
    /// Receives an [`Entry`] when the commit of a job record has begun. The host then waits until the record is
    /// durable.
    entered: mpsc::Receiver<Entry>,
    /// The channels to drivers that wait until the store has saved their intermediate report. The key of a channel
    /// is a number. The fields `reply` of [`Event::Checkpoint`] and of [`Command::Reply`] contain the same number.
    replies: HashMap<u64, oneshot::Sender<Result<(), Failure>>>,
    next_reply: u64,
}

impl Dispatcher<ProcessMachine> for CallDispatcher<'_> {
    fn dispatch(&mut self, command: Command) -> Option<Work<Event>> {
        match command {
            Command::Commit { batch, acks } => Some(self.commit(batch, acks)),
            Command::Perform { call, driver, failed_endpoint } => {
                Some(self.perform(call, driver, failed_endpoint))
            }
            Command::Observe { call, driver } => Some(self.observe(call, driver)),
            Command::TakeSlot(location) => Some(self.take_slot(location)),
            Command::Reply { reply, result } => {
                if let Some(sender) = self.replies.remove(&reply) {
                    // The send fails if the driver was dropped with its call.
                    let _ = sender.send(result);
                }
                None
            }
        }
    }

    async fn incoming(&mut self) -> Incoming<Event> {
        tokio::select! {
            biased;
            Some(checkpoint) = self.reported.recv() => Incoming::Event(self.checkpoint(checkpoint)),
            Some(entry) = self.entered.recv() => Incoming::Work(self.settle(entry)),
            // The journal of the dispatcher keeps both channels open.
            else => std::future::pending().await,
        }
    }

    async fn ready(&self) {
        self.env.store.room().await;
    }
}

impl CallDispatcher<'_> {
    fn commit(&self, batch: Batch, acks: Vec<Ack>) -> Work<Event> {
        let ticket = self.env.store.commit(&self.env.lease, batch);
        Box::pin(async move { ticket.await.map(|_| Some(Event::Durable(acks))) })
    }

    fn take_slot(&self, location: LimitedLocation) -> Work<Event> {
        let (slots, stop) = (self.env.slots.clone(), self.env.stop.clone());
        Box::pin(async move {
            tokio::select! {
                biased;
                () = stop.requested() => Ok(None),
                slot = slots.take(location) => Ok(Some(Event::Slot(slot))),
            }
        })
    }

    fn perform(
        &self,
        call: Box<Call>,
        driver: Arc<dyn Driver>,
        failed_endpoint: Option<Failure>,
    ) -> Work<Event> {
        // If the driver panics here, the action counts as one that must not be repeated.
        let nature = described(|| driver.nature(&call.package, &call.action));
        let limit = DriverLimit::of(&nature);
        let once = nature.map_or(true, |nature| nature.is_some_and(|nature| nature.effect == Effect::Once));
        let context = self.context(&call).once(once).begins_unless(failed_endpoint);
        let (overdue, until_ended) = (self.overdue(), self.overdue());
        Box::pin(async move {
            let calls = std::slice::from_ref(&*call);
            let answers = limit.of_answers(&context, driver.perform(&context, calls));
            let result = match answered(answers, overdue).await {
                Ok(answer) => answer,
                Err(failure) => tokio::select! {
                    ended = context.end_jobs() => ended.and(Err(failure)),
                    () = until_ended => Err(not_ended()),
                },
            };
            let result = match result {
                Ok(mut report) => context.claim(&report).await.map(|warning| {
                    report.log.extend(warning);
                    report
                }),
                failed => failed,
            };
            context.keep_last_job(&call, result.as_ref().err()).await;
            let artifacts = context.take_artifacts();
            Ok(Some(Event::Performed { call: call.id, result, artifacts }))
        })
    }

    fn observe(&self, call: Box<Call>, driver: Arc<dyn Driver>) -> Work<Event> {
        let limit = DriverLimit::of(&described(|| driver.nature(&call.package, &call.action)));
        let context = self.context(&call).looking(self.env.clock.now());
        let overdue = self.overdue();
        Box::pin(async move {
            let calls = std::slice::from_ref(&*call);
            let answers = limit.of_answers(&context, driver.observe(&context, calls));
            let result = answered(answers, overdue).await.unwrap_or_else(Err);
            let artifacts = context.take_artifacts();
            Ok(Some(Event::Observed { call: call.id, result, artifacts }))
        })
    }

    /// Returns work that waits until the job record of `entry` is durable. If `entry` names a job to remove, the work
    /// then removes this job from its runtime.
    ///
    /// The removal of a job may hang. So if a stop was requested, the work ends at the latest when the future of
    /// [`overdue`](Self::overdue) ends.
    fn settle(&self, entry: Entry) -> Work<Event> {
        let overdue = self.overdue();
        Box::pin(async move {
            tokio::select! {
                settled = settle(entry) => settled.map(|()| None),
                () = overdue => Ok(None),
            }
        })
    }

    /// Waits for a stop, and then until no further answer of a driver is expected. First, the function waits until a
    /// stop cancels the running jobs. Then it waits for their grace period, and for the time [`LAST_ANSWER`].
    fn overdue(&self) -> impl Future<Output = ()> + Send + use<> {
        let (stop, grace) = (self.env.stop.clone(), self.journal.grace);
        async move {
            stop.requested_now().await;
            tokio::time::sleep(grace.saturating_add(LAST_ANSWER)).await;
        }
    }

    fn context(&self, call: &Call) -> CallContext {
        CallContext::new(self.journal.clone(), self.env.places.clone(), call)
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) -> Event {
        let Checkpoint { call, report, hidden, reply } = checkpoint;
        self.next_reply += 1;
        self.replies.insert(self.next_reply, reply);
        Event::Checkpoint { call, report, hidden, reply: self.next_reply }
    }
}

/// The maximum time that a driver may work on the answer to one call.
struct DriverLimit {
    /// The timeout of the call; `None` if the driver could not tell it.
    timeout: Option<Duration>,
}

impl DriverLimit {
    fn of(nature: &Result<Option<Nature>, Failure>) -> Self {
        Self { timeout: nature.as_ref().ok().and_then(Option::as_ref).map(|nature| nature.timeout) }
    }

    /// Awaits the answers of a driver. The driver may [work](crate::work_time::WorkTime) for the timeout of its call and a few seconds
    /// more.
    ///
    /// # Errors
    /// The driver gave no answer in time.
    async fn of_answers<T>(
        self,
        context: &CallContext,
        answers: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        match self.timeout {
            Some(timeout) => context.work().limit(timeout, answers).await,
            None => Ok(answers.await),
        }
    }
}

/// Returns a driver's answer to one call. If the driver has not answered when `overdue` resolves, the returned answer
/// is a failure of the kind [`FailureKind::Lost`]: the outcome of the call is unknown.
///
/// # Errors
/// The driver has a fault: it panicked, did not give exactly one answer, or gave no answer in time. Jobs of the call
/// may still run. After a fault in `perform`, the caller ends these jobs, so that they do not run beside the next call
/// on the same element.
async fn answered<T>(
    answers: impl Future<Output = Result<Vec<Result<T, Failure>>, Failure>>,
    overdue: impl Future<Output = ()>,
) -> Result<Result<T, Failure>, Failure> {
    tokio::select! {
        biased;
        answers = caught(answers) => answers.flatten().and_then(only),
        () = overdue => Ok(Err(not_ended())),
    }
}

fn not_ended() -> Failure {
    Failure::new(FailureKind::Lost, "it was stopped on request, and its driver did not end")
}
