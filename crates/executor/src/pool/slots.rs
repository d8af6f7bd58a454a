//! The warm containers of a pool, which are in use or idle, and the queue of the jobs that wait for a container.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};

use super::{
    carrier::{Carrier, Shape, StartError},
    connection::{BEAT, RunnerConnection},
};
use crate::RuntimeError;

/// Maximum number of jobs that a container runs. The replacement of a container frees invisible leftovers of
/// its jobs, such as kernel memory and process ids.
const JOBS: u32 = 500;

/// Maximum time to remove all containers when the pool is closed.
const CLOSE_LIMIT: Duration = Duration::from_secs(30);

/// The containers of one pool.
pub(crate) struct Slots {
    carrier: Arc<dyn Carrier>,
    kind: String,
    /// Semaphore with `size` permits. Each container in use holds one permit, so at most `size` containers are in use
    /// at a time.
    permits: Arc<Semaphore>,
    size: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Idle containers. The container that was used last is at the end.
    idle: VecDeque<(Shape, RunnerConnection)>,
    /// Number of containers that are in use, idle or starting.
    there: usize,
    reaped: bool,
    keeper: bool,
    ending: JoinSet<()>,
}

/// A container that one job uses.
pub(crate) struct Slot {
    pub(crate) connection: RunnerConnection,
    shape: Shape,
    _permit: OwnedSemaphorePermit,
}

impl Slots {
    pub(crate) fn new(carrier: Arc<dyn Carrier>, kind: &str, size: usize) -> Self {
        let permits = Arc::new(Semaphore::new(size));
        Self { carrier, kind: kind.to_owned(), permits, size, state: Mutex::default() }
    }

    pub(crate) fn carrier(&self) -> &dyn Carrier {
        &*self.carrier
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the warm containers of windlass programs that no longer run. After a call has succeeded, later calls do
    /// nothing.
    pub(crate) async fn reap(&self) -> Result<(), RuntimeError> {
        if !self.state().reaped {
            self.carrier.reap().await?;
            self.state().reaped = true;
        }
        Ok(())
    }

    /// Waits for a permit to use one more container. The callers get their permits in the order of their
    /// calls.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, RuntimeError> {
        self.permits.clone().acquire_owned().await.map_err(|_| self.unavailable("the pool is closed"))
    }

    /// Takes an idle container of this shape, or starts a container. The caller must await the future to its
    /// end; otherwise a container that is starting is never removed.
    pub(crate) async fn take(
        self: Arc<Self>,
        permit: OwnedSemaphorePermit,
        shape: Shape,
    ) -> Result<Slot, StartError> {
        let (found, evicted) = {
            let mut state = self.state();
            let found =
                state.idle.iter().rposition(|(of, _)| *of == shape).and_then(|at| state.idle.remove(at));
            // In a full pool, the container that was idle for longest is removed.
            let is_full = found.is_none() && state.there >= self.size;
            let evicted = if is_full { state.idle.pop_front() } else { None };
            if found.is_none() {
                state.there += 1;
            }
            (found, evicted)
        };
        if let Some((_, connection)) = evicted {
            self.retire(connection);
        }
        let connection = match found {
            Some((_, connection)) => connection,
            None => self.start(&shape).await.inspect_err(|_| self.state().there -= 1)?,
        };
        self.keep_alive();
        Ok(Slot { connection, shape, _permit: permit })
    }

    async fn start(&self, shape: &Shape) -> Result<RunnerConnection, StartError> {
        self.reap().await?;
        let container = self.carrier.start(shape).await?;
        match RunnerConnection::open(container).await {
            Ok(connection) => Ok(connection),
            Err((broken, end)) => {
                let why = end.end().await.map(|why| format!(": {why}")).unwrap_or_default();
                Err(self.unavailable(&format!("a warm container does not respond: {}{why}", broken.0)).into())
            }
        }
    }

    fn unavailable(&self, problem: &str) -> RuntimeError {
        RuntimeError::Unavailable { runtime: self.kind.clone(), problem: problem.to_owned() }
    }

    /// Returns a container to the pool. The container becomes idle if it is intact and has run fewer jobs
    /// than the maximum. Otherwise it is removed.
    pub(crate) fn give(&self, slot: Slot, is_reusable: bool) {
        let Slot { connection, shape, _permit: permit } = slot;
        if is_reusable && connection.is_whole() && connection.jobs() < JOBS && !self.permits.is_closed() {
            self.state().idle.push_back((shape, connection));
        } else {
            self.retire(connection);
        }
        drop(permit);
    }

    /// Removes a container whose [runner](crate::runner) no longer answers. If the container has ended by
    /// itself, returns the reason, as far as it is known.
    pub(crate) async fn lose(&self, slot: Slot) -> Option<String> {
        let why = slot.connection.end().await;
        self.state().there -= 1;
        why
    }

    /// Removes a container in the background.
    fn retire(&self, connection: RunnerConnection) {
        let mut state = self.state();
        state.there -= 1;
        while state.ending.try_join_next().is_some() {}
        state.ending.spawn(async move {
            connection.end().await;
        });
    }

    /// Starts a task that pings the runner of each idle container at intervals. A runner is the program that
    /// runs the jobs inside a container. A runner that gets no message for a minute takes this process for
    /// dead, and exits. A ping also detects dead runners.
    fn keep_alive(self: &Arc<Self>) {
        let mut state = self.state();
        if std::mem::replace(&mut state.keeper, true) {
            return;
        }
        let slots = Arc::downgrade(self);
        tokio::spawn(keep_alive(slots));
    }

    async fn beat(&self) {
        let count = self.state().idle.len();
        for _ in 0..count {
            let Some((shape, mut connection)) = self.state().idle.pop_front() else { return };
            // The pool may have been closed in the meantime. Then this container must end, too.
            if connection.ping().await.is_ok() && !self.permits.is_closed() {
                self.state().idle.push_back((shape, connection));
            } else {
                self.retire(connection);
            }
        }
    }

    /// Removes all containers, and waits until they are gone. The caller has ended all jobs before.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let all = async {
            // A container that is still starting is removed as soon as it has started.
            while let Some(mut ending) = self.end_all() {
                while ending.join_next().await.is_some() {}
            }
        };
        let _or_left_to_the_next = timeout(CLOSE_LIMIT, all).await;
    }

    /// Begins to remove all idle containers. Returns the tasks of these removals and of earlier removals, or
    /// `None` if no task is left.
    fn end_all(&self) -> Option<JoinSet<()>> {
        let mut state = self.state();
        let mut ending = std::mem::take(&mut state.ending);
        for (_, connection) in std::mem::take(&mut state.idle) {
            state.there -= 1;
            ending.spawn(async move {
                connection.end().await;
            });
        }
        (!ending.is_empty()).then_some(ending)
    }

    /// Takes over the start of a container whose job was cancelled. When the container has started, it
    /// becomes idle.
    pub(crate) fn adopt(self: &Arc<Self>, taking: JoinHandle<Result<Slot, StartError>>) {
        let slots = self.clone();
        self.state().ending.spawn(async move {
            if let Ok(Ok(slot)) = taking.await {
                slots.give(slot, true);
            }
        });
    }
}

async fn keep_alive(slots: Weak<Slots>) {
    loop {
        sleep(BEAT).await;
        match slots.upgrade() {
            Some(slots) => slots.beat().await,
            None => return,
        }
    }
}
