//! Prepares an intent: determines the outcomes of calls that an interrupted process has left open, makes the plan, and
//! records the new process.

use std::collections::{BTreeMap, BTreeSet};

use windlass_driver::Stop;
use windlass_model::record::{
    ApplicationIntent, AssemblyRecord, ElementRecord, Event as Happening, EventDraft, Intent, PlanText,
    ProcessRecord, ProcessStatus, VersionRecord,
};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{AssemblyName, ElementName, ProcessId, State, Timestamp};
use windlass_secret::Sensitive;
use windlass_store::{Batch, Change, Holder, Lease, Snapshot};

use super::core::Engine;
use super::draft;
use super::draft::{Draft, PreviousState};
use super::found::Found;
use super::moved::refuse_if_moved;
use super::pending::PendingCalls;
use super::prepared::Prepared;
use super::references::{foreign_assemblies, leave, refuse_if_entangled, refuse_if_referenced};
use super::request::Request;
use super::reserved::refuse_if_reserved;
use crate::error::EngineError;
use crate::keeper::{Leases, Renewal, renewing};
use crate::world::World;
use crate::{command_arguments, commands, recordings};

impl Engine {
    /// Takes the lease, determines the outcomes of calls that earlier processes have left open, plans the intent, and
    /// records the process.
    ///
    /// # Errors
    /// The reason why the intent is refused. After an error, the lease is released.
    pub async fn prepare(
        &self,
        name: &AssemblyName,
        request: impl Into<Request>,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        let request = request.into();
        let lease = self.store.lease(name, holder).await?;
        let mut renewal = Renewal::start(self.store.clone(), lease.clone());
        match renewal.keeping(Box::pin(self.prepare_under(&lease, name, request, stop, None))).await {
            Ok((draft, process)) => Ok(Prepared::new(self.clone(), renewal, draft, process)),
            Err(error) => {
                renewal.release().await;
                Err(error)
            }
        }
    }

    /// Prepares an intent under a lease that the caller holds. The function first determines the outcomes of calls that
    /// earlier processes have left open. This can take long, so the caller must renew the lease meanwhile.
    ///
    /// `queued` is the record of the queued request that contains the intent; `None` if the intent was not queued.
    pub(super) async fn prepare_under(
        &self,
        lease: &Lease,
        name: &AssemblyName,
        mut request: Request,
        stop: &Stop,
        queued: Option<&RequestRecord>,
    ) -> Result<(Draft, ProcessRecord), EngineError> {
        // Calls may report new secrets. Without the key, such a report could not be recorded.
        if request.intent != Intent::Down {
            self.check_key(name).await?;
        }
        let settled = Box::pin(self.settled(lease, name, request.answer.clone(), stop)).await?;
        let (snapshot, closing) = settled.unzip();
        if snapshot.is_none() && request.desired.is_none() {
            return Err(self.unknown(name).await?);
        }
        if snapshot.is_none() {
            refuse_if_reserved(&*self.store, name, queued).await?;
            if !self.options.force {
                refuse_if_moved(&*self.store, name, &request).await?;
            }
        }
        let continues = snapshot.as_ref().and_then(|s| s.processes.last().map(|p| p.id));
        request = self.records().followed(request, snapshot.as_ref()).await?;
        // A retry was checked when its intent was first prepared.
        let is_retry = request.intent == Intent::Retry;
        let closing = closing.unwrap_or_default();
        let mut draft = Box::pin(self.planned(lease, request, snapshot, closing, stop)).await?;
        draft.refuse_other_plan()?;
        draft.world.configuration = Box::pin(self.records().configuration(&draft.world.assembly)).await?;
        if !is_retry && !self.options.force {
            refuse_if_referenced(&*self.store, &draft).await?;
        }
        if !self.options.force {
            refuse_if_entangled(&*self.store, name).await?;
        }
        draft.refuse_without_consent()?;
        // If the intent adds a reference to another assembly, the lease of that assembly is held until the
        // reference is recorded. No other process can then remove that assembly first. If the plan calls
        // operations on elements of another assembly, the lease of that assembly is held until the process ends.
        let visits = Leases::default();
        let visitor = self.visitor();
        let visited = visitor.visit(lease, &draft, stop, &visits);
        let visited = renewing(self.store.clone(), &visits, visited).await;
        if let Err(error) = visited {
            leave(&*self.store, visits.take()).await;
            return Err(error);
        }
        let called = draft::called_on(&draft);
        let (kept, passed): (Vec<Lease>, Vec<Lease>) =
            visits.take().into_iter().partition(|visit| called.contains(&visit.scope));
        let begun = match foreign_assemblies(&self.records(), kept).await {
            Ok(foreign_assemblies) => {
                draft.world.foreign_assemblies = foreign_assemblies;
                if stop.is_requested() {
                    Err(EngineError::Stopped)
                } else {
                    self.begin((lease, &passed), &mut draft, continues, queued).await
                }
            }
            Err(error) => Err(error),
        };
        leave(&*self.store, passed).await;
        match begun {
            Ok(process) => Ok((draft, process)),
            Err(error) => {
                leave(&*self.store, draft.world.take_leases()).await;
                Err(error)
            }
        }
    }

