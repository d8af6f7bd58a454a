//! Settles the open calls of earlier processes, before a new plan is made. windlass repeats each call, and records its
//! end. If a job of the call has already run, the driver gets the recorded outcome, and the job does not run again.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use windlass_driver::Stop;
use windlass_executor::{Found, JobId, Runtime, RuntimeError};
use windlass_model::document::Expected;
use windlass_model::record::{
    Assumption, CallRecord, CallState, Event as Happening, EventDraft, Failure, ProcessRecord, ProcessStatus,
};
use windlass_model::resolve::MAX_VALUE;
use windlass_model::{AssemblyName, CallId, ElementName, InstanceId, ProcessId, PropertyName, Topology};
use windlass_store::{Batch, Change, Claim, Lease, Snapshot};

use super::core::Engine;
use super::look;
use super::references::{foreign_assemblies, leave};
use super::request::Answer;
use crate::claim::claim_of;
use crate::dispatch::JournalParts;
use crate::error::EngineError;
use crate::exported;
use crate::host::{Input, Machine as _, Output};
use crate::journal::{RemoteCall, in_words};
use crate::keeper::{self, Leases};
use crate::machine::{Command, Event, Preparer, ProcessMachine, STOPPED};

impl Engine {
    /// Completes the calls of interrupted processes of an assembly. Returns the records of the assembly, and the batch
    /// that ends the interrupted processes. Returns `None` if the assembly does not exist.
    ///
    /// The function repeats the open calls, so that their ends are recorded. Then it removes the jobs of the
    /// interrupted processes. `assume` is the operator's answer about calls whose outcome windlass can't determine.
    ///
    /// The jobs of a call may have ended although its instance is still converging. The function observes this instance
    /// once. If the instance is still converging, the call stays open, and the returned snapshot contains the call. The
    /// plan then decides whether windlass waits for the instance.
    ///
    /// The caller commits the returned batch together with the record of the next process. Until then, the
    /// interrupted processes stay open: a refused intent does not end them, and a daemon can still resume them. There
    /// is one exception: if a call needs the operator's answer, the function itself ends the processes.
    pub(super) async fn settled(
        &self,
        lease: &Lease,
        name: &AssemblyName,
        assume: Option<Answer>,
        stop: &Stop,
    ) -> Result<Option<(Snapshot, Batch)>, EngineError> {
        let Some(mut snapshot) = self.loaded(name).await? else {
            self.sweep(name, stop).await?;
            return Ok(None);
        };
        let interrupted = snapshot.processes.clone();
        self.refuse_damaged(&snapshot)?;
        self.reopen(&mut snapshot);
        let mut unprepared = Vec::new();
        if snapshot.calls.iter().any(|call| call.state != CallState::Undecided) {
            unprepared = self.settle(lease, snapshot, assume.as_ref(), Wait::Once, stop).await?;
            snapshot = self.reload(name).await?;
        }
        let mut closing = self.closing(&interrupted).await?;
        let has_unprepared = !unprepared.is_empty();
        let unprepared =
            |answered| EngineError::Unprepared { name: name.clone(), calls: unprepared, answered };
        if !has_unprepared {
            if stop.is_requested() {
                return Err(EngineError::Stopped);
            }
            if !closing.is_empty() && snapshot.calls.iter().any(|call| call.state == CallState::Undecided) {
                self.store.commit(lease, std::mem::take(&mut closing)).await?;
            }
            self.sweep(name, stop).await?;
        } else if assume.is_none() || snapshot.calls.iter().all(|call| call.state != CallState::Undecided) {
            return Err(unprepared(false));
        }
        if let Some(Answered { answer, calls, open }) = answered(name, &snapshot, assume)? {
            for batch in self.assumed(snapshot, calls, answer).await? {
                self.store.commit(lease, batch).await?;
            }
            if has_unprepared {
                return Err(unprepared(true));
            }
            if !open.is_empty() {
                return Err(EngineError::NeedsDecision { name: name.clone(), calls: open });
            }
            snapshot = self.reload(name).await?;
        }
        snapshot.processes = interrupted;
        Ok(Some((snapshot, closing)))
    }

