//! The machine that executes a plan: a [`Machine`] of the [host](crate::host).
//!
//! A step makes its calls one after another. For each call, the machine does the following:
//!
//! 1. It records the call durably.
//! 2. It lets the driver perform the call.
//! 3. It applies the report, and observes the instance while the instance converges.
//! 4. It records in one batch the end of the call, all changes, and the new state of the element.
//!
//! When the batch with the end of the step is durable, the steps that wait for the step may start.

mod call_run;
mod calls;
mod effects;
mod failed;
mod prepare;
mod queues;
mod ready;
mod rollback;
mod steps;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_driver::{Call, Driver, Observed, Registry, Report, Stop};
use windlass_lifecycle::Plan;
use windlass_model::assembly::OperationCall;
use windlass_model::id::StoreId;
use windlass_model::record::{
    Advance, Assumption, CallRecord, CallState, Event as Happening, EventDraft, Failure, Intent, PairKey,
    ProcessRecord, ProcessStatus, StepEnd,
};
use windlass_model::work::Work;
use windlass_model::{CallId, CommandName, ElementName, ProcessId, Side, State, Timestamp, Transition};
use windlass_plan::PlanBuilder;
use windlass_secret::SecretRef;
use windlass_store::{Batch, Change, Claim};

use self::call_run::CallRun;
use self::failed::FailedParts;
pub(crate) use self::prepare::{Look, Preparer, ReadyLook};
use self::queues::{Queues, StepKey};
pub(crate) use self::rollback::demanding_groups;
use crate::commands;
use crate::engine::PublishedOutputs;
use crate::host::{Input, Machine, Output};
use crate::journal::CallArtifacts;
use crate::places::Places;
use crate::runner::Runner;
use crate::slots::{JobSlot, LimitedLocation};
use crate::world::World;

/// An event of the machine: the result of a [`Command`] of the machine, or a message of a driver or an operator.
#[derive(Debug)]
pub(crate) enum Event {
    /// A batch of records is durable.
    Durable(Vec<Ack>),
    /// A driver has answered [`Command::Perform`]. `artifacts` contains, for example, the records of the call's jobs.
    Performed { call: CallId, result: Result<Report, Failure>, artifacts: CallArtifacts },
    /// A driver has answered [`Command::Observe`], with an observation or with a failure.
    Observed { call: CallId, result: Result<Observed, Failure>, artifacts: CallArtifacts },
    /// An operator has decided about calls whose outcome the engine can't find out.
    Assume {
        /// The undecided calls to which `answer` applies.
        calls: Vec<CallRecord>,
        /// The answer of the operator: all actions of `calls` were done, were not done, or failed.
        answer: Assumption,
        /// The outputs that the operator states for the element of the only call in `calls`. There are no such outputs
        /// if `calls` contains several calls.
        published: PublishedOutputs,
        /// The natural id that the operator states, and the element that gets this id; `None` if the operator states no
        /// id.
        natural: Option<(ElementName, Claim)>,
    },
    /// A converging call of an earlier process ends, because the next plan removes or replaces its instance.
    GiveUp(Box<CallRecord>),
    /// A driver has made an intermediate report, and waits until the report is durable.
    Checkpoint { call: CallId, report: Report, hidden: Vec<String>, reply: u64 },
    /// The slot that [`Command::TakeSlot`] has requested.
    Slot(JobSlot),
}

/// The reason in the record of a cancelled process.
pub(crate) const STOPPED: &str = "it was stopped on request";

/// The identity of a timer. At most one timer runs for each call, and for each pause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// The next observation or the next attempt of a call.
    Call(CallId),
    /// The end of a pause between batches of nodes.
    Pause(StepKey),
}

