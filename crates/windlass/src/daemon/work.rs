//! Concurrent work of the daemon. Each intent, health check, discovery and prune runs in a task of its own, which sends
//! messages to the daemon.
//!
//! Because of the separate tasks, a slow store or driver delays only its own task, and a panic ends only its own task.
//! The task of an intent also renews the lease of the assembly, and controls the jobs of the intent.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio::task::JoinSet;
use windlass_engine::{
    CheckEnd, Checked, DutyTurn, Ended, Engine, EngineError, FactoryDuty, Prepared, Request, Stop, Turn,
    TurnTime, check_under, take_turn,
};
use windlass_model::record::ProcessRecord;
use windlass_model::{AssemblyName, ProcessId, Timestamp};
use windlass_store::Holder;

use super::notice::Notice;
use super::roster::Reads;
use super::samples::{Looked, measured};
use crate::error::Error;
use crate::launching::{DiscoverOptions, DiscoveryView, LaunchError, Launcher};
use crate::open::Windlass;
use crate::prune::PruneView;
use crate::wiring::Removal;

/// Maximum number of unread messages from the tasks to the daemon.
const QUEUE: usize = 64;
/// Interval between two attempts to get the lease of a factory while another program holds this lease.
const HELD: Duration = Duration::from_secs(1);
/// Maximum number of concurrent health checks of assemblies.
const LOOKS: usize = 8;

/// A message of a task to the daemon.
pub(super) enum Message {
    /// A notice that the daemon reports.
    Tell(Notice),
    /// An intent has ended.
    Ended {
        assembly: AssemblyName,
        /// The notice about the end of the intent. `None` if the intent was not executed, because its request has
        /// to wait or has already ended.
        notice: Option<Notice>,
    },
    /// An interrupted process can't be resumed now. The reason is temporary, so the daemon tries again later.
    NotResumed { assembly: AssemblyName, process: ProcessId, why: EngineError },
    /// A health check of an assembly has ended.
    Looked {
        assembly: AssemblyName,
        /// The value of [`Watched::watch`](super::roster::Watched::watch) at the start of the check. The daemon
        /// changes this number when it reads the assembly again after a change. If the number has changed at the
        /// end of the check, the daemon ignores the result.
        watch: u64,
        seen: Result<Looked, TaskError>,
    },
    /// A check of the applications of a factory has ended.
    Checked { factory: AssemblyName, checked: Result<Vec<Checked>, TaskError> },
    /// A discovery of a factory has ended; `found` is `None` if another daemon has run this discovery.
    Discovered { factory: AssemblyName, found: Result<Option<DiscoveryView>, TaskError> },
    /// A prune has ended.
    Pruned(Result<PruneView, TaskError>),
}

/// The reason why a task has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskError {
    /// The work of the task has failed.
    #[error(transparent)]
    Failed(Box<Error>),
    /// The work of the task has panicked.
    #[error("windlass panicked; please report this as a bug")]
    Panicked,
}

impl<E: Into<Error>> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

impl TaskError {
    /// Returns the [`EngineError`] that ended the work; `None` if the work ended for another reason.
    pub(super) fn of_engine(&self) -> Option<&EngineError> {
        match self.error()? {
            Error::Engine(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the [`LaunchError`] that ended the work. This is an error about a launched application or a factory.
    /// Returns `None` if the work ended for another reason.
    pub(super) fn of_launch(&self) -> Option<&LaunchError> {
        match self.error()? {
            Error::Launch(error) => Some(error),
            _ => None,
        }
    }

    fn error(&self) -> Option<&Error> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Panicked => None,
        }
    }

    /// Tells whether the work ended because the daemon was asked to stop.
    pub(super) fn is_stop(&self) -> bool {
        matches!(self.of_engine(), Some(EngineError::Stopped))
    }
}

/// Awaits the work of a task, and converts a panic to an error.
async fn caught<T, E: Into<Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, TaskError> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result.map_err(TaskError::from),
        Err(_) => Err(TaskError::Panicked),
    }
}

/// The running tasks of the daemon. Dropping the value aborts them.
pub(super) struct Work {
    pub(super) context: Context,
    tasks: JoinSet<()>,
    looks: Arc<Semaphore>,
}

/// The values that every task of the daemon uses: the engine, the holder of the leases, the [`Stop`] of the
/// daemon, and the channel for messages to the daemon. Each task has its own clone.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) engine: Engine,
    pub(super) holder: Holder,
    pub(super) stop: Stop,
    messages: mpsc::Sender<Message>,
}

impl Context {
    /// Prepares an intent and executes it to its end.
    pub(super) async fn carry_out(
        &self,
        assembly: &AssemblyName,
        request: impl Into<Request>,
    ) -> Result<Ended, EngineError> {
        let prepared = Box::pin(self.engine.prepare(assembly, request, &self.holder, &self.stop)).await?;
        self.tell_omitted(&prepared).await;
        prepared.run(&self.stop).await
    }

