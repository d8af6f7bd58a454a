//! Intents: what a user asks, carried out under the lease of its assembly.

mod means;
mod settle;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::Package;
use windlass_lifecycle::{down, up};
use windlass_model::record::{
    Event as Happening, EventDraft, Intent, PlanText, ProcessRecord, ProcessStatus,
};
use windlass_model::resolve::Resolved;
use windlass_model::{AssemblyName, DescriptorName, PropertyName, State, Timestamp, Topology};
use windlass_plan::Plan;
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Holder, Lease, Snapshot, Store};

use crate::error::EngineError;
use crate::host::{Host, JournalParts, Stop};
use crate::machine::{Machine, Pace, Tally, Tools};
use crate::world::World;

pub use means::Means;

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
    /// The drivers, the places, the time.
    pub means: Means,
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
        self.means.preview_up(snapshot, desired)
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
        let mut world = self.means.wanted(snapshot, desired)?;
        let mut enrolled = Vec::new();
        let now = self.means.clock.now();
        world.enroll(now, &*self.means.entropy, &mut enrolled);
        self.means.preflight(&world)?;
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
        world.assembly.updated = self.means.clock.now();
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
        let now = self.means.clock.now();
        let process = ProcessRecord {
            id,
            assembly: world.assembly.name.clone(),
            intent,
            status: ProcessStatus::InProgress,
            plan: PlanText::new(plan).expect("a plan is plain data"),
            continues,
            from: Some(self.means.home.clone()),
            created: now,
            ended: None,
            reason: None,
        };
        let steps = u32::try_from(plan.work().count()).unwrap_or(u32::MAX);
        let event = event(world, Some(id), now, Happening::ProcessStarted { intent, steps });
        self.store.commit(lease, batch.put_process(process.clone()).event(event)).await?;
        Ok(process)
    }
    fn tools(&self) -> Tools {
        Tools {
            store: self.store.id().clone(),
            drivers: self.means.drivers.clone(),
            places: self.means.places.clone(),
            pace: Pace { parallelism: self.options.parallelism.max(1), poll: self.options.poll },
        }
    }

    fn host(&self, lease: &Lease, stop: &Stop) -> Host {
        Host {
            store: self.store.clone(),
            lease: lease.clone(),
            clock: self.means.clock.clone(),
            places: self.means.places.clone(),
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
        let mut machine =
            Machine::run(engine.tools(), world, plan, process.clone(), engine.means.clock.now());
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