/// A command that the machine gives to the [dispatcher](crate::dispatch), which executes it.
pub(crate) enum Command {
    /// Commits a batch of records. When the batch is durable, [`Event::Durable`] returns `acks`.
    Commit { batch: Batch, acks: Vec<Ack> },
    /// Performs a call.
    ///
    /// `failed_endpoint` is the reason why the call must not create its relationship, such as a failure of the
    /// source or the target. If there is such a reason, the call starts no new job. If the job of the call exists
    /// already, the call waits for this job.
    Perform { call: Box<Call>, driver: Arc<dyn Driver>, failed_endpoint: Option<Failure> },
    /// Asks a driver whether an instance has reached the state that the call requests.
    Observe { call: Box<Call>, driver: Arc<dyn Driver> },
    /// Requests a slot of a location. [`Event::Slot`] delivers the slot, unless a stop is requested first.
    TakeSlot(LimitedLocation),
    /// Answers a checkpoint, so that its driver continues.
    Reply { reply: u64, result: Result<(), Failure> },
}

/// The news that a batch of records is durable, so that a waiting action may begin. For example, a call begins only
/// after its record is durable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ack {
    /// The record of the call is durable, so the call may be performed.
    MayPerform(CallId),
    /// The record of the step's end is durable. `well` tells whether the step has succeeded. If so, the steps that wait
    /// for the step may start. If not, the steps that need its success are skipped, and other waiting steps may start.
    StepEnded { key: StepKey, well: bool },
    /// An intermediate report is durable, so the driver that made the report may continue. The number is the field
    /// `reply` of [`Event::Checkpoint`].
    Checkpoint(u64),
    /// The last records are durable, so the run of the machine ends.
    ProcessEnded,
}

/// The concurrency and the polling of a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The maximum number of concurrent calls.
    pub(crate) parallelism: usize,
    /// The time between the report of a driver and the first observation, if the instance is still changing
    /// (*converging*). The times before further observations are multiples of this time.
    pub(crate) poll: Duration,
}

/// Counts the steps of a process by result: for example, how many steps succeeded, and how many failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The number of steps that succeeded.
    pub succeeded: u32,
    /// The number of steps that failed.
    pub failed: u32,
    /// The number of failed steps that use the packages from which existing parts were created.
    pub failed_with_pinned: u32,
    /// The number of steps that did not start because a step that they need did not succeed.
    pub skipped: u32,
    /// The number of steps that were cancelled by a stop.
    pub cancelled: u32,
    /// The number of steps with a call about which an operator must decide.
    pub undecided: u32,
}

impl Tally {
    /// Counts the end of a step. `work` is `None` for a step of an earlier process. A skipped step without
    /// calls is not counted.
    pub fn count(&mut self, end: &StepEnd, work: Option<&Work>) {
        match end {
            StepEnd::Succeeded => self.succeeded += 1,
            StepEnd::Failed(_) => {
                self.failed += 1;
                self.failed_with_pinned += u32::from(work.is_some_and(|work| work.side() == Side::Installed));
            }
            StepEnd::Skipped { .. } => self.skipped += u32::from(work.is_some_and(Work::has_calls)),
            StepEnd::Cancelled => self.cancelled += 1,
            StepEnd::NeedsDecision { .. } => self.undecided += 1,
            _ => {}
        }
    }
}

/// The parts of an engine that a machine needs.
pub(crate) struct Tools {
    pub(crate) store: StoreId,
    pub(crate) drivers: Registry,
    pub(crate) places: Arc<dyn Places>,
    pub(crate) pace: Pace,
    /// The host of this program and the folder of its project, as text. Example: `box:/home/ada/shop`.
    pub(crate) home: String,
}

