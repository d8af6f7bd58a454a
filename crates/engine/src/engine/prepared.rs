//! Prepared processes, and their results.

use std::collections::BTreeMap;

use windlass_lifecycle::{Diff, Plan};
use windlass_model::record::{Intent, ProcessRecord, ProcessStatus};
use windlass_model::resolve::Resolved;
use windlass_model::{PropertyName, State, Topology};
use windlass_store::Snapshot;

use super::consent::Consent;
use super::core::{Engine, Options};
use super::draft::Draft;
use crate::error::EngineError;
use crate::host::JournalParts;
use crate::keeper::Renewal;
use crate::machine::{Machine, Tally};
use crate::outdated_inputs::{OutdatedInputs, outdated_inputs};
use crate::stop::Stop;
use crate::values;
use crate::world::World;

/// A recorded process that is ready to run, with its lease.
///
/// Its leases are renewed in the background, so a person can take any time to decide. If it is dropped, the
/// leases are released in the background, and the process stays recorded as interrupted. To record it as
/// cancelled instead, run it with a [`Stop`] that is already triggered.
#[must_use = "nothing happens before it is run"]
pub struct Prepared {
    pub(super) engine: Engine,
    pub(super) renewal: Renewal,
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
    /// The consent for a further process that [continues](Self::continued).
    pub consent: Consent,
}

impl Prepared {
    /// Takes over a recorded process with its lease.
    pub(super) fn new(engine: Engine, renewal: Renewal, draft: Draft, process: ProcessRecord) -> Self {
        let Draft { world, plan, diff, undone, consent, .. } = draft;
        renewal.add(world.foreign_assemblies.values().map(|foreign| foreign.lease.clone()));
        Self { engine, renewal, world, process, plan, diff, undone, consent }
    }

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
    /// Dropping the returned future interrupts the process: running jobs continue, the lease is released in the
    /// background, and the same intent resumes. `stop` ends the process in order.
    ///
    /// # Errors
    /// An error of the store. Committed changes remain, and the same intent resumes from them.
    /// [`LeaseLost`](windlass_store::StoreError::LeaseLost) if the lease was lost before the process ran.
    pub async fn run(self, stop: &Stop) -> Result<Ended, EngineError> {
        let Self { engine, mut renewal, world, process, plan, diff: _, undone: _, consent } = self;
        let host = engine.host(renewal.lease(), &world, stop);
        let mut machine = Machine::run(engine.tools(), world, plan, process.clone(), engine.env.clock.now());
        let Options { grace, patience, .. } = engine.options;
        let parts = JournalParts { grace, patience, ..JournalParts::default() };
        let result = match renewal.failure() {
            None => host.run(&mut machine, parts, renewal.lost()).await,
            Some(lost) => Err(lost),
        };
        engine.leave(host.beside).await;
        let released = renewal.release().await;
        result?;
        released?;
        Ok(Ended {
            process: machine.process().cloned().unwrap_or(process),
            tally: machine.tally,
            goal: machine.world.assembly.goal,
            reached: machine.world.reached(),
            limited: machine.world.limited,
            outdated: outdated_inputs(&machine.world),
            outputs: values::outputs(&machine.world),
            consent: consent.for_another(),
        })
    }
}

impl Ended {
    /// Continues with [`Intent::Retry`] until all parts have the current input values. Returns the last result.
    ///
    /// An output that changes while a process runs leaves its readers with outdated inputs, which another
    /// process updates. `retry` gets the previous result, executes the intent, and returns the next result.
    ///
    /// It is called only after a completed `up` or rollback of the whole assembly, and only while retries help:
    /// not if a process has left the same inputs outdated as the one before.
    ///
    /// # Errors
    /// The error of `retry`.
    pub async fn continued<E, F>(self, mut retry: impl FnMut(Self) -> F) -> Result<Self, E>
    where
        F: Future<Output = Result<Self, E>>,
    {
        let (mut ended, mut left) = (self, OutdatedInputs::default());
        while ended.needs_retry(&left) {
            left.clone_from(&ended.outdated);
            ended = retry(ended).await?;
        }
        Ok(ended)
    }

    /// Tells whether a retry helps. `left` has the outdated inputs after the previous process.
    fn needs_retry(&self, left: &OutdatedInputs) -> bool {
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
        let outdated = world.as_ref().map(outdated_inputs).unwrap_or_default();
        let outputs = world.as_ref().map(values::outputs).unwrap_or_default();
        Self { process, tally, goal, reached, limited: true, outdated, outputs, consent: Consent::None }
    }
}
