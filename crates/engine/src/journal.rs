//! The journal of jobs. A call of a driver runs jobs, and the journal stores each job with its outcome. If windlass
//! repeats the call after a crash, the driver gets the stored outcomes, and the jobs do not run again.
//!
//! When the driver requests a job in such a repeated call, the answer depends on the earlier job with the same id:
//!
//! | the earlier job | the answer to the driver |
//! |---|---|
//! | has a recorded outcome | the recorded outcome |
//! | has no recorded outcome, and its call was made on another host or in another folder | `Lost` |
//! | still runs on its runtime, or has left an outcome there | the outcome from the runtime, when the job has ended |
//! | was never submitted to a runtime | the outcome of a new run |
//! | was started, no longer runs, and has left no outcome | `Lost` |

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use windlass_driver::{Call, Context, JobFailure, Location, Report, Stop};
use windlass_executor::{Captured, End, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError};
use windlass_model::instance::LogEntry;
use windlass_model::record::{Failure, FailureKind, JobEnd, JobRecord};
use windlass_model::{AssemblyName, CallId, Clock, CommandId, Timestamp};
use windlass_secret::{Redactor, SecretRef, Sensitive};
use windlass_store::{Batch, Lease, Store};

use crate::claim;
use crate::panic::caught_text;
use crate::places::Places;
use crate::recorder::LastJob;
use crate::recordings::{self, RecordedJob, Transcript};
use crate::work_time::WorkTime;

/// The maximum number of bytes that a job record keeps of each output stream.
const SHOWN: usize = 8 * 1024;

/// The state that all calls of one machine share.
#[derive(Clone)]
pub(crate) struct Journal {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lease: Lease,
    pub(crate) clock: Arc<dyn Clock>,
    /// The jobs of calls that an earlier process left open, by job id.
    pub(crate) jobs: Arc<BTreeMap<String, JobRecord>>,
    /// The calls that an earlier process left open, and whose last attempt was made on another host or in another
    /// folder.
    pub(crate) elsewhere: Arc<HashMap<CallId, RemoteCall>>,
    /// Whether the calls were begun by an earlier process. That process may have ended before the record of a submitted
    /// job was durable. So such a job may exist even if it is missing in `jobs`.
    pub(crate) resumes: bool,
    /// The time within which a cancelled job may end by itself. After this time, the runtime kills the job.
    pub(crate) grace: Duration,
    /// The number of bytes of disk space that are reserved for the answers of running jobs.
    pub(crate) reserved: Arc<AtomicU64>,
    /// The stop request for the process. In its first stage, a call that has not begun is refused. In its second
    /// stage, running jobs are cancelled.
    pub(crate) stop: Stop,
    pub(crate) checkpoints: mpsc::Sender<Checkpoint>,
    /// Sends an [`Entry`] to the host when the commit of a job record has begun. The host then waits until the
    /// record is durable.
    pub(crate) entries: mpsc::Sender<Entry>,
}

/// An open call whose last attempt was made on another host or in another project folder. So this windlass program
/// can't find the jobs of this attempt.
pub(crate) struct RemoteCall {
    /// The number of the last recorded attempt, which was made on another host or in another folder. If this windlass
    /// program makes a further attempt, that attempt has a higher number. The program can find the jobs of that
    /// attempt, but not the jobs of the recorded attempt.
    pub(crate) attempt: u32,
    /// The host and the folder of the last recorded attempt, as text for messages.
    pub(crate) from: String,
}

/// A job record whose commit has begun.
pub(crate) struct Entry {
    /// Resolves when the record is durable.
    pub(crate) ticket: windlass_store::Ticket,
    /// The job to remove from its runtime when the record is durable; `None` for a job that stays.
    pub(crate) remove: Option<(Arc<dyn Runtime>, JobId)>,
}

