//! Executes intents under the lease of their assembly.

mod call;
mod discover;
mod draft;
mod env;
mod look;
mod prune;
mod queue;
mod references;
mod request;
mod settle;
mod transfer;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use windlass_lifecycle::Diff;
use windlass_lifecycle::Plan;
use windlass_model::assembly::PackageDigest;
use windlass_model::record::{
    AssemblyRecord, ElementRecord, Event as Happening, EventDraft, Intent, PairKey, PlanText, ProcessRecord,
    ProcessStatus, VersionRecord,
};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::resolve::Resolved;
use windlass_model::{
    AssemblyName, DescriptorName, ElementName, ProcessId, PropertyName, State, Timestamp, Topology,
};
use windlass_secret::Sensitive;
use windlass_store::{Batch, Change, Holder, Lease, Snapshot, Store};

use crate::error::EngineError;
use crate::host::{Host, JournalParts};
use crate::keeper;
use crate::machine::{Machine, Pace, Tally, Tools};
use crate::monitor::Monitor;
use crate::stop::Stop;
use crate::world::World;

pub(crate) use discover::ByQueries;
pub use discover::DiscoveryQuery;
pub use env::EngineEnv;
pub(crate) use look::Look;
pub use look::Seen;
pub use prune::Pruned;
pub use references::{Offer, offer};
pub use request::{
    Answer, Argument, Arguments, Desired, PlanFingerprint, PublishedOutputs, Request, UpOptions, fingerprint,
};
pub use transfer::{Bundle, HandOver};

use draft::{Draft, PreviousState};

/// The settings of execution.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Maximum number of concurrent driver calls.
    pub parallelism: usize,
    /// Delay before the first observation of a converging instance. It grows with each observation.
    pub poll: Duration,
    /// Time that a cancelled job has to end by itself.
    pub grace: Duration,
    /// Time that running jobs have to end after another process has requested a stop. It also bounds the wait
    /// for the lease of another assembly.
    pub patience: Duration,
    /// Whether an assembly may be removed or changed although others reference it.
    pub force: bool,
}

impl Default for Options {
    /// Returns 8 concurrent calls, a first observation after 500 ms, and 10 s of grace and of patience.
    fn default() -> Self {
        Self {
            parallelism: 8,
            poll: Duration::from_millis(500),
            grace: Duration::from_secs(10),
            patience: Duration::from_secs(10),
            force: false,
        }
    }
}

/// An engine, which executes intents on one store.
#[derive(Clone)]
pub struct Engine {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The environment: drivers, places, clock.
    pub env: EngineEnv,
    /// The settings.
    pub options: Options,
}

/// A preview of an intent.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The plan.
    pub plan: Plan,
    /// The changes that the plan makes.
    pub diff: Diff,
    /// Changes that the plan omits because it is limited to some elements.
    pub undone: Diff,
    /// The desired assembly.
    pub assembly: AssemblyRecord,
    /// The intent that would be recorded.
    pub intent: Intent,
    /// Whether the assembly already exists.
    pub exists: bool,
}

impl Preview {
    fn of(draft: Draft, exists: bool) -> Self {
        let Draft { world, plan, diff, undone, intent, .. } = draft;
        Self { plan, diff, undone, assembly: world.assembly, intent, exists }
    }
}

/// A recorded process that is ready to run, with its lease.
#[must_use = "nothing happens before it is run"]
pub struct Prepared {
    engine: Engine,
    lease: Lease,
    world: World,
    process: ProcessRecord,
    plan: Plan,
    diff: Diff,
    undone: Diff,
}

/// The result of a process.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The process.
    pub process: ProcessRecord,
    /// The number of steps, by result.
    pub tally: Tally,
    /// The desired state of all elements.
    pub goal: State,
    /// The lowest state of a resource; the goal if there are no resources.
    pub reached: State,
    /// Whether the process was limited to some elements; also `true` if that is unknown.
    pub limited: bool,
    /// Elements and relationships with outdated inputs. Another plan updates them.
    pub outdated: OutdatedInputs,
    /// The assembly's output properties.
    pub outputs: BTreeMap<PropertyName, Resolved>,
}

