//! The world as a driver sees it: jobs that are written down, so that a call made again gets the same answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use windlass_driver::{Call, Context, JobFailure, Location, Report};
use windlass_executor::{Captured, End, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError};
use windlass_model::record::{Failure, FailureKind, JobEnd, JobRecord};
use windlass_model::{AssemblyName, CallId, Clock, Timestamp};
use windlass_secret::{Redactor, SecretRef, Sensitive};
use windlass_store::{Batch, Lease, Store};

use crate::places::Places;
use crate::stop::Stop;

/// The longest text of a job's output that is kept for people, in bytes.
const SHOWN: usize = 8 * 1024;

/// What is common to all calls of a run.
#[derive(Clone)]
pub(crate) struct Journal {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lease: Lease,
    pub(crate) clock: Arc<dyn Clock>,
    /// The jobs of calls that an earlier process has left open.
    pub(crate) jobs: Arc<BTreeMap<String, JobRecord>>,
    /// The calls that an earlier process has left open elsewhere.
    pub(crate) elsewhere: Arc<HashMap<CallId, Elsewhere>>,
    /// How long a job that is stopped may take to end by itself.
    pub(crate) grace: Duration,
    /// The room that the answers of running jobs may take, in bytes.
    pub(crate) reserved: Arc<AtomicU64>,
    /// When no call is to begin any more, and when running jobs are to be stopped.
    pub(crate) stop: Stop,
    pub(crate) checkpoints: mpsc::Sender<Checkpoint>,
    /// What was committed here, for the host to await.
    pub(crate) entries: mpsc::Sender<Entry>,
}

/// An open call whose jobs can't be looked for, since they were started from another machine or folder.
pub(crate) struct Elsewhere {
    /// The attempt that was made there; later ones are made here.
    pub(crate) attempt: u32,
    /// The machine and the folder, for people.
    pub(crate) from: String,
}

/// Something that was written down about a job.
pub(crate) struct Entry {
    /// Resolves when it is durable.
    pub(crate) ticket: windlass_store::Ticket,
    /// The job that may be removed then.
    pub(crate) remove: Option<(Arc<dyn Runtime>, JobId)>,
}

/// An intermediate result on its way to the machine.
pub(crate) struct Checkpoint {
    pub(crate) call: CallId,
    pub(crate) report: Report,
    pub(crate) reply: oneshot::Sender<Result<(), Failure>>,
}

/// The context of one call.
pub(crate) struct CallContext {
    journal: Journal,
    places: Arc<dyn Places>,
    place: Arc<Location>,
    assembly: AssemblyName,
    call: CallId,
    /// Whether it must not be made twice: then there is room for its answers, or its jobs don't start.
    once: bool,
    /// Where its jobs are, if that is not here.
    elsewhere: Option<String>,
    /// What tells the jobs of this attempt from those of others.
    round: String,
    location: String,
    /// Whether it only looks, for a call that has begun.
    looks: bool,
    /// Whether one of its jobs was handed over, here or by an earlier process.
    has_begun: AtomicBool,
    /// What must not be seen of its jobs; more of it is known when they have answered.
    secrets: Mutex<Vec<String>>,
    remains: Mutex<Remains>,
}

/// What a call leaves: to be written down, and wiped, with its end.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    /// The sealed outcomes that are no longer needed once the call's end is durable.
    pub(crate) wipe: Vec<SecretRef>,
    /// The jobs that have ended, with what they wrote.
    pub(crate) jobs: Vec<JobRecord>,
    /// Whether its first job was refused since the process is to stop: nothing of it was done.
    pub(crate) is_refused: bool,
    /// Whether one of them has started, and so may have acted.
    pub(crate) started: bool,
    /// What they wrote, of each job, as it came: what is secret in it is known when the call has ended.
    written: Vec<Written>,
}

/// What a job wrote to its two streams.
#[derive(Debug)]
struct Written {
    stderr: Captured,
    stdout: Option<Captured>,
}

impl CallContext {
    pub(crate) fn new(journal: Journal, places: Arc<dyn Places>, call: &Call) -> Self {
        let strange = journal.elsewhere.get(&call.id).filter(|strange| strange.attempt == call.attempt);
        Self {
            once: false,
            elsewhere: strange.map(|strange| strange.from.clone()),
            assembly: journal.lease.scope.clone(),
            journal,
            places,
            place: call.location.clone(),
            call: call.id.clone(),
            round: format!("a{}", call.attempt),
            location: call.location.name.clone(),
            looks: false,
            has_begun: AtomicBool::new(false),
            secrets: Mutex::new(call.secrets()),
            remains: Mutex::default(),
        }
    }

