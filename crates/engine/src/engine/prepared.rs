//! Prepared processes, and the results of processes.

use std::collections::BTreeMap;
use std::fmt;

use windlass_driver::Stop;
use windlass_lifecycle::{Diff, Plan};
use windlass_model::record::{Intent, ProcessRecord, ProcessStatus};
use windlass_model::resolve::Resolved;
use windlass_model::{ElementName, ProcessId, PropertyName, State, Topology};
use windlass_store::Snapshot;

use super::consent::{Consent, OmittedChanges};
use super::core::{Engine, Options};
use super::draft::Draft;
use super::look::Seen;
use super::request::Request;
use crate::dispatch::JournalParts;
use crate::error::EngineError;
use crate::keeper::Renewal;
use crate::machine::{ProcessMachine, Tally, demanding_groups};
use crate::outdated_inputs::{OutdatedInputs, outdated_inputs};
use crate::values;
use crate::world::World;

/// A recorded process that is ready to run, with its leases.
///
/// The leases are renewed in the background. So a person can think about the plan for hours before the process runs.
/// If a `Prepared` is dropped, the leases are released in the background, and the record of the process stays
/// open, as after an interruption. If a program runs the process with a [`Stop`] that is already requested, the
/// process is recorded as cancelled.
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
    pub(super) seen: Option<Vec<Seen>>,
    pub(super) omitted: Option<OmittedChanges>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("process", &self.process).finish_non_exhaustive()
    }
}

/// The result of a process.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The record of the ended process.
    pub process: ProcessRecord,
    /// The numbers of steps, by result.
    pub tally: Tally,
    /// The desired state of all elements.
    pub goal: State,
    /// The lowest state of all resources; the goal if the assembly has no resources.
    pub reached: State,
    /// Whether the process was limited to some elements; also `true` if this is unknown.
    pub limited: bool,
    /// The elements and pairs with outdated inputs. A retry updates these inputs; [`continued`](Self::continued) can
    /// request this retry.
    pub outdated: OutdatedInputs,
    /// The assembly's output properties.
    pub outputs: BTreeMap<PropertyName, Resolved>,
    /// The consent that [`continued`](Self::continued) passes on to a further process.
    pub consent: Consent,
    /// The first changed group that has failed and that demands a rollback. `None` if there is no such group, or if
    /// all parts of the assembly had already reached the desired version before the process.
    ///
    /// A group has failed if one of its nodes, or a relationship of one of its nodes, has failed. A group demands a
    /// rollback by the setting `on-failure` in the descriptor.
    pub failed_group: Option<ElementName>,
    /// The groups that still have additional nodes of a rolling change, each with the number of these nodes. A
    /// further process removes the additional nodes.
    pub surge: BTreeMap<ElementName, u32>,
    /// The last version that all parts had reached together before this process. The version is identified by the id
    /// of the process that wrote it. `None` if the parts have never reached a version together.
    pub last_reached: Option<ProcessId>,
    /// The failed process for which [`continued`](Self::continued) has run a rollback; `None` if there was no rollback.
    pub rolled_back: Option<ProcessId>,
}

impl Prepared {
    /// Creates the prepared process. From now on, `renewal` also renews the leases of the other assemblies on whose
    /// elements the process calls operations.
    pub(super) fn new(engine: Engine, renewal: Renewal, draft: Draft, process: ProcessRecord) -> Self {
        let Draft { world, plan, diff, undone, consent, seen, omitted, .. } = draft;
        renewal.add(world.foreign_assemblies.values().map(|foreign| foreign.lease.clone()));
        Self { engine, renewal, world, process, plan, diff, undone, consent, seen, omitted }
    }

    /// Returns the plan of the process.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the changes that the plan makes.
    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    /// Returns the changes that the plan omits, because the operator has limited the plan to some elements.
    pub fn undone(&self) -> &Diff {
        &self.undone
    }

    /// Returns the removals and replacements that the plan omits, because no user has permitted them; see
    /// [`resume`](crate::resume) and [`Request::of_policy`]. `None` if there are none.
    pub fn omitted(&self) -> Option<&OmittedChanges> {
        self.omitted.as_ref()
    }

    /// Returns the results of the health checks on which the plan is based; `None` if no health checks were made.
    pub fn seen(&self) -> Option<&[Seen]> {
        self.seen.as_deref()
    }

    /// Returns the record of the process, as it was when the process began.
    pub fn process(&self) -> &ProcessRecord {
        &self.process
    }

    /// Returns the desired topology.
    pub fn topology(&self) -> &Topology {
        self.world.topology()
    }