/// Elements and relationships with outdated inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutdatedInputs {
    /// Elements that read changed values.
    pub parts: Vec<ElementName>,
    /// Relationships that were created with former values.
    pub pairs: Vec<PairKey>,
}

impl OutdatedInputs {
    /// Tells whether all inputs are current.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.pairs.is_empty()
    }
}

impl Ended {
    /// Tells whether the caller continues with [`Intent::Retry`], because inputs became outdated meanwhile.
    ///
    /// This applies to a completed `up` or rollback of the whole assembly. `left` has the outdated inputs after
    /// the previous process. If they are still the same, another retry would not help.
    pub fn goes_on(&self, left: &OutdatedInputs) -> bool {
        let is_whole = self.process.status == ProcessStatus::Completed && !self.limited;
        let is_left = !self.outdated.is_empty() && self.outdated != *left;
        is_whole && is_left && matches!(self.process.intent, Intent::Up | Intent::Rollback(_))
    }

    /// Builds the result of a process from the present records of its assembly. A removed assembly yields
    /// default values.
    pub fn of(process: ProcessRecord, tally: Tally, snapshot: Option<Snapshot>) -> Self {
        let world = snapshot.map(World::load);
        let (goal, reached) =
            world.as_ref().map_or_else(Default::default, |world| (world.assembly.goal, world.reached()));
        let outdated = world.as_ref().map(World::outdated_inputs).unwrap_or_default();
        let outputs = world.map(|world| world.outputs()).unwrap_or_default();
        Self { process, tally, goal, reached, limited: true, outdated, outputs }
    }
}

impl Engine {
    /// Previews an intent, without changing anything.
    ///
    /// # Errors
    /// The reason why the intent is refused.
    pub async fn preview(
        &self,
        name: &AssemblyName,
        request: impl Into<Request>,
    ) -> Result<Preview, EngineError> {
        let request = request.into();
        let mut snapshot = self.store.load(name).await?;
        let exists = snapshot.is_some();
        if !exists && request.desired.is_none() {
            return Err(self.unknown(name).await?);
        }
        if let Some(recorded) = snapshot.take() {
            snapshot = Some(self.supposed(name, recorded, request.answer.clone()).await?);
        }
        let previous = self.previous(&request.intent, snapshot.as_ref()).await?;
        let goes_on = request.intent == Intent::Retry;
        let draft = self.env.draft(request, snapshot, previous)?;
        if !goes_on {
            self.refuse_if_referenced(&draft).await?;
        }
        Ok(Preview::of(draft, exists))
    }

    /// Takes the lease, settles the open calls of earlier processes, plans the intent, and records the process.
    ///
    /// # Errors
    /// The reason why the intent is refused. The lease is released then.
    pub async fn prepare(
        &self,
        name: &AssemblyName,
        request: impl Into<Request>,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        let request = request.into();
        let lease = self.store.lease(name, holder).await?;
        match self.prepare_kept(&lease, name, request, stop, None).await {
            Ok((draft, process)) => {
                let Draft { world, plan, diff, undone, .. } = draft;
                Ok(Prepared { engine: self.clone(), lease, world, process, plan, diff, undone })
            }
            Err(error) => Err(self.give_back(lease, error).await),
        }
    }

    /// Prepares while the lease is renewed, since settling open calls may take long.
    async fn prepare_kept(
        &self,
        lease: &Lease,
        name: &AssemblyName,
        request: Request,
        stop: &Stop,
        queued: Option<&RequestRecord>,
    ) -> Result<(Draft, ProcessRecord), EngineError> {
        let prepared = Box::pin(self.prepare_under(lease, name, request, stop, queued));
        keeper::keeping(self.store.clone(), lease, prepared).await
    }