pub(crate) struct ProcessMachine {
    store: StoreId,
    /// The host of this program and the folder of its project, as text. Example: `box:/home/ada/shop`.
    home: String,
    /// The wait before the first observation of an instance that is still changing; see [`Pace::poll`].
    poll: Duration,
    preparer: Preparer,
    pub(crate) world: World,
    runner: Runner,
    /// The process that the machine executes; `None` if the machine only finishes open calls of earlier processes. See
    /// [`settle`](Self::settle).
    process: Option<ProcessRecord>,
    steps: HashMap<StepKey, StepRun>,
    calls: HashMap<CallId, CallRun>,
    /// The running calls, and the steps that wait until an element or a location is free.
    queues: Queues,
    /// The existing elements that have failed since the plan was made. An element whose creation has failed is not
    /// listed.
    failed_parts: FailedParts,
    /// The elements with a transition whose outcome has become unknown since the plan was made.
    undecided: HashSet<ElementName>,
    /// The open calls of earlier processes, which the machine resumes when it begins.
    left_open: Vec<CallRecord>,
    /// The calls in `left_open` whose last attempt was made on another host or in another folder.
    remote: HashSet<CallId>,
    /// Open calls of earlier processes that can't be prepared again, each with the reason. For example, the location of
    /// the call is no longer in `windlass.yaml`. These calls stay open.
    unprepared: Vec<(CallRecord, Failure)>,
    /// The open calls that the operator's answer is about. If the machine can't prepare such a call again, the call
    /// becomes undecided.
    answered: HashSet<CallId>,
    /// Whether the machine makes only one health check for a call that waits for its instance. If the instance is not
    /// yet ready, stopped or removed, the call stays open.
    observes_once: bool,
    /// The running pauses between batches of nodes.
    pauses: BTreeSet<StepKey>,
    /// The number of started steps whose end is not durable yet.
    unfinished: usize,
    cancelling: bool,
    /// The request that stops the daemon; see
    /// [`with_daemon_shutdown`](Self::with_daemon_shutdown). `None` if no daemon executes the process, or if a user has
    /// cancelled the process.
    daemon_shutdown: Option<Stop>,
    ended: bool,
    pub(crate) tally: Tally,
    /// The sources and the targets of the relationships that the process could not create or remove.
    pub(crate) failed_ends: BTreeSet<ElementName>,
    /// The changed groups that demand a rollback if they fail.
    demanding_groups: Vec<ElementName>,
    now: Timestamp,
    out: Outbox,
}

#[derive(Default)]
struct Outbox {
    batch: Batch,
    acks: Vec<Ack>,
    outputs: Vec<Output<ProcessMachine>>,
}

impl Outbox {
    fn command(&mut self, command: Command) {
        self.outputs.push(Output::Command(command));
    }

    fn wake(&mut self, timer: Timer, at: Timestamp) {
        self.outputs.push(Output::Wake { timer, at });
    }
}

struct StepRun {
    title: String,
    queue: VecDeque<Planned>,
    /// The pairs that the step does not create, because their sources have not reached the required state.
    left: Vec<PairKey>,
    /// Whether the step creates pairs. If one pair fails, such a step still creates the other pairs.
    creates_pairs: bool,
    /// The first failure of a pair, and the number of failed pairs.
    failure: Option<(Failure, usize)>,
    ordinal: u32,
    started: Timestamp,
    /// The time at which this process resumed the step, if an earlier process began it.
    resumed: Option<Timestamp>,
    recorded: bool,
    /// The slot of the step's last call. A slot is the right to run jobs at a location. If the step's next call
    /// runs at the same location, the next call uses the same slot.
    slot: Option<JobSlot>,
    /// The open call of an earlier process, until this machine resumes the call.
    left_open: Option<CallRecord>,
}

/// A call that a step still has to make.
struct Planned {
    action: PlannedAction,
    then: Advance,
    /// Whether the call executes an operation that removes a pair, or an operation that undoes the incomplete
    /// creation of a pair.
    ends: bool,
    /// The version of the assembly, installed or desired, from which the call takes values. The package of the call
    /// also depends on this version.
    side: Side,
}

enum PlannedAction {
    Transition(ElementName, Transition),
    Operation(PairKey, OperationCall),
    Command(ElementName, CommandName),
}

impl Machine for ProcessMachine {
    type Event = Event;
    type Command = Command;
    type Timer = Timer;

