//! A runtime whose jobs are entries in a table. Like real jobs, they continue when the engine dies.

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

/// The duration of each job.
pub(crate) const TAKES: Duration = Duration::from_millis(10);

/// The effects of jobs on a simulated world.
pub(crate) trait World: Send + Sync {
    /// Starts a job and returns its duration.
    fn begins(&self, job: &Job) -> Duration;

    /// Applies the effects of a job at its end.
    fn ends(&self, job: &Job) -> Ending;

    /// Applies the effects of a job that is cancelled before its end.
    fn stops(&self, job: &Job);
}

/// The end of a job.
pub(crate) enum Ending {
    /// The job exited with this code and this stdout.
    Exited(i32, String),
    /// The end of the job is unknown.
    Lost,
}

#[derive(Clone)]
pub(crate) struct Jobs {
    clock: Arc<dyn Clock>,
    table: Arc<Mutex<Table>>,
    changed: Arc<Notify>,
    world: Option<Arc<dyn World>>,
    /// The lifetime of the process that uses this handle.
    life: Option<Cut>,
}

#[derive(Default)]
struct Table {
    jobs: BTreeMap<JobId, Slot>,
    /// The effect of each job, such as `B Configure`, in the order of their ends.
    effects: Vec<String>,
    /// The number of jobs to lose, by program.
    losses: BTreeMap<String, u32>,
    /// The programs whose next job is lost while it is submitted, which is reported as an error.
    dies: Vec<String>,
    /// The number of further jobs that the runtime accepts, by program; unlimited for all other programs.
    accepted: BTreeMap<String, u32>,
    /// The programs whose next submission panics.
    panics: Vec<String>,
    /// The programs whose jobs wait in the memory of the process that has submitted them.
    queued: Vec<String>,
    /// The free disk space in bytes; `None` if unknown.
    free: Option<u64>,
    /// The programs whose answers are lost, as if the disk were full.
    cut: Vec<String>,
    /// The duration of jobs, by program.
    durations: BTreeMap<String, Duration>,
    submitted: Vec<(tokio::time::Instant, JobId)>,
    /// The programs that run after each submission.
    crowds: Vec<Vec<String>>,
    /// Whether queries of the existing jobs fail.
    unreachable: bool,
    /// Whether a process that dies while it records a job has submitted the job already.
    outruns: bool,
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

    /// Makes jobs change a world.
    pub(crate) fn in_world(self, world: Arc<dyn World>) -> Self {
        Self { world: Some(world), ..self }
    }

    /// Returns a handle for one process. The handle submits no job after the process has died.
    pub(crate) fn of(&self, life: Cut) -> Self {
        Self { life: Some(life), ..self.clone() }
    }

    /// Makes the next job of a program be lost without any effect.
    pub(crate) fn lose(&self, program: &str) {
        *self.lock().losses.entry(program.to_owned()).or_default() += 1;
    }

    /// Makes the submission of a program's next job fail. The job is lost.
    pub(crate) fn lose_at_submission(&self, program: &str) {
        self.lock().dies.push(program.to_owned());
    }

    /// Makes the runtime accept `number` further jobs of a program. It can't start any jobs after that.
    pub(crate) fn accept(&self, program: &str, number: u32) {
        self.lock().accepted.insert(program.to_owned(), number);
    }

    /// Makes the submission of a program's next job panic. The job runs nevertheless.
    pub(crate) fn panic_at_submission(&self, program: &str) {
        self.lock().panics.push(program.to_owned());
    }

    /// Deletes all jobs, as a user does who deletes the jobs folder or the containers.
    pub(crate) fn forget(&self) {
        self.lock().jobs.clear();
    }

    /// Sets whether the next jobs of a program wait for capacity. Jobs that wait are not started, and exist only in the
    /// memory of the process that submits them.
    pub(crate) fn queue(&self, program: &str, waits: bool) {
        let mut table = self.lock();
        table.queued.retain(|queued| queued != program);
        if waits {
            table.queued.push(program.to_owned());
        }
    }

