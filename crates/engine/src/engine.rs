//! Intents: what a user asks, carried out under the lease of its assembly.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::{Package, Registry};
use windlass_lifecycle::{down, up};
use windlass_model::assembly::ElementKind;
use windlass_model::id::Entropy;
use windlass_model::record::{
    AssemblyRecord, CallRecord, CallState, Event as Happening, EventDraft, Intent, PlanText, ProcessRecord,
    ProcessStatus,
};
use windlass_model::resolve::Resolved;
use windlass_model::{Action, AssemblyName, Clock, DescriptorName, PropertyName, State, Timestamp, Topology};
use windlass_plan::Plan;
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Holder, Lease, Snapshot, Store};

use crate::changes::{Side, changes};
use crate::error::EngineError;
use crate::host::{Host, JournalParts, Stop};
use crate::machine::{Event, Machine, Pace, Tally, Tools};
use crate::places::Places;
use crate::world::World;

/// How fast, how often, how patient.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many driver calls run at once.
    pub parallelism: usize,
    /// How long to wait before looking again at an instance that is on its way; it grows with every look.
    pub poll: Duration,
    /// How long a job that is stopped may take to end by itself.
    pub grace: Duration,
}

impl Default for Options {
    /// Eight calls at once, a first look after half a second, ten seconds of grace.
    fn default() -> Self {
        Self { parallelism: 8, poll: Duration::from_millis(500), grace: Duration::from_secs(10) }
    }
}

/// Carries out intents on one store.
#[derive(Clone)]
pub struct Engine {
    /// What is remembered.
    pub store: Arc<dyn Store>,
    /// The drivers at hand.
    pub drivers: Registry,
    /// The locations and runtimes.
    pub places: Arc<dyn Places>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub entropy: Arc<dyn Entropy>,
    /// How fast, how often, how patient.
    pub options: Options,
}

/// An assembly as it should be, with all that is needed to make it so.
#[derive(Debug, Clone)]
pub struct Desired {
    /// What it should be.
    pub topology: Topology,
    /// The descriptor it was made from.
    pub descriptor: DescriptorName,
    /// The parameters it was asked with, without sensitive values.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The sensitive values that the topology refers to.
    pub secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// The packages of its resources.
    pub packages: Vec<Package>,
}

/// What an intent would do.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The plan.
    pub plan: Plan,
    /// Whether something of the assembly is there already.
    pub exists: bool,
}

/// A process that is ready to run, under its lease.
#[must_use = "nothing happens before it is run"]
pub struct Prepared {
    engine: Engine,
    lease: Lease,
    world: World,
    process: ProcessRecord,
    plan: Plan,
}

/// How a process ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The process.
    pub process: ProcessRecord,
    /// Its steps in numbers.
    pub tally: Tally,
    /// The assembly's output properties.
    pub outputs: BTreeMap<PropertyName, Resolved>,
}

impl Engine {
    /// Says what [`prepare_up`](Self::prepare_up) would plan, without changing anything.
    ///
    /// # Errors
    ///
    /// Whatever stands against bringing the assembly up.
    pub async fn preview_up(&self, desired: Desired) -> Result<Preview, EngineError> {
        let snapshot = self.store.load(desired.topology.name()).await?;
        let exists = snapshot.is_some();
        let mut world = self.wanted(snapshot, desired)?;
        world.enroll(self.clock.now(), &*self.entropy, &mut Vec::new());
        self.preflight(&world)?;
        let plan = up(&world.current(), world.topology(), &world)?;
        Ok(Preview { plan, exists })
    }

    /// Takes the lease, settles what earlier processes have left open, and plans the way up.
    ///
    /// # Errors
    ///
    /// Whatever stands against it; the lease is given back then.
    pub async fn prepare_up(
        &self,
        desired: Desired,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        let name = desired.topology.name().clone();
        let lease = self.store.lease(&name, holder).await?;
        match self.prepare_up_under(&lease, desired, stop).await {
            Ok((world, plan, process)) => Ok(Prepared { engine: self.clone(), lease, world, process, plan }),
            Err(error) => Err(self.give_back(lease, error).await),
        }
    }