/// An intermediate report that a driver sends to the state machine of the process (`ProcessMachine`).
pub(crate) struct Checkpoint {
    pub(crate) call: CallId,
    pub(crate) report: Report,
    /// The secret texts that the driver has registered so far (`Context::hide`).
    pub(crate) hidden: Vec<String>,
    pub(crate) reply: oneshot::Sender<Result<(), Failure>>,
}

/// The [`Context`] with which a driver performs or observes one call. The context runs the jobs of the driver, and
/// records these jobs in the store.
pub(crate) struct CallContext {
    journal: Journal,
    places: Arc<dyn Places>,
    place: Arc<Location>,
    assembly: AssemblyName,
    call: CallId,
    /// Whether a second execution of the call may do harm. If so, a job of the call starts only if the disk has enough
    /// free space for its answer. If part of the answer were lost, windlass would not know whether the job has done its
    /// work.
    once: bool,
    /// The reason why the call must not create its relationship, such as a failure of the source or the target.
    /// `None` if there is no such reason. If there is a reason, the call must not begin its first job. A job that
    /// an earlier process has begun is still awaited.
    failed_endpoint: Option<Failure>,
    /// The host and the folder of the earlier process that made this attempt of the call. The field is set only if this
    /// program runs on another host or in another folder, and so can't find the jobs of the attempt.
    elsewhere: Option<String>,
    /// A text that every job id of this attempt contains: for example, `a2` for the second attempt. The job ids of
    /// other attempts and of observations contain another text.
    round: String,
    location: String,
    /// Whether this is the context of an observation.
    looks: bool,
    /// Whether a job of the call was submitted, here or by an earlier process.
    has_begun: AtomicBool,
    /// The secrets among the inputs of the call.
    given: Vec<String>,
    /// The secret texts that the driver has registered (`Context::hide`), such as a password in a job's output.
    hidden: Mutex<Vec<String>>,
    /// The names of the jobs whose stdout is shown to users.
    shown: Mutex<BTreeSet<String>>,
    artifacts: Mutex<CallArtifacts>,
    /// The id, the input and the outcome of the last job that has ended. The inner `None` means that no job has ended
    /// yet. The outer `None` means that the context keeps no last job: the call belongs to no application, or the
    /// context is for an observation.
    last_job: Option<Mutex<Option<LastJob>>>,
    /// Whether the natural id in the call's report must be [claimed](crate::claim) in the store.
    claims: bool,
    /// The time in which the driver works on its answer.
    work: WorkTime,
}

/// The facts about the jobs of a call or of an observation. The machine gets these facts together with the result.
#[derive(Debug, Default)]
pub(crate) struct CallArtifacts {
    /// References to the outcomes of the call's jobs. The store keeps these outcomes *sealed* (encrypted). The machine
    /// deletes them from the store when the call ends.
    pub(crate) wipe: Vec<SecretRef>,
    /// The records of ended jobs, with their output.
    pub(crate) jobs: Vec<JobRecord>,
    /// The secret texts that the driver has registered (`Context::hide`), such as a password in a job's output.
    pub(crate) hidden: Vec<String>,
    /// Whether a stop has prevented the first job of the call's present attempt. This attempt has then done nothing.
    pub(crate) is_refused: bool,
    /// Whether a job of the call has started. The call may then have had effects.
    pub(crate) started: bool,
    /// The output of each job in `jobs`, in the same order. The secrets in the output are not masked yet, because
    /// the driver may register further secrets until the call has ended.
    written: Vec<Written>,
}

/// The two output streams of a job.
#[derive(Debug)]
struct Written {
    stderr: Captured,
    stdout: Captured,
    /// Whether the job has failed. The record of a failed job contains stdout even if the driver has not called
    /// `Context::show_stdout`.
    failed: bool,
}

impl CallContext {
    pub(crate) fn new(journal: Journal, places: Arc<dyn Places>, call: &Call) -> Self {
        let strange = journal.elsewhere.get(&call.id).filter(|strange| strange.attempt == call.attempt);
        Self {
            once: false,
            failed_endpoint: None,
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
            given: call.secrets(),
            hidden: Mutex::default(),
            shown: Mutex::default(),
            artifacts: Mutex::default(),
            last_job: call.package.pins().map(|_| Mutex::default()),
            claims: claim::is_needed(call),
            work: WorkTime::new(),
        }
    }