    /// Reports the removals and replacements that a process omits.
    pub(super) async fn tell_omitted(&self, prepared: &Prepared) {
        let Some(omitted) = prepared.omitted() else { return };
        let (changes, command) = (omitted.to_string(), omitted.command().to_owned());
        let ProcessRecord { assembly, id: process, .. } = prepared.process().clone();
        self.tell(Notice::Omits { assembly, process, changes, command }).await;
    }

    /// Waits until this daemon holds the lease of a factory, so that the daemon may run a duty of the factory.
    /// Returns `None` if another daemon has already begun the duty, or if the factory no longer exists.
    ///
    /// If `permits` is given, the returned value also contains a permit of this semaphore. The method acquires the
    /// permit first, so it never holds the lease while it waits for a permit. If another program holds the lease, the
    /// method releases the permit, and later tries again.
    async fn turn<'p>(
        &self,
        factory: &AssemblyName,
        duty: FactoryDuty,
        time: TurnTime,
        permits: Option<&'p Semaphore>,
    ) -> Result<Option<(DutyTurn, Option<SemaphorePermit<'p>>)>, EngineError> {
        loop {
            let permit = match permits {
                Some(permits) => tokio::select! {
                    permit = permits.acquire() => permit.ok(),
                    () = self.stop.requested() => return Err(EngineError::Stopped),
                },
                None => None,
            };
            match take_turn(&self.engine, (factory, duty), time, &self.holder).await? {
                Turn::Own(turn) => return Ok(Some((turn, permit))),
                Turn::Held => drop(permit),
                _ => return Ok(None),
            }
            tokio::select! {
                () = self.stop.requested() => return Err(EngineError::Stopped),
                () = tokio::time::sleep(HELD) => {}
            }
        }
    }

    /// Prepares the removal of an application: stores the name of the application for each reference to it. After the
    /// removal, windlass shows these references as dangling; see [`Removal::note`]. A failure only causes a notice.
    pub(super) async fn note_removal(&self, name: &AssemblyName) {
        let noted = async { Removal::of(&self.engine.store, name).await?.note().await };
        if let Err(error) = noted.await {
            self.tell(Notice::Trouble(error.to_string())).await;
        }
    }

    pub(super) async fn tell(&self, notice: Notice) {
        self.send(Message::Tell(notice)).await;
    }

    pub(super) async fn send(&self, message: Message) {
        // The send fails if the daemon has ended.
        let _ = self.messages.send(message).await;
    }
}

impl Work {
    pub(super) fn new(engine: Engine, holder: Holder, stop: Stop) -> (Self, mpsc::Receiver<Message>) {
        let (messages, received) = mpsc::channel(QUEUE);
        let context = Context { engine, holder, stop, messages };
        (Self { context, tasks: JoinSet::new(), looks: Arc::new(Semaphore::new(LOOKS)) }, received)
    }

    /// Starts a task that runs the future `intent`, and then sends [`Message::Ended`] to the daemon. The message
    /// contains a notice about the end of the intent. If `intent` returns `None`, there is no notice. If `intent`
    /// fails, the notice states that the action `what` was refused.
    pub(super) fn intent(
        &mut self,
        assembly: AssemblyName,
        what: String,
        intent: impl Future<Output = Result<Option<Ended>, EngineError>> + Send + 'static,
    ) {
        let context = self.context.clone();
        self.spawn(async move {
            let refused = |why| Notice::Refused { assembly: assembly.clone(), what: what.clone(), why };
            let notice = match caught(seen_through(&context, &assembly, intent)).await {
                Ok(ended) => {
                    ended.map(|Ended { process: ProcessRecord { id: process, status, .. }, .. }| {
                        let assembly = assembly.clone();
                        if status.is_final() {
                            Notice::Ended { assembly, process, status }
                        } else {
                            Notice::Interrupted { assembly, process }
                        }
                    })
                }
                Err(error) => Some(refused(error.to_string())),
            };
            context.send(Message::Ended { assembly, notice }).await;
        });
    }

    /// Starts a health check of an assembly in a task.
    pub(super) fn look(&mut self, assembly: AssemblyName, watch: u64, reads: Reads) {
        let (context, looks) = (self.context.clone(), self.looks.clone());
        self.spawn(async move {
            let looked = async {
                let _turn = looks.acquire().await;
                let seen = context.engine.look_until(&assembly, &context.stop).await?;
                Ok::<_, EngineError>(measured(&seen, &reads))
            };
            let seen = caught(looked).await;
            context.send(Message::Looked { assembly, watch, seen }).await;
        });
    }