    /// Waits until the instances of open calls are ready, at most until the timeouts of the calls. Records the ends of
    /// these calls, and returns the new records of the assembly. `calls` contains the ids of the calls, and `snapshot`
    /// contains their records.
    pub(super) async fn awaited(
        &self,
        lease: &Lease,
        mut snapshot: Snapshot,
        calls: &[CallId],
        stop: &Stop,
    ) -> Result<Snapshot, EngineError> {
        let (name, interrupted) = (snapshot.assembly.name.clone(), snapshot.processes.clone());
        snapshot.calls.retain(|call| calls.contains(&call.id));
        let unprepared = self.settle(lease, snapshot, None, Wait::UntilReady, stop).await?;
        if !unprepared.is_empty() {
            return Err(EngineError::Unprepared { name, calls: unprepared, answered: false });
        }
        let snapshot = self.reload(&name).await?;
        answered(&name, &snapshot, None)?;
        Ok(Snapshot { processes: interrupted, ..snapshot })
    }

    /// Returns the open calls in `snapshot`. For each call, the result also contains the batch of records that ends the
    /// call without waiting for its instance. The function records nothing.
    pub(super) async fn given_up(
        &self,
        snapshot: &Snapshot,
    ) -> Result<Vec<(CallRecord, Batch)>, EngineError> {
        if snapshot.calls.is_empty() {
            return Ok(Vec::new());
        }
        let world = self.records().loaded(snapshot.clone()).await?;
        let now = self.env.clock.now();
        let mut machine = ProcessMachine::settle(self.tools(), world, Vec::new(), HashSet::new(), now);
        let given_up = snapshot.calls.iter().map(|call| {
            let event = Event::GiveUp(Box::new(call.clone()));
            let batches = committed(machine.on(now, Input::Event(event)));
            (call.clone(), batches.flatten().collect())
        });
        Ok(given_up.collect())
    }

    /// Opens the undecided calls whose outcome this program may find out. A program can only find out the outcome if it
    /// runs on the host and in the folder of the call's last attempt. So a call is opened if both of these statements
    /// hold:
    ///
    /// - The last attempt of the call was made on this host and in this folder.
    /// - The program that could not find out the outcome ran on another host or in another folder.
    fn reopen(&self, snapshot: &mut Snapshot) {
        for call in snapshot.calls.iter_mut().filter(|call| call.state == CallState::Undecided) {
            let is_known_elsewhere = call.unknown.as_ref().is_some_and(|unknown| unknown.by != self.env.home);
            if is_known_elsewhere && call.from.as_ref() == Some(&self.env.home) {
                call.state = CallState::Open;
            }
        }
    }

    /// For a dry run, returns the snapshot that would exist if the operator's answer about the *undecided* calls were
    /// recorded. windlass can't determine the outcomes of these calls.
    ///
    /// # Errors
    /// - [`EngineError::NeedsDecision`]: an undecided call has no answer.
    /// - [`EngineError::NotObserved`]: an answer is given, but the assembly also has an open call. windlass must first
    ///   determine the outcome of the open call, and a dry run can't do this.
    pub(super) async fn supposed(
        &self,
        name: &AssemblyName,
        mut snapshot: Snapshot,
        assume: Option<Answer>,
    ) -> Result<Snapshot, EngineError> {
        self.locate(&mut snapshot).await?;
        self.reopen(&mut snapshot);
        let is_settled = snapshot.calls.iter().all(|call| call.state == CallState::Undecided);
        if assume.is_some() && !is_settled {
            return Err(EngineError::NotObserved(name.clone()));
        }
        if let Some(Answered { answer, calls, open }) = answered(name, &snapshot, assume)? {
            if !open.is_empty() {
                return Err(EngineError::NeedsDecision { name: name.clone(), calls: open });
            }
            for batch in self.assumed(snapshot.clone(), calls, answer).await? {
                put_into(&mut snapshot, &batch);
            }
        }
        Ok(snapshot)
    }

