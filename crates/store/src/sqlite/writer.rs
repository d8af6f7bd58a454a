//! The one thread that writes.
//!
//! The thread receives [`QueuedWrite`]s through a bounded channel. A write is, for example, the commit of a batch. All
//! writes that are waiting when the thread is ready form one transaction, so that many batches share one flush to disk.
//! Each write has its own savepoint, so that a refused write does not affect the others. If the whole transaction
//! fails, its writes are retried one by one. For example, if the disk is almost full, only the writes that are too
//! large fail.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{oneshot, watch};
use windlass_model::Seq;

use super::fault::Outcome;
use super::identity::FileIdentity;
use super::read;
use crate::error::StoreError;
use crate::fence::Fence;
use crate::lease::Lease;
use crate::queue::{QUEUE, Waiting};

/// Maximum number of writes in one transaction.
const GROUP: usize = 256;

/// Tells whether and when the writer thread truncates SQLite's write-ahead log after a write. The log must be
/// truncated if the write drops secrets, because the log may still contain these secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wipes {
    /// The write drops no secrets, so the log need not be truncated.
    Never,
    /// The thread truncates the log when it has received no write for the time [`REST`], or when the store is closed.
    Later,
    /// The thread truncates the log before the caller gets the result of the write.
    Now,
}

/// The time without writes after which the thread truncates a write-ahead log that may still contain dropped secrets.
const REST: Duration = Duration::from_millis(200);

/// A queued change of the store, for example the commit of a batch. The writer thread makes the change.
pub(super) struct QueuedWrite<W> {
    /// The leases under which a batch is committed. If an earlier batch under one of these leases has failed, the
    /// thread refuses the write. The list is empty for all writes other than [`commit`](crate::Store::commit).
    pub(super) leases: Vec<Lease>,
    /// Whether and when the thread truncates the write-ahead log after this write.
    pub(super) wipes: Wipes,
    /// The function that makes the change. It runs again if its transaction is rolled back.
    pub(super) work: W,
}

impl<W> QueuedWrite<W> {
    /// Creates a write with an empty list of leases, and with [`Wipes::Never`]. `work` must not drop secrets,
    /// because the write-ahead log is not truncated after this write, and may still contain the secrets.
    pub(super) fn of(work: W) -> Self {
        Self { leases: Vec::new(), wipes: Wipes::Never, work }
    }
}

/// The handle by which callers send writes to the writer thread.
pub(super) struct Writer {
    queue: Option<SyncSender<Box<dyn Task>>>,
    /// The error with which each write fails if `queue` is `None`.
    refusal: StoreError,
    waiting: Arc<Waiting>,
    path: Arc<PathBuf>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(writer: WriterThread) -> std::io::Result<Self> {
        let (queue, tasks) = sync_channel(QUEUE);
        let (waiting, path) = (writer.waiting.clone(), writer.path.clone());
        let thread =
            std::thread::Builder::new().name("windlass-store".into()).spawn(move || writer.serve(&tasks))?;
        Ok(Self { queue: Some(queue), refusal: StoreError::Closed, waiting, path, thread: Some(thread) })
    }

    /// Creates the writer of a store that can only be read. Each write fails with `refusal`.
    pub(super) fn refusing(path: Arc<PathBuf>, refusal: StoreError) -> Self {
        Self { queue: None, refusal, waiting: Arc::default(), path, thread: None }
    }

    /// Queues a write. The future resolves once the write is durable. The writer thread executes the write even if
    /// the future is not polled.
    pub(super) fn submit<W, T>(
        &self,
        write: QueuedWrite<W>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<W, T>
    where
        W: FnMut(&Connection) -> Outcome<T> + Send + 'static,
        T: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let handed_over = self.hand_over(Box::new(Pending { write, result: Err(StoreError::Closed), reply }));
        async {
            handed_over?;
            answer.await.map_or(Err(StoreError::Closed), |answer| answer.result)
        }
    }

    fn hand_over(&self, task: Box<dyn Task>) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or_else(|| self.refusal.clone())?;
        self.waiting.more(task.leases())?;
        match queue.try_send(task) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(task)) => {
                self.waiting.refused(task.leases());
                Err(StoreError::Behind { path: self.path.to_path_buf() })
            }
            Err(TrySendError::Disconnected(task)) => {
                self.waiting.refused(task.leases());
                Err(StoreError::Closed)
            }
        }
    }

    /// Waits until the queue has room for more writes.
    pub(super) async fn room(&self) {
        self.waiting.room().await;
    }
}

impl Drop for Writer {
    /// Closes the queue, and waits until the thread has executed all queued writes.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // If the thread has panicked, its callers already got the error that the store is closed.
            let _ = thread.join();
        }
    }
}

/// A [`QueuedWrite`] of any type, with the channel for its result.
trait Task: Send {
    fn leases(&self) -> &[Lease];
    fn wipes(&self) -> Wipes;
    /// Runs the operation of this write, such as the commit of a batch. The current transaction may contain other
    /// writes, too. Returns `false` if only the changes of this write must be rolled back. Returns `Err` if the
    /// whole transaction must be rolled back.
    fn attempt(&mut self, db: &Connection, path: &Path) -> Result<bool, StoreError>;
    /// Sets the error `refusal` as the result of the write. The operation of the write does not run.
    fn refuse(&mut self, refusal: StoreError);
    /// Sends the result of the write to the caller. If the transaction has failed, sends the
    /// error of the transaction instead.
    fn reply(self: Box<Self>, transaction: Result<(), StoreError>);
}

struct Pending<W, T> {
    write: QueuedWrite<W>,
    result: Result<T, StoreError>,
    reply: oneshot::Sender<Answer<W, T>>,
}

