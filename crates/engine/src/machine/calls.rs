//! The course of a call to a driver: from its start, through its reports, observations and repetitions, to its end.

use windlass_driver::{Observation, Observed, Question, Report, Settled};
use windlass_model::instance::{InstanceView, LogEntry, Status, clear_complaint};
use windlass_model::record::{
    Advance, Assumption, CallRecord, CallState, Effect, Event as Happening, Failure, FailureKind,
    InstanceRecord, Severity, StepEnd, StepState, UnknownOutcome,
};
use windlass_model::{Action, CallId, ElementName, ProcessId, Side, State, Transition};
use windlass_store::Change;

use super::effects::Failed;
use super::prepare::CallSeed;
use super::queues::StepKey;
use super::{Ack, CallRun, Command, ProcessMachine, Timer};
use crate::call_outcome::{CallFacts, CallOutcome, pause_before, still_converging};
use crate::commands;
use crate::engine::PublishedOutputs;
use crate::report::Answered;

impl ProcessMachine {
    /// Performs an open call of an earlier process. If an [obstacle](Self::obstacle_of) prevents the call, no new
    /// job begins. Jobs that the earlier process has begun are still awaited.
    pub(super) fn resume(&mut self, id: &CallId) {
        let failed_endpoint = self.calls.get(id).and_then(|run| self.obstacle_of(&run.record));
        self.perform(id, failed_endpoint);
    }

    fn perform(&mut self, id: &CallId, failed_endpoint: Option<Failure>) {
        if let Some(run) = self.calls.get(id) {
            let (call, driver) = (Box::new(run.call.clone()), run.driver.clone());
            self.out.command(Command::Perform { call, driver, failed_endpoint });
        }
    }

    /// Performs a call whose record has just become durable. If a stop was requested in the meantime, or if an
    /// [obstacle](Self::obstacle_of) prevents the call, the function ends the call instead.
    pub(super) fn may_perform(&mut self, id: &CallId) {
        let Some(CallRun { record, .. }) = self.calls.get(id) else { return };
        match self.obstacle_of(record) {
            _ if self.cancelling => self.not_begun(id),
            // The source or the target of the relationship has failed since the call was recorded.
            Some(failure) => self.failed(id, failure),
            None => self.perform(id, None),
        }
    }

    /// Returns the reason why a call must not create its relationship. For example, the source or the target of the
    /// relationship has failed. Returns `None` if the call may be performed.
    fn obstacle_of(&self, record: &CallRecord) -> Option<Failure> {
        let pair = record.pair.as_ref().filter(|_| self.creates_pair(record))?;
        self.failed_endpoint(&record.element, pair)
    }

    pub(super) fn performed(&mut self, id: &CallId, result: Result<Report, Failure>) {
        match result {
            Ok(report) => self.reported(id, report, None),
            Err(failure) if failure.kind == FailureKind::Lost => self.lost(id, failure),
            Err(failure) => self.failed(id, failure),
        }
    }

    /// Applies a report, and decides whether the call has ended. If the report comes from an observation, `seen` is
    /// this observation.
    pub(super) fn reported(&mut self, id: &CallId, report: Report, seen: Option<&Observation>) {
        let settled = report.settled;
        let before = self.said_before(id);
        let element = match self.apply(id, report) {
            Some(Ok(element)) => element,
            Some(Err(failure)) => return self.failed(id, failure),
            None => return,
        };
        let status = self.world.home(&element).instances.status(&element);
        let leaves = self.leaves(id);
        let facts = CallFacts { before: &before, after: &status, settled, seen, removes: leaves };
        match CallOutcome::of(facts) {
            CallOutcome::Succeeded => self.succeeded(id),
            CallOutcome::Converging => self.converge(id),
            CallOutcome::Gone if self.may_destroy(id) => {
                self.becomes_absent(id);
                self.succeeded(id);
            }
            CallOutcome::Gone => self.failed(id, CallOutcome::gone()),
            CallOutcome::Failed(failure) => self.failed(id, failure),
        }
    }

