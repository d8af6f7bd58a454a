//! The world as a driver sees it: jobs that are written down, so that a call made again gets the same answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use windlass_driver::{Call, Context, JobFailure, Location, Report};
use windlass_executor::{End, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError};
use windlass_model::record::{Failure, FailureKind, JobEnd, JobRecord};
use windlass_model::{AssemblyName, CallId, Clock, Timestamp};
use windlass_secret::{Redactor, SecretRef, Sensitive};
use windlass_store::{Batch, Lease, Store};

use crate::places::Places;

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
    /// Fires when running jobs are to be stopped.
    pub(crate) stop: CancellationToken,
    pub(crate) checkpoints: mpsc::Sender<Checkpoint>,
    /// What was committed here, for the host to await.
    pub(crate) entries: mpsc::UnboundedSender<Entry>,
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
    /// Where its jobs are, if that is not here.
    elsewhere: Option<String>,
    /// What tells the jobs of this attempt from those of others.
    round: String,
    location: String,
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
}

impl CallContext {
    pub(crate) fn new(journal: Journal, places: Arc<dyn Places>, call: &Call) -> Self {
        let strange = journal.elsewhere.get(&call.id).filter(|strange| strange.attempt == call.attempt);
        Self {
            elsewhere: strange.map(|strange| strange.from.clone()),
            assembly: journal.lease.scope.clone(),
            journal,
            places,
            place: call.location.clone(),
            call: call.id.clone(),
            round: format!("a{}", call.attempt),
            location: call.location.name.clone(),
            secrets: Mutex::new(call.secrets()),
            remains: Mutex::default(),
        }
    }

    /// Makes the context one of looking: each look runs jobs of its own and never answers from earlier ones.
    pub(crate) fn looking(mut self, now: Timestamp) -> Self {
        self.round = format!("o{}", now.as_millis());
        self.elsewhere = None;
        self
    }

    /// Returns what the call leaves. All is masked that was given to it, and what it has published.
    pub(crate) fn take_remains(&self) -> Remains {
        let mut remains = std::mem::take(&mut *locked(&self.remains));
        let redactor = self.redactor();
        for end in remains.jobs.iter_mut().filter_map(|job| job.end.as_mut()) {
            end.stderr = shown(&redactor, &end.stderr);
            end.stdout = end.stdout.as_deref().map(|text| shown(&redactor, text));
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
        let sealed = self.journal.store.secret(&outcome).await.map_err(|error| not_run(error.to_string()))?;
        // It must not run once more, whatever has become of what it left.
        let Some(sealed) = sealed else { return Err(lost("its job has ended, and its outcome is gone")) };
        let outcome = serde_json::from_slice(sealed.expose())
            .map_err(|error| not_run(format!("the outcome of its job can't be read: {error}")))?;
        self.write_later(job.clone(), &outcome);
        Ok(Some(outcome))
    }

    fn wipe_later(&self, secret: SecretRef) {
        locked(&self.remains).wipe.push(secret);
    }

    /// Keeps what a job wrote until its driver has said what of that is secret.
    fn write_later(&self, mut job: JobRecord, outcome: &Outcome) {
        let Some(end) = &mut job.end else { return };
        end.stderr = outcome.stderr.text();
        end.stdout = (!outcome.success()).then(|| outcome.stdout.text()).filter(|text| !text.is_empty());
        locked(&self.remains).jobs.push(job);
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
            Found::Gone => return Err(lost("its job ended while nobody watched, and left no result")),
            _ => {}
        }
        if matches!(found, Found::Never) {
            if self.journal.stop.is_cancelled() {
                return Err(lost("it was stopped on request before its job started"));
            }
            runtime.submit(id, job).await.map_err(|error| submit_failed(&error))?;
        }
        self.wait(runtime, id).await
    }

    async fn wait(&self, runtime: &Arc<dyn Runtime>, id: &JobId) -> Result<Outcome, JobFailure> {
        tokio::select! {
            outcome = runtime.wait(id) => return outcome.map_err(|error| unavailable(&error)),
            () = self.journal.stop.cancelled() => {}
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
    /// down for people [with the end of the call](Remains).
    fn record_end(&self, mut record: JobRecord, outcome: &Outcome) -> windlass_store::Ticket {
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
            at: self.journal.clock.now(),
            how: outcome.end.to_string(),
            exit,
            stderr: String::new(),
            stdout: None,
            outcome: secret,
        });
        self.write_later(record.clone(), outcome);
        self.journal.store.commit(&self.journal.lease, batch.put_job(record))
    }

    /// Leaves it to the host to await what was committed, and to remove the job then. Without a host the next run finds
    /// the job by its id.
    fn enter(&self, ticket: windlass_store::Ticket, remove: Option<(Arc<dyn Runtime>, JobId)>) {
        let _ = self.journal.entries.send(Entry { ticket, remove });
    }
}

/// Locks what is whole at any time, also where somebody has panicked.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of what a job wrote, as people see it.
fn shown(redactor: &Redactor, text: &str) -> String {
    let text = redactor.mask_str(text);
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
            return ended(outcome);
        }
        if let Some(from) = &self.elsewhere {
            return Err(lost(format!("it was started from {from}, and can't be looked for from here")));
        }
        // A job of an earlier process may have run, or still run, where nobody can look now.
        let is_known = self.journal.jobs.contains_key(id.as_str());
        let closed = |why: String| if is_known { lost(why) } else { not_run(why) };
        let runtime = &self.places.runtime(&self.place).await.map_err(closed)?;
        job.owner = self.journal.store.id().as_str().parse::<Owner>().map_err(|e| not_run(e.to_string()))?;
        let record = self.record(name, &id, &job, runtime.kind());
        // Known before it is submitted; its id follows from the call, which is durable already.
        self.enter(
            self.journal.store.commit(&self.journal.lease, Batch::new().put_job(record.clone())),
            None,
        );
        let outcome = self.run(runtime, &id, &job).await?;
        let ticket = self.record_end(record, &outcome);
        self.enter(ticket, Some((runtime.clone(), id)));
        ended(outcome)
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
        self.journal.stop.is_cancelled()
    }

    fn now(&self) -> Timestamp {
        self.journal.clock.now()
    }
}

/// Tells outcomes from ends that are none.
fn ended(outcome: Outcome) -> Result<Outcome, JobFailure> {
    match &outcome.end {
        End::Lost(why) => Err(lost(why.clone())),
        End::Cancelled => Err(lost("its job was stopped on request")),
        _ => Ok(outcome),
    }
}

fn lost(why: impl Into<String>) -> JobFailure {
    JobFailure::Lost(Failure::new(FailureKind::Lost, why))
}

fn not_run(why: impl Into<String>) -> JobFailure {
    JobFailure::NotRun(Failure::new(FailureKind::Infrastructure, why))
}

fn submit_failed(error: &RuntimeError) -> JobFailure {
    match error {
        RuntimeError::Invalid(_) | RuntimeError::Unsupported { .. } => {
            JobFailure::NotRun(Failure::new(FailureKind::Refused, error.to_string()))
        }
        _ => unavailable(error),
    }
}

fn unavailable(error: &RuntimeError) -> JobFailure {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    lost(message)
}