    /// Makes the plan for a request. `snapshot` contains the records of the assembly, with its
    /// [pending calls](super::pending). `closing` is the first part of the batch that begins the process.
    ///
    /// If the plan needs the instance of a pending call, the function waits for the instance, and makes a new plan.
    async fn planned(
        &self,
        lease: &Lease,
        request: Request,
        mut snapshot: Option<Snapshot>,
        closing: Batch,
        stop: &Stop,
    ) -> Result<Draft, EngineError> {
        while let Some(recorded) = snapshot.as_ref().filter(|snapshot| !snapshot.calls.is_empty()) {
            let mut ended = recorded.clone();
            let ends = self.given_up(recorded).await?;
            let pending = PendingCalls::end_in(&mut ended, ends, request.replaced());
            let unconditional = request.clone().unconditional();
            let draft =
                self.drafted_under(unconditional, Some(ended.clone()), pending.elements(), stop).await;
            let mut awaited = match &draft {
                Ok(draft) => pending.awaited_by(draft),
                Err(refusal) => pending.awaited_after(refusal),
            };
            if awaited.is_empty() {
                draft?;
            }
            if awaited.is_empty() {
                let mut draft =
                    self.drafted_under(request.clone(), Some(ended), pending.elements(), stop).await?;
                awaited = pending.awaited_by(&draft);
                if awaited.is_empty() {
                    draft.closing = closing;
                    pending.decide(&mut draft)?;
                    return Ok(draft);
                }
            }
            let recorded = recorded.clone();
            snapshot = Some(Box::pin(self.awaited(lease, recorded, &awaited, stop)).await?);
        }
        let mut draft = self.drafted_under(request, snapshot, BTreeSet::new(), stop).await?;
        draft.closing = closing;
        Ok(draft)
    }

    /// Makes the draft of a request under the lease of its assembly. Before, the function makes the health checks that
    /// the request demands. `converging` contains the elements with a [pending call](super::pending).
    async fn drafted_under(
        &self,
        request: Request,
        snapshot: Option<Snapshot>,
        converging: BTreeSet<ElementName>,
        stop: &Stop,
    ) -> Result<Draft, EngineError> {
        let seen = self.refreshed(&request, snapshot.as_ref(), true, stop).await?;
        let previous = self.records().previous(&request.intent, snapshot.as_ref()).await?;
        let open = match &snapshot {
            Some(snapshot) => commands::open(&*self.store, snapshot).await?,
            None => BTreeMap::new(),
        };
        let mut draft = self.env.draft(request, snapshot, PreviousState { converging, ..previous }, seen)?;
        draft.world.commands = open;
        Ok(draft)
    }

    /// Records a new process durably, with all data that it needs. `passed` contains the leases of newly referenced
    /// assemblies. If one of them is lost, the referenced assembly may be gone, and nothing is recorded.
    async fn begin(
        &self,
        (lease, passed): (&Lease, &[Lease]),
        draft: &mut Draft,
        continues: Option<ProcessId>,
        request: Option<&RequestRecord>,
    ) -> Result<ProcessRecord, EngineError> {
        let id = self.store.reserve_process().await?;
        let now = self.env.clock.now();
        if draft.is_new_version {
            draft.world.assembly.version = Some(id);
        }
        let process = ProcessRecord {
            id,
            assembly: draft.world.assembly.name.clone(),
            intent: draft.intent.clone(),
            application: application_intent(&draft.world.assembly, &draft.intent),
            status: ProcessStatus::InProgress,
            plan: PlanText::new(&draft.plan).expect("a plan is plain data"),
            continues,
            from: Some(self.env.home.clone()),
            request: request.map(|request| request.id),
            unattended: lease.holder.serves,
            target: draft.limits.target.clone(),
            except: draft.limits.except.clone(),
            max_unavailable: draft.limits.max_unavailable,
            max_surge: draft.limits.max_surge,
            may_destroy: draft.may_destroy(),
            created: now,
            ended: None,
            reason: None,
            follow_up: None,
        };
        let mut batch = beginning(draft, &process);
        if draft.world.assembly.owner.is_some() {
            let coming = draft.plan.work().count();
            recordings::drop_oldest(&*self.store, &process.assembly, coming, &mut batch).await?;
        }
        if matches!(process.intent, Intent::Call { .. }) {
            commands::drop_oldest(&*self.store, &process.assembly, &mut batch).await?;
        }
        if let Some(request) = request {
            // The batch that records the process also ends the request. The request is therefore executed only
            // once.
            batch = batch.end_request(RequestRecord { status: RequestStatus::Begun(id), ..request.clone() });
        }
        let called = draft.world.foreign_assemblies.values().map(|foreign| &foreign.lease);
        self.store.commit(lease, batch.fenced_by(passed.iter().chain(called))).await?;
        Ok(process)
    }
}