    /// Returns the status of the instance before the first report of a call. The caller compares this status with
    /// the status after the report. For example, the instance may already be marked as failed before the call. The
    /// comparison then shows that the mark is not a result of the call.
    ///
    /// The result is an empty status in two cases, in which no comparison is necessary:
    ///
    /// - The call has already reported.
    /// - The call is a transition. The first report of a transition resets the status (see [`apply`](Self::apply)).
    fn said_before(&self, id: &CallId) -> Status {
        let operation =
            self.calls.get(id).filter(|run| run.has_no_report() && run.record.action.transition().is_none());
        let status = |element| self.world.home(element).instances.status(element);
        operation.map(|run| status(&run.call.element)).unwrap_or_default()
    }

    /// Applies a report to the world, and adds the log entries of the report to the activity log. Returns the
    /// called element, or the reason why the report can't be applied. Returns `None` if the call is not running.
    fn apply(&mut self, id: &CallId, report: Report) -> Option<Result<ElementName, Failure>> {
        let run = self.calls.get(id)?;
        let (element, process) = (run.call.element.clone(), run.record.process);
        let begins_anew = run.has_no_report() && matches!(run.record.action, Action::Transition(_));
        let home = self.world.home_mut(&element);
        if begins_anew {
            home.instances.forget_complaint(&element);
        }
        let (family, hidden) = (run.driver.family(), &run.hidden);
        let answered = Answered { call: &run.call, family, hidden, now: self.now };
        let applied = home.apply(answered, report, &mut self.out.batch);
        Some(applied.map(|applied| {
            self.log(process, &element, applied.all());
            element
        }))
    }

    /// Tells whether a call removes its element. For such a call, the absence of the instance means success.
    pub(super) fn leaves(&self, id: &CallId) -> bool {
        let then = self.calls.get(id).map(|run| run.record.then);
        let action = self.calls.get(id).map(|run| run.record.action.clone());
        matches!(then, Some(Advance::State(State::Absent | State::Created)))
            && matches!(action, Some(Action::Transition(Transition::Uninstall | Transition::Delete)))
    }

    /// Tells whether a call counts as successful even if its instance no longer exists after the call. The result
    /// is `true` for each command of an application, because a command may destroy the application.
    fn may_destroy(&self, id: &CallId) -> bool {
        let Some(run) = self.calls.get(id) else { return false };
        matches!(run.record.action, Action::Command(_)) && run.call.package.pins().is_some()
    }

    /// Changes the record of a call so that the element becomes Absent when the call succeeds.
    fn becomes_absent(&mut self, id: &CallId) {
        if let Some(run) = self.calls.get_mut(id) {
            run.record.then = Advance::State(State::Absent);
        }
    }

    /// Tells whether a call creates an instance, or is one of the operations that create a pair.
    fn makes(&self, id: &CallId) -> bool {
        let Some(CallRun { record, .. }) = self.calls.get(id) else { return false };
        matches!(record.action, Action::Transition(Transition::Create | Transition::Install))
            || self.creates_pair(record)
    }

    /// Tells whether a call is a transition that needs an existing instance. A transition that creates or removes the
    /// instance needs none.
    fn needs_instance(&self, id: &CallId) -> bool {
        let Some(CallRun { record, .. }) = self.calls.get(id) else { return false };
        matches!(record.action, Action::Transition(_)) && !self.makes(id) && !self.leaves(id)
    }

    /// Tells whether a call executes one of the operations that create a pair. A pair is a relationship between two
    /// nodes.
    ///
    /// A call with the planned change [`Advance::PairProgress`] can belong to the creation of a pair or to its removal.
    /// Such a call belongs to the creation if the pair does not exist yet.
    fn creates_pair(&self, record: &CallRecord) -> bool {
        let Some(pair) = &record.pair else { return false };
        let is_created = self.world.pairs.get(pair).is_some_and(|known| known.created);
        matches!(record.then, Advance::PairProgress(_) | Advance::Pair(true)) && !is_created
    }