    /// Sets the duration of the jobs of a program.
    pub(crate) fn last(&self, program: &str, duration: Duration) {
        self.lock().durations.insert(program.to_owned(), duration);
    }

    /// Cancels the losses that [`Jobs::lose`] has requested.
    pub(crate) fn lose_none(&self) {
        self.lock().losses.clear();
    }

    /// Sets the free disk space in bytes.
    pub(crate) fn leave_room(&self, free: Option<u64>) {
        self.lock().free = free;
    }

    pub(crate) fn free_space(&self) -> Option<u64> {
        self.lock().free
    }

    /// Makes the answers of a program too large for the disk. The program nevertheless does its work.
    pub(crate) fn cut_answers_of(&self, program: &str) {
        self.lock().cut.push(program.to_owned());
    }

    /// Makes queries of the existing jobs fail, or succeed again.
    pub(crate) fn unreachable(&self, unreachable: bool) {
        self.lock().unreachable = unreachable;
    }

    /// Changes the effect of a process's death from now on. If a process dies while it records a job, the job is
    /// submitted nevertheless.
    pub(crate) fn outrun_records(&self) {
        self.lock().outruns = true;
    }

    /// Returns the effects of all jobs in the order of their ends.
    pub(crate) fn effects(&self) -> Vec<String> {
        self.lock().effects.clone()
    }

    /// Returns the ids of all jobs ever submitted.
    pub(crate) fn submitted(&self) -> Vec<String> {
        self.lock().submitted.iter().map(|(_, id)| id.to_string()).collect()
    }

    /// Returns one list for each submission of a job so far: the programs that were running immediately after the
    /// submission.
    pub(crate) fn crowds(&self) -> Vec<Vec<String>> {
        self.lock().crowds.clone()
    }

    /// Returns the number of jobs submitted after a time.
    pub(crate) fn submitted_after(&self, time: tokio::time::Instant) -> usize {
        self.lock().submitted.iter().filter(|(at, _)| *at > time).count()
    }

    /// Returns the number of jobs that have not been removed.
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
        let is_dead = self.life.as_ref().is_some_and(Cut::is_dead);
        if is_dead && !self.lock().outruns {
            return std::future::pending().await;
        }
        let mut table = self.lock();
        if let Some(at) = table.dies.iter().position(|program| *program == job.program) {
            table.dies.remove(at);
            table.jobs.insert(id.clone(), Slot::Gone);
            let problem = "its supervisor has died".to_owned();
            return Err(RuntimeError::Unavailable { runtime: self.kind().to_owned(), problem });
        }
        match table.accepted.get_mut(&job.program) {
            Some(0) => {
                let problem = "it can't start any jobs".to_owned();
                return Err(RuntimeError::Unavailable { runtime: self.kind().to_owned(), problem });
            }
            Some(accepted) => *accepted -= 1,
            None => {}
        }
        if !table.jobs.contains_key(id) {
            table.jobs.insert(id.clone(), Slot::Running(Box::new(job.clone())));
            table.submitted.push((tokio::time::Instant::now(), id.clone()));
            let running = table.jobs.values().filter_map(|slot| match slot {
                Slot::Running(job) => Some(job.program.clone()),
                _ => None,
            });
            let crowd = running.collect();
            table.crowds.push(crowd);
            if !table.queued.contains(&job.program) {
                tokio::spawn(self.clone().execute(id.clone(), job.clone()));
            }
        }
        let panics = table.panics.iter().position(|program| *program == job.program);
        panics.map(|at| table.panics.remove(at));
        drop(table);
        assert!(panics.is_none(), "the runtime was told to panic");
        Ok(())
    }

    async fn stored(&self, id: &JobId) -> bool {
        let is_queued = {
            let table = self.lock();
            matches!(table.jobs.get(id), Some(Slot::Running(job)) if table.queued.contains(&job.program))
        };
        if is_queued { std::future::pending().await } else { true }
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
