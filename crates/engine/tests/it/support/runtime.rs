//! A runtime whose jobs are entries in a table. They go on when the engine dies, as those of a real one do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use windlass_executor::{
    Capabilities, Captured, End, Events, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError, Timestamp,
};
use windlass_model::Clock;
use windlass_store::testing::Cut;

/// How long each job takes.
pub(crate) const TAKES: Duration = Duration::from_millis(10);

/// What jobs do to the world, where it is more than to be written down.
pub(crate) trait World: Send + Sync {
    /// A job begins. Returns how long it takes.
    fn begins(&self, job: &Job) -> Duration;

    /// A job has come to its end: it does what it does now.
    fn ends(&self, job: &Job) -> Ending;

    /// A job was stopped half way.
    fn stops(&self, job: &Job);
}

/// How a job comes to its end.
pub(crate) enum Ending {
    /// With this exit code, having written this.
    Exited(i32, String),
    /// Without anybody knowing how.
    Lost,
}

#[derive(Clone)]
pub(crate) struct Jobs {
    clock: Arc<dyn Clock>,
    table: Arc<Mutex<Table>>,
    changed: Arc<Notify>,
    world: Option<Arc<dyn World>>,
    /// The life of the process that this handle is of.
    life: Option<Cut>,
}

#[derive(Default)]
struct Table {
    jobs: BTreeMap<JobId, Slot>,
    /// What each job did, in order of its end: `B Configure`.
    effects: Vec<String>,
    /// Jobs that are lost: those of these programs, so many times.
    losses: BTreeMap<String, u32>,
    /// The room on the disk; none where that is not known.
    free: Option<u64>,
    /// Programs whose answers find no room on the disk.
    cut: Vec<String>,
    /// How long jobs of these programs take.
    durations: BTreeMap<String, Duration>,
    submitted: Vec<(tokio::time::Instant, JobId)>,
    /// Whether it can't be reached by those who ask what there is.
    unreachable: bool,
}

enum Slot {
    Running(Box<Job>),
    Ended(Box<Outcome>),
    Gone,
}

impl Jobs {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Arc::default(), changed: Arc::default(), world: None, life: None }
    }

    /// Lets jobs do something to a world.
    pub(crate) fn in_world(self, world: Arc<dyn World>) -> Self {
        Self { world: Some(world), ..self }
    }

    /// Returns the handle of a process, which hands over no job once it is dead.
    pub(crate) fn of(&self, life: Cut) -> Self {
        Self { life: Some(life), ..self.clone() }
    }

    /// Lets the next job of a program be lost without having done anything.
    pub(crate) fn lose(&self, program: &str) {
        *self.lock().losses.entry(program.to_owned()).or_default() += 1;
    }

    /// Lets each job of a program take so long.
    pub(crate) fn last(&self, program: &str, duration: Duration) {
        self.lock().durations.insert(program.to_owned(), duration);
    }

    /// Lets no more jobs be lost.
    pub(crate) fn lose_none(&self) {
        self.lock().losses.clear();
    }

    /// Says how much room is left on the disk.
    pub(crate) fn leave_room(&self, free: Option<u64>) {
        self.lock().free = free;
    }

    pub(crate) fn free_space(&self) -> Option<u64> {
        self.lock().free
    }

    /// Lets the disk be full when a program answers, which does its work.
    pub(crate) fn cut_answers_of(&self, program: &str) {
        self.lock().cut.push(program.to_owned());
    }

    /// Lets nobody find out what jobs there are, or does again.
    pub(crate) fn unreachable(&self, unreachable: bool) {
        self.lock().unreachable = unreachable;
    }

    /// Returns what jobs did, in order of their ends.
    pub(crate) fn effects(&self) -> Vec<String> {
        self.lock().effects.clone()
    }

    /// Returns the ids of all jobs ever submitted.
    pub(crate) fn submitted(&self) -> Vec<String> {
        self.lock().submitted.iter().map(|(_, id)| id.to_string()).collect()
    }

    /// Returns how many jobs were submitted after a time.
    pub(crate) fn submitted_after(&self, time: tokio::time::Instant) -> usize {
        self.lock().submitted.iter().filter(|(at, _)| *at > time).count()
    }

    /// Returns how many jobs have not been removed.
    pub(crate) fn left(&self) -> usize {
        self.lock().jobs.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.lock().expect("no test panics with it")
    }

    fn outcome(&self, end: End) -> Outcome {
        let now = u64::try_from(self.clock.now().as_millis()).unwrap_or(0);
        Outcome::new(end, Timestamp::from_millis(now))
    }

    async fn execute(self, id: JobId, job: Job) {
        let takes = self.lock().durations.get(&job.program).copied().unwrap_or(TAKES);
        let takes = self.world.as_ref().map_or(takes, |world| world.begins(&job));
        let started = self.outcome(End::Exited(0)).ended;
        tokio::time::sleep(takes).await;
        if !matches!(self.state(&id), Found::Running) {
            return;
        }
        let ending = self.world.as_ref().map(|world| world.ends(&job));
        let program = job.program;
        let slot = match ending {
            Some(Ending::Lost) => Some(Slot::Gone),
            Some(Ending::Exited(code, stdout)) => {
                let mut outcome = self.outcome(End::Exited(code));
                outcome.stdout = Captured::whole(stdout);
                outcome.started = Some(started);
                Some(Slot::Ended(Box::new(outcome)))
            }
            None => None,
        };
        let mut outcome = self.outcome(End::Exited(0));
        if self.lock().cut.contains(&program) {
            outcome.stdout = Captured::new(*b"", *b"", 12);
        }
        outcome.started = Some(started);
        if let Some(slot) = slot {
            self.lock().jobs.insert(id, slot);
        } else {
            let mut table = self.lock();
            let running = matches!(table.jobs.get(&id), Some(Slot::Running(_)));
            if running && let Some(times @ 1..) = table.losses.get_mut(&program) {
                *times -= 1;
                table.jobs.insert(id, Slot::Gone);
            } else if running {
                table.effects.push(program);
                table.jobs.insert(id, Slot::Ended(Box::new(outcome)));
            }
        }
        self.changed.notify_waiters();
    }

    fn state(&self, id: &JobId) -> Found {
        match self.lock().jobs.get(id) {
            None => Found::Never,
            Some(Slot::Running(_)) => Found::Running,
            Some(Slot::Ended(outcome)) => Found::Ended(outcome.clone()),
            Some(Slot::Gone) => Found::Gone,
        }
    }
}

