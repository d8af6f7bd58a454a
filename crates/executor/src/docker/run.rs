//! The life of one job of this client: its turn, its launch, its end.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot, watch},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    End, Job, JobId, OnOwnerDeath, Outcome, Owner, RuntimeError, StartFailure, Timestamp,
    docker::{
        EngineError,
        engine::{FIRST_PAUSE, LAST_PAUSE},
        launch::{Launched, Running, launch},
        lines::{Collector, Ended, How, Line},
        look::{self, LOST, LineStream, Stage},
        runtime::Shared,
    },
};

/// How much later than it should a container may end before it is killed: what is in it may be stopped as a whole.
const LATE: Duration = Duration::from_secs(20);

/// What is known of a job of this client.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// It waits for its turn.
    Waiting,
    Running,
    Ended(Arc<Outcome>),
    /// It could not be launched, for this reason, and nobody has been told yet.
    Failed(String),
}

/// What the outside wishes of a job.
#[derive(Debug, Clone, Copy, Default)]
struct Wish {
    /// To end, by itself until this moment.
    end_by: Option<Instant>,
    /// Its client parts with it.
    part: bool,
}

/// What the outside has of a job.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    owner: Owner,
    phase: watch::Receiver<Phase>,
    wish: watch::Sender<Wish>,
    /// Since when the engine has not answered.
    silent: watch::Receiver<Option<Instant>>,
}