    async fn prepare_up_under(
        &self,
        lease: &Lease,
        desired: Desired,
        stop: &Stop,
    ) -> Result<(World, Plan, ProcessRecord), EngineError> {
        let snapshot = self.settled(lease, desired.topology.name(), None, stop).await?;
        let continues = snapshot.as_ref().and_then(|s| s.processes.last().map(|p| p.id));
        let secrets = desired.secrets.clone();
        let packages: Vec<_> = desired.packages.iter().map(Package::to_record).collect();
        let mut world = self.wanted(snapshot, desired)?;
        let mut enrolled = Vec::new();
        let now = self.clock.now();
        world.enroll(now, &*self.entropy, &mut enrolled);
        self.preflight(&world)?;
        let plan = up(&world.current(), world.topology(), &world)?;
        let mut batch = Batch::new();
        for package in packages {
            batch = batch.put_package(package);
        }
        batch = batch.put_assembly(world.assembly.clone());
        for (secret, value) in secrets {
            let bytes = Sensitive::new(value.expose().clone().into_bytes());
            batch = batch.put_secret(secret, world.assembly.name.clone(), bytes);
        }
        for element in enrolled {
            batch = batch.put_element(element);
        }
        let process = self.begin(lease, &world, Intent::Up, &plan, continues, batch).await?;
        Ok((world, plan, process))
    }

    /// Takes the lease, settles what is open, and plans the way down.
    ///
    /// # Errors
    ///
    /// Whatever stands against it; the lease is given back then.
    pub async fn prepare_down(
        &self,
        name: &AssemblyName,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        self.prepare_stored(name, Some(Intent::Down), None, holder, stop).await
    }

    /// Goes on with what was asked of an assembly before, with the topology and packages that were pinned then.
    /// `assume` says of all calls whose end is not known whether they happened.
    ///
    /// # Errors
    ///
    /// Whatever stands against it; the lease is given back then.
    pub async fn prepare_retry(
        &self,
        name: &AssemblyName,
        assume: Option<bool>,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        self.prepare_stored(name, None, assume, holder, stop).await
    }

    async fn prepare_stored(
        &self,
        name: &AssemblyName,
        intent: Option<Intent>,
        assume: Option<bool>,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        let lease = self.store.lease(name, holder).await?;
        match self.prepare_stored_under(&lease, name, intent, assume, stop).await {
            Ok((world, plan, process)) => Ok(Prepared { engine: self.clone(), lease, world, process, plan }),
            Err(error) => Err(self.give_back(lease, error).await),
        }
    }

    async fn prepare_stored_under(
        &self,
        lease: &Lease,
        name: &AssemblyName,
        intent: Option<Intent>,
        assume: Option<bool>,
        stop: &Stop,
    ) -> Result<(World, Plan, ProcessRecord), EngineError> {
        let Some(snapshot) = self.settled(lease, name, assume, stop).await? else {
            let known = self.store.assemblies().await?.into_iter().map(|a| a.name).collect();
            return Err(EngineError::Unknown { name: name.clone(), known });
        };
        let continues = snapshot.processes.last().map(|process| process.id);
        let intent = intent.unwrap_or(match snapshot.assembly.goal {
            State::Absent => Intent::Down,
            _ => Intent::Up,
        });
        let mut world = World::load(snapshot);
        world.packages = self.pinned(&world.assembly).await?;
        let plan = match intent {
            Intent::Down => {
                world.assembly.goal = State::Absent;
                down(&world.current(), world.topology())?
            }
            _ => up(&world.current(), world.topology(), &world)?,
        };
        world.assembly.updated = self.clock.now();
        let batch = Batch::new().put_assembly(world.assembly.clone());
        let process = self.begin(lease, &world, intent, &plan, continues, batch).await?;
        Ok((world, plan, process))
    }

    async fn give_back(&self, lease: Lease, error: EngineError) -> EngineError {
        // The error matters more than a lease that is lost already.
        let _ = self.store.release(lease).await;
        error
    }