    async fn prepare_under(
        &self,
        lease: &Lease,
        name: &AssemblyName,
        request: Request,
        stop: &Stop,
        queued: Option<&RequestRecord>,
    ) -> Result<(Draft, ProcessRecord), EngineError> {
        let snapshot = Box::pin(self.settled(lease, name, request.answer.clone(), stop)).await?;
        if snapshot.is_none() && request.desired.is_none() {
            return Err(self.unknown(name).await?);
        }
        let continues = snapshot.as_ref().and_then(|s| s.processes.last().map(|p| p.id));
        let previous = self.previous(&request.intent, snapshot.as_ref()).await?;
        // A retry was checked when its intent was first prepared.
        let goes_on = request.intent == Intent::Retry;
        let mut draft = self.env.draft(request, snapshot, previous)?;
        if !goes_on {
            self.refuse_if_referenced(&draft).await?;
        }
        if !self.options.force {
            self.refuse_if_entangled(name).await?;
        }
        // A newly referenced assembly must exist until the reference is recorded. The lease of an assembly on
        // whose elements operations are called is held until these have ended.
        let visits = self.visit(lease, &draft, stop).await?;
        let called = draft::called_on(&draft);
        let (kept, passed): (Vec<Lease>, Vec<Lease>) =
            visits.into_iter().partition(|visit| called.contains(&visit.scope));
        let begun = match self.foreign_assemblies(kept).await {
            Ok(foreign_assemblies) => {
                draft.world.foreign_assemblies = foreign_assemblies;
                if stop.soon.is_cancelled() {
                    Err(EngineError::Stopped)
                } else {
                    self.begin(lease, &mut draft, continues, queued).await
                }
            }
            Err(error) => Err(error),
        };
        self.leave(passed).await;
        match begun {
            Ok(process) => Ok((draft, process)),
            Err(error) => {
                self.leave(draft.world.take_leases()).await;
                Err(error)
            }
        }
    }

    /// Records that elements have recovered, which resets their count of heals.
    ///
    /// # Errors
    /// [`EngineError::Store`] if another holder has the lease, or the store fails. The caller can try again
    /// later.
    pub async fn note_well(
        &self,
        name: &AssemblyName,
        parts: &[ElementName],
        holder: &Holder,
    ) -> Result<(), EngineError> {
        let lease = self.store.lease(name, holder).await?;
        let noted = self.note_well_under(&lease, parts).await;
        let released = self.store.release(lease).await;
        noted?;
        Ok(released?)
    }

    async fn note_well_under(&self, lease: &Lease, parts: &[ElementName]) -> Result<(), EngineError> {
        let Some(mut snapshot) = self.store.load(&lease.scope).await? else { return Ok(()) };
        let mut batch = Batch::new();
        for part in parts {
            if let Some(record) = snapshot.elements.remove(part).filter(|record| record.heals > 0) {
                batch = batch.put_element(ElementRecord { heals: 0, ..record });
            }
        }
        if !batch.is_empty() {
            self.store.commit(lease, batch).await?;
        }
        Ok(())
    }

    async fn unknown(&self, name: &AssemblyName) -> Result<EngineError, EngineError> {
        let known = self.store.assembly_names().await?;
        Ok(EngineError::Unknown { name: name.clone(), known })
    }

    /// Reads the past that a draft needs.
    async fn previous(
        &self,
        intent: &Intent,
        snapshot: Option<&Snapshot>,
    ) -> Result<PreviousState, EngineError> {
        let Some(snapshot) = snapshot else { return Ok(PreviousState::default()) };
        let name = &snapshot.assembly.name;
        let unfinished = match intent {
            Intent::ScaleOut(_) | Intent::ScaleIn(_) | Intent::Rollback(None) => {
                self.unfinished(name).await?
            }
            _ => None,
        };
        // The versions since the last reached one describe everything that exists.
        let reached = snapshot.assembly.reached.unwrap_or(ProcessId(0));
        let versions = match (intent, &unfinished) {
            (Intent::Rollback(Some(to)), _) | (Intent::Rollback(None), Some(Intent::Rollback(Some(to)))) => {
                self.store.versions_since(name, reached.min(*to)).await?
            }
            (Intent::Rollback(None), _) => {
                let before = snapshot.assembly.version.map_or(0, |version| version.0.saturating_sub(1));
                self.store.versions_since(name, reached.min(ProcessId(before))).await?
            }
            _ if draft::is_mixed(snapshot) => self.store.versions_since(name, reached).await?,
            _ => Vec::new(),
        };
        let made = snapshot.elements.values().filter_map(|element| Some(&element.made.as_ref()?.package));
        let mut digests: BTreeMap<&PackageDigest, Option<&DescriptorName>> =
            made.map(|digest| (digest, None)).collect();
        // Versions from before the last removal are only history, and their packages are gone.
        let of_versions = versions.iter().flat_map(|version| version.assembly.packages.values());
        digests.extend(of_versions.map(|digest| (digest, None)));
        digests.extend(snapshot.assembly.packages.iter().map(|(name, digest)| (digest, Some(name))));
        let mut packages = HashMap::new();
        for (digest, descriptor) in digests {
            if let Some(package) = self.package(digest, descriptor).await? {
                packages.insert(digest.clone(), Arc::new(package));
            }
        }
        let target = match intent {
            Intent::Retry => self.last_target(name).await?,
            _ => BTreeSet::new(),
        };
        Ok(PreviousState { versions, packages, unfinished, target })
    }