    /// Returns the time in which the driver works on its answer.
    pub(crate) fn work(&self) -> &WorkTime {
        &self.work
    }

    /// Sets whether a second execution of the call may do harm.
    pub(crate) fn once(mut self, once: bool) -> Self {
        self.once = once;
        self
    }

    /// Sets the failure that prevents the first job of the call. `None` means that the first job may begin.
    pub(crate) fn begins_unless(mut self, failed_endpoint: Option<Failure>) -> Self {
        self.failed_endpoint = failed_endpoint;
        self
    }

    /// Turns the context into the context of an observation. Each observation runs its own jobs, and uses no earlier
    /// outcomes.
    pub(crate) fn looking(mut self, now: Timestamp) -> Self {
        self.round = format!("o{}", now.as_millis());
        self.once = false;
        self.elsewhere = None;
        self.looks = true;
        self.last_job = None;
        self
    }

    /// Records the input and output of the call's last job, if the call belongs to an application.
    pub(crate) async fn keep_last_job(&self, call: &Call, failure: Option<&Failure>) {
        let last = self.last_job.as_ref().and_then(|last| locked(last).take());
        let Some((job, input, outcome)) = last else { return };
        let job = RecordedJob {
            job,
            call: Some(call.id.clone()),
            process: CommandId::of(&call.id).process(self.journal.store.id()),
            action: call.action.clone(),
            applications: vec![self.assembly.clone()],
            at: self.journal.clock.now(),
            failure: failure.map(|failure| failure.message.clone()),
        };
        let secrets = [self.given.clone(), locked(&self.hidden).clone()].concat();
        let transcript = Transcript { input, outcome, secrets };
        let batch: Batch = [recordings::put(&self.assembly, &job, &transcript)].into_iter().collect();
        let ticket = self.journal.store.commit(&self.journal.lease, batch);
        self.enter(ticket, None).await;
    }

    fn keep(&self, id: &JobId, job: &Job, outcome: &Outcome) {
        if let Some(last) = &self.last_job {
            let input = String::from_utf8_lossy(job.stdin.expose()).into_owned();
            *locked(last) = Some((id.to_string(), input, outcome.clone()));
        }
    }

    /// Takes the collected facts about the call's jobs out of the context, and returns them. In the output of the jobs,
    /// the function masks the secret inputs of the call, and the secrets that the driver has registered.
    pub(crate) fn take_artifacts(&self) -> CallArtifacts {
        let mut artifacts = std::mem::take(&mut *locked(&self.artifacts));
        let redactor = self.redactor();
        let for_people = locked(&self.shown);
        let written = std::mem::take(&mut artifacts.written);
        for (job, Written { stderr, stdout, failed }) in artifacts.jobs.iter_mut().zip(written) {
            let Some(end) = &mut job.end else { continue };
            end.stderr = shown(&redactor, &stderr);
            let is_shown = failed || for_people.contains(&job.name);
            end.stdout = (is_shown && stdout.total() > 0).then(|| shown(&redactor, &stdout));
        }
        artifacts.hidden.clone_from(&locked(&self.hidden));
        artifacts
    }

    fn redactor(&self) -> Redactor {
        Redactor::new(self.given.iter().chain(&*locked(&self.hidden)))
    }

    fn job_id(&self, name: &str) -> Result<JobId, JobFailure> {
        let text = format!("{}-{}-{name}", self.call, self.round);
        text.parse().map_err(|error| not_run(format!("its job `{name}` has no valid id: {error}")))
    }

