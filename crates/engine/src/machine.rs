//! The machine that executes a plan: `on(now, event) → commands`.
//!
//! It is pure: it never waits, reads no clock and touches nothing outside. The [host](crate::host) carries its commands
//! out and comes back with events. So every order of events can be tried in a test, on virtual time.
//!
//! A step goes through its calls one after the other. For each call the machine
//!
//! 1. records that it is made, durably first if doing it twice does harm;
//! 2. has it performed;
//! 3. puts the report into the instance, looks again while the instance is on its way, and
//! 4. records in one batch how the call ended, what has changed, and which state the element has now.
//!
//! Only what is durable lets other steps start.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_driver::{
    Call, Driver, Location, Nature, Observation, Observed, Placement, Registry, Report, Settled,
};
use windlass_model::id::StoreId;
use windlass_model::instance::LogEntry;
use windlass_model::record::{
    Advance, CallRecord, CallState, Effect, ElementRecord, Event as Happening, EventDraft, Failure,
    FailureKind, InstanceRecord, PairKey, PairRecord, ProcessRecord, ProcessStatus, Severity, StepEnd,
    StepRecord, StepState,
};
use windlass_model::{Action, CallId, ElementName, ProcessId, State, StepId, Timestamp};
use windlass_plan::{Direction, Work};
use windlass_secret::SecretRef;
use windlass_store::{Batch, Change};

use crate::places::Places;
use crate::runner::Runner;
use crate::world::World;

/// What the machine is told.
#[derive(Debug)]
pub(crate) enum Event {
    /// It may begin.
    Begin,
    /// A batch is durable.
    Durable(Vec<Ack>),
    /// A driver has answered a call.
    Performed {
        call: CallId,
        result: Result<Report, Failure>,
        /// The sealed outcomes that are no longer needed once this is durable.
        wipe: Vec<SecretRef>,
    },
    /// A driver has looked.
    Observed { call: CallId, result: Result<Observed, Failure>, wipe: Vec<SecretRef> },
    /// A person has said of undecided calls whether they happened.
    Assume { calls: Vec<CallRecord>, done: bool },
    /// It is time to look again.
    Due(CallId),
    /// A driver has an intermediate result that must be durable before it goes on.
    Checkpoint { call: CallId, report: Report, reply: u64 },
    /// The user wants to stop.
    Cancel,
}

/// What the machine wants done.
pub(crate) enum Command {
    /// Commit a batch, and say which acknowledgements it stands for.
    Commit { batch: Batch, acks: Vec<Ack> },
    /// Have a call performed.
    Perform { call: Box<Call>, driver: Arc<dyn Driver> },
    /// Have an instance looked at.
    Observe { call: Box<Call>, driver: Arc<dyn Driver> },
    /// Come back at this time.
    Wake { call: CallId, at: Timestamp },
    /// Let a driver go on after its checkpoint.
    Reply { reply: u64, result: Result<(), Failure> },
    /// All is done and durable.
    Finished,
}

/// What a batch stands for once it is durable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ack {
    /// The call may be performed now.
    MayPerform(CallId),
    /// The step has ended.
    StepEnded { key: StepKey, well: bool },
    /// A checkpoint is durable.
    Checkpoint(u64),
    /// The process has ended.
    ProcessEnded,
}

/// A step of a process.
pub(crate) type StepKey = (ProcessId, StepId);

/// How fast and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// How many calls at once.
    pub(crate) parallelism: usize,
    /// How long to wait before looking at an instance that is on its way.
    pub(crate) poll: Duration,
}

/// How a run went, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Steps that did what they should.
    pub succeeded: u32,
    /// Steps that failed.
    pub failed: u32,
    /// Steps that were not started, since something that they need did not succeed.
    pub skipped: u32,
    /// Steps that were stopped on request.
    pub cancelled: u32,
    /// Steps of which nobody but a person can tell whether they happened.
    pub undecided: u32,
}

/// What the machine needs beside the world.
pub(crate) struct Tools {
    pub(crate) store: StoreId,
    pub(crate) drivers: Registry,
    pub(crate) places: Arc<dyn Places>,
    pub(crate) pace: Pace,
}

pub(crate) struct Machine {
    tools: Tools,
    pub(crate) world: World,
    runner: Runner,
    /// The process that is run; none while old calls are settled.
    process: Option<ProcessRecord>,
    steps: HashMap<StepKey, StepRun>,
    calls: HashMap<CallId, CallRun>,
    /// The elements that a call is running on: one at a time each.
    busy: HashSet<ElementName>,
    /// Steps whose next call waits for a busy element.
    blocked: VecDeque<StepKey>,
    locations: HashMap<Placement, Arc<Location>>,
    /// Calls that are under way.
    active: usize,
    /// Steps that have started and whose end is not durable yet.
    unfinished: usize,
    cancelling: bool,
    ended: bool,
    pub(crate) tally: Tally,
    now: Timestamp,
    out: Outbox,
}