impl Handle {
    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }

    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        self.owner == *owner
    }

    /// Wishes for an end; of several wishes the most impatient counts.
    pub(crate) fn cancel(&self, grace: Duration) {
        let now = Instant::now();
        let until = now.checked_add(grace).unwrap_or(now + Duration::from_secs(1 << 30));
        self.wish.send_modify(|wish| wish.end_by = Some(wish.end_by.map_or(until, |by| by.min(until))));
    }

    pub(crate) fn part(&self) {
        self.wish.send_modify(|wish| wish.part = true);
    }

    /// Waits until nothing of it runs here any more.
    pub(crate) async fn parted(&self) {
        let mut phase = self.phase.clone();
        while phase.changed().await.is_ok() {}
    }

    /// Waits for the end: `Err(Some)` if there will be none here, or the engine has been silent for too long; `Err(None)`
    /// if somebody else has the job.
    pub(crate) async fn end(&self, patience: Duration) -> Result<Arc<Outcome>, Option<String>> {
        let (mut phase, mut silent) = (self.phase.clone(), self.silent.clone());
        loop {
            match &*phase.borrow_and_update() {
                Phase::Ended(outcome) => return Ok(outcome.clone()),
                Phase::Failed(problem) => return Err(Some(problem.clone())),
                Phase::Waiting | Phase::Running => {}
            }
            let give_up = silent.borrow_and_update().map(|since| since + patience);
            tokio::select! {
                changed = phase.changed() => {
                    if changed.is_err() && matches!(&*phase.borrow(), Phase::Waiting | Phase::Running) {
                        return Err(None);
                    }
                }
                Ok(()) = silent.changed() => {}
                () = until(give_up) => {
                    return Err(Some(format!("the engine has not answered for {patience:?}; the job may go on")));
                }
            }
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

type Accepted = oneshot::Receiver<Result<(), RuntimeError>>;

/// Starts a job's life; `None` if there is one of this id already. What is returned tells when the job is the engine's, or
/// in the queue.
pub(crate) fn start(shared: &Arc<Shared>, id: &JobId, job: &Job) -> Option<Accepted> {
    let (phase_to, phase) = watch::channel(Phase::Waiting);
    let (wish_to, wish) = watch::channel(Wish::default());
    let (silent_to, silent) = watch::channel(None);
    let (accept, accepted) = oneshot::channel();
    {
        let mut jobs = shared.jobs();
        if jobs.get(id).is_some_and(|handle| !matches!(handle.phase(), Phase::Failed(_))) {
            return None;
        }
        jobs.insert(id.clone(), Handle { owner: job.owner.clone(), phase, wish: wish_to, silent });
    }
    let life = Life {
        shared: shared.clone(),
        id: id.clone(),
        job: job.clone(),
        phase: phase_to,
        wish,
        silent: silent_to,
        accept: Some(accept),
    };
    tokio::spawn(life.run());
    Some(accepted)
}

struct Life {
    shared: Arc<Shared>,
    id: JobId,
    job: Job,
    phase: watch::Sender<Phase>,
    wish: watch::Receiver<Wish>,
    silent: watch::Sender<Option<Instant>>,
    accept: Option<oneshot::Sender<Result<(), RuntimeError>>>,
}

/// How the reading of lines came to a stop.
enum Stop {
    /// It was the last line.
    Ended(Box<Outcome>),
    /// The stream ended, or broke, before that.
    Broken,
    /// The client parts with the job.
    Parted,
    /// It should have ended long ago.
    Late(End),
}

impl Life {
    async fn run(mut self) {
        let Some(permit) = self.turn().await else { return };
        match Box::pin(launch(&self.shared, &self.id, &self.job)).await {
            Ok(Launched::Running(running)) => {
                self.phase.send_replace(Phase::Running);
                self.accepted(Ok(()));
                self.follow(*running, permit).await;
            }
            Ok(Launched::Exists) => self.give_up(Ok(())),
            Err(EngineError::NoImage { image, problem }) => {
                self.not_started(StartFailure::ImageNotFound { image, why: problem });
            }
            Err(error @ EngineError::FormerVolume { .. }) => {
                self.not_started(StartFailure::Other(error.to_string()));
            }
            Err(error) => self.give_up(Err(error)),
        }
    }

    /// It has ended before anything of it was on the engine.
    fn not_started(&mut self, why: StartFailure) {
        self.ended(Outcome::new(End::NotStarted(why), Timestamp::now()));
        self.accepted(Ok(()));
    }

    /// Waits for its turn; `None` if it ended before it came.
    async fn turn(&mut self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.shared.slots.clone().try_acquire_owned() {
            return Some(permit);
        }
        // It is ours, and starts as soon as there is room.
        self.accepted(Ok(()));
        let turn = self.shared.slots.clone().acquire_owned();
        tokio::select! {
            permit = turn => permit.ok(),
            wish = wished(&mut self.wish) => {
                if !wish.part {
                    self.ended(Outcome::new(End::Cancelled, Timestamp::now()));
                }
                None
            }
        }
    }

    fn accepted(&mut self, result: Result<(), RuntimeError>) {
        if let Some(accept) = self.accept.take() {
            let _nobody_waits = accept.send(result);
        }
    }

    fn ended(&self, outcome: Outcome) {
        self.phase.send_replace(Phase::Ended(Arc::new(outcome)));
    }

    /// Parts with a job that isn't ours after all, or never came to be.
    fn give_up(&mut self, result: Result<(), EngineError>) {
        let problem = result.as_ref().err().map(ToString::to_string);
        if let (Some(problem), None) = (problem, &self.accept) {
            // Whoever submitted it believes that it waits for its turn; who waits for it will hear.
            self.phase.send_replace(Phase::Failed(problem));
            return;
        }
        self.shared.jobs().remove(&self.id);
        self.accepted(result.map_err(RuntimeError::from));
    }

    /// Reads what the job tells until it has ended, over as many connections as it takes.
    async fn follow(&mut self, running: Running, permit: OwnedSemaphorePermit) {
        let Running { record, lines, first, owner } = running;
        let mut collector = Collector::new(record.clone());
        let mut stop = self.take(first, &mut collector);
        let mut lines = Some(lines);
        loop {
            if stop.is_none() {
                stop = Some(match lines.take() {
                    Some(mut lines) => self.read(&mut lines, &mut collector).await,
                    None => Stop::Broken,
                });
            }
            match stop.take() {
                Some(Stop::Ended(outcome)) => break self.ended(*outcome),
                Some(Stop::Parted) => {
                    if self.job.on_owner_death == OnOwnerDeath::Kill {
                        self.end_and_wait().await;
                    }
                    break;
                }
                Some(Stop::Late(end)) => {
                    // Its first process doesn't do its part. That it was us who killed it is known here.
                    let _tried = look::kill(&self.shared.engine, &self.id).await;
                    break self.ended(collector.broken_off(end));
                }
                Some(Stop::Broken) | None => {}
            }
            // Whatever has happened to the connection, the engine knows the truth, and has what was told from the beginning.
            match self.look().await {
                Looked::Parted => break,
                Looked::Ended(outcome) => break self.ended(*outcome),
                Looked::Running => {
                    collector = Collector::new(record.clone());
                    lines = Some(look::logged(&self.shared.engine, &self.id, true));
                }
            }
        }
        drop(owner);
        drop(permit);
    }

    fn take(&self, lines: Vec<Line>, collector: &mut Collector) -> Option<Stop> {
        for line in lines {
            let is_orphaned = matches!(&line, Line::Ended(Ended { how: How::Orphaned, .. }));
            if let Some(mut outcome) = collector.take(line) {
                if is_orphaned && !self.wish.borrow().part {
                    // We live: it is the connection that has died, and nobody wished for this.
                    outcome.end = End::Lost(CUT.to_owned());
                }
                return Some(Stop::Ended(Box::new(outcome)));
            }
        }
        None
    }

    /// Reads lines until there are no more, and passes wishes on.
    async fn read(&mut self, lines: &mut LineStream, collector: &mut Collector) -> Stop {
        let mut told: Option<Instant> = None;
        let limits = &self.job.limits;
        let time = limits.timeout.saturating_add(limits.grace).saturating_add(LATE);
        let mut latest = Instant::now().checked_add(time);
        let mut late = End::TimedOut;
        let mut probe = Instant::now() + self.shared.options.call_limit;
        loop {
            let wish = *self.wish.borrow_and_update();
            if wish.part {
                return Stop::Parted;
            }
            if let Some(by) = wish.end_by
                && told.is_none_or(|told| by < told)
            {
                let grace = by.saturating_duration_since(Instant::now());
                if look::ask_to_end(&self.shared.engine, &self.id, grace).await.is_ok() {
                    told = Some(by);
                    let by = by.checked_add(LATE);
                    if latest.is_none_or(|latest| by.is_some_and(|by| by < latest)) {
                        (latest, late) = (by, End::Cancelled);
                    }
                }
            }
            tokio::select! {
                biased;
                next = lines.next() => match next {
                    Some(Ok(lines)) => {
                        if let Some(stop) = self.take(lines, collector) {
                            return stop;
                        }
                    }
                    Some(Err(_)) | None => return Stop::Broken,
                },
                Ok(()) = self.wish.changed() => {}
                () = until(latest) => return Stop::Late(late),
                () = sleep_until(probe) => {
                    // A connection whose other end has vanished is as silent as a job that has nothing to say.
                    if self.has_exited_unheard().await {
                        return Stop::Broken;
                    }
                    probe = Instant::now() + self.shared.options.call_limit;
                }
            }
        }
    }

    /// Asks the engine whether a job has ended of which nothing is heard.
    async fn has_exited_unheard(&self) -> bool {
        if let Ok(looked) = look::look(&self.shared.engine, &self.id).await {
            self.silent.send_replace(None);
            return looked.is_none_or(|looked| looked.stage == Stage::Exited);
        }
        self.silent.send_if_modified(|since| since.replace(since.unwrap_or_else(Instant::now)).is_none());
        false
    }

    /// Ends a job whose owner parts with it, and waits until it is written down.
    async fn end_and_wait(&self) {
        let grace = self.job.limits.grace;
        let _or_it_ends_by_the_connection = look::ask_to_end(&self.shared.engine, &self.id, grace).await;
        let mut lines = look::logged(&self.shared.engine, &self.id, true);
        let end = async { while let Some(Ok(_)) = lines.next().await {} };
        let _late = tokio::time::timeout(grace.saturating_add(LATE), end).await;
    }

    /// Asks the engine, for as long as it takes until it answers.
    async fn look(&mut self) -> Looked {
        let mut pause = FIRST_PAUSE;
        let looked = loop {
            match self.try_look().await {
                Ok(looked) => break looked,
                Err(_) if self.silent.borrow().is_none() => {
                    self.silent.send_replace(Some(Instant::now()));
                }
                Err(_) => {}
            }
            tokio::select! {
                () = sleep(pause) => {}
                Ok(_) = self.wish.wait_for(|wish| wish.part) => return Looked::Parted,
            }
            pause = (pause * 2).min(LAST_PAUSE);
        };
        self.silent.send_replace(None);
        looked
    }

    async fn try_look(&self) -> Result<Looked, EngineError> {
        let engine = &self.shared.engine;
        let Some(looked) = look::look(engine, &self.id).await? else {
            let gone = End::Lost("its container was removed by somebody else".to_owned());
            return Ok(Looked::Ended(Box::new(Outcome::new(gone, Timestamp::now()))));
        };
        if looked.stage != Stage::Exited {
            return Ok(Looked::Running);
        }
        let mut collector = Collector::new(looked.record.clone());
        let told = look::told(engine, &self.id, &looked).await?;
        if let Some(Stop::Ended(outcome)) = self.take(told, &mut collector) {
            return Ok(Looked::Ended(outcome));
        }
        let end = if look::was_out_of_memory(engine, &self.id, &looked).await? {
            End::OutOfMemory
        } else {
            End::Lost(LOST.to_owned())
        };
        Ok(Looked::Ended(Box::new(collector.broken_off(end))))
    }
}

/// Why a job is lost that must not outlive its owner, and believed that it had.
const CUT: &str =
    "the connection to the engine was cut, and a job that must not outlive its owner ends with it";

enum Looked {
    Running,
    Ended(Box<Outcome>),
    Parted,
}

async fn wished(wish: &mut watch::Receiver<Wish>) -> Wish {
    let wish = wish.wait_for(|wish| wish.end_by.is_some() || wish.part).await.map(|wish| *wish);
    match wish {
        Ok(wish) => wish,
        Err(_) => std::future::pending().await,
    }
}