    /// Starts a task that checks the health of a factory's applications. If another daemon has already begun this
    /// check, the task checks nothing.
    pub(super) fn check(&mut self, factory: AssemblyName, names: Vec<AssemblyName>, period: Duration) {
        let (context, looks) = (self.context.clone(), self.looks.clone());
        self.spawn(async move {
            let checked = async {
                let time = TurnTime::Every(period);
                let turn = context.turn(&factory, FactoryDuty::Check, time, Some(&looks)).await?;
                let Some((turn, _permit)) = turn else { return Ok::<_, EngineError>(Vec::new()) };
                let lease = turn.lease().clone();
                let work = check_under(&context.engine, &names, &lease, &context.stop);
                let checked = Box::pin(turn.run(work)).await?;
                for destroyed in checked.iter().filter(|checked| checked.end == CheckEnd::Destroyed) {
                    context.note_removal(&destroyed.name).await;
                }
                Ok(checked)
            };
            let checked = caught(checked).await;
            context.send(Message::Checked { factory, checked }).await;
        });
    }

    /// Starts a task that runs the discovery of a factory for the scheduled time `fired`. If another daemon has already
    /// run the discovery for this time, the task does not run it again.
    pub(super) fn discover(&mut self, windlass: Arc<Windlass>, factory: AssemblyName, fired: Timestamp) {
        let context = self.context.clone();
        self.spawn(async move {
            let found = async {
                let time = TurnTime::At(fired);
                let turn = context.turn(&factory, FactoryDuty::Discovery, time, None).await?;
                let Some((turn, _)) = turn else { return Ok::<_, Error>(None) };
                let discovery = Launcher::new(&windlass);
                Box::pin(turn.run(discovery.discover(&factory, DiscoverOptions::default(), &context.stop)))
                    .await
                    .map(Some)
            };
            let found = caught(found).await;
            context.send(Message::Discovered { factory, found }).await;
        });
    }

    /// Starts a prune of all assemblies in a task.
    pub(super) fn prune(&mut self, windlass: Arc<Windlass>) {
        let context = self.context.clone();
        self.spawn(async move {
            let keep = windlass.project.retention();
            let pruned = caught(Box::pin(windlass.upkeep().prune(None, keep, false))).await;
            context.send(Message::Pruned(pruned)).await;
        });
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(task);
    }
}

/// Executes an intent to its end. Then executes the further processes that [`Ended::continued`] requests,
/// such as a rollback. Returns `None` if the intent was not begun, because it has to wait or because the daemon stops.
async fn seen_through(
    context: &Context,
    assembly: &AssemblyName,
    intent: impl Future<Output = Result<Option<Ended>, EngineError>>,
) -> Result<Option<Ended>, EngineError> {
    let first = match intent.await {
        Err(EngineError::Stopped) => return Ok(None),
        first => first?,
    };
    let Some(first) = first else { return Ok(None) };
    let stopped = Mutex::new(None);
    let further = async |ended: Ended, request| match context.carry_out(assembly, request).await {
        // The next daemon continues.
        Err(error @ EngineError::Stopped) => {
            *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
            Err(error)
        }
        // The first process has ended as requested. The parts with outdated inputs stay as they are.
        Err(error @ EngineError::NeedsConsent(_)) => {
            let what = "update outdated inputs".to_owned();
            let refused = Notice::Refused { assembly: assembly.clone(), what, why: error.to_string() };
            context.tell(refused).await;
            Ok(ended)
        }
        done => done,
    };
    match first.continued(further).await {
        Err(EngineError::Stopped) => Ok(stopped.into_inner().unwrap_or_else(PoisonError::into_inner)),
        ended => ended.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;
    use crate::open::Settings;

    #[tokio::test]
    async fn a_panic_is_the_error_of_its_task() {
        let failed = caught(async { if true { panic!("a bug") } else { Ok::<(), Error>(()) } }).await;
        let error = failed.unwrap_err();
        assert!(!error.is_stop());
        assert_eq!(error.to_string(), "windlass panicked; please report this as a bug");
    }

    /// A health check needs a permit and the lease of its factory. If no permit is free, the check must not take the
    /// lease. If another program holds the lease, the check must not keep a permit.
    #[tokio::test]
    async fn a_check_waits_for_its_permit_without_the_lease_and_for_the_lease_without_its_permit() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("windlass.yaml"), "version: 1\n").unwrap();
        let windlass = Windlass::open(Settings::new(folder.path())).unwrap();
        let store = windlass.store_or_new().await.unwrap();
        let stop = Stop::default();
        let (Work { context, .. }, _said) =
            Work::new(windlass.engine(store.clone()), windlass.holder(), stop);
        let (factory, permits) = ("vms".parse().unwrap(), Semaphore::new(0));
        let time = TurnTime::Every(Duration::from_secs(60));
        let mut turn = Box::pin(context.turn(&factory, FactoryDuty::Check, time, Some(&permits)));
        assert!(poll!(&mut turn).is_pending());
        let lease = store.lease(&factory, &Holder::current("another program")).await.unwrap();
        permits.add_permits(1);
        tokio::select! {
            turn = &mut turn => panic!("it has a turn without the lease: {}", turn.is_ok()),
            permit = permits.acquire() => drop(permit.unwrap()),
        }
        store.release(lease).await.unwrap();
        // The factory does not exist, so the check gets no turn.
        assert!(turn.await.unwrap().is_none());
    }
}
