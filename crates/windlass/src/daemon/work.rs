//! Concurrent work of the daemon. Each intent and each health check runs in a task of its own, which sends
//! messages to the daemon.
//!
//! Because of the separate tasks, a slow store or driver delays only its own task. The task of an intent also
//! renews the lease of the assembly, and controls the jobs of the intent.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use windlass_engine::{
    CheckEnd, Checked, DutyTurn, Ended, Engine, EngineError, FactoryDuty, Request, Stop, Turn, TurnTime,
    check_under, take_turn,
};
use windlass_model::AssemblyName;
use windlass_store::Holder;

use super::notice::Notice;
use super::roster::Reads;
use super::samples::{Looked, measured};
use crate::wiring::Removal;

/// Maximum number of messages from tasks that the daemon has not read yet.
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
    /// A health check of an assembly has ended.
    Looked {
        assembly: AssemblyName,
        /// The value of [`Watched::watch`](super::roster::Watched::watch) at the start of the check. The daemon
        /// changes this number when it reads the assembly again after a change. If the number has changed at the
        /// end of the check, the daemon ignores the result.
        watch: u64,
        seen: Result<Looked, EngineError>,
    },
    /// A check of the applications of a factory has ended.
    Checked { factory: AssemblyName, checked: Result<Vec<Checked>, EngineError> },
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
        prepared.run(&self.stop).await
    }

    /// Waits until this daemon holds the lease of a factory, so that the daemon may run a duty of the factory.
    /// Returns `None` if another daemon has already begun the duty, or if the factory no longer exists.
    pub(super) async fn turn(
        &self,
        factory: &AssemblyName,
        duty: FactoryDuty,
        time: TurnTime,
    ) -> Result<Option<DutyTurn>, EngineError> {
        loop {
            match take_turn(&self.engine, (factory, duty), time, &self.holder).await? {
                Turn::Own(turn) => return Ok(Some(turn)),
                Turn::Held => {}
                _ => return Ok(None),
            }
            tokio::select! {
                () = self.stop.soon.cancelled() => return Err(EngineError::Stopped),
                () = tokio::time::sleep(HELD) => {}
            }
        }
    }

    /// Records the references to an application before the application is removed. For each reference, stores the
    /// name of the application. After the removal, a stored name shows that the reference once had a target.
    async fn note_removal(&self, name: &AssemblyName) {
        let noted = async { Removal::of(&self.engine.store, name).await?.note().await };
        if let Err(error) = noted.await {
            self.tell(Notice::Trouble(error.to_string())).await;
        }
    }

    pub(super) async fn tell(&self, notice: Notice) {
        self.send(Message::Tell(notice)).await;
    }

    async fn send(&self, message: Message) {
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

    /// Starts a task that runs the future `intent`, and then sends [`Message::Ended`] to the daemon. If `intent`
    /// returns `None`, the message contains no notice. If `intent` fails, the notice states that the action `what` was
    /// refused.
    pub(super) fn intent(
        &mut self,
        assembly: AssemblyName,
        what: String,
        intent: impl Future<Output = Result<Option<Ended>, EngineError>> + Send + 'static,
    ) {
        let context = self.context.clone();
        self.spawn(async move {
            let whole = AssertUnwindSafe(seen_through(&context, &assembly, intent)).catch_unwind();
            let refused = |why| Notice::Refused { assembly: assembly.clone(), what: what.clone(), why };
            let notice = match whole.await {
                Ok(Ok(ended)) => ended.map(|ended| Notice::Ended {
                    assembly: assembly.clone(),
                    process: ended.process.id,
                    status: ended.process.status,
                }),
                Ok(Err(error)) => Some(refused(error.to_string())),
                Err(_) => Some(refused("windlass panicked; please report this as a bug".to_owned())),
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
                Ok(measured(&seen, &reads))
            };
            let seen = match AssertUnwindSafe(looked).catch_unwind().await {
                Ok(seen) => seen,
                Err(_) => Ok(Looked { samples: Vec::new(), others: Vec::new(), unseen: None }),
            };
            context.send(Message::Looked { assembly, watch, seen }).await;
        });
    }

    /// Starts a health check of a factory's applications in a task, unless another daemon has already run
    /// this check.
    pub(super) fn check(&mut self, factory: AssemblyName, names: Vec<AssemblyName>, period: Duration) {
        let (context, looks) = (self.context.clone(), self.looks.clone());
        self.spawn(async move {
            let checked = async {
                let Some(turn) = context.turn(&factory, FactoryDuty::Check, TurnTime::Every(period)).await?
                else {
                    return Ok(Vec::new());
                };
                let _permit = looks.acquire().await;
                let lease = turn.lease().clone();
                let work = check_under(&context.engine, &names, &lease, &context.stop);
                let checked = Box::pin(turn.run(work)).await?;
                for destroyed in checked.iter().filter(|checked| checked.end == CheckEnd::Destroyed) {
                    context.note_removal(&destroyed.name).await;
                }
                Ok(checked)
            };
            let checked = AssertUnwindSafe(checked).catch_unwind().await.unwrap_or_else(|_| Ok(Vec::new()));
            context.send(Message::Checked { factory, checked }).await;
        });
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(task);
    }
}

/// Executes an intent to its end. Then executes the further processes that [`Ended::continued`] requests,
/// such as a rollback.
async fn seen_through(
    context: &Context,
    assembly: &AssemblyName,
    intent: impl Future<Output = Result<Option<Ended>, EngineError>>,
) -> Result<Option<Ended>, EngineError> {
    let Some(first) = intent.await? else { return Ok(None) };
    first.continued(|_, request| context.carry_out(assembly, request)).await.map(Some)
}
