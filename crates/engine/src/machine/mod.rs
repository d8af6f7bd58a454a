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

mod calls;
mod effects;
mod failed;
mod prepare;
mod queues;
mod ready;
mod steps;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_driver::{Call, Driver, Location, Nature, Observed, Placement, Registry, Report};
use windlass_lifecycle::Plan;
use windlass_model::assembly::OperationCall;
use windlass_model::id::StoreId;
use windlass_model::record::{
    Advance, Assumption, CallRecord, CallState, Event as Happening, EventDraft, Failure, FailureKind, Intent,
    PairKey, ProcessRecord, ProcessStatus, StepEnd,
};
use windlass_model::{CallId, ElementName, ProcessId, Side, State, StepId, Timestamp, Transition};
use windlass_plan::PlanBuilder;
use windlass_secret::SecretRef;
use windlass_store::{Batch, Change};

use self::failed::FailedParts;
use self::queues::Queues;
use crate::engine::Told;
use crate::journal::Remains;
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
    Performed { call: CallId, result: Result<Report, Failure>, remains: Remains },
    /// A driver has looked.
    Observed { call: CallId, result: Result<Observed, Failure>, remains: Remains },
    /// A person has said what became of undecided calls.
    Assume {
        calls: Vec<CallRecord>,
        answer: Assumption,
        /// What the part of the one call publishes since, as the person says.
        published: Told,
        /// The part of which the person tells the driver's id, and that.
        natural: Option<(ElementName, String)>,
    },
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

impl Tally {
    /// Counts the end of a step, which `calls` somebody: where nothing would have been called, nothing was kept from
    /// anybody.
    pub fn count(&mut self, end: &StepEnd, calls: bool) {
        match end {
            StepEnd::Succeeded => self.succeeded += 1,
            StepEnd::Failed(_) => self.failed += 1,
            StepEnd::Skipped { .. } => self.skipped += u32::from(calls),
            StepEnd::Cancelled => self.cancelled += 1,
            StepEnd::NeedsDecision { .. } => self.undecided += 1,
            _ => {}
        }
    }
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
    /// The calls that are under way, and the steps that are parked until an element is free.
    queues: Queues,
    /// The elements that were there and have failed since the plan was made.
    failed_parts: FailedParts,
    /// What an earlier process has left open and is taken up when the machine begins.
    left_open: Vec<CallRecord>,
    locations: HashMap<Placement, Arc<Location>>,
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
    /// What a relationship is not made with: its source has not come as far as it must.
    left: Vec<PairKey>,
    ordinal: u32,
    started: Timestamp,
    recorded: bool,
}

/// A call that a step still has to make.
struct Planned {
    action: PlannedAction,
    then: Advance,
    /// Whether it ends a relationship.
    ends: bool,
    /// The version of the assembly that it is made with.
    side: Side,
}

enum PlannedAction {
    Transition(ElementName, Transition),
    Operation(PairKey, OperationCall),
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and they come in any combination"
)]
struct CallRun {
    record: CallRecord,
    call: Call,
    driver: Arc<dyn Driver>,
    nature: Nature,
    /// Whether an earlier process has begun it.
    taken_up: bool,
    /// Whether what is observed decides if a lost call happened.
    recovering: bool,
    /// Whether it waits for its next attempt.
    repeats: bool,
    /// Whether a job of it has started.
    acted: bool,
    polls: u32,
    /// The sealed outcomes of its jobs.
    wipe: Vec<SecretRef>,
}

impl CallRun {
    /// Tells whether nothing that its driver said has been taken in yet: all that is on record was said before it.
    fn is_unheard(&self) -> bool {
        self.record.state == CallState::Open
    }

    /// Tells whether a call that failed may have done something: all but what its driver says, or what kept its jobs from
    /// starting.
    fn may_have_acted(&self, failure: &Failure) -> bool {
        match failure.kind {
            FailureKind::Refused | FailureKind::AlreadyExists => false,
            FailureKind::Timeout | FailureKind::Lost | FailureKind::Protocol | FailureKind::Failed => true,
            _ => self.acted,
        }
    }
}

impl Machine {
    /// Makes the machine of a process.
    pub(crate) fn run(
        tools: Tools,
        world: World,
        plan: Plan,
        process: ProcessRecord,
        now: Timestamp,
    ) -> Self {
        Self::new(tools, world, plan, Some(process), now)
    }

    /// Makes a machine that settles what earlier processes have left open.
    pub(crate) fn settle(tools: Tools, world: World, open: Vec<CallRecord>, now: Timestamp) -> Self {
        let empty =
            PlanBuilder::new().build().unwrap_or_else(|_| unreachable!("an empty plan has no circle"));
        let mut machine = Self::new(tools, world, empty, None, now);
        machine.left_open = open;
        machine.left_open.retain(|record| record.state != CallState::Undecided);
        machine
    }