    /// Runs the process to its end, and releases its leases.
    ///
    /// If the returned future is dropped, the process is interrupted: running jobs continue, and the leases are
    /// released in the background. If the same intent is requested again later, a new process continues from the
    /// records. `stop` ends the process in an orderly way. If a daemon executes the process, the process then keeps the
    /// status `InProgress`, and the next daemon resumes it. Otherwise, its status is then `Cancelled`.
    ///
    /// # Errors
    /// An error of the store. Changes that are already committed remain.
    /// [`LeaseLost`](windlass_store::StoreError::LeaseLost) if the lease was lost before the process ran.
    pub async fn run(self, stop: &Stop) -> Result<Ended, EngineError> {
        let Self { engine, mut renewal, world, process, plan, diff, consent, .. } = self;
        let env = engine.process_env(renewal.lease(), &world, stop);
        let groups = demanding_groups(world.topology(), &diff);
        let mut machine =
            ProcessMachine::run(engine.tools(), world, plan, process.clone(), engine.env.clock.now())
                .with_demanding_groups(groups);
        // The daemon does not call an interrupted command again.
        if process.unattended && !matches!(process.intent, Intent::Call { .. }) {
            machine = machine.with_daemon_shutdown(stop.clone());
        }
        let Options { grace, patience, .. } = engine.options;
        let parts = JournalParts { grace, patience, ..JournalParts::default() };
        let result = match renewal.failure() {
            // Boxed because of its size.
            None => Box::pin(env.run(&mut machine, parts, renewal.lost())).await,
            Some(lost) => Err(lost),
        };
        renewal.release().await;
        result?;
        Ok(Ended {
            failed_group: machine.failed_group(),
            last_reached: machine.world.assembly.reached,
            rolled_back: None,
            surge: machine.world.assembly.surge.clone(),
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

/// The maximum number of processes that [`Ended::continued`] runs to remove the temporary nodes of a rolling change.
/// Usually one such process removes them all. But if the process also updates nodes, it may leave new temporary nodes.
const MOST_CLOSINGS: u32 = 3;

impl Ended {
    /// Runs further processes, as long as a further process is needed. Returns the result of the last process. If a
    /// rollback has completed, and the further processes only removed its additional nodes, the result contains the
    /// record of the rollback.
    ///
    /// The function `next` runs one further process: `next` gets the result of the previous process and a request,
    /// executes the request, and returns the result. A further process is needed in three cases:
    ///
    /// - A batch of nodes has failed, and its group demands a rollback. [`Intent::Rollback`] restores the version in
    ///   [`last_reached`](Self::last_reached). The demand in the descriptor is the consent to this rollback.
    /// - A completed change has left additional nodes. [`Intent::Retry`] removes them, which needs no consent.
    /// - An output has changed while the process ran, so other elements have outdated inputs. [`Intent::Retry`]
    ///   updates them. This retry is requested only after a completed `up` or rollback of the whole assembly. If
    ///   the same inputs are still outdated after the retry, the retry is not repeated.
    ///
    /// # Errors
    /// The error of `next`.
    pub async fn continued<E, F>(self, mut next: impl FnMut(Self, Request) -> F) -> Result<Self, E>
    where
        F: Future<Output = Result<Self, E>>,
    {
        let (mut ended, mut left) = (self, OutdatedInputs::default());
        let mut closings = 0;
        loop {
            let rolled_back = if ended.needs_rollback() { Some(ended.process.id) } else { ended.rolled_back };
            let request = if ended.needs_rollback() {
                Request::from(Intent::Rollback(ended.last_reached))
            } else if ended.needs_closing() && closings < MOST_CLOSINGS {
                closings += 1;
                Request::from(Intent::Retry).with_consent(ended.consent.clone())
            } else if ended.needs_retry(&left) {
                Request::from(Intent::Retry).with_consent(ended.consent.clone())
            } else {
                return Ok(ended);
            };
            left.clone_from(&ended.outdated);
            let is_rollback = rolled_back.is_some() && ended.needs_closing();
            let rollback = is_rollback.then(|| Box::new(ended.process.clone()));
            // Boxed because of its size.
            ended = Self { rolled_back, ..Box::pin(next(ended, request)).await? };
            if let Some(rollback) = rollback
                && ended.process.status == ProcessStatus::Completed
            {
                ended.process = *rollback;
            }
        }
    }

    /// Tells whether a further process must now roll the assembly back. Two conditions must hold: this program has
    /// executed the ended process, and the ended process demands a rollback ([`ProcessRecord::follow_up`]).
    pub fn needs_rollback(&self) -> bool {
        self.failed_group.is_some() && self.process.follow_up.is_some()
    }

    /// Tells whether one more process must run after this process, to remove the additional nodes of groups.
    ///
    /// A group gets additional nodes for a rolling change. Some of these nodes may be left when the process ends.
    pub fn needs_closing(&self) -> bool {
        self.process.status == ProcessStatus::Completed && !self.limited && !self.surge.is_empty()
    }

    /// Tells whether one more process must run, to update outdated inputs. The field `outdated` contains the inputs
    /// that are outdated after this process. `left` contains the inputs that were outdated after the previous process;
    /// `left` is empty for the first process. If both contain the same inputs, the result is `false`, because one more
    /// process would not help.
    fn needs_retry(&self, left: &OutdatedInputs) -> bool {
        let is_whole = self.process.status == ProcessStatus::Completed && !self.limited;
        let is_left = !self.outdated.is_empty() && self.outdated != *left;
        is_whole && is_left && self.process.intent.updates_all()
    }

    /// Builds the result of a process from the present records of its assembly. If the assembly was removed,
    /// the result contains default values.
    pub fn of(process: ProcessRecord, tally: Tally, snapshot: Option<Snapshot>) -> Self {
        let surge = snapshot.as_ref().map(|snapshot| snapshot.assembly.surge.clone()).unwrap_or_default();
        let world = snapshot.map(World::load);
        let (goal, reached) =
            world.as_ref().map_or_else(Default::default, |world| (world.assembly.goal, world.reached()));
        let outdated = world.as_ref().map(outdated_inputs).unwrap_or_default();
        let outputs = world.as_ref().map(values::outputs).unwrap_or_default();
        Self {
            process,
            tally,
            goal,
            reached,
            limited: true,
            outdated,
            outputs,
            consent: Consent::None,
            failed_group: None,
            last_reached: None,
            surge,
            rolled_back: None,
        }
    }
}