    /// Returns the intent of the last process, unless that process has completed.
    async fn unfinished(&self, name: &AssemblyName) -> Result<Option<Intent>, EngineError> {
        let last = self.store.processes_of(name, None, 1).await?.pop();
        Ok(last.filter(|process| process.status != ProcessStatus::Completed).map(|process| process.intent))
    }

    /// Returns the elements that the last intent was limited to. Heals and calls are skipped, since they leave
    /// the desired assembly unchanged.
    async fn last_target(&self, name: &AssemblyName) -> Result<BTreeSet<ElementName>, EngineError> {
        const PAGE: usize = 16;
        let mut before = None;
        loop {
            let page = self.store.processes_of(name, before, PAGE).await?;
            let is_last = page.len() < PAGE;
            before = page.last().map(|process| process.id);
            match page
                .into_iter()
                .find(|process| !matches!(process.intent, Intent::Heal(_) | Intent::Call { .. }))
            {
                Some(process) => return Ok(process.target),
                None if is_last => return Ok(BTreeSet::new()),
                None => {}
            }
        }
    }

    async fn give_back(&self, lease: Lease, error: EngineError) -> EngineError {
        // The caller needs the first error, not a failure to release the lease.
        let _ = self.store.release(lease).await;
        error
    }

    /// Records a new process durably, with everything that it needs.
    async fn begin(
        &self,
        lease: &Lease,
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
            status: ProcessStatus::InProgress,
            plan: PlanText::new(&draft.plan).expect("a plan is plain data"),
            continues,
            from: Some(self.env.home.clone()),
            request: request.map(|request| request.id),
            unattended: lease.holder.serves,
            target: draft.target.clone(),
            created: now,
            ended: None,
            reason: None,
        };
        let mut batch = beginning(draft, &process);
        if let Some(request) = request {
            // The same batch ends the request, so that it is executed only once.
            batch = batch.end_request(RequestRecord { status: RequestStatus::Begun(id), ..request.clone() });
        }
        self.store.commit(lease, batch).await?;
        Ok(process)
    }

    fn tools(&self) -> Tools {
        Tools {
            store: self.store.id().clone(),
            drivers: self.env.drivers.clone(),
            places: self.env.places.clone(),
            pace: Pace { parallelism: self.options.parallelism.max(1), poll: self.options.poll },
        }
    }

    fn host(&self, lease: &Lease, world: &World, stop: &Stop) -> Host {
        Host {
            store: self.store.clone(),
            lease: lease.clone(),
            beside: world.foreign_assemblies.values().map(|foreign| foreign.lease.clone()).collect(),
            clock: self.env.clock.clone(),
            places: self.env.places.clone(),
            // A stop request for this process must not stop others in this program.
            stop: stop.of_one(),
        }
    }
}