/// The data that the writer thread sends to the caller of a [`QueuedWrite`].
struct Answer<W, T> {
    result: Result<T, StoreError>,
    /// The closure [`QueuedWrite::work`]. The answer brings the closure back to the caller's thread, which has
    /// allocated the memory of the closure and should also free this memory. If the writer thread freed the memory,
    /// both threads would compete for the same lock of the allocator, and slow each other down.
    _work: W,
}

impl<W, T> Task for Pending<W, T>
where
    W: FnMut(&Connection) -> Outcome<T> + Send,
    T: Send,
{
    fn leases(&self) -> &[Lease] {
        &self.write.leases
    }

    fn wipes(&self) -> Wipes {
        self.write.wipes
    }

    fn attempt(&mut self, db: &Connection, path: &Path) -> Result<bool, StoreError> {
        self.result = (self.write.work)(db).map_err(|fault| fault.at(path));
        match &self.result {
            Err(error) if !error.is_refusal() => Err(error.clone()),
            result => Ok(result.is_ok()),
        }
    }

    fn refuse(&mut self, refusal: StoreError) {
        self.result = Err(refusal);
    }

    fn reply(self: Box<Self>, transaction: Result<(), StoreError>) {
        let answer = Answer { result: transaction.and(self.result), _work: self.write.work };
        // The send fails if the caller has dropped the ticket.
        let _ = self.reply.send(answer);
    }
}

pub(super) struct WriterThread {
    /// The only connection through which this program writes to the open store.
    pub(super) db: Connection,
    /// The path of the store's file. Error messages show this path.
    pub(super) path: Arc<PathBuf>,
    /// The file that `db` has opened.
    pub(super) file: FileIdentity,
    /// Maximum time to wait for writers of other programs.
    pub(super) busy: Duration,
    /// Publishes the number of the last durable event.
    pub(super) last: watch::Sender<Seq>,
    /// The leases that have a failed batch.
    pub(super) fence: Fence,
    /// The number of queued writes. The thread and its [`Writer`] share this number.
    pub(super) waiting: Arc<Waiting>,
}

impl WriterThread {
    fn serve(mut self, tasks: &Receiver<Box<dyn Task>>) {
        // The program that opened the store before may have been killed before it truncated the log.
        let mut to_wipe = true;
        loop {
            let first = if to_wipe {
                tasks.recv_timeout(REST)
            } else {
                tasks.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match first {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(tasks.try_iter().take(GROUP - 1));
                    self.waiting.taken(group.len());
                    to_wipe |= group.iter().any(|task| task.wipes() != Wipes::Never);
                    if self.store(group) {
                        to_wipe = false;
                    }
                    self.announce();
                }
                Err(RecvTimeoutError::Timeout) => to_wipe = !self.wipe(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if to_wipe {
            self.wipe();
        }
    }

    /// Executes the writes of a group, and sends each caller the result of its write. Returns `true` only if the
    /// write-ahead log was truncated after all these writes.
    fn store(&mut self, mut group: Vec<Box<dyn Task>>) -> bool {
        let fence = self.fence.clone();
        match self.transaction(&mut group) {
            Err(error) if group.len() > 1 && !matches!(error, StoreError::Locked { .. }) => {
                self.fence = fence;
                for task in group {
                    self.store(vec![task]);
                }
                false
            }
            outcome => {
                // SQLite does not notice that its file was removed, and would go on writing to it.
                let outcome = self.file.check().and(outcome);
                let is_wiped = group.iter().any(|task| task.wipes() == Wipes::Now) && self.wipe();
                for task in group {
                    self.answer(task, outcome.clone());
                }
                is_wiped
            }
        }
    }

    fn transaction(&mut self, group: &mut [Box<dyn Task>]) -> Result<(), StoreError> {
        let fault = |error: rusqlite::Error| super::fault::Fault::from(error).at(&self.path);
        let mut transaction =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        for task in group {
            let mut point = transaction.savepoint().map_err(fault)?;
            if !attempt(task.as_mut(), &point, &mut self.fence, &self.path)? {
                point.rollback().map_err(fault)?;
            }
            point.commit().map_err(fault)?;
        }
        transaction.commit().map_err(fault)
    }

    fn answer(&mut self, task: Box<dyn Task>, transaction: Result<(), StoreError>) {
        if transaction.is_err() {
            for lease in task.leases() {
                self.fence.close(lease);
            }
        }
        task.reply(transaction);
    }

    /// Truncates the write-ahead log. Then no file contains the secrets that earlier writes dropped. Returns `false` if
    /// another connection is reading the log, since SQLite then does not truncate the log.
    fn wipe(&self) -> bool {
        let _ = self.db.busy_timeout(Duration::ZERO);
        let is_busy = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        let _ = self.db.busy_timeout(self.busy);
        is_busy.is_ok_and(|is_busy| !is_busy)
    }

    fn announce(&self) {
        if let (Ok(last), Ok(())) = (read::last_event(&self.db), self.file.check()) {
            self.last.send_if_modified(|known| std::mem::replace(known, last) != last);
        }
    }
}

/// Executes a [`QueuedWrite`], and returns whether to keep its changes.
///
/// `fence` contains the leases under which an earlier batch has failed. If one of the leases of the write is in
/// `fence`, the write is refused. If the write fails, the function adds the leases of the write to `fence`.
fn attempt(task: &mut dyn Task, db: &Connection, fence: &mut Fence, path: &Path) -> Result<bool, StoreError> {
    if let Err(refusal) = task.leases().iter().try_for_each(|lease| fence.pass(lease)) {
        task.refuse(refusal);
        return Ok(false);
    }
    let applied = task.attempt(db, path)?;
    if !applied {
        for lease in task.leases() {
            fence.close(lease);
        }
    }
    Ok(applied)
}