    /// Makes the context one of a call that must not be made twice.
    pub(crate) fn once(mut self, once: bool) -> Self {
        self.once = once;
        self
    }

    /// Makes the context one of looking: each look runs jobs of its own and never answers from earlier ones.
    pub(crate) fn looking(mut self, now: Timestamp) -> Self {
        self.round = format!("o{}", now.as_millis());
        self.once = false;
        self.elsewhere = None;
        self.looks = true;
        self
    }

    /// Returns what the call leaves. All is masked that was given to it, and what it has published.
    pub(crate) fn take_remains(&self) -> Remains {
        let mut remains = std::mem::take(&mut *locked(&self.remains));
        let redactor = self.redactor();
        let written = std::mem::take(&mut remains.written);
        for (end, written) in remains.jobs.iter_mut().filter_map(|job| job.end.as_mut()).zip(written) {
            end.stderr = shown(&redactor, &written.stderr);
            end.stdout = written.stdout.map(|stdout| shown(&redactor, &stdout));
        }
        remains
    }

    fn redactor(&self) -> Redactor {
        Redactor::new(&*locked(&self.secrets))
    }

    fn job_id(&self, name: &str) -> Result<JobId, JobFailure> {
        let text = format!("{}-{}-{name}", self.call, self.round);
        text.parse().map_err(|error| not_run(format!("its job `{name}` has no valid id: {error}")))
    }

    /// Returns how a job ended that an earlier process has recorded.
    async fn recorded(&self, id: &JobId) -> Result<Option<Outcome>, JobFailure> {
        let known = self.journal.jobs.get(id.as_str());
        let Some((job, outcome)) = known.and_then(|job| Some((job, job.end.as_ref()?.outcome.clone()?)))
        else {
            return Ok(None);
        };
        self.wipe_later(outcome.clone());
        // It has run: whatever keeps its outcome from being read, it must not be taken for one that has not.
        let unreadable = |why: String| lost(format!("the outcome of its job can't be read: {why}"));
        let sealed =
            self.journal.store.secret(&outcome).await.map_err(|error| unreadable(error.to_string()))?;
        // It must not run once more, whatever has become of what it left.
        let Some(sealed) = sealed else { return Err(lost("its job ended, and its outcome is missing")) };
        let outcome =
            serde_json::from_slice(sealed.expose()).map_err(|error| unreadable(error.to_string()))?;
        self.write_later(job.clone(), &outcome);
        Ok(Some(outcome))
    }

