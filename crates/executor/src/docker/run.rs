//! The course of one job of this client: its wait in the queue, its launch, its end.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot, watch},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    End, Job, JobId, OnOwnerDeath, Outcome, RuntimeError, StartFailure, Timestamp,
    docker::{
        EngineError,
        engine::{FIRST_PAUSE, LAST_PAUSE},
        handle::{Handle, JobRequests, Phase, until},
        inspect::{self, LOST, LineStream, Stage},
        launch::{Launched, Running, launch},
        lines::{Collector, Ended, How, Line},
        shared::Shared,
    },
};

/// If a job still runs this long after its deadline, this client kills the container. Normally the container's first
/// process ends the job at the deadline. But it can't do so while the container is paused.
const LATE: Duration = Duration::from_secs(20);

type Accepted = oneshot::Receiver<Result<(), RuntimeError>>;

/// Starts the task of a job. Returns a receiver, which gets one result at the first of these events:
///
/// - The job is queued.
/// - The container has received the whole job.
/// - The launch has failed.
///
/// Returns `None` if this client has already submitted a job with this id. An earlier job whose launch failed does
/// not count.
pub(crate) fn start(shared: &Arc<Shared>, id: &JobId, job: &Job) -> Option<Accepted> {
    let (phase_to, phase) = watch::channel(Phase::Waiting);
    let (requests_to, requests) = watch::channel(JobRequests::default());
    let (silent_to, silent) = watch::channel(None);
    let (accept, accepted) = oneshot::channel();
    {
        let mut jobs = shared.jobs();
        if jobs.get(id).is_some_and(|handle| !matches!(handle.phase(), Phase::Failed(_))) {
            return None;
        }
        jobs.insert(id.clone(), Handle { owner: job.owner.clone(), phase, requests: requests_to, silent });
    }
    let task = JobTask {
        shared: shared.clone(),
        id: id.clone(),
        job: job.clone(),
        phase: phase_to,
        requests,
        silent: silent_to,
        accept: Some(accept),
    };
    tokio::spawn(task.run());
    Some(accepted)
}

struct JobTask {
    shared: Arc<Shared>,
    id: JobId,
    job: Job,
    phase: watch::Sender<Phase>,
    requests: watch::Receiver<JobRequests>,
    silent: watch::Sender<Option<Instant>>,
    accept: Option<oneshot::Sender<Result<(), RuntimeError>>>,
}

/// The reason why the task stopped reading lines.
enum Stop {
    /// The job has ended. The last line, which states how it ended, was read.
    Ended(Box<Outcome>),
    /// The stream ended or broke before the last line.
    Broken,
    /// A caller has closed or dropped the runtime of this client.
    Disconnected,
    /// The job still runs although the time [`LATE`] has passed since its deadline. The value is [`End::TimedOut`]
    /// if the deadline is the job's time limit, and [`End::Cancelled`] if a caller has requested the end of the
    /// job.
    Late(End),
}

impl JobTask {
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

    /// Ends a job for which nothing was created on the container engine.
    fn not_started(&mut self, why: StartFailure) {
        self.ended(Outcome::new(End::NotStarted(why), Timestamp::now()));
        self.accepted(Ok(()));
    }