/// Returns the batch that begins a process.
fn beginning(draft: &mut Draft, process: &ProcessRecord) -> Batch {
    let (id, now) = (process.id, process.created);
    let mut batch = Batch::new();
    for package in &draft.packages {
        batch = batch.put_package(package.to_record());
    }
    let world = &mut draft.world;
    batch = batch.put_assembly(world.assembly.clone());
    for (secret, value) in &draft.secrets {
        let bytes = Sensitive::new(value.expose().clone().into_bytes());
        batch = batch.put_secret(secret.clone(), world.assembly.name.clone(), bytes);
    }
    // An interrupted process whose call has not begun leaves its arguments.
    if let Some(before) = process.continues {
        world.drop_arguments(before, &mut batch);
    }
    if let Some(arguments) = draft.arguments.take() {
        batch = call::put_arguments(batch, world, id, &arguments);
    }
    for element in std::mem::take(&mut draft.enrolled) {
        batch = batch.put_element(element);
    }
    world.note_parted(&mut batch);
    let steps = u32::try_from(draft.plan.work().count()).unwrap_or(u32::MAX);
    let started = Happening::ProcessStarted { intent: draft.intent.clone(), steps };
    batch = batch.put_process(process.clone()).event(event(world, Some(id), now, started));
    batch.extend(count_heals(world, process));
    if draft.is_new_version {
        batch = batch.put_version(VersionRecord { process: id, assembly: world.assembly.clone() });
    }
    for name in &draft.broken {
        let Some(record) = world.elements.get_mut(name).filter(|record| record.state == State::Active) else {
            continue;
        };
        record.state = State::Broken;
        record.since = now;
        let broken =
            Happening::StateChanged { element: name.clone(), from: State::Active, to: State::Broken };
        batch = batch.put_element(record.clone()).event(event(world, Some(id), now, broken));
    }
    batch
}

/// Counts a heal that a policy demanded. An operator's intent resets the counts of all elements. Other
/// processes of the daemon leave them unchanged.
fn count_heals(world: &mut World, process: &ProcessRecord) -> Vec<Change> {
    let is_asked = !process.unattended || process.request.is_some();
    let counted = |record: &ElementRecord| match &process.intent {
        _ if is_asked => 0,
        Intent::Heal(part) if *part == record.name => record.heals.saturating_add(1),
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

fn event(
    world: &World,
    process: Option<windlass_model::ProcessId>,
    at: Timestamp,
    body: Happening,
) -> EventDraft {
    EventDraft { at, assembly: world.assembly.name.clone(), process, body }
}

impl Prepared {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the changes that the plan makes.
    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    /// Returns the changes that the plan omits because the process is limited to some elements.
    pub fn undone(&self) -> &Diff {
        &self.undone
    }

    /// Returns the process as recorded at its beginning.
    pub fn process(&self) -> &ProcessRecord {
        &self.process
    }

    /// Returns the desired topology.
    pub fn topology(&self) -> &Topology {
        self.world.topology()
    }

    /// Runs the process to its end and releases the lease.
    ///
    /// # Errors
    /// An error of the store. Committed changes remain, and the same intent resumes from them.
    pub async fn run(self, stop: &Stop) -> Result<Ended, EngineError> {
        let Self { engine, lease, world, process, plan, diff: _, undone: _ } = self;
        let host = engine.host(&lease, &world, stop);
        let mut machine = Machine::run(engine.tools(), world, plan, process.clone(), engine.env.clock.now());
        let Options { grace, patience, .. } = engine.options;
        let parts = JournalParts { grace, patience, ..JournalParts::default() };
        let result = host.run(&mut machine, parts).await;
        engine.leave(host.beside).await;
        let released = engine.store.release(lease).await;
        result?;
        released?;
        Ok(Ended {
            process: machine.process().cloned().unwrap_or(process),
            tally: machine.tally,
            goal: machine.world.assembly.goal,
            reached: machine.world.reached(),
            limited: machine.world.limited,
            outdated: machine.world.outdated_inputs(),
            outputs: machine.world.outputs(),
        })
    }
}

/// Creates a monitor of the policies of a recorded assembly.
pub fn monitor_of(snapshot: Snapshot, now: Timestamp) -> Monitor {
    let world = World::load(snapshot);
    Monitor::new(world.topology(), &world, now)
}

/// Returns the output properties of a recorded assembly.
pub fn outputs(snapshot: Snapshot) -> BTreeMap<PropertyName, Resolved> {
    World::load(snapshot).outputs()
}
