//! Finds out what earlier processes have left open, before anything new is planned.

use std::collections::HashMap;

use serde_json::Value;
use windlass_driver::Package;
use windlass_model::assembly::PackageDigest;
use windlass_model::record::{
    Assumption, CallRecord, CallState, Event as Happening, EventDraft, ProcessStatus,
};
use windlass_model::resolve::MAX_VALUE;
use windlass_model::{AssemblyName, CallId, DescriptorName, ElementName, ProcessId, PropertyName, Topology};
use windlass_store::{Batch, Change, Lease, Snapshot};

use super::ask::{Answer, Ask};
use super::{Engine, draft};
use crate::error::EngineError;
use crate::host::{JournalParts, Stop};
use crate::journal::Elsewhere;
use crate::machine::{Command, Event, Machine};
use crate::world::World;

impl Engine {
    /// Reads a package of the store; one that was pinned by a name must be there.
    pub(super) async fn package(
        &self,
        digest: &PackageDigest,
        pinned_by: Option<&DescriptorName>,
    ) -> Result<Option<Package>, EngineError> {
        let Some(record) = self.store.package(digest).await? else {
            return match pinned_by {
                Some(name) => Err(EngineError::PackageGone(name.clone())),
                None => Ok(None),
            };
        };
        let name = record.name.clone();
        let package = Package::from_record(record)
            .map_err(|error| EngineError::PackageUnreadable { name, cause: error.to_string() })?;
        Ok(Some(package))
    }

    /// Loads an assembly with no call left open: what an earlier process has left is found out first.
    pub(super) async fn settled(
        &self,
        lease: &Lease,
        name: &AssemblyName,
        assume: Option<Answer>,
        stop: &Stop,
    ) -> Result<Option<Snapshot>, EngineError> {
        let Some(mut snapshot) = self.store.load(name).await? else {
            self.sweep(name, stop).await?;
            return Ok(None);
        };
        let interrupted = snapshot.processes.clone();
        if snapshot.calls.iter().any(|call| call.state != CallState::Undecided) {
            self.settle(lease, snapshot, stop).await?;
            snapshot = self.reload(name).await?;
        }
        self.close(lease, &snapshot, stop).await?;
        self.sweep(name, stop).await?;
        if let Some(Answered { answer, calls, open }) = answered(name, &snapshot, assume)? {
            for batch in self.assumed(snapshot, calls, answer).await? {
                self.store.commit(lease, batch).await?;
            }
            if !open.is_empty() {
                return Err(EngineError::NeedsDecision { name: name.clone(), calls: open });
            }
            snapshot = self.reload(name).await?;
        }
        snapshot.processes = interrupted;
        Ok(Some(snapshot))
    }