    fn on(&mut self, now: Timestamp, input: Input<Self>) -> Vec<Output<Self>> {
        self.now = now;
        match input {
            Input::Begin => self.take_up(),
            Input::Event(event) => self.handle(event),
            Input::Due(Timer::Call(call)) => self.due(&call),
            Input::Due(Timer::Pause(step)) => self.end_pause(step, StepEnd::Succeeded),
            Input::Cancel => self.cancel(),
        }
        self.advance();
        self.flush()
    }
}

impl ProcessMachine {
    /// Creates the machine that executes the plan of a process. The [host](crate::host) then runs the machine.
    pub(crate) fn run(
        tools: Tools,
        world: World,
        plan: Plan,
        process: ProcessRecord,
        now: Timestamp,
    ) -> Self {
        Self::new(tools, world, plan, Some(process), now)
    }

    /// Creates a machine without a plan. The machine only resumes calls that earlier, interrupted processes left open.
    ///
    /// The machine ends each of these calls and its step. It leaves out undecided calls, for which an operator must
    /// state the outcome.
    ///
    /// `remote` contains the calls whose last attempt was made on another host or in another folder. A job of such an
    /// attempt may still run there.
    pub(crate) fn settle(
        tools: Tools,
        world: World,
        open: Vec<CallRecord>,
        remote: HashSet<CallId>,
        now: Timestamp,
    ) -> Self {
        let empty =
            PlanBuilder::new().build().unwrap_or_else(|_| unreachable!("an empty plan has no circle"));
        let mut machine = Self::new(tools, world, empty, None, now);
        (machine.left_open, machine.remote) = (open, remote);
        machine.left_open.retain(|record| record.state != CallState::Undecided);
        machine
    }

    /// Sets the changed groups that demand a rollback if they fail.
    pub(crate) fn with_demanding_groups(self, demanding_groups: Vec<ElementName>) -> Self {
        Self { demanding_groups, ..self }
    }

    /// Sets the request that stops the daemon. If the daemon shuts down before all steps have ended,
    /// the record of the process stays open, and the next daemon resumes the process.
    pub(crate) fn with_daemon_shutdown(self, daemon_shutdown: Stop) -> Self {
        Self { daemon_shutdown: Some(daemon_shutdown), ..self }
    }

    /// Returns the first changed group that has failed and that demands a rollback.
    pub(crate) fn failed_group(&self) -> Option<ElementName> {
        rollback::failed_group(&self.world, &self.demanding_groups, &self.failed_ends)
    }

    /// Sets the open calls that the operator's answer is about. If the machine can't prepare such a call again, the
    /// call becomes undecided, because an answer can only be applied to an undecided call. Without an answer, a call
    /// that can't be prepared again stays open.
    pub(crate) fn with_answered(self, answered: HashSet<CallId>) -> Self {
        Self { answered, ..self }
    }

    /// Limits the machine to one health check for each call that waits for its instance. If the instance is not yet
    /// ready, stopped or removed, the call stays open.
    pub(crate) fn observing_once(self) -> Self {
        Self { observes_once: true, ..self }
    }

    /// Returns the open calls that can't be prepared again, each with the reason.
    pub(crate) fn take_unprepared(&mut self) -> Vec<(CallRecord, Failure)> {
        std::mem::take(&mut self.unprepared)
    }

