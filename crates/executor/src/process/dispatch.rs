//! The dispatcher: the task that queues the jobs of this process, hands them over to the supervisor, and
//! wakes callers that wait for the end of a job.
//!
//! The dispatcher alone decides when a job starts. It keeps only facts that a job's folder doesn't contain:
//! that the job is queued or was handed over, and the callers to wake at the end of the job. The folder is
//! the source of truth. A wake-up only means "read the folder now".

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
    End, JobId, OnOwnerDeath, Outcome, Owner, RuntimeError, Timestamp,
    process::{
        SupervisorCommand,
        connection::{Connection, Problem},
        error::unavailable,
        groups,
        inspect::{self, FolderState},
        layout::{JobFolder, StateDir},
        message::{Dispatch, JobMeta, Message, Progress, ResultNeeds, Submitter, Waiter, WakeReason},
        staging::Staged,
        wire::{Reply, Request},
    },
};

/// Maximum number of messages in the queue of the dispatcher. Also the maximum number of unread progress messages
/// for one follower.
const CAPACITY: usize = 64;

/// Maximum number of outcomes in [`Dispatcher::lost`].
const MOST_LOST: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) state: StateDir,
    pub(crate) supervisor: SupervisorCommand,
    /// Maximum number of jobs that run at the same time.
    pub(crate) at_once: NonZeroUsize,
}

/// Starts a dispatcher on the current tokio runtime.
pub(crate) fn start(settings: Settings) -> Dispatch {
    let (sender, messages) = mpsc::channel(CAPACITY);
    let dispatcher = Dispatcher {
        settings,
        connection: None,
        jobs: HashMap::new(),
        queue: VecDeque::new(),
        lost: VecDeque::new(),
        disconnecting: Vec::new(),
    };
    tokio::spawn(dispatcher.run(messages));
    sender
}

struct Dispatcher {
    settings: Settings,
    connection: Option<Connection>,
    jobs: HashMap<JobId, Job>,
    /// Ids of the queued jobs, in the order of their submission. Each of these jobs is in `jobs`, with the stage
    /// [`Stage::Queued`].
    queue: VecDeque<JobId>,
    /// Outcomes of [lost](End::Lost) jobs that ended while no caller waited for them, the oldest first. For example, a
    /// job is lost if it has removed its own folder. Then a later caller can't read the outcome from the folder.
    lost: VecDeque<(JobId, Box<Outcome>)>,
    /// Callers that wait until the supervisor is disconnected.
    disconnecting: Vec<oneshot::Sender<()>>,
}

/// A job that this process has submitted and that has not ended.
struct Job {
    stage: Stage,
    owner: Owner,
    on_owner_death: OnOwnerDeath,
    needs: ResultNeeds,
    image: Option<String>,
    started: Option<Timestamp>,
    /// Caller that waits until the supervisor has accepted the job, or until the job is queued.
    submitter: Option<Submitter>,
    /// Callers that wait until the supervisor has accepted the job. `None` after that.
    storing: Option<Vec<oneshot::Sender<bool>>>,
    waiters: Vec<Waiter>,
    watchers: Vec<mpsc::Sender<Progress>>,
}

enum Stage {
    Queued(Staged),
    /// The supervisor has the job.
    HandedOver,
}

impl Dispatcher {
    async fn run(mut self, mut messages: mpsc::Receiver<Message>) {
        loop {
            tokio::select! {
                reply = receive(&mut self.connection) => match reply {
                    Some(reply) => self.handle_reply(reply).await,
                    None => self.lost_supervisor().await,
                },
                message = messages.recv() => match message {
                    Some(message) => self.handle(message).await,
                    None => return,
                },
            }
        }
    }

    async fn handle(&mut self, message: Message) {
        match message {
            Message::Submit { id, meta, staged, reply } => {
                self.submit(id, Job::queued(meta, staged, reply)).await;
            }
            Message::Stored { id, reply } => match self.jobs.get_mut(&id) {
                Some(Job { storing: Some(storing), .. }) => storing.push(reply),
                Some(_) => drop(reply.send(true)),
                None => {}
            },
            Message::Cancel { id, grace, reply } => {
                let known = self.cancel(&id, grace).await;
                let _gave_up = reply.send(known);
            }
            Message::Wait { id, waiter } => match self.jobs.get_mut(&id) {
                Some(job) => job.waiters.push(waiter),
                None => drop(waiter.send(self.take_lost(&id).map_or(WakeReason::Unknown, WakeReason::Ended))),
            },
            Message::Watch { id, reply } => {
                let progress = self.watch(&id).await;
                let _gave_up = reply.send(progress);
            }
            Message::Has { id, reply } => {
                let _gave_up = reply.send(self.jobs.contains_key(&id));
            }
            Message::Queued { owner, reply } => {
                let of_owner = |id: &&JobId| self.jobs.get(*id).is_some_and(|job| job.owner == owner);
                let _gave_up = reply.send(self.queue.iter().filter(of_owner).cloned().collect());
            }
            Message::Disconnect { reply } => self.disconnect(reply).await,
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
            job.answer_submitter(Ok(()));
        }
    }

