//! The owner's side of all its jobs: one task that has the queue, the line to the supervisor, and who waits for what.
//!
//! It alone decides when a job starts, and it remembers of a job only what can't be read from its folder: that it
//! waits, that it was handed over, and whom to wake when it has ended. The folder is the truth; a wake-up says no more
//! than "look now".

use std::{
    collections::{HashMap, VecDeque},
    num::NonZeroUsize,
    time::Duration,
};

use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::spawn_blocking,
};

use crate::{
    End, JobId, OnOwnerDeath, Outcome, Owner, RuntimeError, Stream, Timestamp,
    process::{
        connection::{Connection, Problem, SupervisorCommand, unavailable},
        groups,
        layout::{JobFolder, StateDir},
        look::{self, Look},
        staging::Staged,
        wire::{Reply, Request},
    },
};

/// How many orders may wait for the dispatcher, and how many marks for a follower that is slow.
const ROOM: usize = 64;

/// How many outcomes without a folder are kept for who has not waited for them yet.
const MOST_LOST: usize = 64;

/// What the dispatcher is asked.
#[derive(Debug)]
pub(crate) enum Order {
    /// Run this job when there is room. Answered when it is in place, or in the queue.
    Submit { id: JobId, terms: Terms, staged: Staged, reply: Submitter },
    /// End this job. `false` if it isn't known here.
    Cancel { id: JobId, grace: Duration, reply: oneshot::Sender<bool> },
    /// Ring when this job has ended.
    Wait { id: JobId, bell: oneshot::Sender<Rung> },
    /// Tell what this job writes until it ends. `None` if it isn't known here.
    Watch { id: JobId, reply: oneshot::Sender<Option<mpsc::Receiver<Mark>>> },
    /// Is this job one that has not ended?
    Has { id: JobId, reply: oneshot::Sender<bool> },
    /// Which jobs of this owner wait in the queue?
    Queued { owner: Owner, reply: oneshot::Sender<Vec<JobId>> },
    /// Part with the supervisor as if we died. Answered when the jobs that die with us are dead.
    Part { reply: oneshot::Sender<()> },
}

/// What is remembered of a job's request.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) owner: Owner,
    pub(crate) fate: OnOwnerDeath,
    pub(crate) wants: Wants,
    /// The digest of the image it runs in.
    pub(crate) image: Option<String>,
}

/// What an outcome is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// The two streams and nothing else: the supervisor can tell all of it.
    Streams,
    /// Files too, which are in the folder.
    Files,
}

/// Why a bell rang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rung {
    /// Something has come to an end: look at the folder.
    Look,
    /// It has ended, and this is what is in its folder.
    Ended(Box<Outcome>),
    /// The job isn't known here: look at the folder, now and later.
    Unknown,
    /// The job waited in the queue and could then not be handed over.
    Failed { problem: String },
}

/// How far a job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Started {
        at: Timestamp,
    },
    /// A stream has this length now.
    Written {
        stream: Stream,
        at: Timestamp,
        length: u64,
    },
}

/// Orders for the dispatcher. When the last of these is dropped, it parts with the supervisor.
pub(crate) type Orders = mpsc::Sender<Order>;

/// What the dispatcher needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) state: StateDir,
    pub(crate) supervisor: SupervisorCommand,
    pub(crate) at_once: NonZeroUsize,
}

/// Starts a dispatcher on the current tokio runtime.
pub(crate) fn start(settings: Settings) -> Orders {
    let (sender, orders) = mpsc::channel(ROOM);
    let dispatcher = Dispatcher {
        settings,
        connection: None,
        jobs: HashMap::new(),
        queue: VecDeque::new(),
        lost: VecDeque::new(),
        parting: Vec::new(),
    };
    tokio::spawn(dispatcher.run(orders));
    sender
}