    /// Returns the recorded outcome of a job that ended in an earlier process.
    async fn recorded(&self, id: &JobId) -> Result<Option<Outcome>, JobFailure> {
        let known = self.journal.jobs.get(id.as_str());
        let Some((job, outcome)) = known.and_then(|job| Some((job, job.end.as_ref()?.outcome.clone()?)))
        else {
            return Ok(None);
        };
        self.wipe_later(outcome.clone());
        // The job has run. An unreadable outcome must not make it look like a job that has not run.
        let unreadable = |why: String| lost(format!("the outcome of its job can't be read: {why}"));
        let sealed =
            self.journal.store.secret(&outcome).await.map_err(|error| unreadable(error.to_string()))?;
        // The job must not run again, even if its outcome is gone.
        let Some(sealed) = sealed else { return Err(lost("its job ended, and its outcome is missing")) };
        let outcome =
            serde_json::from_slice(sealed.expose()).map_err(|error| unreadable(error.to_string()))?;
        self.write_later(job.clone(), &outcome);
        Ok(Some(outcome))
    }

    /// Refuses the first job of a call if a stop is requested, or if the source or the target of the call's
    /// relationship has failed. If a job of the call has already begun, the call may continue.
    async fn begin(&self, runtime: &Arc<dyn Runtime>, id: &JobId, is_known: bool) -> Result<(), JobFailure> {
        let is_first = !is_known && !self.looks && !self.has_begun.load(Ordering::Relaxed);
        if is_first && self.journal.stop.is_requested() {
            locked(&self.artifacts).is_refused = true;
            return Err(not_run("it was stopped on request before its job started"));
        }
        if let Some(failed_endpoint) = self.failed_endpoint.as_ref().filter(|_| is_first) {
            // The job may have begun before its record was durable.
            if let Found::Never = runtime.find(id).await.map_err(|error| unavailable(&error))? {
                return Err(JobFailure::NotRun(failed_endpoint.clone()));
            }
        }
        self.has_begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the owner of all jobs of this store.
    fn owner(&self) -> Result<Owner, String> {
        self.journal.store.id().as_str().parse::<Owner>().map_err(|error| error.to_string())
    }

    fn wipe_later(&self, secret: SecretRef) {
        locked(&self.artifacts).wipe.push(secret);
    }

    /// Keeps the output of a job until the driver has registered the secrets in this output.
    fn write_later(&self, job: JobRecord, outcome: &Outcome) {
        if job.end.is_none() {
            return;
        }
        let written = Written {
            stderr: outcome.stderr.clone(),
            stdout: outcome.stdout.clone(),
            failed: !outcome.success(),
        };
        let mut artifacts = locked(&self.artifacts);
        artifacts.started |= !matches!(outcome.end, End::NotStarted(_));
        artifacts.jobs.push(job);
        artifacts.written.push(written);
    }

    /// Tells whether an earlier process may have submitted the job.
    fn may_exist(&self, id: &JobId) -> bool {
        let resumes = self.journal.resumes && !self.looks;
        resumes || self.journal.jobs.contains_key(id.as_str())
    }

    /// Waits for the end of a job, and returns its outcome. If the runtime does not know the job yet, the function
    /// first submits the job. If a repetition of the job may do harm, the function also records that the runtime
    /// has accepted the job.
    async fn run(
        &self,
        runtime: &Arc<dyn Runtime>,
        id: &JobId,
        job: &Job,
        record: &mut JobRecord,
    ) -> Result<Outcome, JobFailure> {
        // The runtime can know the job only if an earlier process has submitted it.
        let found = if self.may_exist(id) {
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
                if record.accepted {
                    let kind = runtime.kind();
                    return Err(lost(format!(
                        "its job was started, but the runtime `{kind}` no longer knows the job: its files or its \
                         container were deleted"
                    )));
                }
                room = Some(self.reserve(job)?);
            }
            if self.journal.stop.is_requested_now() {
                return Err(lost("it was stopped on request before its job started"));
            }
            self.submit(runtime, id, job).await?;
            if self.once && self.is_stored(runtime, id).await {
                record.accepted = true;
                let recorded =
                    self.journal.store.commit(&self.journal.lease, Batch::new().put_job(record.clone()));
                self.enter(recorded, None).await;
            }
        }
        let outcome = self.wait(runtime, id).await;
        drop(room);
        outcome
    }