    /// Returns an error if the record of an open call is damaged. The check finds two kinds of damage:
    ///
    /// - The id of the call does not contain the id of its process and its step.
    /// - Another open call belongs to the same step. An undamaged step has at most one open call.
    fn refuse_damaged(&self, snapshot: &Snapshot) -> Result<(), EngineError> {
        let mut steps = HashSet::new();
        for call in snapshot.calls.iter().filter(|call| call.state != CallState::Undecided) {
            let of_step = format!("{}-{}-{}-c", self.store.id(), call.process, call.step);
            let ordinal = call.id.as_str().strip_prefix(&of_step).map(str::parse::<u32>);
            let why = if !matches!(ordinal, Some(Ok(_))) {
                format!("its id is not one of step {} of {}", call.step, call.process)
            } else if !steps.insert((call.process, call.step)) {
                format!("step {} of {} has another open call", call.step, call.process)
            } else {
                continue;
            };
            let name = snapshot.assembly.name.clone();
            return Err(EngineError::DamagedCall { name, call: Box::new(call.clone()), why });
        }
        Ok(())
    }

    /// Reads the records of an assembly. The record of each open call tells where its last attempt was made.
    async fn loaded(&self, name: &AssemblyName) -> Result<Option<Snapshot>, EngineError> {
        let mut snapshot = self.store.load(name).await?;
        if let Some(snapshot) = &mut snapshot {
            self.locate(snapshot).await?;
        }
        Ok(snapshot)
    }