/// Returns the action of an intent on an application: `up` launches an application, or reconfigures an application that
/// was launched before; `down` destroys it. Returns `None` for other intents, and if `assembly` is no application.
pub(super) fn application_intent(assembly: &AssemblyRecord, intent: &Intent) -> Option<ApplicationIntent> {
    assembly.application.as_ref()?;
    match intent {
        Intent::Up if assembly.reached.is_some() => Some(ApplicationIntent::Reconfigure),
        Intent::Up => Some(ApplicationIntent::Launch),
        Intent::Down => Some(ApplicationIntent::Destroy),
        _ => None,
    }
}

/// Returns the batch of records that begins a process.
pub(super) fn beginning(draft: &mut Draft, process: &ProcessRecord) -> Batch {
    let (id, now) = (process.id, process.created);
    let Found { states, batch: found, .. } = std::mem::take(&mut draft.found);
    let mut batch = std::mem::take(&mut draft.closing);
    batch.extend(found);
    for package in &draft.packages {
        batch = batch.put_package(package.to_record());
    }
    let world = &mut draft.world;
    batch = batch.put_assembly(world.assembly.clone());
    for (secret, value) in &draft.secrets {
        let bytes = Sensitive::new(value.expose().clone().into_bytes());
        batch = batch.put_secret(secret.clone(), world.assembly.name.clone(), bytes);
    }
    // If a process was interrupted before it called its command, the sealed arguments of the command are left.
    // They are dropped here.
    if let Some(before) = process.continues {
        commands::forget_arguments(world, before, &mut batch);
    }
    if let Some(arguments) = draft.arguments.take() {
        command_arguments::put(world, id, &arguments, &mut batch);
    }
    for element in std::mem::take(&mut draft.enrolled) {
        batch = batch.put_element(element);
    }
    world.pairs.put_parted(&mut world.secrets, &mut batch);
    let steps = u32::try_from(draft.plan.work().count()).unwrap_or(u32::MAX);
    let (intent, application) = (process.intent.clone(), process.application);
    let started = Happening::ProcessStarted { intent, application, steps };
    batch = batch.put_process(process.clone()).event(event(world, Some(id), now, started));
    if !draft.resumes {
        batch.extend(count_heals(world, process));
    }
    if draft.is_new_version {
        batch = batch.put_version(VersionRecord { process: id, assembly: world.assembly.clone() });
    }
    for (element, from, to) in states {
        let changed = Happening::StateChanged { element, from, to };
        batch = batch.event(event(world, Some(id), now, changed));
    }
    for name in &draft.broken {
        let Some(record) = world.elements.get_mut(name).filter(|record| record.state == State::Active) else {
            continue;
        };
        record.enter(State::Broken, now);
        let broken =
            Happening::StateChanged { element: name.clone(), from: State::Active, to: State::Broken };
        batch = batch.put_element(record.clone()).event(event(world, Some(id), now, broken));
    }
    batch
}

/// Updates [`ElementRecord::heals`] of all elements. This number counts the repairs of an element by heal policies.
/// The transaction that records the start of a heal contains the new count, so a crash of the daemon does not lose it.
///
/// - If a heal policy started the process, the count of the repaired element grows by 1.
/// - If an operator requested the process, the counts of all elements become 0.
/// - All other processes leave the counts unchanged.
fn count_heals(world: &mut World, process: &ProcessRecord) -> Vec<Change> {
    let is_asked = !process.unattended || process.request.is_some();
    let restarted = process.intent.restarts();
    let counted = |record: &ElementRecord| match restarted {
        _ if is_asked => 0,
        Some(part) if *part == record.name => record.heals.saturating_add(1),
        _ => record.heals,
    };
    let mut changes = Vec::new();
    for record in world.elements.values_mut() {
        let heals = counted(record);
        if heals != record.heals {
            record.heals = heals;
            changes.push(Change::PutElement(Box::new(record.clone())));
        }
    }
    changes
}

pub(super) fn event(
    world: &World,
    process: Option<windlass_model::ProcessId>,
    at: Timestamp,
    body: Happening,
) -> EventDraft {
    EventDraft { at, assembly: world.assembly.name.clone(), process, body }
}