#[async_trait]
impl Runtime for Jobs {
    fn kind(&self) -> &'static str {
        "table"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError> {
        if self.life.as_ref().is_some_and(Cut::is_dead) {
            return std::future::pending().await;
        }
        let mut table = self.lock();
        if !table.jobs.contains_key(id) {
            table.jobs.insert(id.clone(), Slot::Running(Box::new(job.clone())));
            table.submitted.push((tokio::time::Instant::now(), id.clone()));
            tokio::spawn(self.clone().execute(id.clone(), job.clone()));
        }
        Ok(())
    }

    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError> {
        Ok(self.state(id))
    }

    async fn events(&self, _: &JobId) -> Result<Events, RuntimeError> {
        Ok(Events::channel(1).1)
    }

    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        loop {
            let changed = self.changed.notified();
            match self.state(id) {
                Found::Ended(outcome) => return Ok(*outcome),
                Found::Gone => return Ok(self.outcome(End::Lost("it vanished".to_owned()))),
                Found::Never => return Err(RuntimeError::UnknownJob { id: id.clone() }),
                _ => changed.await,
            }
        }
    }

    async fn cancel(&self, id: &JobId, _: Duration) -> Result<(), RuntimeError> {
        let outcome = Slot::Ended(Box::new(self.outcome(End::Cancelled)));
        let stopped = match self.lock().jobs.get_mut(id) {
            Some(slot @ Slot::Running(_)) => Some(std::mem::replace(slot, outcome)),
            _ => None,
        };
        if let (Some(world), Some(Slot::Running(job))) = (&self.world, stopped) {
            world.stops(&job);
        }
        self.changed.notify_waiters();
        Ok(())
    }

    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError> {
        self.lock().jobs.remove(id);
        Ok(())
    }

    async fn list(&self, _: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        let table = self.lock();
        if table.unreachable {
            let problem = "nobody answers".to_owned();
            return Err(RuntimeError::Unavailable { runtime: self.kind().to_owned(), problem });
        }
        Ok(table.jobs.keys().cloned().collect())
    }
}