    /// Completes the records of the open calls: afterwards, each record tells where the last attempt of its call was
    /// made. The record of a first attempt lacks this place. The place is then that of the call's process, even if this
    /// process has ended.
    async fn locate(&self, snapshot: &mut Snapshot) -> Result<(), EngineError> {
        let mut known: HashMap<ProcessId, Option<String>> =
            snapshot.processes.iter().map(|process| (process.id, process.from.clone())).collect();
        for call in snapshot.calls.iter_mut().filter(|call| call.from.is_none()) {
            let from = match known.entry(call.process) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let process = self.store.process(call.process).await?;
                    unknown.insert(process.and_then(|process| process.from))
                }
            };
            call.from.clone_from(from);
        }
        Ok(())
    }

    async fn reload(&self, name: &AssemblyName) -> Result<Snapshot, EngineError> {
        let snapshot = self.loaded(name).await?;
        snapshot.ok_or_else(|| EngineError::Unknown { name: name.clone(), known: Vec::new() })
    }

    /// Repeats the open calls. A job that has already run does not run again: the driver gets its recorded
    /// outcome.
    ///
    /// Returns the calls that can't be prepared again, each with the reason. For example, the location of the call is no
    /// longer in `windlass.yaml`. These calls stay open. But if the operator's answer `assume` covers such a call, the
    /// call becomes undecided, and is not part of the result.
    async fn settle(
        &self,
        lease: &Lease,
        snapshot: Snapshot,
        assume: Option<&Answer>,
        wait: Wait,
        stop: &Stop,
    ) -> Result<Vec<(CallRecord, Failure)>, EngineError> {
        let calls = snapshot.calls.clone();
        let is_answered = |call: &&CallRecord| assume.is_some_and(|answer| answer.is_about(call));
        let answered = calls.iter().filter(is_answered).map(|call| call.id.clone()).collect();
        let jobs = snapshot.jobs.iter().map(|job| (job.id.clone(), job.clone())).collect();
        let elsewhere = self.elsewhere(&snapshot);
        let called = self.visitor().of_open_calls(lease, &snapshot, stop).await?;
        let mut world = match self.records().loaded(snapshot).await {
            Ok(world) => world,
            Err(error) => {
                leave(&*self.store, called).await;
                return Err(error);
            }
        };
        world.foreign_assemblies = foreign_assemblies(&self.records(), called).await?;
        let env = self.process_env(lease, &world, stop);
        let remote = elsewhere.keys().cloned().collect();
        let mut machine = ProcessMachine::settle(self.tools(), world, calls, remote, self.env.clock.now())
            .with_answered(answered);
        if wait == Wait::Once {
            machine = machine.observing_once();
        }
        let (grace, patience) = (self.options.grace, self.options.patience);
        let parts = JournalParts { jobs, elsewhere, resumes: true, grace, patience };
        let lost = keeper::keep(self.store.clone(), Leases::new(env.leases()));
        let settled = env.run(&mut machine, parts, lost).await;
        leave(&*self.store, env.beside).await;
        settled?;
        if stop.is_requested() { Err(EngineError::Stopped) } else { Ok(machine.take_unprepared()) }
    }

    /// Returns the open calls whose last attempt was made elsewhere: on another host, or in another project folder.
    /// This program can't find the jobs of these attempts. The result also contains the number of the last attempt
    /// of each call.
    fn elsewhere(&self, snapshot: &Snapshot) -> HashMap<CallId, RemoteCall> {
        let calls = snapshot.calls.iter().filter_map(|call| {
            let from = call.from.as_ref().filter(|from| **from != self.env.home)?;
            let remote = RemoteCall { attempt: call.attempt, from: from.clone() };
            Some((call.id.clone(), remote))
        });
        calls.collect()
    }

    /// Returns the batches of records that close `calls`. windlass can't determine the outcome of these calls, so
    /// an operator has stated the outcome in `answer`.
    async fn assumed(
        &self,
        snapshot: Snapshot,
        calls: Vec<CallRecord>,
        answer: Answer,
    ) -> Result<Vec<Batch>, EngineError> {
        let Answer { what: answer, published, natural, .. } = answer;
        let name = snapshot.assembly.name.clone();
        // If the answer says that an element was removed, its pairs no longer exist. A pair is a relationship
        // between two nodes. The pairs of the element are found only with a version of the assembly that contains
        // the element. The newest version may not contain it. The installed version contains it, so the world is
        // loaded with the installed version.
        let world = self.records().loaded(snapshot).await?;
        let mut preparer = Preparer::new(self.env.drivers.clone(), self.env.places.clone());
        let named = named(&name, answer, &preparer.unnamed(&world, &calls), natural)?;
        let (mut natural, mut exports) = (None, Vec::new());
        if let Some((element, natural_id)) = named {
            let mut claim = Claim::from(natural_id.as_str());
            if let Some(owner) = &world.assembly.owner {
                claim = claim_of(&*self.store, &name, owner, &natural_id).await?;
                exports = exported::keys_of(&*self.store, (owner, &natural_id)).await?;
            }
            natural = Some((element, claim));
        }
        let mut machine =
            ProcessMachine::settle(self.tools(), world, Vec::new(), HashSet::new(), self.env.clock.now());
        let event = Event::Assume { calls, answer, published, natural };
        let outputs = machine.on(self.env.clock.now(), Input::Event(event));
        let mut batches: Vec<Batch> = committed(outputs).collect();
        if let Some(batch) = batches.last_mut() {
            // The application now has the instance, so its exports no longer matter.
            for key in exports {
                batch.push(Change::DropDocument(Box::new(key), Expected::Any));
            }
        }
        Ok(batches)
    }

    /// Returns the batch that ends interrupted processes. A process that a user has asked to stop ends as Cancelled. All
    /// other processes end as Failed.
    async fn closing(&self, interrupted: &[ProcessRecord]) -> Result<Batch, EngineError> {
        let now = self.env.clock.now();
        let mut batch = Batch::new();
        for process in interrupted {
            let (status, reason) = if self.store.is_asked_to_stop(process.id).await? {
                (ProcessStatus::Cancelled, STOPPED)
            } else {
                (ProcessStatus::Failed, "it was interrupted: the process that executed it exited")
            };
            let reason = Some(reason.to_owned());
            let happening = Happening::ProcessEnded { status, reason: reason.clone() };
            let draft = EventDraft {
                at: now,
                assembly: process.assembly.clone(),
                process: Some(process.id),
                body: happening,
            };
            let ended = ProcessRecord { status, ended: Some(now), reason, ..process.clone() };
            batch = batch.put_process(ended).event(draft);
        }
        Ok(batch)
    }

    /// Removes the jobs of an assembly's processes from the runtimes.
    ///
    /// When this function is called, all calls are settled, so normally no job of the assembly runs. There is one
    /// exception: older releases of windlass recorded `repeatable` calls late. So a job of a call without a record
    /// possibly still runs. The function waits until such a job has ended, since no new job of the assembly may run
    /// beside it. A runtime that does not answer is an error, since such a job possibly runs there.
    async fn sweep(&self, name: &AssemblyName, stop: &Stop) -> Result<(), EngineError> {
        let Ok(owner) = self.store.id().as_str().parse() else { return Ok(()) };
        let mut owners = HashMap::new();
        for runtime in self.env.places.runtimes().await.map_err(EngineError::Unreachable)? {
            let jobs = runtime.list(&owner).await.map_err(|error| unknown_jobs(&error))?;
            if jobs.is_empty() {
                continue;
            }
            // No process waits for these jobs of health checks and searches. They change nothing, so they are
            // cancelled.
            let now = self.env.clock.now();
            for job in jobs.iter().filter(|job| look::is_forgotten(job, self.store.id(), now, name)) {
                if let Err(error) = forget(&*runtime, job, self.options.grace).await {
                    tracing::warn!(%job, %error, "a job of an earlier check could not be removed");
                }
            }
            for job in &jobs {
                if !self.is_job_of(name, job.as_str(), &mut owners).await? {
                    continue;
                }
                tokio::select! {
                    waited = runtime.wait(job) => match waited {
                        Ok(_) | Err(RuntimeError::UnknownJob { .. }) => {}
                        Err(error) => return Err(unknown_jobs(&error)),
                    },
                    () = stop.requested() => return Err(EngineError::Stopped),
                }
                if let Err(error) = runtime.remove(job).await {
                    tracing::warn!(%job, %error, "a job of an earlier process could not be removed");
                }
            }
        }
        Ok(())
    }

    /// Tells whether a job belongs to a process of the assembly `name`. The id of the job contains the id of its
    /// process. The function looks up each process only once, and keeps the results in `owners`.
    async fn is_job_of(
        &self,
        name: &AssemblyName,
        job: &str,
        owners: &mut HashMap<ProcessId, bool>,
    ) -> Result<bool, EngineError> {
        let rest = job.strip_prefix(self.store.id().as_str()).and_then(|rest| rest.strip_prefix('-'));
        let process = rest.and_then(|rest| rest.split_once('-')?.0.parse::<ProcessId>().ok());
        let Some(process) = process else { return Ok(false) };
        if let Some(own) = owners.get(&process) {
            return Ok(*own);
        }
        let own = self.store.process(process).await?.is_some_and(|found| found.assembly == *name);
        owners.insert(process, own);
        Ok(own)
    }
}