    /// Returns how an assembly would be if undecided calls had ended as a person says; refuses where one is left to ask about.
    ///
    /// What an interrupted process has left open stays so: to look at it is more than a dry run.
    pub(super) async fn supposed(
        &self,
        name: &AssemblyName,
        mut snapshot: Snapshot,
        assume: Option<Answer>,
    ) -> Result<Snapshot, EngineError> {
        let is_settled = snapshot.calls.iter().all(|call| call.state == CallState::Undecided);
        if assume.is_some() && !is_settled {
            return Err(EngineError::NotLookedAt(name.clone()));
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

    async fn reload(&self, name: &AssemblyName) -> Result<Snapshot, EngineError> {
        let snapshot = self.store.load(name).await?;
        snapshot.ok_or_else(|| EngineError::Unknown { name: name.clone(), known: Vec::new() })
    }

    /// Makes the open calls again: jobs that have run answer from what they did.
    async fn settle(&self, lease: &Lease, snapshot: Snapshot, stop: &Stop) -> Result<(), EngineError> {
        let calls = snapshot.calls.clone();
        let jobs = snapshot.jobs.iter().map(|job| (job.id.clone(), job.clone())).collect();
        let elsewhere = self.elsewhere(&snapshot);
        let guests = self.guests_of_open_calls(lease, &snapshot, stop).await?;
        let mut world = self.loaded(snapshot).await?;
        world.guests = guests;
        let host = self.host(lease, &world, stop);
        let mut machine = Machine::settle(self.tools(), world, calls, self.means.clock.now());
        let parts =
            JournalParts { jobs, elsewhere, grace: self.options.grace, patience: self.options.patience };
        let settled = host.run(&mut machine, parts).await;
        self.leave(host.beside).await;
        settled?;
        if stop.soon.is_cancelled() { Err(EngineError::Stopped) } else { Ok(()) }
    }

    /// Makes the world of an assembly as it is, each part as it was made.
    pub(super) async fn loaded(&self, snapshot: Snapshot) -> Result<World, EngineError> {
        let former = self.former(&Ask::Down, Some(&snapshot)).await?;
        let mut world = World::load(snapshot);
        world.installed = Some(draft::installed(&world.assembly, &former.versions, &world));
        world.former = former.packages;
        world.packages = world.pinned();
        Ok(world)
    }

    /// Finds the open calls that were made from another machine or folder, with the attempt that was made there.
    fn elsewhere(&self, snapshot: &Snapshot) -> HashMap<CallId, Elsewhere> {
        let strange = snapshot.processes.iter().filter_map(|process| {
            process.from.as_ref().filter(|from| **from != self.means.home).map(|from| (process.id, from))
        });
        let strange: HashMap<ProcessId, &String> = strange.collect();
        let calls = snapshot.calls.iter().filter_map(|call| {
            let from = (*strange.get(&call.process)?).clone();
            Some((call.id.clone(), Elsewhere { attempt: call.attempt, from }))
        });
        calls.collect()
    }

    /// Returns what is to be written down where undecided calls are closed as a person has said.
    async fn assumed(
        &self,
        snapshot: Snapshot,
        calls: Vec<CallRecord>,
        answer: Answer,
    ) -> Result<Vec<Batch>, EngineError> {
        let Answer { what: answer, published, .. } = answer;
        // What goes with a part is told by the version that has the part, which may not be the newest.
        let world = self.loaded(snapshot).await?;
        let mut machine = Machine::settle(self.tools(), world, Vec::new(), self.means.clock.now());
        let commands = machine.on(self.means.clock.now(), Event::Assume { calls, answer, published });
        let batches = commands.into_iter().filter_map(|command| match command {
            Command::Commit { batch, .. } => Some(batch),
            _ => None,
        });
        Ok(batches.collect())
    }

    /// Ends the processes whose owner is gone.
    async fn close(&self, lease: &Lease, snapshot: &Snapshot, stop: &Stop) -> Result<(), EngineError> {
        if stop.soon.is_cancelled() {
            return Err(EngineError::Stopped);
        }
        let now = self.means.clock.now();
        let mut batch = Batch::new();
        for process in &snapshot.processes {
            let reason = Some("it was interrupted: whoever ran it is gone".to_owned());
            let mut ended = process.clone();
            ended.status = ProcessStatus::Failed;
            ended.ended = Some(now);
            ended.reason.clone_from(&reason);
            let happening = Happening::ProcessEnded { status: ProcessStatus::Failed, reason };
            let draft = EventDraft {
                at: now,
                assembly: process.assembly.clone(),
                process: Some(process.id),
                body: happening,
            };
            batch = batch.put_process(ended).event(draft);
        }
        if !batch.is_empty() {
            self.store.commit(lease, batch).await?;
        }
        Ok(())
    }

    /// Removes what the jobs of an assembly's processes have left on the runtimes. Their calls are settled, and nothing
    /// runs under the lease, so a job that still runs was handed over and its call never recorded. It is waited for:
    /// nothing may run beside it, and it must be gone before its call is made anew.
    async fn sweep(&self, name: &AssemblyName, stop: &Stop) -> Result<(), EngineError> {
        let Ok(owner) = self.store.id().as_str().parse() else { return Ok(()) };
        for runtime in self.means.places.runtimes().await.map_err(EngineError::Unreachable)? {
            let jobs = runtime.list(&owner).await.unwrap_or_default();
            if jobs.is_empty() {
                continue;
            }
            let processes = self.store.history(name).await?.processes;
            let own: Vec<String> =
                processes.iter().map(|of| format!("{}-{}-", self.store.id(), of.process.id)).collect();
            for job in jobs.iter().filter(|job| own.iter().any(|own| job.as_str().starts_with(own))) {
                tokio::select! {
                    _ = runtime.wait(job) => {}
                    () = stop.soon.cancelled() => return Err(EngineError::Stopped),
                }
                if let Err(error) = runtime.remove(job).await {
                    tracing::warn!(%job, %error, "a job of an earlier process could not be removed");
                }
            }
        }
        Ok(())
    }
}

/// The undecided calls that a person tells of, and those that are left to ask about.
struct Answered {
    answer: Answer,
    calls: Vec<CallRecord>,
    open: Vec<CallRecord>,
}

/// Finds what a person tells of; none where nothing is undecided and nobody says otherwise.
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
        return Err(EngineError::NotInDoubt { part: part.clone(), calls: undecided });
    }
    let (calls, open): (Vec<_>, Vec<_>) = undecided.into_iter().partition(|call| answer.is_about(call));
    may_be_published(snapshot, &calls, &answer)?;
    Ok(Some(Answered { answer, calls, open }))
}

/// Puts changes into a snapshot as the store would: those of parts, relationships, calls and secrets.
fn put_into(snapshot: &mut Snapshot, batch: &Batch) {
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
            // It has ended, or would not be here.
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

/// Refuses what a person says that a part publishes where it can't be so, with all that is wrong.
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
        return wrong("only what was done publishes something: say `--assume done`".to_owned());
    }
    let [CallRecord { element, pair: None, .. }] = answered else {
        let parts: Vec<&str> = answered.iter().map(|call| call.element.local()).collect();
        return wrong(match parts.as_slice() {
            [part] => format!(
                "an operation was called on `{part}`, and operations publish nothing that is asked for"
            ),
            parts => format!(
                "`{}` are asked about, and one part publishes a value: say which by `--of PART`",
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

/// Returns the properties that an element's driver fills.
fn outputs_of<'a>(topology: &'a Topology, element: &ElementName) -> impl Iterator<Item = &'a PropertyName> {
    let properties = topology.get(element).into_iter().flat_map(|element| &element.properties);
    properties.filter(|(_, property)| property.read_only).map(|(name, _)| name)
}