    fn new(tools: Tools, world: World, plan: Plan, process: Option<ProcessRecord>, now: Timestamp) -> Self {
        Self {
            queues: Queues::new(tools.pace.parallelism),
            store: tools.store,
            home: tools.home,
            poll: tools.pace.poll,
            preparer: Preparer::new(tools.drivers, tools.places),
            world,
            runner: Runner::new(plan),
            process,
            steps: HashMap::new(),
            calls: HashMap::new(),
            failed_parts: FailedParts::default(),
            undecided: HashSet::new(),
            left_open: Vec::new(),
            remote: HashSet::new(),
            unprepared: Vec::new(),
            answered: HashSet::new(),
            observes_once: false,
            pauses: BTreeSet::new(),
            unfinished: 0,
            cancelling: false,
            daemon_shutdown: None,
            ended: false,
            tally: Tally::default(),
            failed_ends: BTreeSet::new(),
            demanding_groups: Vec::new(),
            now,
            out: Outbox::default(),
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Durable(acks) => acks.into_iter().for_each(|ack| self.durable(ack)),
            Event::Performed { call, result, artifacts } => {
                if let Some(run) = self.calls.get_mut(&call) {
                    run.acted |= artifacts.started;
                    run.untouched &= !artifacts.started;
                }
                let is_refused = artifacts.is_refused;
                self.take_over(&call, artifacts);
                match result {
                    Err(_) if is_refused && self.cancelling => self.not_begun(&call),
                    result => self.performed(&call, result),
                }
            }
            Event::Observed { call, result, artifacts } => {
                self.take_over(&call, artifacts);
                self.observed(&call, result);
            }
            Event::Assume { calls, answer, published, natural } => {
                for call in calls {
                    self.assume(call, answer, &published);
                }
                if let Some((element, natural)) = natural {
                    self.world.call_it(&element, natural, &mut self.out.batch);
                }
            }
            Event::GiveUp(call) => self.give_up(*call),
            Event::Checkpoint { call, report, mut hidden, reply } => {
                self.hide(&call, &mut hidden);
                self.checkpoint(&call, report, reply);
            }
            Event::Slot(slot) => self.admit(slot),
        }
    }

    /// Records the jobs of a call, and keeps the encrypted outcomes of these jobs until the call has ended.
    ///
    /// If the job of a call is lost, the engine observes the instance to find out whether the call had an effect.
    /// A crash may interrupt this observation. The next process then needs the outcomes of the call's jobs.
    fn take_over(&mut self, call: &CallId, mut artifacts: CallArtifacts) {
        self.hide(call, &mut artifacts.hidden);
        for job in artifacts.jobs {
            self.change(Change::PutJob(Box::new(job)));
        }
        match self.calls.get_mut(call) {
            Some(run) => run.wipe.extend(artifacts.wipe),
            None => self.wipe(artifacts.wipe),
        }
    }

    /// Moves `secrets` into the run of a call. The driver of the call has named these secrets.
    ///
    /// Until the call ends, these secrets are masked or sealed wherever a report of the call contains them.
    fn hide(&mut self, call: &CallId, secrets: &mut Vec<String>) {
        if let Some(run) = self.calls.get_mut(call) {
            run.hidden.append(secrets);
        }
    }

    fn wipe(&mut self, secrets: Vec<SecretRef>) {
        for secret in secrets {
            self.change(Change::DropSecret(secret));
        }
    }

    fn change(&mut self, change: Change) {
        self.out.batch.push(change);
    }

    fn happened(&mut self, process: Option<ProcessId>, body: Happening) {
        let assembly = self.world.assembly.name.clone();
        let process = process.or(self.process.as_ref().map(|p| p.id));
        self.change(Change::Event(Box::new(EventDraft { at: self.now, assembly, process, body })));
    }

    fn flush(&mut self) -> Vec<Output<Self>> {
        let mut out = std::mem::take(&mut self.out);
        if !out.batch.is_empty() || !out.acks.is_empty() {
            let batch =
                out.batch.beside(self.world.foreign_assemblies.values().map(|foreign| &foreign.lease));
            out.outputs.insert(0, Output::Command(Command::Commit { batch, acks: out.acks }));
        }
        out.outputs
    }

    fn durable(&mut self, ack: Ack) {
        match ack {
            Ack::MayPerform(call) => self.may_perform(&call),
            Ack::StepEnded { key, well } => {
                self.unfinished -= 1;
                if self.process.as_ref().is_some_and(|process| process.id == key.0) {
                    self.runner.ended(key.1, well);
                }
            }
            Ack::Checkpoint(reply) => self.out.command(Command::Reply { reply, result: Ok(()) }),
            Ack::ProcessEnded => self.out.outputs.push(Output::Finished),
        }
    }