/// The limit of the wait for a converging instance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// windlass observes the instance once. If the instance is not ready, the call stays open.
    Once,
    /// windlass waits until the instance is ready, or until the timeout of the call.
    UntilReady,
}

/// Returns the batches of records that a machine commits.
fn committed(outputs: Vec<Output<ProcessMachine>>) -> impl Iterator<Item = Batch> {
    outputs.into_iter().filter_map(|output| match output {
        Output::Command(Command::Commit { batch, .. }) => Some(batch),
        _ => None,
    })
}

/// Cancels a job that no process waits for, and removes it.
async fn forget(runtime: &dyn Runtime, job: &JobId, grace: Duration) -> Result<(), RuntimeError> {
    if matches!(runtime.find(job).await?, Found::Running) {
        runtime.cancel(job, grace).await?;
        runtime.wait(job).await?;
    }
    runtime.remove(job).await
}

/// Returns the error for a runtime that can't tell which jobs it runs.
fn unknown_jobs(error: &RuntimeError) -> EngineError {
    let why = in_words(error);
    EngineError::Unreachable(format!(
        "can't find out which jobs of an earlier run are still running: {why}; nothing was started, so try again when the \
         runtime answers"
    ))
}

/// An operator's answer, which states the outcome of undecided calls. `calls` contains these calls, and `open`
/// contains the other undecided calls.
struct Answered {
    answer: Answer,
    calls: Vec<CallRecord>,
    open: Vec<CallRecord>,
}