    /// Refuses the first job of a call once the process is to stop. What has begun may come to its end.
    fn begin(&self, is_known: bool) -> Result<(), JobFailure> {
        let is_first = !is_known && !self.looks && !self.has_begun.load(Ordering::Relaxed);
        if is_first && self.journal.stop.soon.is_cancelled() {
            locked(&self.remains).is_refused = true;
            return Err(not_run("it was stopped on request before its job started"));
        }
        self.has_begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn wipe_later(&self, secret: SecretRef) {
        locked(&self.remains).wipe.push(secret);
    }

    /// Keeps what a job wrote until its driver has said what of that is secret.
    fn write_later(&self, job: JobRecord, outcome: &Outcome) {
        if job.end.is_none() {
            return;
        }
        let stdout = (!outcome.success() && outcome.stdout.total() > 0).then(|| outcome.stdout.clone());
        let mut remains = locked(&self.remains);
        remains.started |= !matches!(outcome.end, End::NotStarted(_));
        remains.jobs.push(job);
        remains.written.push(Written { stderr: outcome.stderr.clone(), stdout });
    }

    /// Hands a job over unless the runtime knows it already, and waits for its end.
    async fn run(&self, runtime: &Arc<dyn Runtime>, id: &JobId, job: &Job) -> Result<Outcome, JobFailure> {
        // Only a job of an earlier process can be there already.
        let found = if self.journal.jobs.contains_key(id.as_str()) {
            runtime.find(id).await.map_err(|error| unavailable(&error))?
        } else {
            Found::Never
        };
        match found {
            Found::Ended(outcome) => return Ok(*outcome),
            Found::Gone => {
                return Err(lost("its job ended while windlass did not watch it, and left no result"));
            }
            _ => {}
        }
        let mut room = None;
        if matches!(found, Found::Never) {
            if self.once {
                room = Some(self.reserve(job)?);
            }
            if self.journal.stop.now.is_cancelled() {
                return Err(lost("it was stopped on request before its job started"));
            }
            self.submit(runtime, id, job).await?;
        }
        let outcome = self.wait(runtime, id).await;
        drop(room);
        outcome
    }

    /// Reserves room for the answer of a job.
    fn reserve(&self, job: &Job) -> Result<Room, JobFailure> {
        // It is kept by the runtime, and then by the store, in its log and in its file.
        const COPIES: u64 = 3;
        let needed = COPIES.saturating_mul(job.limits.stdout_bytes.saturating_add(job.limits.stderr_bytes));
        let room = Room::of(self.journal.reserved.clone(), needed);
        let all = room.reserved.load(Ordering::Relaxed);
        match self.places.free_space() {
            Some(free) if free < all => Err(not_run(format!(
                "it was not started: its output may need {} MiB, and the store's disk has {} MiB free; free some space and \
                 run the same command again",
                all >> 20,
                free >> 20
            ))),
            _ => Ok(room),
        }
    }

    /// Hands a job over. Where that fails, the runtime tells whether there is one all the same.
    async fn submit(&self, runtime: &Arc<dyn Runtime>, id: &JobId, job: &Job) -> Result<(), JobFailure> {
        let Err(error) = runtime.submit(id, job).await else { return Ok(()) };
        match error {
            RuntimeError::Invalid(_) | RuntimeError::Unsupported { .. } => {
                Err(JobFailure::NotRun(Failure::new(FailureKind::Refused, error.to_string())))
            }
            error => match runtime.find(id).await {
                Ok(Found::Never) => Err(not_run(in_words(&error))),
                Ok(Found::Running | Found::Ended(_)) => Ok(()),
                _ => Err(unavailable(&error)),
            },
        }
    }

    async fn wait(&self, runtime: &Arc<dyn Runtime>, id: &JobId) -> Result<Outcome, JobFailure> {
        tokio::select! {
            outcome = runtime.wait(id) => return outcome.map_err(|error| unavailable(&error)),
            () = self.journal.stop.now.cancelled() => {}
        }
        runtime.cancel(id, self.journal.grace).await.map_err(|error| unavailable(&error))?;
        runtime.wait(id).await.map_err(|error| unavailable(&error))
    }

    fn record(&self, name: &str, id: &JobId, job: &Job, kind: &str) -> JobRecord {
        let command = std::iter::once(&job.program).chain(&job.args).cloned().collect::<Vec<_>>().join(" ");
        JobRecord {
            id: id.to_string(),
            calls: vec![self.call.clone()],
            name: name.to_owned(),
            command: self.redactor().mask_str(&command),
            runtime: kind.to_owned(),
            location: self.location.clone(),
            submitted: self.journal.clock.now(),
            end: None,
        }
    }

    /// Records how a job ended, and its outcome, sealed, for a call that has to be made again. What it wrote is written
    /// down for people [with the end of the call](Remains). One that was taken over may have ended long ago.
    fn record_end(
        &self,
        mut record: JobRecord,
        outcome: &Outcome,
        taken_over: bool,
    ) -> windlass_store::Ticket {
        let now = self.journal.clock.now();
        let secret = format!("{}:job/{}", self.assembly, record.id).parse::<SecretRef>().ok();
        let mut batch = Batch::new();
        if let (Some(secret), Ok(bytes)) = (&secret, serde_json::to_vec(outcome)) {
            batch = batch.put_secret(secret.clone(), self.assembly.clone(), Sensitive::new(bytes));
            self.wipe_later(secret.clone());
        }
        let exit = match outcome.end {
            End::Exited(code) => Some(code),
            _ => None,
        };
        record.end = Some(JobEnd {
            at: if taken_over { millis(outcome.ended).min(now) } else { now },
            how: outcome.end.to_string(),
            exit,
            stderr: String::new(),
            stdout: None,
            outcome: secret,
        });
        self.write_later(record.clone(), outcome);
        self.journal.store.commit(&self.journal.lease, batch.put_job(record))
    }

    /// Records that a job was not started.
    async fn record_not_run(&self, mut record: JobRecord, why: &Failure) {
        record.end = Some(JobEnd {
            at: self.journal.clock.now(),
            how: format!("could not be started: {}", self.redactor().mask_str(&why.message)),
            exit: None,
            stderr: String::new(),
            stdout: None,
            outcome: None,
        });
        let recorded = self.journal.store.commit(&self.journal.lease, Batch::new().put_job(record));
        self.enter(recorded, None).await;
    }

    /// Leaves it to the host to await what was committed, and to remove the job then. Without a host the next run finds
    /// the job by its id.
    async fn enter(&self, ticket: windlass_store::Ticket, remove: Option<(Arc<dyn Runtime>, JobId)>) {
        let _ = self.journal.entries.send(Entry { ticket, remove }).await;
    }
}

/// Room that is reserved as long as this is there.
struct Room {
    reserved: Arc<AtomicU64>,
    bytes: u64,
}

impl Room {
    fn of(reserved: Arc<AtomicU64>, bytes: u64) -> Self {
        reserved.fetch_add(bytes, Ordering::Relaxed);
        Self { reserved, bytes }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Locks what is whole at any time, also where somebody has panicked.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of what a job wrote, as people see it. It is masked before it is cut.
fn shown(redactor: &Redactor, stream: &Captured) -> String {
    let text = stream.masked(redactor);
    let mut start = text.len().saturating_sub(SHOWN);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

#[async_trait]
impl Context for CallContext {
    async fn job(&self, name: &str, mut job: Job) -> Result<Outcome, JobFailure> {
        let id = self.job_id(name)?;
        if let Some(outcome) = self.recorded(&id).await? {
            self.has_begun.store(true, Ordering::Relaxed);
            return ended(outcome, &job);
        }
        if let Some(from) = &self.elsewhere {
            return Err(lost(format!("its job was started from {from}, and can't be observed from here")));
        }
        // A job of an earlier process may have run, or still run, where nobody can look now.
        let is_known = self.journal.jobs.contains_key(id.as_str());
        let closed = |why: String| if is_known { lost(why) } else { not_run(why) };
        let runtime = &self.places.runtime(&self.place).await.map_err(closed)?;
        job.owner = self.journal.store.id().as_str().parse::<Owner>().map_err(|e| not_run(e.to_string()))?;
        let mut record = self.record(name, &id, &job, runtime.kind());
        let now = record.submitted;
        if let Some(known) = self.journal.jobs.get(id.as_str()) {
            record.submitted = known.submitted;
        }
        self.begin(is_known)?;
        // Known before it is submitted; its id follows from the call, which is durable already.
        let known = self.journal.store.commit(&self.journal.lease, Batch::new().put_job(record.clone()));
        self.enter(known, None).await;
        let outcome = match self.run(runtime, &id, &job).await {
            Err(JobFailure::NotRun(why)) => {
                self.record_not_run(record, &why).await;
                return Err(JobFailure::NotRun(why));
            }
            ran => ran?,
        };
        if outcome.started.is_some_and(|started| millis(started) >= now) {
            // That of the earlier process never began.
            record.submitted = now;
        }
        let ticket = self.record_end(record, &outcome, is_known);
        self.enter(ticket, Some((runtime.clone(), id))).await;
        ended(outcome, &job)
    }

    async fn checkpoint(&self, _call: usize, report: Report) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        let gone = || Failure::new(FailureKind::Infrastructure, "the engine has stopped");
        let checkpoint = Checkpoint { call: self.call.clone(), report, reply };
        self.journal.checkpoints.send(checkpoint).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    fn hide(&self, secrets: &[String]) {
        locked(&self.secrets).extend_from_slice(secrets);
    }

    fn cancelled(&self) -> bool {
        self.journal.stop.now.is_cancelled()
    }

    fn now(&self) -> Timestamp {
        self.journal.clock.now()
    }
}

/// A moment of a runtime as one of ours.
fn millis(of: windlass_executor::Timestamp) -> Timestamp {
    Timestamp::from_millis(i64::try_from(of.as_millis()).unwrap_or(i64::MAX))
}

/// Tells outcomes from ends that are none.
fn ended(outcome: Outcome, job: &Job) -> Result<Outcome, JobFailure> {
    match &outcome.end {
        End::Lost(why) => Err(lost(why.clone())),
        End::Cancelled => Err(lost("its job was stopped on request")),
        // What it did is done: an answer that could not be kept is no failure of it.
        _ if is_cut_short(&outcome, job) => Err(lost(
            "the disk was full while its job ran, and part of its output is lost; free some space first",
        )),
        _ => Ok(outcome),
    }
}

/// Tells whether less of an answer was kept than its limit allows: there was no room for the rest.
fn is_cut_short(outcome: &Outcome, job: &Job) -> bool {
    outcome.stdout.omitted() > 0 && outcome.stdout.total() <= job.limits.stdout_bytes
}

fn lost(why: impl Into<String>) -> JobFailure {
    JobFailure::Lost(Failure::new(FailureKind::Lost, why))
}

fn not_run(why: impl Into<String>) -> JobFailure {
    JobFailure::NotRun(Failure::new(FailureKind::Infrastructure, why))
}

fn unavailable(error: &RuntimeError) -> JobFailure {
    lost(in_words(error))
}

/// Writes an error with all its causes.
pub(crate) fn in_words(error: &RuntimeError) -> String {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}