    pub(super) fn log(&mut self, process: ProcessId, element: &ElementName, entries: Vec<LogEntry>) {
        for LogEntry { severity, message, data } in entries {
            let element = element.clone();
            self.happened(Some(process), Happening::Logged { element, severity, message, data });
        }
    }

    pub(super) fn converge(&mut self, id: &CallId) {
        let Some(run) = self.calls.get_mut(id) else { return };
        let timeout = i64::try_from(run.nature.timeout.as_millis()).unwrap_or(i64::MAX);
        let deadline = run.record.started.plus_millis(timeout);
        let first = !matches!(run.record.state, CallState::Converging { .. });
        run.record.state = CallState::Converging { deadline };
        run.polls += 1;
        let observed = run.observed;
        let wait = pause_before(self.poll, run.polls);
        let at = self.now.plus_millis(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)).min(deadline);
        let record = run.record.clone();
        if first {
            let key = (record.process, record.step);
            self.change(Change::PutCall(Box::new(record)));
            self.put_step(key, StepState::Converging { deadline }, None);
        }
        match self.observes_once && self.is_converging_transition(id) {
            true if observed && self.now < deadline => self.leave_converging(id),
            true if !observed => self.out.wake(Timer::Call(id.clone()), self.now),
            _ => self.out.wake(Timer::Call(id.clone()), at),
        }
    }

    pub(super) fn due(&mut self, id: &CallId) {
        let Some(run) = self.calls.get_mut(id) else { return };
        if self.cancelling {
            return match (run.taken_up, run.repeats) {
                (true, _) => self.leave_open(id),
                (false, true) => self.not_begun(id),
                (false, false) if self.can_wait_later(id) => self.wait_later(id),
                (false, false) => self.stopped(id),
            };
        }
        if std::mem::take(&mut run.repeats) {
            return self.repeat(id);
        }
        // While no process ran, the instance may have become ready. So a call of an earlier process is observed at
        // least once, even after its deadline.
        let is_due = run.taken_up && run.nature.observable && !std::mem::replace(&mut run.observed, true);
        let over = matches!(run.record.state, CallState::Converging { deadline } if self.now >= deadline);
        if over && !is_due {
            let home = self.world.home(&run.call.element);
            let instance = home.instances.get(&run.call.element);
            let status = instance.map(|instance| InstanceView::new(&instance.document).status());
            let message = status.and_then(|status| status.message);
            let reason = run.not_ready.as_deref().or(message.as_deref());
            let failure = still_converging(run.nature.timeout, reason);
            return self.not_ready(id, failure);
        }
        if !run.nature.observable {
            // Without observations, the call can only wait for its deadline.
            return self.converge(id);
        }
        self.observe(id);
    }

    /// Ends a call whose instance is not ready, and is no longer awaited.
    fn not_ready(&mut self, id: &CallId, failure: Failure) {
        if self.has_launched(id) {
            let end = StepEnd::Failed(failure.clone());
            self.launched(id, failure, end);
        } else {
            self.failed(id, failure);
        }
    }

    /// Ends a converging call of an earlier process, although its instance is not ready. The next plan removes or
    /// replaces the instance. If the call can't be prepared, the function does nothing.
    pub(super) fn give_up(&mut self, record: CallRecord) {
        let Ok(Some(call)) = self.preparer.prepare(&self.world, CallSeed::again(&record)) else { return };
        let id = record.id.clone();
        self.restore_step(&record);
        self.take_over_call(record, call);
        let failure = Failure::new(FailureKind::Timeout, "its instance was not ready when its removal began");
        self.not_ready(&id, failure);
    }

    pub(super) fn observe(&mut self, id: &CallId) {
        if let Some(run) = self.calls.get(id) {
            let mut call = run.call.clone();
            call.question = if run.lost.is_some() { Question::Done } else { Question::Settled };
            let home = self.world.home(&call.element);
            if let Some(instance) = home.instances.get(&call.element) {
                call.natural = home.secrets.natural(instance);
                call.document.clone_from(&instance.document);
                if run.has_no_report() {
                    clear_complaint(&mut call.document);
                }
            }
            let command = Command::Observe { call: Box::new(call), driver: run.driver.clone() };
            self.out.command(command);
        }
    }

    pub(super) fn observed(&mut self, id: &CallId, result: Result<Observed, Failure>) {
        let Some(run) = self.calls.get_mut(id) else { return };
        let lost = run.lost.take();
        match (result, lost) {
            (Ok(Observed { observation, report }), Some(lost)) => {
                self.decide(id, &lost, &observation, report);
            }
            (Ok(Observed { observation, mut report }), None) => {
                report.settled = Settled::Yes;
                self.note_why_not_ready(id, &observation);
                self.reported(id, report, Some(&observation));
            }
            (Err(failure), Some(lost)) => self.undecided(id, &format!("{lost}; {}", failure.message)),
            (Err(failure), None) => {
                let (process, element) = (run.record.process, run.record.element.clone());
                let entry = LogEntry::new(Severity::Warning, format!("the observation failed: {failure}"));
                self.log(process, &element, vec![entry]);
                self.converge(id);
            }
        }
    }

    /// Remembers why an instance is not ready, for the failure at the timeout of the call. If the state of the instance
    /// can't be determined, the function also logs each new reason.
    fn note_why_not_ready(&mut self, id: &CallId, observation: &Observation) {
        let Some(run) = self.calls.get_mut(id) else { return };
        let before = std::mem::replace(&mut run.not_ready, observation.why_not_reached().map(str::to_owned));
        let is_unknown = matches!(observation, Observation::CannotTell(_) | Observation::Unanswered);
        if is_unknown && before != run.not_ready {
            let why = run.not_ready.as_deref().unwrap_or_default();
            let entry = LogEntry::new(Severity::Warning, format!("the observation is inconclusive: {why}"));
            let (process, element) = (run.record.process, run.record.element.clone());
            self.log(process, &element, vec![entry]);
        }
    }

    /// Handles a lost call: observes the instance, repeats the call, or leaves the decision to an operator.
    pub(super) fn lost(&mut self, id: &CallId, failure: Failure) {
        let Some(run) = self.calls.get_mut(id) else { return };
        if self.cancelling && run.taken_up {
            return self.leave_open(id);
        }
        let key = (run.record.process, run.record.step);
        if run.record.effect == Effect::Once {
            if run.nature.observable && !self.cancelling {
                run.lost = Some(failure.message);
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

    /// Repeats a call. The second attempt follows at once, and the next three attempts after 1, 2 and 4 s.
    /// After five attempts, the call fails.
    ///
    /// The caller has checked that the call may run twice, or that its action was certainly not done.
    pub(super) fn again(&mut self, id: &CallId, failure: Failure) {
        const MOST: u32 = 5;
        const FIRST_WAIT: i64 = 1000;
        let Some(run) = self.calls.get_mut(id) else { return };
        let attempt = run.record.attempt;
        if attempt >= MOST {
            return self.failed(id, failure);
        }
        let Some(doublings) = attempt.checked_sub(2) else { return self.repeat(id) };
        run.repeats = true;
        let wait = FIRST_WAIT << doublings;
        let (process, element) = (run.record.process, run.record.element.clone());
        let message = format!("{failure}; the next attempt is in {} s", wait / 1000);
        self.log(process, &element, vec![LogEntry::new(Severity::Warning, message)]);
        self.out.wake(Timer::Call(id.clone()), self.now.plus_millis(wait));
    }

    fn repeat(&mut self, id: &CallId) {
        let Some(run) = self.calls.get_mut(id) else { return };
        run.record.attempt += 1;
        run.record.from = Some(self.home.clone());
        run.call.attempt = run.record.attempt;
        let record = run.record.clone();
        self.change(Change::PutCall(Box::new(record)));
        // The record of the new attempt must be durable before its job is submitted.
        self.out.acks.push(Ack::MayPerform(id.clone()));
    }

    /// Continues a lost call after the observation of its instance. A call is lost if its outcome is unknown, for
    /// example because its job has disappeared. `lost` is the reason why the outcome is unknown.
    fn decide(&mut self, id: &CallId, lost: &str, observation: &Observation, report: Report) {
        match observation {
            Observation::Reached => self.reported(id, Report { settled: Settled::Yes, ..report }, None),
            Observation::Converging => {
                self.reported(id, Report { settled: Settled::Converging, ..report }, None);
            }
            // The job may still run on the other host, so an unfinished action is no reason to repeat the job.
            _ if self.remote.contains(id) => self.undecided(id, lost),
            // A part of the instance may exist. The call fails and is not repeated, so that no second instance
            // is created.
            Observation::Differs(how) if self.makes(id) => {
                let failure = Failure::new(FailureKind::Failed, format!("its job was lost, and {how}"));
                match self.apply(id, report) {
                    Some(Err(refused)) => self.failed(id, refused),
                    _ => self.failed(id, failure),
                }
            }
            // The next plan creates the instance again.
            Observation::Absent if self.needs_instance(id) => self.failed(id, CallOutcome::gone()),
            Observation::Absent | Observation::Differs(_) => {
                let untouched = *observation == Observation::Absent && self.makes(id);
                if let Some(run) = self.calls.get_mut(id) {
                    run.untouched = untouched;
                }
                self.again(id, Failure::new(FailureKind::Lost, "its job was lost repeatedly"));
            }
            Observation::CannotTell(why) => self.undecided(id, &format!("{lost}; {why}")),
            Observation::Unanswered => self.undecided(id, &format!("{lost}; {}", Observation::NO_ANSWER)),
            _ => self.undecided(id, &format!("{lost}; the observation is inconclusive")),
        }
    }

    /// Closes an undecided call with the answer of an operator.
    pub(super) fn assume(&mut self, record: CallRecord, answer: Assumption, published: &PublishedOutputs) {
        let CallRecord { element, action, pair, then, process, .. } = record.clone();
        let failure = || Failure::new(FailureKind::Lost, "the operator reported a failure");
        let (word, state) = match answer {
            Assumption::Done => ("done", CallState::AssumedDone),
            Assumption::NotDone => ("not done", CallState::AssumedNotDone),
            Assumption::Failed => ("failed", CallState::Failed(failure())),
        };
        let message = format!("the operator reported {} as {word}", record.action);
        self.log(process, &element, vec![LogEntry::new(Severity::Info, message)]);
        let is_moot = self.is_moot(&record);
        self.close(record, state);
        self.note_failure(&element, None);
        match answer {
            _ if is_moot => {}
            Assumption::Done => {
                if pair.is_none() {
                    self.world.publish(&element, &action, published, &mut self.out.batch);
                }
                self.attain(&element, &action, pair.as_ref(), then, process);
            }
            Assumption::NotDone => {}
            Assumption::Failed => self.fall(Failed {
                element: &element,
                action: &action,
                pair: pair.as_ref(),
                then,
                failure: &failure(),
                process,
                acted: true,
            }),
        }
    }

    /// Tells whether the outcome of a call no longer matters. Two conditions must hold: the call is an operation that
    /// removes a pair, and the pair no longer exists.
    ///
    /// A pair is a relationship between two nodes, its source and its target. The pair also ends with the removal of
    /// one of these nodes. The outcome must then not be recorded at the pair. Otherwise, a later creation of the pair
    /// would skip operations.
    fn is_moot(&self, record: &CallRecord) -> bool {
        let CallRecord { pair, then, side, .. } = record;
        let is_created = |pair| self.world.pairs.get(pair).is_some_and(|known| known.created);
        let ceases = *side == Side::Installed && matches!(then, Advance::PairProgress(_));
        ceases && pair.as_ref().is_some_and(|pair| !is_created(pair))
    }

    pub(super) fn undecided(&mut self, id: &CallId, why: &str) {
        if let Some(run) = self.calls.get_mut(id) {
            run.record.unknown = Some(UnknownOutcome { why: why.to_owned(), by: self.home.clone() });
        }
        let Some(run) = self.finish_call(id, CallState::Undecided) else { return };
        self.await_decision(&run.record, why);
    }

    /// Records at the element that the outcome of an undecided call is unknown. The text `why` states the reason. Ends
    /// the step of the call.
    pub(super) fn await_decision(&mut self, record: &CallRecord, why: &str) {
        let message = format!("the outcome of {} is unknown: {why}", record.action);
        self.note_failure(&record.element, Some(Failure::new(FailureKind::Lost, message)));
        if let Action::Transition(_) = record.action {
            self.undecided.insert(record.element.clone());
        }
        self.end_step((record.process, record.step), StepEnd::NeedsDecision { call: record.id.clone() });
    }

    /// Handles a stop of a call whose present attempt has not run a job yet.
    ///
    /// - If an earlier process began the call, the call stays open for the next process.
    /// - If earlier attempts of the call may have had effects, the call ends as in [`stopped`](Self::stopped).
    /// - Otherwise, the call has had no effect. The call ends as failed, and its step ends as cancelled.
    pub(super) fn not_begun(&mut self, id: &CallId) {
        let Some(run) = self.calls.get(id) else { return };
        if run.taken_up {
            return self.leave_open(id);
        }
        if run.has_lost_attempt() {
            return self.stopped(id);
        }
        let failure = Failure::new(FailureKind::Refused, "it was stopped on request before it began");
        let Some(run) = self.finish_call(id, CallState::Failed(failure)) else { return };
        self.retract(&run.record);
        self.end_step((run.record.process, run.record.step), StepEnd::Cancelled);
    }

    /// Undoes the changes that the machine has made in the records before it made a call. The call has had no effect.
    fn retract(&mut self, record: &CallRecord) {
        match &record.pair {
            Some(pair) => self.unrelate_what_has_not_begun(pair),
            None => self.unmake_what_has_not_begun(&record.element),
        }
    }

    /// Removes a call of an earlier process, and the step of this call, from the memory of this machine. The
    /// records of the call and the step stay open for the next process.
    fn leave_open(&mut self, id: &CallId) {
        let Some(run) = self.calls.remove(id) else { return };
        let key = (run.record.process, run.record.step);
        self.queues.leave(&run.record.element);
        self.leave_step_open(key);
    }

    /// Removes a step of an earlier process from the memory of this machine. The record of the step stays open
    /// for the next process.
    pub(super) fn leave_step_open(&mut self, key: StepKey) {
        if self.steps.remove(&key).is_some() {
            self.unfinished -= 1;
        }
    }

    /// Tells whether a call is a transition that only waits for its instance, for example until the instance is ready.
    /// The jobs of such a call have ended. The result is `false` if a health check can't observe the instance.
    fn is_converging_transition(&self, id: &CallId) -> bool {
        let Some(CallRun { record, nature, .. }) = self.calls.get(id) else { return false };
        let is_converging = matches!(record.state, CallState::Converging { .. });
        is_converging && nature.observable && record.action.transition().is_some()
    }

    /// Tells whether a call stays open after a stop, so that a later process waits for its instance. The call creates,
    /// stops or removes the instance. The launch of an application does not stay open: [`launched`](Self::launched) ends
    /// the call and keeps the instance.
    fn can_wait_later(&self, id: &CallId) -> bool {
        use Transition::{Create, Delete, Install, Stop, Uninstall};
        let action = self.calls.get(id).and_then(|run| run.record.action.transition());
        let waits = matches!(action, Some(Create | Install | Stop | Uninstall | Delete));
        waits && self.is_converging_transition(id) && !self.has_launched(id)
    }

    /// Leaves a call open, because its instance is still converging. The call belongs to an earlier process. No job of
    /// the call will run again, so the recorded outcomes of its jobs are no longer needed.
    fn leave_converging(&mut self, id: &CallId) {
        if let Some(run) = self.calls.get_mut(id) {
            let wipe = std::mem::take(&mut run.wipe);
            self.wipe(wipe);
        }
        self.leave_open(id);
    }

    /// Handles a stop of a call whose instance is converging. The step ends as cancelled, but the record of the call
    /// stays open. The next process observes the instance and ends the call. We rejected the state Failed: the next
    /// plan would remove an instance that may be ready soon, or would repeat a removal.
    fn wait_later(&mut self, id: &CallId) {
        let Some(mut run) = self.calls.remove(id) else { return };
        self.wipe(std::mem::take(&mut run.wipe));
        self.queues.leave(&run.record.element);
        // The process ends now, so it no longer tells where its calls were made.
        run.record.from.get_or_insert_with(|| self.home.clone());
        let key = (run.record.process, run.record.step);
        self.change(Change::PutCall(Box::new(run.record)));
        self.end_step(key, StepEnd::Cancelled);
    }

    /// Tells whether a call has launched the instance of an application, and now only waits until the instance is
    /// ready.
    ///
    /// The result is true if the launch script has succeeded, the natural id of the instance is known, and a health
    /// check can observe the instance. If the wait ends early, the next process can then continue the health check.
    fn has_launched(&self, id: &CallId) -> bool {
        let Some(run) = self.calls.get(id) else { return false };
        let is_launch = run.record.action == Action::Transition(Transition::Install);
        let is_converging = matches!(run.record.state, CallState::Converging { .. });
        let home = self.world.home(&run.call.element);
        let instance = home.instances.get(&run.call.element);
        let is_application = run.call.package.pins().is_some();
        is_launch
            && is_converging
            && is_application
            && run.nature.observable
            && instance.is_some_and(InstanceRecord::has_natural)
    }

    /// Ends a call whose launch script has succeeded, but whose instance did not become ready before the deadline or a
    /// stop (see [`has_launched`](Self::has_launched)). The call fails, but the element becomes Installed. So the next
    /// plan keeps the instance, and continues with the health check.
    fn launched(&mut self, id: &CallId, failure: Failure, end: StepEnd) {
        let Some(run) = self.finish_call(id, CallState::Failed(failure.clone())) else { return };
        self.attain_by(&run);
        self.note_failure(&run.record.element, Some(failure));
        self.end_step((run.record.process, run.record.step), end);
    }

    /// Ends a call that a stop has cancelled. The next plan may repeat the action of the call.
    pub(super) fn stopped(&mut self, id: &CallId) {
        if self.has_launched(id) {
            let failure =
                Failure::new(FailureKind::Timeout, "it was stopped on request before its instance was ready");
            return self.launched(id, failure, StepEnd::Cancelled);
        }
        let failure = Failure::new(FailureKind::Lost, "it was stopped on request");
        let Some(run) = self.finish_call(id, CallState::Failed(failure.clone())) else { return };
        self.cut_short(&run.record, &failure);
        self.end_step((run.record.process, run.record.step), StepEnd::Cancelled);
    }

    /// Records the effects that a cancelled call may have had on its element or its pair.
    ///
    /// - Create, Install: the element becomes Failed, because the instance may exist in part, and `down` must
    ///   remove it.
    /// - Stop: the element becomes Broken, because only some parts of its instance may still work. The instance
    ///   still exists, so the element is not created again.
    /// - Other transitions: the state of the element stays. If the transition may have had effects, the function
    ///   [`note_attempt`](Self::note_attempt) records the transition.
    fn cut_short(&mut self, record: &CallRecord, failure: &Failure) {
        let CallRecord { element, action, process, .. } = record;
        match action {
            Action::Transition(Transition::Create | Transition::Install) => self.cut(record, failure),
            // The state of the element is not affected.
            Action::Operation(_) => {
                if let Some(pair) = &record.pair {
                    self.doubt_pair(pair, record.then);
                }
            }
            Action::Transition(Transition::Stop) => {
                self.reach(element, State::Broken, Some(*process));
                self.note_failure(element, Some(failure.clone()));
            }
            // The success of the preceding Start is already recorded.
            Action::Transition(Transition::Integrity) => {}
            Action::Transition(transition) => self.note_attempt(element, *transition),
            _ => {}
        }
    }

    /// Records a cancelled call in the same way as a failed call that may have had effects (see [`fall`](Self::fall)).
    fn cut(&mut self, record: &CallRecord, failure: &Failure) {
        let CallRecord { element, action, pair, then, process, .. } = record;
        let (pair, then, process) = (pair.as_ref(), *then, *process);
        self.fall(Failed { element, action, pair, then, failure, process, acted: true });
    }

    pub(super) fn failed(&mut self, id: &CallId, failure: Failure) {
        let Some(run) = self.finish_call(id, CallState::Failed(failure.clone())) else { return };
        let acted = run.may_have_acted(&failure);
        let CallRecord { element, action, pair, then, process, step, .. } = &run.record;
        let (pair, then, process) = (pair.as_ref(), *then, *process);
        let failed = Failed { element, action, pair, then, failure: &failure, process, acted };
        self.fall(failed);
        if failed.has_not_begun() {
            self.retract(&run.record);
        }
        let key = (process, *step);
        if self.continues_without(key, pair, &failure) {
            self.proceed(key);
        } else {
            self.end_step(key, StepEnd::Failed(failure));
        }
    }

    pub(super) fn succeeded(&mut self, id: &CallId) {
        let Some(run) = self.finish_call(id, CallState::Succeeded) else { return };
        self.attain_by(&run);
        self.proceed((run.record.process, run.record.step));
    }

    /// Records the change that a call was planned to make, and the input values of the call.
    fn attain_by(&mut self, run: &CallRun) {
        let CallRecord { element, action, pair, then, process, side, .. } = &run.record;
        // If an earlier process began the call, no record tells which input values the job of the call got. The
        // inputs of the element then stay recorded as outdated.
        if !run.taken_up {
            self.record_inputs(element, action, *side, Some(&run.call));
        }
        self.note_location(&run.call, *side, true);
        self.attain(element, action, pair.as_ref(), *then, *process);
    }

    pub(super) fn finish_call(&mut self, id: &CallId, state: CallState) -> Option<CallRun> {
        let mut run = self.calls.remove(id)?;
        self.wipe(std::mem::take(&mut run.wipe));
        self.queues.leave(&run.record.element);
        self.close(run.record.clone(), state);
        Some(run)
    }

    pub(super) fn close(&mut self, mut record: CallRecord, state: CallState) {
        record.ended = (state != CallState::Undecided).then_some(self.now);
        commands::call_ended(&mut self.world, &record, &state, self.now, &mut self.out.batch);
        record.state = state;
        self.change(Change::PutCall(Box::new(record)));
    }

    pub(super) fn checkpoint(&mut self, id: &CallId, report: Report, reply: u64) {
        match self.apply(id, report) {
            Some(Ok(_)) => self.out.acks.push(Ack::Checkpoint(reply)),
            Some(Err(failure)) => self.out.command(Command::Reply { reply, result: Err(failure) }),
            None => {
                let failure = Failure::new(FailureKind::Protocol, format!("there is no open call {id}"));
                self.out.command(Command::Reply { reply, result: Err(failure) });
            }
        }
    }
}