/// Divides the undecided calls of an assembly into two lists: the calls whose outcome an operator has stated in the
/// answer `assume`, and the other calls. A call is undecided if only a person can tell whether it was executed.
/// Returns `None` if no call is undecided and no answer is given.
///
/// # Errors
/// - Calls are undecided, and no answer is given.
/// - An answer is given, and no call is undecided.
/// - The answer names an element without an undecided call, or a call that is not undecided.
/// - The answer states outputs that the element can't have published.
fn answered(
    name: &AssemblyName,
    snapshot: &Snapshot,
    assume: Option<Answer>,
) -> Result<Option<Answered>, EngineError> {
    let undecided: Vec<CallRecord> =
        snapshot.calls.iter().filter(|call| call.state == CallState::Undecided).cloned().collect();
    let answer = match (undecided.is_empty(), assume) {
        (true, None) => return Ok(None),
        (true, Some(_)) => return Err(EngineError::NothingToDecide(name.clone())),
        (false, None) => return Err(EngineError::NeedsDecision { name: name.clone(), calls: undecided }),
        (false, Some(answer)) => answer,
    };
    let is_strange = |of: &&ElementName| !undecided.iter().any(|call| call.element == **of);
    if let Some(part) = answer.of.iter().find(is_strange) {
        return Err(EngineError::NoUndecidedCall { part: part.clone(), calls: undecided });
    }
    let is_unknown = |of: &&CallId| !undecided.iter().any(|call| call.id == **of);
    if let Some(call) = answer.calls.iter().find(is_unknown) {
        return Err(EngineError::NotUndecided { call: call.clone(), calls: undecided });
    }
    let (calls, open): (Vec<_>, Vec<_>) = undecided.into_iter().partition(|call| answer.is_about(call));
    may_be_published(snapshot, &calls, &answer)?;
    Ok(Some(Answered { answer, calls, open }))
}

/// Returns `natural`, the natural id that an operator has stated, with the element that gets this id. Returns `None` if
/// no id is stated and no element needs an id.
///
/// `answer` is the outcome that the operator has stated for undecided calls. If it is [`Assumption::Done`], each
/// element in `unnamed` needs an id. Otherwise, no element needs an id.
///
/// # Errors
/// - An element needs an id, and no id is stated.
/// - Several elements need an id. An operator can state only one.
/// - An id is stated, and no element needs an id.
/// - The stated id is empty.
fn named(
    name: &AssemblyName,
    answer: Assumption,
    unnamed: &[(ElementName, InstanceId)],
    natural: Option<String>,
) -> Result<Option<(ElementName, String)>, EngineError> {
    let wrong = |why: &str| Err(EngineError::NotPublished(why.to_owned()));
    match (answer, unnamed, natural) {
        (Assumption::Done, [(part, _)], Some(natural)) if !natural.trim().is_empty() => {
            Ok(Some((part.clone(), natural)))
        }
        (_, _, Some(natural)) if natural.trim().is_empty() => {
            wrong("an instance id must not be empty: pass `--natural ID`")
        }
        (Assumption::Done, [], None) | (Assumption::NotDone | Assumption::Failed, _, None) => Ok(None),
        (Assumption::Done, [], Some(_)) => {
            wrong("no undecided call has an unknown instance id; omit `--natural`")
        }
        (Assumption::Done, _, _) => Err(EngineError::Unnamed { name: name.clone(), parts: unnamed.to_vec() }),
        (_, _, Some(_)) => wrong("`--natural` requires `--assume done`"),
    }
}