#[derive(Default)]
struct Outbox {
    batch: Batch,
    acks: Vec<Ack>,
    commands: Vec<Command>,
}

struct StepRun {
    title: String,
    queue: VecDeque<Planned>,
    ordinal: u32,
    started: Timestamp,
    recorded: bool,
}

/// A call that a step still has to make.
struct Planned {
    action: PlannedAction,
    then: Advance,
}

enum PlannedAction {
    Transition(ElementName, windlass_model::Transition),
    Operation(PairKey, windlass_model::assembly::OperationCall),
}

struct CallRun {
    record: CallRecord,
    call: Call,
    driver: Arc<dyn Driver>,
    nature: Nature,
    /// Whether what is observed decides if a lost call happened.
    recovering: bool,
    polls: u32,
}

impl Machine {
    /// Makes the machine of a process.
    pub(crate) fn run(
        tools: Tools,
        world: World,
        plan: windlass_plan::Plan,
        process: ProcessRecord,
        now: Timestamp,
    ) -> Self {
        Self::new(tools, world, plan, Some(process), now)
    }

    /// Makes a machine that settles what earlier processes have left open.
    pub(crate) fn settle(tools: Tools, world: World, open: Vec<CallRecord>, now: Timestamp) -> Self {
        let empty = windlass_plan::PlanBuilder::new()
            .build()
            .unwrap_or_else(|_| unreachable!("an empty plan has no circle"));
        let mut machine = Self::new(tools, world, empty, None, now);
        for record in open.into_iter().filter(|record| record.state != CallState::Undecided) {
            machine.reopen(record);
        }
        machine
    }

    fn new(
        tools: Tools,
        world: World,
        plan: windlass_plan::Plan,
        process: Option<ProcessRecord>,
        now: Timestamp,
    ) -> Self {
        Self {
            tools,
            world,
            runner: Runner::new(plan),
            process,
            steps: HashMap::new(),
            calls: HashMap::new(),
            busy: HashSet::new(),
            blocked: VecDeque::new(),
            locations: HashMap::new(),
            active: 0,
            unfinished: 0,
            cancelling: false,
            ended: false,
            tally: Tally::default(),
            now,
            out: Outbox::default(),
        }
    }

    /// Takes an event and returns what is to be done.
    pub(crate) fn on(&mut self, now: Timestamp, event: Event) -> Vec<Command> {
        self.now = now;
        match event {
            Event::Begin => {}
            Event::Durable(acks) => acks.into_iter().for_each(|ack| self.durable(ack)),
            Event::Performed { call, result, wipe } => {
                wipe.into_iter().for_each(|secret| self.change(Change::DropSecret(secret)));
                self.performed(&call, result);
            }
            Event::Observed { call, result, wipe } => {
                wipe.into_iter().for_each(|secret| self.change(Change::DropSecret(secret)));
                self.observed(&call, result);
            }
            Event::Assume { calls, done } => calls.into_iter().for_each(|call| self.assume(call, done)),
            Event::Due(call) => self.due(&call),
            Event::Checkpoint { call, report, reply } => self.checkpoint(&call, report, reply),
            Event::Cancel => self.cancelling = true,
        }
        self.advance();
        self.flush()
    }

    fn change(&mut self, change: Change) {
        self.out.batch.push(change);
    }

    fn happened(&mut self, process: Option<ProcessId>, body: Happening) {
        let assembly = self.world.assembly.name.clone();
        let process = process.or(self.process.as_ref().map(|p| p.id));
        self.change(Change::Event(Box::new(EventDraft { at: self.now, assembly, process, body })));
    }

    fn flush(&mut self) -> Vec<Command> {
        let mut out = std::mem::take(&mut self.out);
        if !out.batch.is_empty() || !out.acks.is_empty() {
            out.commands.insert(0, Command::Commit { batch: out.batch, acks: out.acks });
        }
        out.commands
    }

    fn durable(&mut self, ack: Ack) {
        match ack {
            Ack::MayPerform(call) => self.perform(&call),
            Ack::StepEnded { key, well } => {
                self.unfinished -= 1;
                if self.process.as_ref().is_some_and(|process| process.id == key.0) {
                    self.runner.ended(key.1, well);
                }
            }
            Ack::Checkpoint(reply) => self.out.commands.push(Command::Reply { reply, result: Ok(()) }),
            Ack::ProcessEnded => self.out.commands.push(Command::Finished),
        }
    }