    /// Records a new process and makes it durable.
    async fn begin(
        &self,
        lease: &Lease,
        world: &World,
        intent: Intent,
        plan: &Plan,
        continues: Option<windlass_model::ProcessId>,
        batch: Batch,
    ) -> Result<ProcessRecord, EngineError> {
        let id = self.store.reserve_process().await?;
        let now = self.clock.now();
        let process = ProcessRecord {
            id,
            assembly: world.assembly.name.clone(),
            intent,
            status: ProcessStatus::InProgress,
            plan: PlanText::new(plan).expect("a plan is plain data"),
            continues,
            created: now,
            ended: None,
            reason: None,
        };
        let steps = u32::try_from(plan.work().count()).unwrap_or(u32::MAX);
        let event = event(world, Some(id), now, Happening::ProcessStarted { intent, steps });
        self.store.commit(lease, batch.put_process(process.clone()).event(event)).await?;
        Ok(process)
    }

    /// Lays what is wanted over what is there.
    fn wanted(&self, snapshot: Option<Snapshot>, desired: Desired) -> Result<World, EngineError> {
        let now = self.clock.now();
        let name = desired.topology.name().clone();
        let packages: HashMap<_, _> =
            desired.packages.into_iter().map(|package| (package.name().clone(), Arc::new(package))).collect();
        let record = |created: Timestamp| AssemblyRecord {
            name: name.clone(),
            descriptor: desired.descriptor.clone(),
            topology: desired.topology.clone(),
            goal: State::Active,
            parameters: desired.parameters.clone(),
            packages: World::pins(&packages),
            created,
            updated: now,
        };
        let mut world = match snapshot {
            None => World::new(record(now)),
            Some(snapshot) => {
                if snapshot.assembly.descriptor != desired.descriptor {
                    return Err(EngineError::NameTaken { name, other: snapshot.assembly.descriptor });
                }
                let created = snapshot.assembly.created;
                let mut world = World::load(snapshot);
                let elements = changes(
                    Side { topology: world.topology(), secrets: world.secrets() },
                    Side { topology: &desired.topology, secrets: &desired.secrets },
                    &world.elements,
                );
                if !elements.is_empty() {
                    return Err(EngineError::Changed { name, elements });
                }
                world.assembly = record(created);
                world
            }
        };
        world.packages = packages;
        world.add_secrets(&desired.secrets);
        Ok(world)
    }