    /// Waits until a submitted job no longer depends on this process. Returns `false` if the job never starts.
    ///
    /// If a stop is requested meanwhile, the function returns `true` at once, so that the caller can cancel the job.
    async fn is_stored(&self, runtime: &Arc<dyn Runtime>, id: &JobId) -> bool {
        tokio::select! {
            stored = runtime.stored(id) => stored,
            () = self.journal.stop.requested_now() => true,
        }
    }

    /// Reserves disk space for the answer of a job. Returns an error if the disk has too little free space. On a full
    /// disk, the answer could be incomplete. The engine would then not know whether the job's action was done.
    fn reserve(&self, job: &Job) -> Result<Room, JobFailure> {
        // The runtime keeps one copy of the answer. The store keeps two: in its log and in its file.
        const COPIES: u64 = 3;
        let streams = job.limits.stdout_bytes.saturating_add(job.limits.stderr_bytes);
        let outputs = job.outputs.iter().fold(0_u64, |sum, output| sum.saturating_add(output.max_bytes));
        let needed = COPIES.saturating_mul(streams.saturating_add(outputs));
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

    /// Submits a job. If the submission fails, asks the runtime whether the job exists nevertheless.
    async fn submit(&self, runtime: &Arc<dyn Runtime>, id: &JobId, job: &Job) -> Result<(), JobFailure> {
        let Err(error) = runtime.submit(id, job).await else { return Ok(()) };
        match error {
            RuntimeError::Invalid(_) | RuntimeError::Unsupported { .. } => {
                Err(JobFailure::NotRun(Failure::new(FailureKind::Refused, error.to_string())))
            }
            error => match runtime.find(id).await {
                Ok(Found::Never) => Err(not_run(in_words(&error))),
                // The runtime knows the job although the submission failed, so the caller waits for the job. If
                // the job is gone, the wait returns the end `Lost`, and the caller then removes the leftovers of
                // the job.
                Ok(Found::Running | Found::Ended(_) | Found::Gone) => Ok(()),
                _ => Err(unavailable(&error)),
            },
        }
    }

    async fn wait(&self, runtime: &Arc<dyn Runtime>, id: &JobId) -> Result<Outcome, JobFailure> {
        tokio::select! {
            outcome = runtime.wait(id) => return outcome.map_err(|error| unavailable(&error)),
            () = self.journal.stop.requested_now() => {}
        }
        runtime.cancel(id, self.journal.grace).await.map_err(|error| unavailable(&error))?;
        runtime.wait(id).await.map_err(|error| unavailable(&error))
    }

    /// Claims the natural id of a launched application, so that no other application of the factory can have this
    /// id. If the call launches no application, the function does nothing. Returns a warning of [`claim::claim`].
    ///
    /// `report` contains the natural id: the id of the instance outside of windlass, such as the id of a virtual
    /// machine in its cloud.
    pub(crate) async fn claim(&self, report: &Report) -> Result<Option<LogEntry>, Failure> {
        if !self.claims {
            return Ok(None);
        }
        let secrets = [self.given.clone(), locked(&self.hidden).clone()].concat();
        claim::claim(&*self.journal.store, &self.journal.lease, report, &secrets).await
    }

    /// Ends the running jobs of this call. The caller calls this function after a fault of the driver, such as a
    /// panic.
    pub(crate) async fn end_jobs(&self) -> Result<(), Failure> {
        if let Some(from) = &self.elsewhere {
            let message = format!("its driver failed, and a job that was started from {from} may still run");
            return Err(Failure::new(FailureKind::Lost, message));
        }
        let of = |why: String| {
            Failure::new(
                FailureKind::Lost,
                format!("its driver failed, and a job of it may still run: {why}"),
            )
        };
        let runtime = self.places.runtime(&self.place).await.map_err(of)?;
        let owner = self.owner().map_err(of)?;
        let own = format!("{}-", self.call);
        let jobs = runtime.list(&owner).await.map_err(|error| of(in_words(&error)))?;
        for id in jobs.iter().filter(|id| id.as_str().starts_with(&own)) {
            if let Found::Running = runtime.find(id).await.map_err(|error| of(in_words(&error)))? {
                runtime.cancel(id, self.journal.grace).await.map_err(|error| of(in_words(&error)))?;
                runtime.wait(id).await.map_err(|error| of(in_words(&error)))?;
            }
        }
        Ok(())
    }

    /// Runs a job, or returns its recorded outcome (see the table of this module).
    async fn outcome_of(&self, name: &str, mut job: Job) -> Result<Outcome, JobFailure> {
        let id = self.job_id(name)?;
        if let Some(outcome) = self.recorded(&id).await? {
            self.has_begun.store(true, Ordering::Relaxed);
            self.keep(&id, &job, &outcome);
            return ended(outcome, &job);
        }
        if let Some(from) = &self.elsewhere {
            return Err(lost(format!(
                "its job was started from {from}, and only `windlass retry {}` there can find the outcome",
                self.assembly
            )));
        }
        // A job of an earlier process may have run, or may still run, on a runtime that can't be reached now.
        let is_known = self.journal.jobs.contains_key(id.as_str());
        let closed = |why: String| if self.may_exist(&id) { lost(why) } else { not_run(why) };
        let runtime = &self.places.runtime(&self.place).await.map_err(closed)?;
        job.owner = self.owner().map_err(not_run)?;
        let mut record = self.record(name, &id, &job, runtime.kind());
        let now = record.submitted;
        if let Some(known) = self.journal.jobs.get(id.as_str()) {
            record.submitted = known.submitted;
            record.accepted = known.accepted;
        }
        self.begin(runtime, &id, is_known).await?;
        // The job can be submitted before this record is durable. Its id follows from its call, whose record is
        // already durable.
        let known = self.journal.store.commit(&self.journal.lease, Batch::new().put_job(record.clone()));
        self.enter(known, None).await;
        let outcome = match self.run(runtime, &id, &job, &mut record).await {
            Err(JobFailure::NotRun(why)) => {
                self.record_not_run(record, &why).await;
                return Err(JobFailure::NotRun(why));
            }
            ran => ran?,
        };
        if outcome.started.is_some_and(|started| millis(started) >= now) {
            // The earlier process has recorded the job, but the job began only now.
            record.submitted = now;
        }
        self.keep(&id, &job, &outcome);
        let ticket = self.record_end(record, &outcome, is_known);
        self.enter(ticket, Some((runtime.clone(), id))).await;
        ended(outcome, &job)
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
            accepted: false,
            end: None,
        }
    }

