//! Prepared processes, and their results.

use std::collections::BTreeMap;

use windlass_lifecycle::{Diff, Plan};
use windlass_model::record::{Intent, ProcessRecord, ProcessStatus};
use windlass_model::resolve::Resolved;
use windlass_model::{PropertyName, State, Topology};
use windlass_store::{Lease, Snapshot};

use super::consent::Consent;
use super::core::{Engine, Options};
use crate::error::EngineError;
use crate::host::JournalParts;
use crate::machine::{Machine, Tally};
use crate::outdated_inputs::OutdatedInputs;
use crate::stop::Stop;
use crate::world::World;

/// A recorded process that is ready to run, with its lease.
#[must_use = "nothing happens before it is run"]
pub struct Prepared {
    pub(super) engine: Engine,
    pub(super) lease: Lease,
    pub(super) world: World,
    pub(super) process: ProcessRecord,
    pub(super) plan: Plan,
    pub(super) diff: Diff,
    pub(super) undone: Diff,
    pub(super) consent: Consent,
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
    /// The consent for a further process that [goes on](Self::goes_on).
    pub consent: Consent,
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
        let Self { engine, lease, world, process, plan, diff: _, undone: _, consent } = self;
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
            consent: consent.for_another(),
        })
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
        Self { process, tally, goal, reached, limited: true, outdated, outputs, consent: Consent::None }
    }
}