    /// Looks whether every part has a place, a driver and a runtime, before anything is started.
    fn preflight(&self, world: &World) -> Result<(), EngineError> {
        let mut problems = Vec::new();
        let resources = world.topology().elements().iter().filter(|e| e.kind == ElementKind::Resource);
        let mut known = HashMap::new();
        for element in resources {
            let key = (world.placement(element), element.descriptor.clone());
            let problem = known.entry(key).or_insert_with_key(|(placement, _)| {
                let location = self.places.location(placement)?;
                self.places.runtime(&location)?;
                let package = world.package(element).map_err(|failure| failure.message)?;
                for transition in &element.transitions {
                    let action = Action::Transition(*transition);
                    let binding =
                        package.bindings().find(&action, &location.infrastructure).ok_or_else(|| {
                            format!(
                                "no driver for {transition} at infrastructure type `{}`",
                                location.infrastructure
                            )
                        })?;
                    if self.drivers.get(&binding.driver).is_none() {
                        let kinds: Vec<String> =
                            self.drivers.kinds().map(|kind| format!("`{kind}`")).collect();
                        return Err(format!(
                            "there is no driver `{}`; there are {}",
                            binding.driver,
                            kinds.join(", ")
                        ));
                    }
                }
                Ok::<(), String>(())
            });
            if let Err(why) = problem {
                problems.push(format!("`{}` can't be placed: {why}", element.name.local()));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(EngineError::Unplaceable(problems)) }
    }

    async fn pinned(
        &self,
        assembly: &AssemblyRecord,
    ) -> Result<HashMap<DescriptorName, Arc<Package>>, EngineError> {
        let mut packages = HashMap::new();
        for (name, digest) in &assembly.packages {
            let record = self.store.package(digest).await?;
            let record = record.ok_or_else(|| EngineError::PackageGone(name.clone()))?;
            let package = Package::from_record(record).map_err(|error| EngineError::PackageUnreadable {
                name: name.clone(),
                cause: error.to_string(),
            })?;
            packages.insert(name.clone(), Arc::new(package));
        }
        Ok(packages)
    }

    /// Loads an assembly with no call left open: what an earlier process has left is found out first.
    async fn settled(
        &self,
        lease: &Lease,
        name: &AssemblyName,
        assume: Option<bool>,
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
        let undecided: Vec<CallRecord> =
            snapshot.calls.iter().filter(|call| call.state == CallState::Undecided).cloned().collect();
        match (undecided.is_empty(), assume) {
            (true, Some(_)) => return Err(EngineError::NothingToDecide(name.clone())),
            (false, None) => {
                return Err(EngineError::NeedsDecision { name: name.clone(), calls: undecided });
            }
            (false, Some(done)) => {
                self.assume(lease, snapshot, undecided, done).await?;
                snapshot = self.reload(name).await?;
            }
            (true, None) => {}
        }
        snapshot.processes = interrupted;
        Ok(Some(snapshot))
    }

    async fn reload(&self, name: &AssemblyName) -> Result<Snapshot, EngineError> {
        let snapshot = self.store.load(name).await?;
        snapshot.ok_or_else(|| EngineError::Unknown { name: name.clone(), known: Vec::new() })
    }

    /// Makes the open calls again: jobs that have run answer from what they did.
    async fn settle(&self, lease: &Lease, snapshot: Snapshot, stop: &Stop) -> Result<(), EngineError> {
        let calls = snapshot.calls.clone();
        let jobs = snapshot.jobs.iter().map(|job| (job.id.clone(), job.clone())).collect();
        let mut world = World::load(snapshot);
        world.packages = self.pinned(&world.assembly).await?;
        let mut machine = Machine::settle(self.tools(), world, calls, self.clock.now());
        self.host(lease, stop).run(&mut machine, JournalParts { jobs, grace: self.options.grace }).await?;
        if stop.soon.is_cancelled() { Err(EngineError::Stopped) } else { Ok(()) }
    }

    /// Closes undecided calls as a person has said.
    async fn assume(
        &self,
        lease: &Lease,
        snapshot: Snapshot,
        calls: Vec<CallRecord>,
        done: bool,
    ) -> Result<(), EngineError> {
        let mut machine = Machine::settle(self.tools(), World::load(snapshot), Vec::new(), self.clock.now());
        for command in machine.on(self.clock.now(), Event::Assume { calls, done }) {
            if let crate::machine::Command::Commit { batch, .. } = command {
                self.store.commit(lease, batch).await?;
            }
        }
        Ok(())
    }

    /// Ends the processes whose owner is gone.
    async fn close(&self, lease: &Lease, snapshot: &Snapshot, stop: &Stop) -> Result<(), EngineError> {
        if stop.soon.is_cancelled() {
            return Err(EngineError::Stopped);
        }
        let now = self.clock.now();
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
        for runtime in self.places.runtimes() {
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

    fn tools(&self) -> Tools {
        Tools {
            store: self.store.id().clone(),
            drivers: self.drivers.clone(),
            places: self.places.clone(),
            pace: Pace { parallelism: self.options.parallelism.max(1), poll: self.options.poll },
        }
    }

    fn host(&self, lease: &Lease, stop: &Stop) -> Host {
        Host {
            store: self.store.clone(),
            lease: lease.clone(),
            clock: self.clock.clone(),
            places: self.places.clone(),
            stop: stop.clone(),
        }
    }
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

    /// Returns the process as it was begun.
    pub fn process(&self) -> &ProcessRecord {
        &self.process
    }

    /// Returns the assembly as it should be.
    pub fn topology(&self) -> &Topology {
        self.world.topology()
    }

    /// Runs the process to its end and gives the lease back.
    ///
    /// # Errors
    ///
    /// When the store fails. What was committed stays; the same intent again goes on from there.
    pub async fn run(self, stop: &Stop) -> Result<Ended, EngineError> {
        let Self { engine, lease, world, process, plan } = self;
        let mut machine = Machine::run(engine.tools(), world, plan, process.clone(), engine.clock.now());
        let parts = JournalParts { grace: engine.options.grace, ..JournalParts::default() };
        let result = engine.host(&lease, stop).run(&mut machine, parts).await;
        let released = engine.store.release(lease).await;
        result?;
        released?;
        Ok(Ended {
            process: machine.process().cloned().unwrap_or(process),
            tally: machine.tally,
            outputs: machine.world.outputs(),
        })
    }
}

/// Returns the output properties of an assembly as the store remembers it.
pub fn outputs(snapshot: Snapshot) -> BTreeMap<PropertyName, Resolved> {
    World::load(snapshot).outputs()
}