    /// Starts the steps that may start, records skipped steps, and ends the process when no step is left.
    fn advance(&mut self) {
        if !self.cancelling {
            while let Some(key) = self.queues.wake() {
                self.proceed(key);
            }
            while self.queues.has_slot() {
                let Some(step) = self.runner.next() else { break };
                self.start(step);
            }
            for location in self.queues.take_requests() {
                self.out.command(Command::TakeSlot(location));
            }
        }
        for skipped in self.runner.take_skipped() {
            // A skipped step without calls is not counted.
            self.tally.skipped += u32::from(self.runner.work(skipped.step).has_calls());
            self.note_skipped(&skipped);
        }
        let idle = self.unfinished == 0;
        if idle && !self.ended && self.out.acks.is_empty() {
            self.ended = true;
            self.finish();
        }
    }

    /// Resumes the open calls of earlier processes.
    fn take_up(&mut self) {
        for record in std::mem::take(&mut self.left_open) {
            self.reopen(record);
        }
    }

    /// Gives a free slot of a location to the first step that waits at this location. If no step can use the slot
    /// now, the slot is freed for other machines.
    fn admit(&mut self, slot: JobSlot) {
        if self.cancelling {
            return;
        }
        let Some(key) = self.queues.admit(slot.location()) else { return };
        if let Some(run) = self.steps.get_mut(&key) {
            run.slot = Some(slot);
        }
        self.proceed(key);
    }

    /// Reacts to a stop: no further step or call starts. A pause ends at once. A step that waits in a queue does not
    /// continue. Running calls may finish.
    fn cancel(&mut self) {
        self.cancelling = true;
        // If the daemon does not shut down, a user has cancelled the process.
        self.daemon_shutdown.take_if(|shutdown| !shutdown.is_requested());
        // The next process resumes these open calls of earlier processes.
        self.left_open.clear();
        for step in self.pauses.clone() {
            self.end_pause(step, StepEnd::Cancelled);
        }
        for key in self.queues.drain() {
            match self.steps.get(&key) {
                Some(StepRun { left_open: Some(_), .. }) => self.leave_step_open(key),
                _ => self.cancel_step(key),
            }
        }
    }

    fn finish(&mut self) {
        let Some(mut process) = self.process.clone() else {
            self.out.acks.push(Ack::ProcessEnded);
            return;
        };
        let Tally { failed, skipped, undecided, cancelled, .. } = self.tally;
        // A stop that comes during the last steps changes nothing if these steps succeed.
        let is_complete = failed + skipped + undecided + cancelled == 0 && self.runner.is_exhausted();
        if self.cancelling && self.daemon_shutdown.is_some() && !is_complete {
            self.out.acks.push(Ack::ProcessEnded);
            return;
        }
        let (status, reason) = if self.cancelling && !is_complete {
            (ProcessStatus::Cancelled, Some(STOPPED.to_owned()))
        } else if undecided > 0 {
            (ProcessStatus::Failed, Some(format!("{undecided} of its steps need a decision")))
        } else if failed + skipped + cancelled > 0 {
            (ProcessStatus::Failed, Some(short(failed, skipped)))
        } else {
            (ProcessStatus::Completed, None)
        };
        process.status = status;
        process.ended = Some(self.now);
        process.reason.clone_from(&reason);
        // After an operator has decided about the undecided calls, the change may succeed.
        // If the parts have never reached a version together, there is no version to return to.
        if status == ProcessStatus::Failed
            && undecided == 0
            && process.intent.rolls_back()
            && self.failed_group().is_some()
            && let Some(reached) = self.world.assembly.reached
        {
            process.follow_up = Some(Intent::Rollback(Some(reached)));
        }
        self.process = Some(process.clone());
        let id = process.id;
        self.change(Change::PutProcess(Box::new(process)));
        self.happened(Some(id), Happening::ProcessEnded { status, reason });
        commands::forget_arguments(&mut self.world, id, &mut self.out.batch);
        self.forget_leftovers();
        self.world.forget_unused_secrets(&mut self.out.batch);
        self.note_reached();
        self.forget_assembly();
        self.out.acks.push(Ack::ProcessEnded);
    }