    fn new(tools: Tools, world: World, plan: Plan, process: Option<ProcessRecord>, now: Timestamp) -> Self {
        Self {
            queues: Queues::new(tools.pace.parallelism),
            tools,
            world,
            runner: Runner::new(plan),
            process,
            steps: HashMap::new(),
            calls: HashMap::new(),
            failed_parts: FailedParts::default(),
            left_open: Vec::new(),
            locations: HashMap::new(),
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
            Event::Begin => self.take_up(),
            Event::Durable(acks) => acks.into_iter().for_each(|ack| self.durable(ack)),
            Event::Performed { call, result, remains } => {
                if let Some(run) = self.calls.get_mut(&call) {
                    run.acted |= remains.started;
                }
                let is_refused = remains.is_refused;
                self.take_over(&call, remains);
                match result {
                    Err(_) if is_refused && self.cancelling => self.not_begun(&call),
                    result => self.performed(&call, result),
                }
            }
            Event::Observed { call, result, remains } => {
                self.take_over(&call, remains);
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
            Event::Due(call) => self.due(&call),
            Event::Checkpoint { call, report, reply } => self.checkpoint(&call, report, reply),
            Event::Cancel => self.cancel(),
        }
        self.advance();
        self.flush()
    }

    /// Writes the jobs of a call down, and keeps their sealed outcomes until it has ended: one that was lost is looked at
    /// first, and whoever takes that up after a crash must find its jobs as they ended.
    fn take_over(&mut self, call: &CallId, remains: Remains) {
        for job in remains.jobs {
            self.change(Change::PutJob(Box::new(job)));
        }
        match self.calls.get_mut(call) {
            Some(run) => run.wipe.extend(remains.wipe),
            None => self.wipe(remains.wipe),
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

    fn flush(&mut self) -> Vec<Command> {
        let mut out = std::mem::take(&mut self.out);
        if !out.batch.is_empty() || !out.acks.is_empty() {
            let batch = out.batch.beside(self.world.guests.values().map(|guest| &guest.lease));
            out.commands.insert(0, Command::Commit { batch, acks: out.acks });
        }
        out.commands
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
            Ack::Checkpoint(reply) => self.out.commands.push(Command::Reply { reply, result: Ok(()) }),
            Ack::ProcessEnded => self.out.commands.push(Command::Finished),
        }
    }

    /// Starts what may start, notes what never will, and ends the process when nothing is left.
    fn advance(&mut self) {
        if !self.cancelling {
            while let Some(key) = self.queues.wake() {
                self.proceed(key);
            }
            while self.queues.has_slot() {
                let Some(step) = self.runner.next() else { break };
                self.start(step);
            }
        }
        for skipped in self.runner.take_skipped() {
            // Where nothing would have been called, nothing was kept from anybody.
            self.tally.skipped += u32::from(self.runner.work(skipped.step).has_calls());
            self.note_skipped(&skipped);
        }
        let idle = self.unfinished == 0;
        if idle && !self.ended && self.out.acks.is_empty() {
            self.ended = true;
            self.finish();
        }
    }

    /// Takes up what an earlier process has left open.
    fn take_up(&mut self) {
        for record in std::mem::take(&mut self.left_open) {
            self.reopen(record);
        }
    }

    /// Starts nothing more: what is parked ends here, and what runs as it comes to its end.
    fn cancel(&mut self) {
        self.cancelling = true;
        // Whoever runs next takes it up.
        self.left_open.clear();
        for key in self.queues.drain() {
            self.end_step(key, StepEnd::Cancelled);
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
            (ProcessStatus::Failed, Some(short(failed, skipped)))
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
        self.forget_leftovers();
        self.note_reached();
        self.forget_assembly();
        self.out.acks.push(Ack::ProcessEnded);
    }

    /// Forgets an assembly that is to go and of which nothing is left.
    fn forget_assembly(&mut self) {
        let down = self.process.as_ref().is_some_and(|process| {
            process.intent == Intent::Down && process.status == ProcessStatus::Completed
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

/// Says in numbers why a process has not reached what was asked.
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
    use windlass_executor::Runtime;
    use windlass_store::testing::{CountingEntropy, samples};

    use super::*;

    /// A project without any place.
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

    /// A driver waits until its checkpoint is answered. One for a call that has ended is answered, too.
    #[test]
    fn a_checkpoint_for_an_unknown_call_is_refused() {
        let tools = Tools {
            store: StoreId::random(&CountingEntropy::seeded(1)),
            drivers: Registry::new(),
            places: Arc::new(Nowhere),
            pace: Pace { parallelism: 1, poll: Duration::from_secs(1) },
        };
        let world = World::new(samples::assembly(&samples::name("t"), &[]));
        let now = Timestamp::from_millis(0);
        let mut machine = Machine::settle(tools, world, Vec::new(), now);
        let event = Event::Checkpoint { call: samples::call_id(7, 1), report: Report::settled(), reply: 3 };
        let replies = machine.on(now, event).into_iter().filter_map(|command| match command {
            Command::Reply { reply, result } => Some((reply, result.unwrap_err().kind)),
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