struct Dispatcher {
    settings: Settings,
    connection: Option<Connection>,
    jobs: HashMap<JobId, Job>,
    queue: VecDeque<JobId>,
    /// The outcomes that no folder has and that nobody waited for yet, the oldest first.
    lost: VecDeque<(JobId, Box<Outcome>)>,
    /// Who waits for us to have parted.
    parting: Vec<oneshot::Sender<()>>,
}

/// A job that was submitted here and has not ended.
struct Job {
    stage: Stage,
    owner: Owner,
    fate: OnOwnerDeath,
    wants: Wants,
    image: Option<String>,
    started: Option<Timestamp>,
    /// Waits to hear that the job is in place, or in the queue.
    submitter: Option<Submitter>,
    bells: Vec<oneshot::Sender<Rung>>,
    watchers: Vec<mpsc::Sender<Mark>>,
}

type Submitter = oneshot::Sender<Result<(), RuntimeError>>;

enum Stage {
    Queued(Staged),
    /// The supervisor has it.
    HandedOver,
}

impl Dispatcher {
    async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        loop {
            tokio::select! {
                reply = hear(&mut self.connection) => match reply {
                    Some(reply) => self.heard(reply).await,
                    None => self.lost_supervisor().await,
                },
                order = orders.recv() => match order {
                    Some(order) => self.obey(order).await,
                    None => return,
                },
            }
        }
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Submit { id, terms, staged, reply } => {
                self.submit(id, Job::queued(terms, staged, reply)).await;
            }
            Order::Cancel { id, grace, reply } => {
                let known = self.cancel(&id, grace).await;
                let _gave_up = reply.send(known);
            }
            Order::Wait { id, bell } => match self.jobs.get_mut(&id) {
                Some(job) => job.bells.push(bell),
                None => drop(bell.send(self.take_lost(&id).map_or(Rung::Unknown, Rung::Ended))),
            },
            Order::Watch { id, reply } => {
                let marks = self.watch(&id).await;
                let _gave_up = reply.send(marks);
            }
            Order::Has { id, reply } => {
                let _gave_up = reply.send(self.jobs.contains_key(&id));
            }
            Order::Queued { owner, reply } => {
                let of_owner = |id: &&JobId| self.jobs.get(*id).is_some_and(|job| job.owner == owner);
                let _gave_up = reply.send(self.queue.iter().filter(of_owner).cloned().collect());
            }
            Order::Part { reply } => self.part(reply),
        }
    }

    async fn submit(&mut self, id: JobId, mut job: Job) {
        if self.jobs.contains_key(&id) {
            job.answer(Ok(()));
            return;
        }
        self.take_lost(&id);
        self.jobs.insert(id.clone(), job);
        self.queue.push_back(id.clone());
        self.admit().await;
        if let Some(job) = self.jobs.get_mut(&id).filter(|job| matches!(job.stage, Stage::Queued(_))) {
            job.answer(Ok(()));
        }
    }

    /// Hands over jobs as long as there is room.
    async fn admit(&mut self) {
        while self.parting.is_empty() && self.jobs.len() - self.queue.len() < self.settings.at_once.get() {
            let Some(id) = self.queue.pop_front() else { return };
            match self.hand_over(&id).await {
                Ok(true) => {}
                // It is dead, of which we are about to hear; then another takes the queue over.
                Ok(false) => return self.queue.push_front(id),
                Err(problem) => self.fail(&id, &problem),
            }
        }
    }

    /// Hands a job to the supervisor. `false` if nobody heard it.
    async fn hand_over(&mut self, id: &JobId) -> Result<bool, Problem> {
        let Some(job) = self.jobs.get_mut(id) else { return Ok(true) };
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(Connection::open(&self.settings.supervisor, &self.settings.state).await?),
        };
        if let Stage::Queued(staged) = &job.stage {
            let start =
                Request::Start { id: id.clone(), staged: staged.name().to_owned(), stdin: staged.stdin() };
            if !connection.say(&start).await {
                return Ok(false);
            }
        }
        if let Stage::Queued(staged) = std::mem::replace(&mut job.stage, Stage::HandedOver) {
            staged.give();
        }
        if !job.watchers.is_empty() {
            connection.say(&Request::Watch { id: id.clone() }).await;
        }
        Ok(true)
    }

    /// Cancels a job in the queue by itself, any other through the supervisor. `false` if there is none.
    async fn cancel(&mut self, id: &JobId, grace: Duration) -> bool {
        if self.queue.contains(id) {
            self.queue.retain(|queued| queued != id);
            if let Some(Job { stage: Stage::Queued(staged), bells, .. }) = self.jobs.remove(id) {
                let written = staged.end_unstarted(End::Cancelled, &self.settings.state.job(id));
                let problem =
                    written.err().map(|error| format!("its cancellation can't be recorded: {error}"));
                ring(bells, &problem.map_or(Rung::Look, |problem| Rung::Failed { problem }));
            }
            return true;
        }
        if let (true, Some(connection)) = (self.jobs.contains_key(id), &mut self.connection) {
            return connection.say(&Request::cancel(id.clone(), grace)).await;
        }
        false
    }

    async fn watch(&mut self, id: &JobId) -> Option<mpsc::Receiver<Mark>> {
        let job = self.jobs.get_mut(id)?;
        let (sender, marks) = mpsc::channel(ROOM);
        job.watchers.push(sender);
        job.mark_started();
        if let (Stage::HandedOver, Some(connection)) = (&job.stage, &mut self.connection) {
            connection.say(&Request::Watch { id: id.clone() }).await;
        }
        Some(marks)
    }

    fn part(&mut self, reply: oneshot::Sender<()>) {
        self.parting.push(reply);
        for id in std::mem::take(&mut self.queue) {
            self.fail(&id, "its owner has closed it before the job's turn came");
        }
        match &mut self.connection {
            Some(connection) => connection.part(),
            None => self.have_parted(),
        }
        self.leave_the_rest();
    }

    /// When all jobs that die with us are dead, lets those go that don't. (Without these, the supervisor goes, and
    /// that is waited for.)
    fn leave_the_rest(&mut self) {
        let finish = |job: &Job| job.fate == OnOwnerDeath::Finish;
        if !self.parting.is_empty() && !self.jobs.is_empty() && self.jobs.values().all(finish) {
            self.connection = None;
            self.jobs.drain().for_each(|(_, job)| ring(job.bells, &Rung::Look));
            self.have_parted();
        }
    }

    fn have_parted(&mut self) {
        for waiting in self.parting.drain(..) {
            let _gave_up = waiting.send(());
        }
    }

    async fn heard(&mut self, reply: Reply) {
        match reply {
            Reply::Hello { .. } => {}
            Reply::Accepted { id, at } => {
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.started = at;
                    job.mark_started();
                    job.answer(Ok(()));
                }
            }
            Reply::Output { id, stream, at, length } => {
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.mark(Mark::Written { stream, at, length });
                }
            }
            Reply::Refused { id, why } => {
                self.fail(&id, &format!("the job's folder can't be put into place: {why}"));
            }
            Reply::Exists { id } => {
                if let Some(mut job) = self.jobs.remove(&id) {
                    job.answer(Ok(()));
                    ring(job.bells, &Rung::Look);
                }
            }
            Reply::Ended { id, ending, written } => {
                if let Some(mut job) = self.jobs.remove(&id) {
                    job.answer(Ok(()));
                    let told = match &ending.end {
                        // Its folder has nothing to tell.
                        End::Lost(_) => Some(written.unwrap_or_default()),
                        _ => written.filter(|_| job.wants == Wants::Streams),
                    };
                    let why = told.map_or(Rung::Look, |written| {
                        let folder = self.settings.state.job(&id);
                        let mut outcome = look::told(&folder, ending, written);
                        outcome.image_digest = job.image.take();
                        Rung::Ended(Box::new(outcome))
                    });
                    if let (true, Rung::Ended(outcome)) = (job.bells.is_empty(), &why)
                        && matches!(outcome.end, End::Lost(_))
                    {
                        self.keep_lost(id, outcome.clone());
                    }
                    ring(job.bells, &why);
                }
            }
        }
        self.admit().await;
        self.leave_the_rest();
    }

    /// Keeps an outcome for whoever waits for it next. Of very many the oldest are forgotten.
    fn keep_lost(&mut self, id: JobId, outcome: Box<Outcome>) {
        if self.lost.len() == MOST_LOST {
            self.lost.pop_front();
        }
        self.lost.push_back((id, outcome));
    }

    fn take_lost(&mut self, id: &JobId) -> Option<Box<Outcome>> {
        let place = self.lost.iter().position(|(lost, _)| lost == id)?;
        self.lost.remove(place).map(|(_, outcome)| outcome)
    }

    /// Goes on without the supervisor: ends what it left, wakes who waits, and starts another for the queue.
    async fn lost_supervisor(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let words = connection.last_words().await;
        let (waiting, lost): (HashMap<_, _>, HashMap<_, _>) =
            self.jobs.drain().partition(|(_, job)| matches!(job.stage, Stage::Queued(_)));
        self.jobs = waiting;
        let folders: Vec<_> = lost.keys().map(|id| self.settings.state.job(id)).collect();
        let state = self.settings.state.clone();
        let clean = spawn_blocking(move || {
            // What can't be ended now is tried again by the next who opens the folder.
            let _busy = groups::sweep(&state);
            folders.iter().for_each(end_if_gone);
        });
        let _panicked = clean.await;
        for mut job in lost.into_values() {
            job.answer(Err(unavailable(&format!("its supervisor died ({words})"))));
            ring(job.bells, &Rung::Look);
        }
        self.have_parted();
        self.admit().await;
    }

    fn fail(&mut self, id: &JobId, problem: &str) {
        if let Some(mut job) = self.jobs.remove(id) {
            job.answer(Err(unavailable(problem)));
            ring(job.bells, &Rung::Failed { problem: problem.to_owned() });
        }
    }
}