    /// Waits until the number of running jobs is below the maximum. Returns `None` if the job was cancelled,
    /// or the client disconnects.
    async fn turn(&mut self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.shared.slots.clone().try_acquire_owned() {
            return Some(permit);
        }
        // The job is accepted now. It starts as soon as another job has ended.
        self.accepted(Ok(()));
        let turn = self.shared.slots.clone().acquire_owned();
        tokio::select! {
            permit = turn => permit.ok(),
            requests = requested(&mut self.requests) => {
                if !requests.disconnect {
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

    /// Drops a job that belongs to another client, or that could not be launched.
    fn give_up(&mut self, result: Result<(), EngineError>) {
        let problem = result.as_ref().err().map(ToString::to_string);
        if let (Some(problem), None) = (problem, &self.accept) {
            // The job was queued, so its submission has already returned `Ok` and can't report the error.
            // Instead, the callers of `wait` get the error.
            self.phase.send_replace(Phase::Failed(problem));
            return;
        }
        self.shared.jobs().remove(&self.id);
        self.accepted(result.map_err(RuntimeError::from));
    }

    /// Reads the lines of the job until the job has ended. Reconnects as often as needed.
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
                Some(Stop::Disconnected) => {
                    if self.job.on_owner_death == OnOwnerDeath::Kill {
                        self.end_and_wait().await;
                    }
                    break;
                }
                Some(Stop::Late(end)) => {
                    // The first process of the container did not end the job in time, so this client kills
                    // the container. The outcome does not come from the container engine, because the engine
                    // would report only this kill.
                    let _tried = inspect::kill(&self.shared.engine, &self.id).await;
                    break self.ended(collector.broken_off(end));
                }
                Some(Stop::Broken) | None => {}
            }
            // After any connection error, the engine still knows the state of the container, and its log
            // contains all lines from the beginning.
            match self.inspect().await {
                JobState::Disconnected => break,
                JobState::Ended(outcome) => break self.ended(*outcome),
                JobState::Running => {
                    collector = Collector::new(record.clone());
                    lines = Some(inspect::logged(&self.shared.engine, &self.id, true));
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
                if is_orphaned && !self.requests.borrow().disconnect {
                    // This client lives and has not disconnected. So only the connection has broken.
                    outcome.end = End::Lost(CUT.to_owned());
                }
                return Some(Stop::Ended(Box::new(outcome)));
            }
        }
        None
    }

    /// Reads lines until the stream ends, and forwards the requests of callers to the job.
    async fn read(&mut self, lines: &mut LineStream, collector: &mut Collector) -> Stop {
        let mut requested: Option<Instant> = None;
        let limits = &self.job.limits;
        let time = limits.timeout.saturating_add(limits.grace).saturating_add(LATE);
        let mut latest = Instant::now().checked_add(time);
        let mut late = End::TimedOut;
        let mut probe = Instant::now() + self.shared.options.call_limit;
        loop {
            let requests = *self.requests.borrow_and_update();
            if requests.disconnect {
                return Stop::Disconnected;
            }
            if let Some(by) = requests.end_by
                && requested.is_none_or(|requested| by < requested)
            {
                let grace = by.saturating_duration_since(Instant::now());
                if inspect::ask_to_end(&self.shared.engine, &self.id, grace).await.is_ok() {
                    requested = Some(by);
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
                Ok(()) = self.requests.changed() => {}
                () = until(latest) => return Stop::Late(late),
                () = sleep_until(probe) => {
                    // If the other side of a connection has vanished, the job looks like a job without
                    // output.
                    if self.has_exited_silently().await {
                        return Stop::Broken;
                    }
                    probe = Instant::now() + self.shared.options.call_limit;
                }
            }
        }
    }

    /// Asks the container engine whether the job's container has exited or no longer exists. The client asks from time
    /// to time, because a broken connection looks like a job that writes no output. If the engine does not answer, the
    /// function returns `false`. In this case, `silent` contains the time since which the engine has not answered.
    async fn has_exited_silently(&self) -> bool {
        if let Ok(inspected) = inspect::inspect(&self.shared.engine, &self.id).await {
            self.silent.send_replace(None);
            return inspected.is_none_or(|inspected| inspected.stage == Stage::Exited);
        }
        self.silent.send_if_modified(|since| since.replace(since.unwrap_or_else(Instant::now)).is_none());
        false
    }

    /// Ends the job because its client disconnects, and waits until the log is complete.
    async fn end_and_wait(&self) {
        let grace = self.job.limits.grace;
        let _or_it_ends_by_the_connection = inspect::ask_to_end(&self.shared.engine, &self.id, grace).await;
        let mut lines = inspect::logged(&self.shared.engine, &self.id, true);
        let end = async { while let Some(Ok(_)) = lines.next().await {} };
        let _late = tokio::time::timeout(grace.saturating_add(LATE), end).await;
    }

    /// Inspects the container of the job. Retries until the container engine answers.
    async fn inspect(&mut self) -> JobState {
        let mut pause = FIRST_PAUSE;
        let state = loop {
            match self.try_inspect().await {
                Ok(state) => break state,
                Err(_) if self.silent.borrow().is_none() => {
                    self.silent.send_replace(Some(Instant::now()));
                }
                Err(_) => {}
            }
            tokio::select! {
                () = sleep(pause) => {}
                Ok(_) = self.requests.wait_for(|requests| requests.disconnect) => return JobState::Disconnected,
            }
            pause = (pause * 2).min(LAST_PAUSE);
        };
        self.silent.send_replace(None);
        state
    }

    async fn try_inspect(&self) -> Result<JobState, EngineError> {
        let engine = &self.shared.engine;
        let Some(inspected) = inspect::inspect(engine, &self.id).await? else {
            let gone = End::Lost("another program removed its container".to_owned());
            return Ok(JobState::Ended(Box::new(Outcome::new(gone, Timestamp::now()))));
        };
        if inspected.stage != Stage::Exited {
            return Ok(JobState::Running);
        }
        let mut collector = Collector::new(inspected.record.clone());
        let lines = inspect::all_lines(engine, &self.id, &inspected).await?;
        if let Some(Stop::Ended(outcome)) = self.take(lines, &mut collector) {
            return Ok(JobState::Ended(outcome));
        }
        let end = if inspect::was_out_of_memory(engine, &self.id, &inspected).await? {
            End::OutOfMemory
        } else {
            End::Lost(LOST.to_owned())
        };
        Ok(JobState::Ended(Box::new(collector.broken_off(end))))
    }
}

/// The reason in the outcome of a job whose container lost the connection to this client, although the client still
/// lives. The connection passes through the container engine. The container of a job with the setting `Kill` can't
/// distinguish a lost connection from a dead client, so it ends the job.
const CUT: &str =
    "the connection to the engine was cut, and a job that must not outlive its owner ends with it";

enum JobState {
    Running,
    Ended(Box<Outcome>),
    Disconnected,
}

async fn requested(requests: &mut watch::Receiver<JobRequests>) -> JobRequests {
    let requests = requests
        .wait_for(|requests| requests.end_by.is_some() || requests.disconnect)
        .await
        .map(|requests| *requests);
    match requests {
        Ok(requests) => requests,
        Err(_) => std::future::pending().await,
    }
}
