//! The warm containers of a pool, which are in use or idle, and the queue of the jobs that wait for a container.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
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
    idle: VecDeque<Idle>,
    /// Number of containers that are in use, idle, starting or being pinged.
    there: usize,
    reaped: bool,
    keeper: bool,
    /// Tasks that remove, start or ping a container.
    tasks: JoinSet<()>,
}

/// A container that no job uses.
struct Idle {
    connection: RunnerConnection,
    shape: Shape,
    since: Instant,
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
                state.idle.iter().rposition(|idle| idle.shape == shape).and_then(|at| state.idle.remove(at));
            // In a full pool, the container that was idle for longest is removed.
            let is_full = found.is_none() && state.there >= self.size;
            let evicted = if is_full { state.idle.pop_front() } else { None };
            if found.is_none() {
                state.there += 1;
            }
            (found, evicted)
        };
        if let Some(evicted) = evicted {
            self.retire(evicted.connection);
        }
        let connection = match found {
            Some(found) => found.connection,
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

    /// Returns a container to the pool. The container becomes idle if `is_reusable` is true, the connection is intact,
    /// and the container has run fewer than [`JOBS`] jobs. Otherwise, the container is removed.
    pub(crate) fn give(&self, slot: Slot, is_reusable: bool) {
        let Slot { connection, shape, _permit: permit } = slot;
        if is_reusable && connection.is_whole() && connection.jobs() < JOBS {
            self.keep(Idle { connection, shape, since: Instant::now() });
        } else {
            self.retire(connection);
        }
        drop(permit);
    }

    /// Keeps an idle container for later jobs. Removes the container if the pool is closed, or if the pool already has
    /// its maximum number of containers. The pool can exceed the maximum as follows: while the pool pings a container,
    /// no job can take this container, so a job may start an additional one.
    fn keep(&self, container: Idle) {
        let mut state = self.state();
        if self.permits.is_closed() || state.there > self.size {
            drop(state);
            return self.retire(container.connection);
        }
        let at = state.idle.partition_point(|idle| idle.since <= container.since);
        state.idle.insert(at, container);
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
        while state.tasks.try_join_next().is_some() {}
        state.tasks.spawn(async move {
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

    /// Pings the runners of all idle containers at the same time. A runner that does not answer delays no other ping.
    fn beat(self: &Arc<Self>) {
        let mut state = self.state();
        for mut container in std::mem::take(&mut state.idle) {
            let slots = self.clone();
            state.tasks.spawn(async move {
                if container.connection.ping().await.is_ok() {
                    slots.keep(container);
                } else {
                    slots.retire(container.connection);
                }
            });
        }
    }

    /// Removes all containers, and waits until they are gone, but at most for the time [`CLOSE_LIMIT`]. The caller must
    /// end all jobs before it calls this method.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let all = async {
            // A container that is starting or being pinged is removed afterwards.
            while let Some(mut tasks) = self.end_all() {
                while tasks.join_next().await.is_some() {}
            }
        };
        let _or_left_to_the_next = timeout(CLOSE_LIMIT, all).await;
    }

    /// Begins to remove all idle containers. Returns the tasks of these removals, together with all other tasks of the
    /// pool that have not ended. Returns `None` if there is no such task.
    fn end_all(&self) -> Option<JoinSet<()>> {
        let mut state = self.state();
        let mut tasks = std::mem::take(&mut state.tasks);
        for Idle { connection, .. } in std::mem::take(&mut state.idle) {
            state.there -= 1;
            tasks.spawn(async move {
                connection.end().await;
            });
        }
        (!tasks.is_empty()).then_some(tasks)
    }

    /// Takes over the start of a container whose job was cancelled. When the container has started, it
    /// becomes idle.
    pub(crate) fn adopt(self: &Arc<Self>, taking: JoinHandle<Result<Slot, StartError>>) {
        let slots = self.clone();
        self.state().tasks.spawn(async move {
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
            Some(slots) => slots.beat(),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        sync::{mpsc, oneshot},
        time::advance,
    };

    use super::*;
    use crate::{
        Job,
        pool::{ContainerNeeds, EndContainer, WarmContainer},
        runner::protocol::{Frames, Reply, Request, VERSION},
    };

    /// A ping that a runner has received: the number of the runner, and a sender. The runner answers the ping when the
    /// test uses the sender.
    type Ping = (usize, oneshot::Sender<()>);

    /// A carrier for tests. A runner that this carrier has started answers a ping only when the test allows the answer.
    struct Controlled {
        pings: mpsc::UnboundedSender<Ping>,
        started: Mutex<usize>,
        ended: mpsc::UnboundedSender<usize>,
    }

    #[async_trait]
    impl Carrier for Controlled {
        async fn needs(&self, _job: &Job) -> Option<ContainerNeeds> {
            Some(ContainerNeeds::default())
        }

        async fn start(&self, _shape: &Shape) -> Result<WarmContainer, StartError> {
            let ((input, requests), (replies, output)) = (duplex(1024), duplex(1024));
            let number = {
                let mut started = self.started.lock().unwrap();
                *started += 1;
                *started
            };
            tokio::spawn(run(number, requests, replies, self.pings.clone()));
            let end = Box::new(Ended(number, self.ended.clone()));
            Ok(WarmContainer { input: Box::new(input), output: Box::new(output), image_digest: None, end })
        }

        async fn reap(&self) -> Result<(), RuntimeError> {
            Ok(())
        }
    }

    struct Ended(usize, mpsc::UnboundedSender<usize>);

    #[async_trait]
    impl EndContainer for Ended {
        async fn end(self: Box<Self>) -> Option<String> {
            self.1.send(self.0).unwrap();
            None
        }
    }

    async fn run(
        number: usize,
        mut requests: DuplexStream,
        mut replies: DuplexStream,
        pings: mpsc::UnboundedSender<Ping>,
    ) {
        let (mut frames, mut buffer) = (Frames::default(), [0; 1024]);
        loop {
            let request = match frames.next_frame().unwrap() {
                Some(frame) => Request::decode(frame).unwrap(),
                None => match requests.read(&mut buffer).await.unwrap() {
                    0 => return,
                    length => {
                        frames.push(&buffer[..length]);
                        continue;
                    }
                },
            };
            let reply = match request {
                Request::Hello { .. } => Reply::Hello { version: VERSION, pid: 1 },
                Request::Ping { number: ping } => {
                    let (answer, answered) = oneshot::channel();
                    pings.send((number, answer)).unwrap();
                    answered.await.unwrap();
                    Reply::Pong { number: ping }
                }
                other => panic!("unexpected request {other:?}"),
            };
            let mut bytes = Vec::new();
            reply.encode(&mut bytes);
            replies.write_all(&bytes).await.unwrap();
        }
    }

    /// A pool of controlled runners.
    struct Pool {
        slots: Arc<Slots>,
        pings: mpsc::UnboundedReceiver<Ping>,
        ended: mpsc::UnboundedReceiver<usize>,
    }

    impl Pool {
        fn new(size: usize) -> Self {
            let ((pings_sender, pings), (ended_sender, ended)) =
                (mpsc::unbounded_channel(), mpsc::unbounded_channel());
            let carrier = Controlled { pings: pings_sender, started: Mutex::default(), ended: ended_sender };
            let slots = Arc::new(Slots::new(Arc::new(carrier), "test", size));
            // Only the test pings.
            slots.state().keeper = true;
            Self { slots, pings, ended }
        }

        async fn take(&self) -> Slot {
            let permit = self.slots.permit().await.unwrap();
            self.slots.clone().take(permit, Shape::default()).await.unwrap()
        }

        async fn ping(&mut self) -> Ping {
            self.pings.recv().await.unwrap()
        }

        /// Waits until no container is being removed or pinged.
        async fn settle(&self) {
            loop {
                let mut tasks = std::mem::take(&mut self.slots.state().tasks);
                if tasks.is_empty() {
                    return;
                }
                while tasks.join_next().await.is_some() {}
            }
        }

        fn idle(&self) -> usize {
            self.slots.state().idle.len()
        }

        fn there(&self) -> usize {
            self.slots.state().there
        }
    }

    #[tokio::test]
    async fn a_pool_keeps_its_size_if_a_job_starts_during_a_ping() {
        let mut pool = Pool::new(1);
        let slot = pool.take().await;
        pool.slots.give(slot, true);
        pool.slots.beat();
        let (_, answer) = pool.ping().await;
        let other = pool.take().await;
        answer.send(()).unwrap();
        pool.settle().await;
        assert_eq!((pool.ended.try_recv(), pool.there(), pool.idle()), (Ok(1), 1, 0));
        pool.slots.give(other, true);
        assert_eq!((pool.there(), pool.idle()), (1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_runner_that_does_not_answer_delays_no_other_ping() {
        let mut pool = Pool::new(3);
        let mut slots = Vec::new();
        for _ in 0..3 {
            slots.push(pool.take().await);
        }
        for slot in slots {
            pool.slots.give(slot, true);
            advance(Duration::from_secs(1)).await;
        }
        let begun = Instant::now();
        pool.slots.beat();
        let mut pings = Vec::new();
        for _ in 0..3 {
            pings.push(pool.ping().await);
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        // The containers keep their order, although the runners answer in another order.
        pings.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let unanswered = pings.pop().unwrap();
        for (_, answer) in pings {
            answer.send(()).unwrap();
        }
        pool.settle().await;
        assert_eq!((pool.ended.try_recv(), pool.there()), (Ok(unanswered.0), 2));
        let since: Vec<_> = pool.slots.state().idle.iter().map(|idle| idle.since).collect();
        assert!(since.is_sorted() && since.len() == 2);
    }
}