/// Applies a batch of records to a snapshot, as the store would. The function applies only the changes of elements,
/// instances, pairs, calls and secrets.
pub(super) fn put_into(snapshot: &mut Snapshot, batch: &Batch) {
    for change in batch.changes() {
        match change {
            Change::PutElement(record) => {
                snapshot.elements.insert(record.name.clone(), (**record).clone());
            }
            Change::DropElement(name) => {
                snapshot.elements.remove(name);
                snapshot.instances.remove(name);
            }
            Change::PutInstance(record) => {
                snapshot.instances.insert(record.element.clone(), (**record).clone());
            }
            Change::PutPair(record) => {
                snapshot.pairs.insert(record.key.clone(), (**record).clone());
            }
            Change::DropPair(key) => {
                snapshot.pairs.remove(key);
            }
            // The batch contains only calls that have ended.
            Change::PutCall(record) => snapshot.calls.retain(|call| call.id != record.id),
            Change::PutSecret { secret, value, .. } => {
                snapshot.secrets.insert(secret.clone(), value.clone());
            }
            Change::DropSecret(secret) => {
                snapshot.secrets.remove(secret);
            }
            _ => {}
        }
    }
}

/// Checks the outputs in `answer`. In this answer, an operator states the outcome of an undecided call, and the
/// outputs that the element of the call has published. Returns an error if the element can't have published these
/// outputs. For example, the element does not declare one of them.
fn may_be_published(
    snapshot: &Snapshot,
    answered: &[CallRecord],
    answer: &Answer,
) -> Result<(), EngineError> {
    if answer.published.0.is_empty() {
        return Ok(());
    }
    let wrong = |why: String| Err(EngineError::NotPublished(why));
    if answer.what != Assumption::Done {
        return wrong("`--published` requires `--assume done`".to_owned());
    }
    let [CallRecord { element, pair: None, .. }] = answered else {
        let parts: Vec<&str> = answered.iter().map(|call| call.element.local()).collect();
        return wrong(match parts.as_slice() {
            [part] => format!(
                "the undecided call of `{part}` is an operation, and operations publish no outputs; omit `--published`"
            ),
            parts => format!(
                "`{}` are undecided; name the part that published the values with `--of PART`",
                parts.join("` and `")
            ),
        });
    };
    let declared: Vec<&str> =
        outputs_of(&snapshot.assembly.topology, element).map(PropertyName::as_str).collect();
    let strange: Vec<&str> =
        answer.published.0.keys().map(PropertyName::as_str).filter(|name| !declared.contains(name)).collect();
    let part = element.local();
    match (strange.as_slice(), declared.as_slice()) {
        ([], _) => {}
        (strange, []) => {
            return wrong(format!(
                "`{part}` declares no outputs, so it does not publish `{}`",
                strange.join("` and `")
            ));
        }
        (strange, declared) => {
            return wrong(format!(
                "`{part}` does not publish `{}`; its outputs are `{}`",
                strange.join("` and `"),
                declared.join("` and `")
            ));
        }
    }
    let too_large = |value: &Value| value.to_string().len() > MAX_VALUE;
    match answer.published.0.iter().find(|(_, value)| value.is_null() || too_large(value)) {
        Some((name, value)) if value.is_null() => wrong(format!("`{name}` of `{part}` has no value")),
        Some((name, _)) => wrong(format!("`{name}` of `{part}` is larger than {} MiB", MAX_VALUE >> 20)),
        None => Ok(()),
    }
}

fn outputs_of<'a>(topology: &'a Topology, element: &ElementName) -> impl Iterator<Item = &'a PropertyName> {
    let properties = topology.get(element).into_iter().flat_map(|element| &element.properties);
    properties.filter(|(_, property)| property.read_only).map(|(name, _)| name)
}