    /// Starts what may start, notes what never will, and ends the process when nothing is left.
    fn advance(&mut self) {
        if !self.cancelling {
            self.unblock();
            while self.active < self.tools.pace.parallelism {
                let Some(step) = self.runner.next() else { break };
                self.start(step);
            }
        }
        for skipped in self.runner.take_skipped() {
            self.tally.skipped += 1;
            self.note_skipped(&skipped);
        }
        let idle = self.unfinished == 0 && (self.cancelling || self.blocked.is_empty());
        if idle && !self.ended && self.out.acks.is_empty() {
            self.ended = true;
            self.finish();
        }
    }

    fn unblock(&mut self) {
        for _ in 0..self.blocked.len() {
            if self.active >= self.tools.pace.parallelism {
                return;
            }
            if let Some(key) = self.blocked.pop_front() {
                self.proceed(key);
            }
        }
    }

    fn start(&mut self, step: StepId) {
        let Some(process) = self.process.as_ref().map(|p| p.id) else { return };
        let work = self.runner.work(step).clone();
        let key = (process, step);
        let queue = self.planned(&work);
        self.unfinished += 1;
        let run = StepRun {
            title: work.to_string(),
            queue: queue.into(),
            ordinal: 0,
            started: self.now,
            recorded: false,
        };
        self.steps.insert(key, run);
        self.attain_without_calls(&work, process);
        self.proceed(key);
    }

    /// Does what a step without calls does: the state moves on by itself.
    fn attain_without_calls(&mut self, work: &Work, process: ProcessId) {
        match work {
            Work::Transition { element, to, calls, .. } if calls.is_empty() => {
                self.reach(element, *to, Some(process));
            }
            Work::Relate { direction, assembly, relationship, target, operations, .. }
                if operations.is_empty() =>
            {
                let made = *direction == Direction::Create;
                for key in self.world.pairs_at(assembly, relationship.as_str(), target) {
                    self.put_pair(&key, Some(made), 0);
                }
            }
            _ => {}
        }
    }