    /// Drops the records of the assembly if a `down` has completed, no element is left, and no call is open.
    fn forget_assembly(&mut self) {
        let down = self.process.as_ref().is_some_and(|process| {
            process.intent == Intent::Down && process.status == ProcessStatus::Completed
        });
        let has_open_calls = !self.world.left_open.is_empty();
        if down && !has_open_calls && self.world.elements.values().all(|record| record.state == State::Absent)
        {
            self.change(Change::DropAssembly(self.world.assembly.name.clone()));
        }
    }

    /// Returns the present record of the process; `None` if the machine only finishes open calls of earlier processes.
    pub(crate) fn process(&self) -> Option<&ProcessRecord> {
        self.process.as_ref()
    }
}

/// Returns the message of a failed process: the numbers of failed and skipped steps.
fn short(failed: u32, skipped: u32) -> String {
    let steps = |number: u32| if number == 1 { "1 step".to_owned() } else { format!("{number} steps") };
    let them = if failed == 1 { "it" } else { "them" };
    let kept = match skipped {
        0 => String::new(),
        1 => format!(", and 1 that needs {them} was not started"),
        more => format!(", and {more} that need {them} were not started"),
    };
    format!("{} failed{kept}", steps(failed))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use windlass_driver::{Location, Placement};
    use windlass_executor::Runtime;
    use windlass_model::record::FailureKind;
    use windlass_store::testing::{CountingEntropy, samples};

    use super::*;

    /// [`Places`] without any location.
    struct Nowhere;

    #[async_trait::async_trait]
    impl Places for Nowhere {
        fn location(&self, _: &Placement) -> Result<Location, String> {
            Err("there is no place".to_owned())
        }

        fn check(&self, _: &Location) -> Result<(), String> {
            Err("there is no place".to_owned())
        }

        async fn runtime(&self, _: &Location) -> Result<Arc<dyn Runtime>, String> {
            Err("there is no place".to_owned())
        }

        async fn runtimes(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
            Ok(Vec::new())
        }
    }

    /// A driver waits for an answer to each intermediate report. So the machine answers even a report of an unknown
    /// call: it refuses the report.
    #[test]
    fn a_checkpoint_for_an_unknown_call_is_refused() {
        let tools = Tools {
            store: StoreId::random(&CountingEntropy::seeded(1)),
            drivers: Registry::new(),
            places: Arc::new(Nowhere),
            pace: Pace { parallelism: 1, poll: Duration::from_secs(1) },
            home: "here".to_owned(),
        };
        let world = World::new(samples::assembly(&samples::name("t"), &[]));
        let now = Timestamp::from_millis(0);
        let mut machine = ProcessMachine::settle(tools, world, Vec::new(), HashSet::new(), now);
        let (call, report) = (samples::call_id(7, 1), Report::settled());
        let event = Event::Checkpoint { call, report, hidden: Vec::new(), reply: 3 };
        let outputs = machine.on(now, Input::Event(event));
        let replies = outputs.into_iter().filter_map(|output| match output {
            Output::Command(Command::Reply { reply, result }) => Some((reply, result.unwrap_err().kind)),
            _ => None,
        });
        let replies: Vec<_> = replies.collect();
        assert_eq!(replies, [(3, FailureKind::Protocol)]);
    }

    #[test]
    fn numbers_are_told_in_words_that_agree() {
        assert_eq!(short(1, 0), "1 step failed");
        assert_eq!(short(1, 2), "1 step failed, and 2 that need it were not started");
        assert_eq!(short(2, 1), "2 steps failed, and 1 that needs them was not started");
    }
}