impl Job {
    fn queued(terms: Terms, staged: Staged, reply: Submitter) -> Self {
        let Terms { owner, fate, wants, image } = terms;
        let (stage, submitter) = (Stage::Queued(staged), Some(reply));
        Self {
            stage,
            owner,
            fate,
            wants,
            image,
            started: None,
            submitter,
            bells: Vec::new(),
            watchers: Vec::new(),
        }
    }

    fn answer(&mut self, answer: Result<(), RuntimeError>) {
        if let Some(submitter) = self.submitter.take() {
            let _gave_up = submitter.send(answer);
        }
    }

    fn mark_started(&mut self) {
        if let Some(at) = self.started {
            self.mark(Mark::Started { at });
        }
    }

    /// Tells the watchers. A mark that finds no room is made up for: followers look by themselves now and then.
    fn mark(&mut self, mark: Mark) {
        self.watchers.retain(|watcher| !matches!(watcher.try_send(mark), Err(TrySendError::Closed(_))));
    }
}

async fn hear(connection: &mut Option<Connection>) -> Option<Reply> {
    match connection {
        Some(connection) => connection.hear().await,
        None => std::future::pending().await,
    }
}

fn ring(bells: Vec<oneshot::Sender<Rung>>, why: &Rung) {
    for bell in bells {
        let _gave_up = bell.send(why.clone());
    }
}

fn end_if_gone(folder: &JobFolder) {
    if look::look(folder).is_ok_and(|look| look == Look::Gone) {
        // What can't be ended now is tried again when the job is looked for.
        let _unreadable_proc = look::end_leftovers(folder);
    }
}