    /// Lists the calls of a step that are still to be made.
    fn planned(&self, work: &Work) -> Vec<Planned> {
        match work {
            Work::Transition { element, to, calls, .. } => {
                let done = self.world.elements.get(element).map_or(0, |record| record.progress);
                let last = calls.len().saturating_sub(1);
                let all = calls.iter().enumerate().map(|(at, transition)| Planned {
                    action: PlannedAction::Transition(element.clone(), *transition),
                    then: if at == last { Advance::State(*to) } else { Advance::Progress(count(at + 1)) },
                });
                all.skip(usize::try_from(done).unwrap_or(0).min(last)).collect()
            }
            Work::Relate { direction, assembly, relationship, target, operations, .. } => {
                let made = *direction == Direction::Create;
                let pairs = self.world.pairs_at(assembly, relationship.as_str(), target);
                let open = pairs
                    .into_iter()
                    .filter(|key| self.world.pairs.get(key).is_some_and(|pair| pair.created) != made);
                open.flat_map(|key| self.planned_pair(&key, operations, made)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn planned_pair(
        &self,
        key: &PairKey,
        operations: &[windlass_model::assembly::OperationCall],
        made: bool,
    ) -> Vec<Planned> {
        let done = self.world.pairs.get(key).map_or(0, |pair| pair.progress);
        let last = operations.len().saturating_sub(1);
        let all = operations.iter().enumerate().map(|(at, operation)| Planned {
            action: PlannedAction::Operation(key.clone(), operation.clone()),
            then: if at == last { Advance::Pair(made) } else { Advance::PairProgress(count(at + 1)) },
        });
        all.skip(usize::try_from(done).unwrap_or(0).min(last)).collect()
    }

    /// Makes the next call of a step, or ends the step.
    fn proceed(&mut self, key: StepKey) {
        loop {
            let Some(run) = self.steps.get(&key) else { return };
            let Some(planned) = run.queue.front() else {
                return self.end_step(key, StepEnd::Succeeded);
            };
            if self.cancelling {
                return self.end_step(key, StepEnd::Cancelled);
            }
            let (element, action, pair) = match self.resolve(planned) {
                Ok(resolved) => resolved,
                Err(failure) => return self.end_step(key, StepEnd::Failed(failure)),
            };
            if self.busy.contains(&element) {
                self.blocked.push_back(key);
                return;
            }
            let then = planned.then;
            let prepared = self.prepare(key, &element, &action, pair.clone(), then);
            if let Some(run) = self.steps.get_mut(&key) {
                run.queue.pop_front();
            }
            match prepared {
                Err(failure) => {
                    self.fall(&element, &action, pair.as_ref(), &failure, key.0);
                    return self.end_step(key, StepEnd::Failed(failure));
                }
                // Nothing to do: the state moves on by itself.
                Ok(None) => self.attain(&element, pair.as_ref(), then, key.0),
                Ok(Some(call)) => return self.open(key, call),
            }
        }
    }

    fn resolve(&self, planned: &Planned) -> Result<(ElementName, Action, Option<PairKey>), Failure> {
        match &planned.action {
            PlannedAction::Transition(element, transition) => {
                Ok((element.clone(), Action::Transition(*transition), None))
            }
            PlannedAction::Operation(pair, operation) => {
                let (element, operation) = self.world.operation(pair, operation)?;
                Ok((element, Action::Operation(operation), Some(pair.clone())))
            }
        }
    }

    /// Makes a call ready; none when the driver has nothing to do for it.
    fn prepare(
        &mut self,
        key: StepKey,
        element: &ElementName,
        action: &Action,
        pair: Option<PairKey>,
        then: Advance,
    ) -> Result<Option<CallRun>, Failure> {
        let ordinal = self.steps.get(&key).map_or(0, |run| run.ordinal);
        let id = CallId::of(&self.tools.store, key.0, key.1, ordinal);
        let record = CallRecord {
            id,
            process: key.0,
            step: key.1,
            element: element.clone(),
            pair,
            action: action.clone(),
            driver: "noop".parse().map_err(|_| Failure::new(FailureKind::Refused, "no driver"))?,
            effect: Effect::None,
            attempt: 1,
            then,
            state: CallState::Open,
            started: self.now,
            ended: None,
        };
        self.ready(record)
    }

    /// Looks up everything a call needs.
    fn ready(&mut self, mut record: CallRecord) -> Result<Option<CallRun>, Failure> {
        let topology = self.world.topology();
        let element = topology.get(&record.element).ok_or_else(|| {
            Failure::new(FailureKind::NotFound, format!("there is no element `{}`", record.element))
        })?;
        let package = self.world.package(element)?;
        if !package.bindings().declares(&record.action) {
            return Ok(None);
        }
        let placement = self.world.placement(element);
        let location = match self.locations.get(&placement) {
            Some(known) => known.clone(),
            None => Arc::new(
                self.tools
                    .places
                    .location(&placement)
                    .map_err(|why| Failure::new(FailureKind::Refused, why))?,
            ),
        };
        let binding = package.bindings().find(&record.action, &location.infrastructure).cloned();
        let binding = binding.ok_or_else(|| {
            let message = format!(
                "`{}` names no driver for {} at infrastructure type `{}`",
                package.name(),
                record.action,
                location.infrastructure
            );
            Failure::new(FailureKind::Refused, message)
        })?;
        let driver = self.tools.drivers.get(&binding.driver).cloned().ok_or_else(|| {
            let known: Vec<String> = self.tools.drivers.kinds().map(|kind| format!("`{kind}`")).collect();
            let message = format!("there is no driver `{}`; there are {}", binding.driver, known.join(", "));
            Failure::new(FailureKind::Refused, message)
        })?;
        let Some(nature) = driver.nature(&package, &record.action) else { return Ok(None) };
        record.driver = binding.driver.clone();
        record.effect = nature.effect;
        let known = self.world.elements.get(&record.element);
        let instance = self.world.instances.get(&record.element);
        let call = Call {
            id: record.id.clone(),
            attempt: record.attempt,
            action: record.action.clone(),
            element: record.element.clone(),
            instance: known.map(|known| known.id.clone()).ok_or_else(|| {
                Failure::new(FailureKind::NotFound, format!("`{}` has no record", record.element))
            })?,
            natural: instance.and_then(|instance| instance.natural.clone()),
            document: instance.map(|instance| instance.document.clone()).unwrap_or_default(),
            properties: self.world.properties(element)?,
            arguments: record
                .pair
                .as_ref()
                .map(|pair| self.world.arguments(pair))
                .transpose()?
                .unwrap_or_default(),
            pair: record.pair.clone(),
            private: known.and_then(|known| known.private.get(driver.family()).cloned()).unwrap_or_default(),
            package,
            binding,
            location: location.clone(),
        };
        self.locations.insert(placement, location);
        Ok(Some(CallRun { record, call, driver, nature, recovering: false, polls: 0 }))
    }

    /// Records that a call is made, and has it performed: once that is durable, if doing it twice does harm.
    fn open(&mut self, key: StepKey, call: CallRun) {
        self.record_start(key);
        if let Some(run) = self.steps.get_mut(&key) {
            run.ordinal += 1;
        }
        let id = call.record.id.clone();
        let waits = call.record.effect == Effect::Once;
        self.change(Change::PutCall(Box::new(call.record.clone())));
        self.busy.insert(call.record.element.clone());
        self.active += 1;
        self.calls.insert(id.clone(), call);
        if waits {
            self.out.acks.push(Ack::MayPerform(id));
        } else {
            self.perform(&id);
        }
    }

    /// Takes up a call that an earlier process has left open: its jobs answer from what they did.
    fn reopen(&mut self, record: CallRecord) {
        let key = (record.process, record.step);
        let id = record.id.clone();
        let title = format!("{} {}", record.element.local(), record.action);
        let started = record.started;
        let converging = matches!(record.state, CallState::Converging { .. });
        self.unfinished += 1;
        self.steps
            .insert(key, StepRun { title, queue: VecDeque::new(), ordinal: 0, started, recorded: true });
        match self.ready(record.clone()) {
            Ok(Some(mut call)) => {
                call.record.started = record.started;
                call.record.state = record.state;
                self.busy.insert(call.record.element.clone());
                self.active += 1;
                self.calls.insert(id.clone(), call);
                if converging {
                    self.out.commands.push(Command::Wake { call: id, at: self.now });
                } else {
                    self.perform(&id);
                }
            }
            Ok(None) => {
                self.attain(&record.element, record.pair.as_ref(), record.then, record.process);
                self.end_step(key, StepEnd::Succeeded);
            }
            Err(failure) => {
                self.close(record, CallState::Failed(failure.clone()));
                self.end_step(key, StepEnd::Failed(failure));
            }
        }
    }

    fn record_start(&mut self, key: StepKey) {
        let Some(run) = self.steps.get_mut(&key) else { return };
        if std::mem::replace(&mut run.recorded, true) {
            return;
        }
        let title = run.title.clone();
        self.put_step(key, StepState::Running, None);
        self.happened(Some(key.0), Happening::StepStarted { step: key.1, title });
    }

    fn put_step(&mut self, key: StepKey, state: StepState, ended: Option<Timestamp>) {
        let Some(run) = self.steps.get(&key) else { return };
        let record = StepRecord {
            process: key.0,
            step: key.1,
            title: run.title.clone(),
            state,
            started: Some(run.started),
            ended,
        };
        self.change(Change::PutStep(Box::new(record)));
    }

    fn perform(&mut self, id: &CallId) {
        if let Some(run) = self.calls.get(id) {
            let command = Command::Perform { call: Box::new(run.call.clone()), driver: run.driver.clone() };
            self.out.commands.push(command);
        }
    }

    fn performed(&mut self, id: &CallId, result: Result<Report, Failure>) {
        match result {
            Ok(report) => self.reported(id, report, None),
            Err(failure) if failure.kind == FailureKind::Lost => self.lost(id, failure),
            Err(failure) => self.failed(id, failure),
        }
    }

    /// Takes in a report and decides whether the call has ended.
    fn reported(&mut self, id: &CallId, report: Report, seen: Option<&Observation>) {
        let Some(call) = self.calls.get(id).map(|run| run.call.clone()) else { return };
        let settled = report.settled;
        let mut batch = std::mem::take(&mut self.out.batch);
        let applied = self.world.apply(&call, report, &mut batch);
        self.out.batch = batch;
        match applied {
            Ok(applied) => self.log(&call.element, applied.log),
            Err(failure) => return self.failed(id, failure),
        }
        let status = self.world.status(&call.element);
        let leaves = self.leaves(id);
        let converging =
            status.converging || settled == Settled::Converging || seen == Some(&Observation::Converging);
        let gone = settled == Settled::Gone || seen == Some(&Observation::Absent);
        if gone && !leaves {
            self.failed(
                id,
                Failure::new(
                    FailureKind::NotFound,
                    "it is gone: its script says that it does not exist any more",
                ),
            );
        } else if status.failed && !gone {
            let message = status.message.unwrap_or_else(|| "it reports that it has failed".to_owned());
            self.failed(id, Failure::new(FailureKind::Failed, message));
        } else if converging && !gone {
            self.converge(id);
        } else {
            self.succeeded(id);
        }
    }

    /// Tells whether a call is on the way down, where being gone is what it wants.
    fn leaves(&self, id: &CallId) -> bool {
        let then = self.calls.get(id).map(|run| run.record.then);
        let action = self.calls.get(id).map(|run| run.record.action.clone());
        matches!(then, Some(Advance::State(State::Absent | State::Created)))
            && matches!(
                action,
                Some(Action::Transition(
                    windlass_model::Transition::Uninstall | windlass_model::Transition::Delete
                ))
            )
    }

    fn log(&mut self, element: &ElementName, entries: Vec<LogEntry>) {
        for LogEntry { severity, message } in entries {
            self.happened(None, Happening::Logged { element: element.clone(), severity, message });
        }
    }

    fn converge(&mut self, id: &CallId) {
        let Some(run) = self.calls.get_mut(id) else { return };
        let timeout = i64::try_from(run.nature.timeout.as_millis()).unwrap_or(i64::MAX);
        let deadline = run.record.started.plus_millis(timeout);
        let first = !matches!(run.record.state, CallState::Converging { .. });
        run.record.state = CallState::Converging { deadline };
        run.polls += 1;
        // Looking grows slowly rarer, up to fifteen times the first wait.
        let wait = self.tools.pace.poll.saturating_mul(run.polls.min(15));
        let at = self.now.plus_millis(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)).min(deadline);
        let record = run.record.clone();
        if first {
            let key = (record.process, record.step);
            self.change(Change::PutCall(Box::new(record)));
            self.put_step(key, StepState::Converging { deadline }, None);
        }
        self.out.commands.push(Command::Wake { call: id.clone(), at });
    }

    fn due(&mut self, id: &CallId) {
        let Some(run) = self.calls.get(id) else { return };
        if self.cancelling {
            return self.stopped(id);
        }
        let over = matches!(run.record.state, CallState::Converging { deadline } if self.now >= deadline);
        if over {
            let message = format!("it was still on its way after {} s", run.nature.timeout.as_secs());
            return self.failed(id, Failure::new(FailureKind::Timeout, message));
        }
        if !run.nature.observable {
            // Nobody can look, so only the deadline decides.
            return self.converge(id);
        }
        self.observe(id);
    }

    fn observe(&mut self, id: &CallId) {
        if let Some(run) = self.calls.get(id) {
            let mut call = run.call.clone();
            if let Some(instance) = self.world.instances.get(&call.element) {
                call.natural.clone_from(&instance.natural);
                call.document.clone_from(&instance.document);
            }
            let command = Command::Observe { call: Box::new(call), driver: run.driver.clone() };
            self.out.commands.push(command);
        }
    }

    fn observed(&mut self, id: &CallId, result: Result<Observed, Failure>) {
        let Some(run) = self.calls.get_mut(id) else { return };
        let recovering = std::mem::replace(&mut run.recovering, false);
        match result {
            Ok(Observed { observation, report }) if recovering => self.decide(id, &observation, report),
            Ok(Observed { observation, mut report }) => {
                report.settled = Settled::Yes;
                self.reported(id, report, Some(&observation));
            }
            Err(failure) if recovering => self.undecided(id, &failure.message),
            Err(failure) => {
                let element = run.record.element.clone();
                let message = format!("looking at it failed: {failure}");
                self.happened(None, Happening::Logged { element, severity: Severity::Warning, message });
                self.converge(id);
            }
        }
    }

    /// Finds out what a lost call has done.
    fn lost(&mut self, id: &CallId, failure: Failure) {
        let Some(run) = self.calls.get_mut(id) else { return };
        let key = (run.record.process, run.record.step);
        if run.record.effect == Effect::Once {
            if run.nature.observable && !self.cancelling {
                run.recovering = true;
                self.put_step(key, StepState::Unknown, None);
                return self.observe(id);
            }
            return self.undecided(id, &failure.message);
        }
        if self.cancelling {
            return self.stopped(id);
        }
        self.again(id, failure);
    }

    /// Performs a call again, a few times at most.
    fn again(&mut self, id: &CallId, failure: Failure) {
        const MOST: u32 = 5;
        let Some(run) = self.calls.get_mut(id) else { return };
        if run.record.attempt >= MOST {
            return self.failed(id, failure);
        }
        run.record.attempt += 1;
        run.call.attempt = run.record.attempt;
        let record = run.record.clone();
        self.change(Change::PutCall(Box::new(record)));
        // The new attempt has a job of its own, which must be known before it is submitted.
        self.out.acks.push(Ack::MayPerform(id.clone()));
    }

    fn decide(&mut self, id: &CallId, observation: &Observation, report: Report) {
        match observation {
            Observation::Reached => self.reported(id, Report { settled: Settled::Yes, ..report }, None),
            Observation::Converging => {
                self.reported(id, Report { settled: Settled::Converging, ..report }, None)
            }
            Observation::Absent | Observation::Differs(_) => {
                self.again(id, Failure::new(FailureKind::Lost, "its job was lost, again and again"));
            }
            Observation::CannotTell(why) => self.undecided(id, why),
            _ => self.undecided(id, "what was seen says nothing"),
        }
    }

    /// Closes an undecided call as a person has said.
    fn assume(&mut self, record: CallRecord, done: bool) {
        let CallRecord { element, pair, then, process, .. } = record.clone();
        let (word, state) = if done {
            ("was done", CallState::AssumedDone)
        } else {
            ("was not done", CallState::AssumedNotDone)
        };
        let message = format!("it is assumed that {} {word}", record.action);
        self.happened(
            Some(process),
            Happening::Logged { element: element.clone(), severity: Severity::Info, message },
        );
        self.close(record, state);
        self.note_failure(&element, None);
        if done {
            self.attain(&element, pair.as_ref(), then, process);
        }
    }

    fn undecided(&mut self, id: &CallId, why: &str) {
        let Some(run) = self.finish_call(id, CallState::Undecided) else { return };
        let failure = Failure::new(
            FailureKind::Lost,
            format!("whether {} was done is not known: {why}", run.record.action),
        );
        self.note_failure(&run.record.element, Some(failure));
        self.end_step((run.record.process, run.record.step), StepEnd::NeedsDecision { call: id.clone() });
    }

    /// Ends a call that was stopped on request and may be made again.
    fn stopped(&mut self, id: &CallId) {
        let failure = Failure::new(FailureKind::Lost, "it was stopped on request");
        let Some(run) = self.finish_call(id, CallState::Failed(failure)) else { return };
        self.end_step((run.record.process, run.record.step), StepEnd::Cancelled);
    }

    fn failed(&mut self, id: &CallId, failure: Failure) {
        let Some(run) = self.finish_call(id, CallState::Failed(failure.clone())) else { return };
        let CallRecord { element, action, pair, process, step, .. } = &run.record;
        self.fall(element, action, pair.as_ref(), &failure, *process);
        self.end_step((*process, *step), StepEnd::Failed(failure));
    }

    fn succeeded(&mut self, id: &CallId) {
        let Some(run) = self.finish_call(id, CallState::Succeeded) else { return };
        let CallRecord { element, pair, then, process, step, .. } = &run.record;
        self.attain(element, pair.as_ref(), *then, *process);
        self.proceed((*process, *step));
    }

    fn finish_call(&mut self, id: &CallId, state: CallState) -> Option<CallRun> {
        let run = self.calls.remove(id)?;
        self.busy.remove(&run.record.element);
        self.active -= 1;
        self.close(run.record.clone(), state);
        Some(run)
    }

    fn close(&mut self, mut record: CallRecord, state: CallState) {
        record.ended = (state != CallState::Undecided).then_some(self.now);
        record.state = state;
        self.change(Change::PutCall(Box::new(record)));
    }

    /// Carries out what the success of a call means.
    fn attain(&mut self, element: &ElementName, pair: Option<&PairKey>, then: Advance, process: ProcessId) {
        match (then, pair) {
            (Advance::State(state), _) => self.reach(element, state, Some(process)),
            (Advance::Progress(done), _) => self.update_element(element, |record| record.progress = done),
            (Advance::PairProgress(done), Some(pair)) => self.put_pair(pair, None, done),
            (Advance::Pair(made), Some(pair)) => self.put_pair(pair, Some(made), 0),
            (Advance::Pair(_) | Advance::PairProgress(_), None) => {}
        }
    }

    /// Carries out what the failure of a call means.
    fn fall(
        &mut self,
        element: &ElementName,
        action: &Action,
        pair: Option<&PairKey>,
        failure: &Failure,
        process: ProcessId,
    ) {
        if let Some(pair) = pair {
            self.put_pair(pair, None, 0);
        } else if let Action::Transition(transition) = action {
            let from = self.world.elements.get(element).map(|record| record.state).unwrap_or_default();
            // Nothing has begun yet when the request was refused.
            let to = if failure.kind == FailureKind::Refused { from } else { transition.on_failure(from) };
            self.reach(element, to, Some(process));
        }
        self.note_failure(element, Some(failure.clone()));
    }

    fn note_failure(&mut self, element: &ElementName, failure: Option<Failure>) {
        self.update_element(element, |record| record.failure = failure);
    }

    fn reach(&mut self, element: &ElementName, to: State, process: Option<ProcessId>) {
        let now = self.now;
        let mut from = to;
        self.update_element(element, |record| {
            from = record.state;
            if from != to {
                record.since = now;
            }
            record.state = to;
            record.progress = 0;
            record.failure = None;
        });
        if to == State::Absent {
            self.forget_instance(element);
        }
        if from != to {
            self.happened(process, Happening::StateChanged { element: element.clone(), from, to });
        }
    }

    fn forget_instance(&mut self, element: &ElementName) {
        let Some(instance) = self.world.instances.get_mut(element) else { return };
        *instance = InstanceRecord {
            element: element.clone(),
            natural: None,
            document: serde_json::json!({}),
            revision: instance.revision + 1,
        };
        let record = instance.clone();
        self.change(Change::PutInstance(Box::new(record)));
    }

    fn update_element(&mut self, element: &ElementName, update: impl FnOnce(&mut ElementRecord)) {
        if let Some(record) = self.world.elements.get_mut(element) {
            update(record);
            let record = record.clone();
            self.change(Change::PutElement(Box::new(record)));
        }
    }

    fn put_pair(&mut self, key: &PairKey, created: Option<bool>, progress: u32) {
        let before = self.world.pairs.get(key).is_some_and(|pair| pair.created);
        let record =
            PairRecord { key: key.clone(), created: created.unwrap_or(before), progress, since: self.now };
        self.world.pairs.insert(key.clone(), record.clone());
        self.change(Change::PutPair(Box::new(record)));
    }

    fn end_step(&mut self, key: StepKey, end: StepEnd) {
        let well = end == StepEnd::Succeeded;
        match &end {
            StepEnd::Succeeded => self.tally.succeeded += 1,
            StepEnd::Failed(_) => self.tally.failed += 1,
            StepEnd::Cancelled => self.tally.cancelled += 1,
            StepEnd::NeedsDecision { .. } => self.tally.undecided += 1,
            _ => {}
        }
        self.put_step(key, StepState::Done(end.clone()), Some(self.now));
        if let Some(run) = self.steps.remove(&key)
            && (run.recorded || !well)
        {
            let millis = self.now.millis_since(run.started);
            let happening = Happening::StepEnded { step: key.1, title: run.title, end, millis };
            self.happened(Some(key.0), happening);
        }
        self.out.acks.push(Ack::StepEnded { key, well });
    }

    fn note_skipped(&mut self, skipped: &crate::runner::Skipped) {
        let Some(process) = self.process.as_ref().map(|p| p.id) else { return };
        let title = self.runner.work(skipped.step).to_string();
        let end = StepEnd::Skipped { because: skipped.because.clone() };
        let record = StepRecord {
            process,
            step: skipped.step,
            title: title.clone(),
            state: StepState::Done(end.clone()),
            started: None,
            ended: Some(self.now),
        };
        self.change(Change::PutStep(Box::new(record)));
        let happening = Happening::StepEnded { step: skipped.step, title, end, millis: 0 };
        self.happened(Some(process), happening);
    }

    fn checkpoint(&mut self, id: &CallId, report: Report, reply: u64) {
        let Some(call) = self.calls.get(id).map(|run| run.call.clone()) else { return };
        let mut batch = std::mem::take(&mut self.out.batch);
        let applied = self.world.apply(&call, report, &mut batch);
        self.out.batch = batch;
        match applied {
            Ok(applied) => {
                self.log(&call.element, applied.log);
                self.out.acks.push(Ack::Checkpoint(reply));
            }
            Err(failure) => self.out.commands.push(Command::Reply { reply, result: Err(failure) }),
        }
    }

    fn finish(&mut self) {
        let Some(mut process) = self.process.clone() else {
            self.out.acks.push(Ack::ProcessEnded);
            return;
        };
        let Tally { failed, skipped, undecided, cancelled, .. } = self.tally;
        let (status, reason) = if self.cancelling {
            (ProcessStatus::Cancelled, Some("it was stopped on request".to_owned()))
        } else if undecided > 0 {
            (ProcessStatus::Failed, Some(format!("{undecided} of its steps need a decision")))
        } else if failed + skipped + cancelled > 0 {
            (ProcessStatus::Failed, Some(format!("{failed} of its steps failed, {skipped} were not started")))
        } else {
            (ProcessStatus::Completed, None)
        };
        process.status = status;
        process.ended = Some(self.now);
        process.reason.clone_from(&reason);
        self.process = Some(process.clone());
        let id = process.id;
        self.change(Change::PutProcess(Box::new(process)));
        self.happened(Some(id), Happening::ProcessEnded { status, reason });
        self.forget_assembly();
        self.out.acks.push(Ack::ProcessEnded);
    }

    /// Forgets an assembly that is to go and of which nothing is left.
    fn forget_assembly(&mut self) {
        let down = self.process.as_ref().is_some_and(|process| {
            process.intent == windlass_model::record::Intent::Down
                && process.status == ProcessStatus::Completed
        });
        let states: BTreeSet<&str> = self.world.elements.values().map(|r| r.state.as_str()).collect();
        if down && states.iter().all(|state| *state == State::Absent.as_str()) {
            self.change(Change::DropAssembly(self.world.assembly.name.clone()));
        }
    }

    /// Returns the process as it stands.
    pub(crate) fn process(&self) -> Option<&ProcessRecord> {
        self.process.as_ref()
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