    /// Hands queued jobs over to the supervisor, as long as fewer than `at_once` jobs run.
    async fn admit(&mut self) {
        while self.disconnecting.is_empty()
            && self.jobs.len() - self.queue.len() < self.settings.at_once.get()
        {
            let Some(id) = self.queue.pop_front() else { return };
            match self.hand_over(&id).await {
                Ok(true) => {}
                // The supervisor is dead. This task will notice the death soon, and start another supervisor
                // for the queue.
                Ok(false) => return self.queue.push_front(id),
                Err(problem) => self.fail(&id, &problem),
            }
        }
    }

    /// Hands a job over to the supervisor. Returns `false` if the supervisor is gone.
    async fn hand_over(&mut self, id: &JobId) -> Result<bool, Problem> {
        let Some(job) = self.jobs.get_mut(id) else { return Ok(true) };
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(Connection::open(&self.settings.supervisor, &self.settings.state).await?),
        };
        if let Stage::Queued(staged) = &job.stage {
            let start =
                Request::Start { id: id.clone(), staged: staged.name().to_owned(), stdin: staged.stdin() };
            if !connection.send(&start).await {
                return Ok(false);
            }
        }
        if let Stage::Queued(staged) = std::mem::replace(&mut job.stage, Stage::HandedOver) {
            staged.give();
        }
        if !job.watchers.is_empty() {
            connection.send(&Request::Watch { id: id.clone() }).await;
        }
        Ok(true)
    }

    /// Cancels a job of this process. If the job is queued, the function cancels it directly. Otherwise the
    /// function sends a request to the supervisor. Returns `false` if the job is unknown, or if the supervisor is
    /// gone.
    async fn cancel(&mut self, id: &JobId, grace: Duration) -> bool {
        if self.queue.contains(id) {
            self.queue.retain(|queued| queued != id);
            if let Some(Job { stage: Stage::Queued(staged), waiters, .. }) = self.jobs.remove(id) {
                let written = staged.end_unstarted(End::Cancelled, &self.settings.state.job(id));
                let problem =
                    written.err().map(|error| format!("its cancellation can't be recorded: {error}"));
                wake(waiters, &problem.map_or(WakeReason::Changed, |problem| WakeReason::Failed { problem }));
            }
            return true;
        }
        if let (true, Some(connection)) = (self.jobs.contains_key(id), &mut self.connection) {
            return connection.send(&Request::cancel(id.clone(), grace)).await;
        }
        false
    }

    async fn watch(&mut self, id: &JobId) -> Option<mpsc::Receiver<Progress>> {
        let job = self.jobs.get_mut(id)?;
        let (sender, progress) = mpsc::channel(CAPACITY);
        job.watchers.push(sender);
        job.report_started();
        if let (Stage::HandedOver, Some(connection)) = (&job.stage, &mut self.connection) {
            connection.send(&Request::Watch { id: id.clone() }).await;
        }
        Some(progress)
    }

    async fn disconnect(&mut self, reply: oneshot::Sender<()>) {
        self.disconnecting.push(reply);
        for id in std::mem::take(&mut self.queue) {
            self.fail(&id, "its owner closed the runtime before the job started");
        }
        match &mut self.connection {
            Some(connection) => connection.disconnect(),
            None => self.confirm_disconnect(),
        }
        self.release_survivors().await;
    }

    /// Completes a requested disconnection from the supervisor, as soon as the supervisor has only jobs with the
    /// setting [`OnOwnerDeath::Finish`]. The supervisor runs these jobs to their end, and this dispatcher forgets
    /// them. If the supervisor has no job at all, the function does nothing: `lost_supervisor` confirms the
    /// disconnection when the supervisor exits.
    ///
    /// Jobs that are submitted during the disconnection wait in the queue. After the disconnection, the function hands
    /// them over to another supervisor.
    async fn release_survivors(&mut self) {
        if self.disconnecting.is_empty() || !self.has_only_survivors() {
            return;
        }
        self.connection = None;
        for (_, job) in self.jobs.extract_if(|_, job| job.is_handed_over()) {
            wake(job.waiters, &WakeReason::Changed);
        }
        self.confirm_disconnect();
        self.admit().await;
    }

    /// Tells whether the supervisor has jobs, and all of them have the setting [`OnOwnerDeath::Finish`].
    fn has_only_survivors(&self) -> bool {
        let mut handed_over = self.jobs.values().filter(|job| job.is_handed_over()).peekable();
        handed_over.peek().is_some() && handed_over.all(|job| job.on_owner_death == OnOwnerDeath::Finish)
    }

    fn confirm_disconnect(&mut self) {
        for waiting in self.disconnecting.drain(..) {
            let _gave_up = waiting.send(());
        }
    }

    async fn handle_reply(&mut self, reply: Reply) {
        match reply {
            Reply::Hello { .. } => {}
            Reply::Accepted { id, at } => {
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.started = at;
                    job.report_started();
                    job.answer(Ok(()));
                }
            }
            Reply::Output { id, stream, at, length } => {
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.report(Progress::Written { stream, at, length });
                }
            }
            Reply::Refused { id, why } => {
                self.fail(&id, &format!("the job's folder can't be put into place: {why}"));
            }
            Reply::Exists { id } => {
                if let Some(mut job) = self.jobs.remove(&id) {
                    job.answer(Ok(()));
                    wake(job.waiters, &WakeReason::Changed);
                }
            }
            Reply::Ended { id, ending, written } => {
                if let Some(mut job) = self.jobs.remove(&id) {
                    job.answer(Ok(()));
                    let streams = match &ending.end {
                        // A job is also lost if it has removed its own folder. In this case, the folder
                        // contains no output, but this reply of the supervisor may contain it.
                        End::Lost(_) => Some(written.unwrap_or_default()),
                        _ => written.filter(|_| job.needs == ResultNeeds::Streams),
                    };
                    let why = streams.map_or(WakeReason::Changed, |written| {
                        let folder = self.settings.state.job(&id);
                        let mut outcome = inspect::outcome_from_reply(&folder, ending, written);
                        outcome.image_digest = job.image.take();
                        WakeReason::Ended(Box::new(outcome))
                    });
                    if let (true, WakeReason::Ended(outcome)) = (job.waiters.is_empty(), &why)
                        && matches!(outcome.end, End::Lost(_))
                    {
                        self.keep_lost(id, outcome.clone());
                    }
                    wake(job.waiters, &why);
                }
            }
        }
        self.admit().await;
        self.release_survivors().await;
    }

    /// Adds an outcome to `lost`, for the next caller that waits for the job. If `lost` already has [`MOST_LOST`]
    /// outcomes, first drops the oldest of them.
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

    /// Handles the death of the supervisor: kills the remaining processes of the supervisor's jobs, wakes the
    /// waiting callers, and starts another supervisor for the queued jobs.
    async fn lost_supervisor(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let report = connection.exit_report().await;
        let (waiting, lost): (HashMap<_, _>, HashMap<_, _>) =
            self.jobs.drain().partition(|(_, job)| matches!(job.stage, Stage::Queued(_)));
        self.jobs = waiting;
        let folders: Vec<_> = lost.keys().map(|id| self.settings.state.job(id)).collect();
        let state = self.settings.state.clone();
        let clean = spawn_blocking(move || {
            // If a group can't be ended now, the next process that opens the jobs folder tries again.
            let _busy = groups::sweep(&state);
            folders.iter().for_each(end_if_gone);
        });
        let _panicked = clean.await;
        for mut job in lost.into_values() {
            job.answer(Err(unavailable(&format!("its supervisor died ({report})"))));
            wake(job.waiters, &WakeReason::Changed);
        }
        self.confirm_disconnect();
        self.admit().await;
    }

    fn fail(&mut self, id: &JobId, problem: &str) {
        if let Some(mut job) = self.jobs.remove(id) {
            job.answer(Err(unavailable(problem)));
            wake(job.waiters, &WakeReason::Failed { problem: problem.to_owned() });
        }
    }
}