    /// Records the end of a job. If the key of the store is available, the function also stores the outcome of the
    /// job, in encrypted form. If windlass is killed and repeats the call later, the driver gets the stored
    /// outcome, and the job does not run again.
    ///
    /// The record of the job does not contain the output of the job yet. The function
    /// [`take_artifacts`](Self::take_artifacts) adds the output when the call has ended.
    ///
    /// If an earlier process recorded the job (`taken_over`), the time of the end comes from `outcome`, and may be
    /// long ago. Otherwise, the time of the end is the present time.
    fn record_end(
        &self,
        mut record: JobRecord,
        outcome: &Outcome,
        taken_over: bool,
    ) -> windlass_store::Ticket {
        let now = self.journal.clock.now();
        let secret = format!("{}:job/{}", self.assembly, record.id).parse::<SecretRef>().ok();
        let mut batch = Batch::new();
        // Without the store's key, the outcome can't be sealed and is not stored. If the call is then
        // interrupted, the next process repeats the call, or the call becomes undecided.
        let can_seal = self.journal.store.check_key().is_ok();
        if let (true, Some(secret), Ok(bytes)) = (can_seal, &secret, serde_json::to_vec(outcome)) {
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

    /// Records that a job was not started, with the reason `why`. Secrets in the reason are masked.
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

    /// Tells the host to wait until a record is durable, and then to remove the job `remove` from its runtime. If
    /// the host has already ended, the job stays in its runtime until a later process removes it.
    async fn enter(&self, ticket: windlass_store::Ticket, remove: Option<(Arc<dyn Runtime>, JobId)>) {
        let _ = self.journal.entries.send(Entry { ticket, remove }).await;
    }
}

/// Disk space that is reserved for the answer of a job. The reservation ends when the `Room` is dropped.
struct Room {
    /// The number of bytes that all running jobs have reserved.
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

/// Locks a mutex. The value in it is consistent even after a panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the last lines of an output stream, at most [`SHOWN`] bytes. If lines are left out, the first line of the
/// result tells this. The whole stream is masked first, so that no part of a secret is left at the beginning of the
/// result.
fn shown(redactor: &Redactor, stream: &Captured) -> String {
    let text = stream.masked(redactor);
    let Some(mut start) = text.len().checked_sub(SHOWN).filter(|start| *start > 0) else {
        return text;
    };
    while !text.is_char_boundary(start) {
        start += 1;
    }
    // A line is not cut, unless it is the last line.
    if let Some(at) = text[start..].trim_end().find('\n') {
        start += at + 1;
    }
    format!("[the first {start} bytes are left out]\n{}", &text[start..])
}

#[async_trait]
impl Context for CallContext {
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
        let _request = self.work.begin_request();
        // Without this, a panic of the runtime or of the store would look like a panic of the driver.
        match caught_text(self.outcome_of(name, job)).await {
            Ok(outcome) => outcome,
            Err(panic) => {
                // If the runtime can't end the job now either, a later process finds the job by its owner.
                if !self.looks {
                    let _ = caught_text(self.end_jobs()).await;
                }
                Err(lost(format!("its runtime or the store panicked: {panic}")))
            }
        }
    }

    async fn checkpoint(&self, _call: usize, report: Report) -> Result<(), Failure> {
        let _request = self.work.begin_request();
        self.claim(&report).await?;
        let (reply, answer) = oneshot::channel();
        let gone = || Failure::new(FailureKind::Infrastructure, "the engine has stopped");
        let hidden = locked(&self.hidden).clone();
        let checkpoint = Checkpoint { call: self.call.clone(), report, hidden, reply };
        self.journal.checkpoints.send(checkpoint).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    fn hide(&self, secrets: &[String]) {
        locked(&self.hidden).extend_from_slice(secrets);
    }

    fn show_stdout(&self, job: &str) {
        locked(&self.shown).insert(job.to_owned());
    }

    fn cancelled(&self) -> bool {
        self.journal.stop.is_requested_now()
    }

    fn now(&self) -> Timestamp {
        self.journal.clock.now()
    }
}

fn millis(of: windlass_executor::Timestamp) -> Timestamp {
    Timestamp::from_millis(i64::try_from(of.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the outcome of a job that has run to its end, even if the job has failed.
///
/// # Errors
/// The job was lost or cancelled, or a part of its stdout is missing because the disk was full.
fn ended(outcome: Outcome, job: &Job) -> Result<Outcome, JobFailure> {
    match &outcome.end {
        End::Lost(why) => Err(lost(why.clone())),
        End::Cancelled => Err(lost("its job was stopped on request")),
        // The job may have done its work. Without the whole answer, the job counts as lost, not as failed.
        _ if is_cut_short(&outcome, job) => Err(lost(
            "the disk was full while its job ran, and part of its output is lost; free some space first",
        )),
        _ => Ok(outcome),
    }
}

/// Tells whether a part of stdout is missing because the disk was full. This is the case if a part is missing
/// although stdout is not larger than its limit.
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

/// Formats an error with all its causes.
pub(crate) fn in_words(error: &RuntimeError) -> String {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}