impl Job {
    fn queued(meta: JobMeta, staged: Staged, reply: Submitter) -> Self {
        let JobMeta { owner, on_owner_death, needs, image } = meta;
        let (stage, submitter) = (Stage::Queued(staged), Some(reply));
        Self {
            stage,
            owner,
            on_owner_death,
            needs,
            image,
            started: None,
            submitter,
            storing: Some(Vec::new()),
            waiters: Vec::new(),
            watchers: Vec::new(),
        }
    }

    fn is_handed_over(&self) -> bool {
        matches!(self.stage, Stage::HandedOver)
    }

    /// Tells all callers whether the supervisor has accepted the job.
    fn answer(&mut self, answer: Result<(), RuntimeError>) {
        for waiting in self.storing.take().into_iter().flatten() {
            let _gave_up = waiting.send(answer.is_ok());
        }
        self.answer_submitter(answer);
    }

    fn answer_submitter(&mut self, answer: Result<(), RuntimeError>) {
        if let Some(submitter) = self.submitter.take() {
            let _gave_up = submitter.send(answer);
        }
    }

    fn report_started(&mut self) {
        if let Some(at) = self.started {
            self.report(Progress::Started { at });
        }
    }

    /// Sends a progress message to all watchers of the job. If the channel of a watcher is full, drops the message for
    /// this watcher. The watcher loses no output: it reads the output from the job's files, and also polls these files
    /// regularly.
    fn report(&mut self, progress: Progress) {
        self.watchers.retain(|watcher| !matches!(watcher.try_send(progress), Err(TrySendError::Closed(_))));
    }
}

async fn receive(connection: &mut Option<Connection>) -> Option<Reply> {
    match connection {
        Some(connection) => connection.receive().await,
        None => std::future::pending().await,
    }
}

fn wake(waiters: Vec<Waiter>, reason: &WakeReason) {
    for waiter in waiters {
        let _gave_up = waiter.send(reason.clone());
    }
}

fn end_if_gone(folder: &JobFolder) {
    if inspect::inspect(folder).is_ok_and(|state| state == FolderState::Gone) {
        // If a process can't be ended now, the next look-up of the job tries again.
        let _unreadable_proc = inspect::end_leftovers(folder);
    }
}
