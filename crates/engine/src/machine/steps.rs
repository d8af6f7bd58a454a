//! Steps: the calls that a step makes, and its end.

use std::collections::VecDeque;

use windlass_driver::Location;
use windlass_model::assembly::{OperationCall, Pause};
use windlass_model::record::{
    Advance, CallRecord, CallState, Event as Happening, Failure, PairKey, PairRecord, StepEnd, StepRecord,
    StepState, UnknownOutcome,
};
use windlass_model::work::{Direction, Relate, Work};
use windlass_model::{Action, CallId, ElementName, ProcessId, Side, State, StepId, Timestamp, Transition};
use windlass_store::Change;

use super::effects::Failed;
use super::prepare::CallSeed;
use super::queues::StepKey;
use super::{Ack, CallRun, Planned, PlannedAction, ProcessMachine, StepRun, Timer, count};
use crate::applied_inputs::give;
use crate::commands;
use crate::runner::Skipped;
use crate::slots::LimitedLocation;
use crate::values::{Unknown, arguments};

impl ProcessMachine {
    pub(super) fn start(&mut self, step: StepId) {
        let Some(process) = self.process.as_ref().map(|p| p.id) else { return };
        let work = self.runner.work(step).clone();
        let key = (process, step);
        let (queue, left) = self.with_who_is_ready(&work, self.planned(&work));
        self.unfinished += 1;
        let run = StepRun {
            title: work.to_string(),
            queue: queue.into(),
            left,
            creates_pairs: matches!(&work, Work::Relate(relate) if relate.direction == Direction::Create),
            failure: None,
            ordinal: 0,
            started: self.now,
            resumed: None,
            recorded: false,
            slot: None,
            left_open: None,
        };
        self.steps.insert(key, run);
        if let Work::Pause { pause, .. } = &work {
            return self.begin_pause(key, *pause);
        }
        self.attain_without_calls(&work, process);
        self.proceed(key);
    }

    /// Begins a pause between two batches of nodes.
    ///
    /// If the process is killed during the pause, a later process makes a new plan. If the planned end of the pause
    /// has not come by then, the new plan contains the pause again.
    fn begin_pause(&mut self, step: StepKey, pause: Pause) {
        if self.cancelling {
            return self.end_step(step, StepEnd::Cancelled);
        }
        self.record_start(step);
        self.pauses.insert(step);
        let until = self.now.plus_millis(pause.millis().into());
        self.out.wake(Timer::Pause(step), until);
    }

    /// Ends the pause `step`, unless this pause has already ended. A pause is a step that waits between two batches of
    /// nodes.
    pub(super) fn end_pause(&mut self, step: StepKey, end: StepEnd) {
        if self.pauses.remove(&step) {
            self.end_step(step, end);
        }
    }

    /// Records the changes that a step makes without a call: new states of elements, new packages of elements, and
    /// created or removed pairs.
    ///
    /// For example, if an element does not declare the transition Start, the element becomes Active without a call.
    pub(super) fn attain_without_calls(&mut self, work: &Work, process: ProcessId) {
        match work {
            Work::Transition { element, to, calls, side, .. } if calls.is_empty() => {
                if *side == Side::Desired && *to != State::Absent {
                    self.note_making(element, process);
                }
                self.reach(element, *to, Some(process));
            }
            Work::Package { element } => self.note_package(element),
            Work::Relate(relate) => {
                let Relate { direction, assembly, relationship, target, sources, operations, side, .. } =
                    &**relate;
                let made = *direction == Direction::Create;
                for key in self.world.pairs_at(assembly, relationship.as_str(), target, sources, *side) {
                    // An earlier process may have called only some of the operations that create the pair. In the
                    // version of the assembly that this process used, the relationship may have had more of these
                    // operations than now. All operations that the relationship has now may then have been called
                    // already.
                    let is_whole = made && self.world.pairs.get(&key).is_some_and(PairRecord::is_half_made);
                    // Even if the present version has no operations that remove the pair, the record of the pair
                    // may contain such operations of an older version.
                    if !(operations.is_empty() || is_whole)
                        || !self.planned_pair(&key, operations, *direction, *side).is_empty()
                    {
                        continue;
                    }
                    if made && !is_whole {
                        self.note_given_before(&key);
                    }
                    self.put_pair(&key, made);
                }
            }
            _ => {}
        }
    }

    /// Lists the remaining calls of a step.
    pub(super) fn planned(&self, work: &Work) -> Vec<Planned> {
        match work {
            Work::Transition { element, to, calls, side, .. } => {
                let side = *side;
                let known = self.world.elements.get(element);
                let done = known.map_or(0, |record| usize::try_from(record.progress).unwrap_or(0));
                // The recorded progress may belong to another transition, and then does not count. Records of
                // older versions of windlass do not name the transition.
                let attempted = known.and_then(|record| record.attempted);
                let is_own = attempted.is_none() || calls.iter().nth(done.wrapping_sub(1)) == attempted;
                let done = if is_own { done } else { 0 };
                let last = calls.len().saturating_sub(1);
                let all = calls.iter().enumerate().map(|(at, transition)| Planned {
                    action: PlannedAction::Transition(element.clone(), transition),
                    then: if at == last { Advance::State(*to) } else { Advance::Progress(count(at + 1)) },
                    ends: false,
                    side,
                });
                all.skip(done.min(last)).collect()
            }
            Work::Relate(relate) => {
                let Relate { direction, assembly, relationship, target, sources, operations, side, .. } =
                    &**relate;
                let pairs = self.world.pairs_at(assembly, relationship.as_str(), target, sources, *side);
                let is_open = |key: &PairKey| match (direction, self.world.pairs.get(key)) {
                    (Direction::Create, known) => known.is_none_or(|pair| !pair.created),
                    (Direction::Cease, known) => known.is_some_and(PairRecord::is_there),
                    (Direction::Undo, known) => known.is_some_and(PairRecord::is_half_made),
                };
                let open = pairs.into_iter().filter(is_open);
                open.flat_map(|key| self.planned_pair(&key, operations, *direction, *side)).collect()
            }
            Work::Command { element, command } => vec![Planned {
                action: PlannedAction::Command(element.clone(), command.clone()),
                then: Advance::Nothing,
                ends: false,
                side: Side::Installed,
            }],
            _ => Vec::new(),
        }
    }

    pub(super) fn planned_pair(
        &self,
        key: &PairKey,
        operations: &[OperationCall],
        direction: Direction,
        side: Side,
    ) -> Vec<Planned> {
        let known = self.world.pairs.get(key);
        if known.is_some_and(PairRecord::is_half_made) {
            return self.planned_rest(key, operations, direction, side);
        }
        let own = known.and_then(|pair| pair.cease.as_ref()).filter(|_| direction == Direction::Cease);
        let operations = own.map_or(operations, Vec::as_slice);
        let done = known.map_or(0, |pair| pair.progress);
        let last = operations.len().saturating_sub(1);
        let done = usize::try_from(done).unwrap_or(0).min(last);
        planned_from(key, operations, done, direction == Direction::Create, side)
    }

    /// Lists the remaining calls of a step for a half-created pair.
    ///
    /// A pair is a relationship between two nodes. A pair is half-created if operations that create the pair were
    /// called, but not all of them have succeeded. The last called operation is *in doubt* if this operation did not
    /// succeed and may have had effects.
    ///
    /// The `direction` of the step determines the calls:
    ///
    /// - [`Direction::Create`]: the calls undo the operation in doubt, and then execute the remaining operations. If
    ///   the operations of the relationship have changed, the calls undo all called operations, and then execute all
    ///   operations.
    /// - [`Direction::Cease`]: the calls undo all called operations, the last called operation first.
    /// - [`Direction::Undo`]: the calls undo only the operation in doubt.
    fn planned_rest(
        &self,
        key: &PairKey,
        operations: &[OperationCall],
        direction: Direction,
        side: Side,
    ) -> Vec<Planned> {
        let begun = self.world.begun(key);
        let in_doubt = self.world.pairs.get(key).is_some_and(|pair| pair.in_doubt);
        let done = begun.len() - usize::from(in_doubt).min(begun.len());
        let is_same = begun.iter().map(|begun| &begun.operation).eq(operations.iter().take(begun.len()));
        let kept = match direction {
            Direction::Undo => done,
            Direction::Create if is_same => done,
            // If the operations have changed, all operations that were called are undone.
            Direction::Create | Direction::Cease => 0,
        };
        let undo: Vec<&OperationCall> = begun[kept..].iter().rev().flat_map(|begun| &begun.undo).collect();
        let last = undo.len();
        let undone = undo.into_iter().zip(1..).map(|(operation, nth)| Planned {
            action: PlannedAction::Operation(key.clone(), operation.clone()),
            then: if nth == last && kept == 0 { Advance::Pair(false) } else { Advance::PairUndone },
            ends: true,
            side: Side::Installed,
        });
        let rest = match direction {
            Direction::Create => planned_from(key, operations, kept, true, side),
            Direction::Cease | Direction::Undo => Vec::new(),
        };
        undone.chain(rest).collect()
    }

    /// Makes the next call of a step, or ends the step.
    pub(super) fn proceed(&mut self, key: StepKey) {
        loop {
            let Some(run) = self.steps.get(&key) else { return };
            if let Some(record) = run.left_open.clone() {
                return self.take_up_call(key, record);
            }
            let Some(planned) = run.queue.front() else {
                let failure = run.failure.clone().map(in_one).or_else(|| self.not_made_with(&run.left));
                return self.end_step(key, failure.map_or(StepEnd::Succeeded, StepEnd::Failed));
            };
            if self.cancelling {
                return self.cancel_step(key);
            }
            let (element, action, pair) = match self.resolve(planned) {
                Ok(resolved) => resolved,
                Err(failure) => return self.end_step(key, StepEnd::Failed(failure)),
            };
            if planned.ends && self.world.is_missed(&element) {
                // The element was removed with `--force`, so the relationship no longer exists.
                let (then, action) = (planned.then, action.clone());
                if let Some(run) = self.steps.get_mut(&key) {
                    run.queue.pop_front();
                }
                self.attain(&element, &action, pair.as_ref(), then, key.0);
                continue;
            }
            let failed_endpoint = pair.as_ref().filter(|_| !planned.ends);
            if let Some(failure) = failed_endpoint.and_then(|pair| self.failed_endpoint(&element, pair)) {
                if self.continues_without(key, pair.as_ref(), &failure) {
                    continue;
                }
                return self.end_step(key, StepEnd::Failed(failure));
            }
            if self.queues.is_in_use(&element) {
                if let Some(run) = self.steps.get_mut(&key) {
                    run.slot = None;
                }
                return self.queues.park(&element, key);
            }
            let (then, side) = (planned.then, planned.side);
            let seed = CallSeed {
                id: CallId::of(&self.store, key.0, key.1, run.ordinal),
                key,
                element: element.clone(),
                action: action.clone(),
                pair: pair.clone(),
                then,
                side,
                attempt: 1,
                from: None,
                started: self.now,
                again: false,
            };
            let prepared = self.preparer.prepare(&self.world, seed);
            if let Ok(Some(call)) = &prepared
                && self.is_parked_at(key, &call.call.location)
            {
                return;
            }
            if let Some(run) = self.steps.get_mut(&key) {
                run.queue.pop_front();
            }
            match prepared {
                Err(failure) => {
                    self.fall(Failed {
                        element: &element,
                        action: &action,
                        pair: pair.as_ref(),
                        then,
                        failure: &failure,
                        process: key.0,
                        acted: false,
                    });
                    if self.continues_without(key, pair.as_ref(), &failure) {
                        continue;
                    }
                    return self.end_step(key, StepEnd::Failed(failure));
                }
                // No driver is called. The step only changes records.
                Ok(None) => {
                    self.before_making(&element, &action, side, key.0);
                    self.record_inputs(&element, &action, side, None);
                    self.attain(&element, &action, pair.as_ref(), then, key.0);
                }
                Ok(Some(call)) => return self.open(key, call),
            }
        }
    }

    /// Ends a step because of a stop. If a pair of the step has failed, the step counts as failed.
    pub(super) fn cancel_step(&mut self, key: StepKey) {
        let failure = self.steps.get(&key).and_then(|run| run.failure.clone());
        let end = failure.map_or(StepEnd::Cancelled, |failure| StepEnd::Failed(in_one(failure)));
        self.end_step(key, end);
    }

    /// Notes that a pair has failed. Returns `true` if its step continues with other pairs: a node that a balancer
    /// can't use does not prevent the balancer from using the other nodes.
    pub(super) fn continues_without(
        &mut self,
        key: StepKey,
        pair: Option<&PairKey>,
        failure: &Failure,
    ) -> bool {
        let (Some(run), Some(pair)) = (self.steps.get_mut(&key), pair) else { return false };
        if !run.creates_pairs {
            return false;
        }
        run.queue.retain(|planned| !planned.is_of(pair));
        run.failure.get_or_insert_with(|| (failure.clone(), 0)).1 += 1;
        true
    }

    /// Tells whether the next call of a step must wait for a slot of its location. In this case, puts the step
    /// into the queue of the location.
    fn is_parked_at(&mut self, key: StepKey, location: &Location) -> bool {
        let Some(run) = self.steps.get_mut(&key) else { return false };
        let wanted = LimitedLocation::of(location);
        run.slot = run.slot.take().filter(|slot| wanted.as_ref() == Some(slot.location()));
        let Some(wanted) = wanted.filter(|_| run.slot.is_none()) else { return false };
        self.queues.park_at(wanted, key);
        true
    }

    /// Records the process that creates an element, and the package of the element, before a transition. If
    /// `action` is no transition, or if `side` is not the desired version, the function does nothing.
    fn before_making(&mut self, element: &ElementName, action: &Action, side: Side, process: ProcessId) {
        if side == Side::Desired && matches!(action, Action::Transition(_)) {
            self.note_making(element, process);
            // The package is recorded only after the Reconfigure has succeeded. If it fails, the next plan
            // repeats it.
            if *action != Action::Transition(Transition::Reconfigure) {
                self.note_package(element);
            }
        }
    }

    pub(super) fn resolve(
        &self,
        planned: &Planned,
    ) -> Result<(ElementName, Action, Option<PairKey>), Failure> {
        match &planned.action {
            PlannedAction::Transition(element, transition) => {
                Ok((element.clone(), Action::Transition(*transition), None))
            }
            PlannedAction::Operation(pair, operation) => {
                let (element, operation) = self.world.operation(pair, operation, planned.side)?;
                Ok((element, Action::Operation(operation), Some(pair.clone())))
            }
            PlannedAction::Command(element, command) => {
                Ok((element.clone(), Action::Command(command.clone()), None))
            }
        }
    }

    /// Records a call. The machine performs the call only when the record is durable. So the next process knows,
    /// even after a crash, each job that may have changed something.
    pub(super) fn open(&mut self, key: StepKey, call: CallRun) {
        self.record_start(key);
        if let Some(run) = self.steps.get_mut(&key) {
            run.ordinal += 1;
        }
        let CallRecord { element, action, side, .. } = call.record.clone();
        self.before_making(&element, &action, side, key.0);
        self.note_location(&call.call, side, false);
        let id = call.record.id.clone();
        self.change(Change::PutCall(Box::new(call.record.clone())));
        self.note_given_to(&call);
        commands::begin(&mut self.world, &call.record, call.late_results, &mut self.out.batch);
        self.queues.enter(&call.record.element);
        self.calls.insert(id.clone(), call);
        self.out.acks.push(Ack::MayPerform(id));
    }

    /// Records the inputs that the call `run` passes to the operation of a pair. The function records these inputs in
    /// two cases:
    ///
    /// - The call is the first of the calls that create the pair.
    /// - An earlier call has begun the creation of the pair, but no inputs are recorded yet.
    fn note_given_to(&mut self, run: &CallRun) {
        let Some(pair) = &run.record.pair else { return };
        let known = self.world.pairs.get(pair);
        let is_first =
            known.is_none_or(|known| !known.created && (!known.is_half_made() || known.given.is_none()));
        if is_first {
            give(&mut self.world, pair, &run.call.arguments, self.now, &mut self.out.batch);
        }
    }

    /// Records the inputs of a pair that exists already, for example in an adopted assembly. The operations that create
    /// the pair are not called, so the function records the values that these operations would get now.
    ///
    /// If one of these values is unknown, the function records nothing.
    fn note_given_before(&mut self, pair: &PairKey) {
        let found = self.world.topology().relationship(&pair.assembly, pair.relationship.as_str());
        if found.is_none_or(|found| found.create.is_empty()) {
            return;
        }
        if let Ok(values) = arguments(&self.world, pair, Side::Desired, Unknown::Refused) {
            give(&mut self.world, pair, &values, self.now, &mut self.out.batch);
        }
    }

    /// Restores the step of an open call of an earlier process, and resumes the call.
    pub(super) fn reopen(&mut self, record: CallRecord) {
        let key = self.restore_step(&record);
        if let Some(run) = self.steps.get_mut(&key) {
            run.left_open = Some(record);
        }
        self.proceed(key);
    }

    /// Restores the step of an open call of an earlier process.
    pub(super) fn restore_step(&mut self, record: &CallRecord) -> StepKey {
        let key = (record.process, record.step);
        self.unfinished += 1;
        let run = StepRun {
            title: format!("{} {}", record.element.local(), record.action),
            queue: VecDeque::new(),
            left: Vec::new(),
            creates_pairs: false,
            failure: None,
            ordinal: 0,
            started: record.started,
            resumed: Some(self.now),
            recorded: true,
            slot: None,
            left_open: None,
        };
        self.steps.insert(key, run);
        key
    }

    /// Adds an open call of an earlier process to the calls of this machine. `call` is the call, prepared again.
    pub(super) fn take_over_call(&mut self, record: CallRecord, mut call: CallRun) {
        call.record.state = record.state;
        // The recorded times may be wrong. The next lines limit the remaining wait to the timeout of the call.
        call.record.started = call.record.started.min(self.now);
        let latest = i64::try_from(call.nature.timeout.as_millis()).unwrap_or(i64::MAX);
        if let CallState::Converging { deadline } = &mut call.record.state {
            *deadline = (*deadline).min(self.now.plus_millis(latest));
        }
        call.taken_up = true;
        self.queues.enter(&call.record.element);
        self.calls.insert(record.id, call);
    }

    /// Resumes an open call of an earlier process. The driver gets the recorded outcomes of jobs that have
    /// ended.
    fn take_up_call(&mut self, key: StepKey, record: CallRecord) {
        let id = record.id.clone();
        let converging = matches!(record.state, CallState::Converging { .. });
        let prepared = self.preparer.prepare(&self.world, CallSeed::again(&record));
        if let Ok(Some(call)) = &prepared
            && self.is_parked_at(key, &call.call.location)
        {
            return;
        }
        if let Some(run) = self.steps.get_mut(&key) {
            run.left_open = None;
        }
        match prepared {
            Ok(Some(call)) => {
                self.take_over_call(record, call);
                if converging {
                    self.out.wake(Timer::Call(id), self.now);
                } else {
                    // The call may already have been executed. The driver then gets the outcomes of the
                    // existing jobs, and no job runs twice.
                    self.resume(&id);
                }
            }
            Ok(None) => {
                let CallRecord { element, action, pair, then, process, .. } = &record;
                self.attain(element, action, pair.as_ref(), *then, *process);
                self.close(record, CallState::Succeeded);
                self.end_step(key, StepEnd::Succeeded);
            }
            // The job of the call may have changed something, so the call can't end as failed.
            Err(failure) if self.answered.contains(&record.id) => self.doubt(record, &failure),
            Err(failure) => {
                self.leave_step_open(key);
                self.unprepared.push((record, failure));
            }
        }
    }

    /// Ends an open call of an earlier process as undecided, because the call can't be prepared again. windlass can
    /// determine the outcome of an open call only by preparing and resuming the call.
    fn doubt(&mut self, mut record: CallRecord, failure: &Failure) {
        record.unknown = Some(UnknownOutcome { why: failure.message.clone(), by: self.home.clone() });
        self.close(record.clone(), CallState::Undecided);
        self.await_decision(&record, &failure.message);
    }

    pub(super) fn record_start(&mut self, key: StepKey) {
        let Some(run) = self.steps.get_mut(&key) else { return };
        if std::mem::replace(&mut run.recorded, true) {
            return;
        }
        let title = run.title.clone();
        self.put_step(key, StepState::Running, None);
        self.happened(Some(key.0), Happening::StepStarted { step: key.1, title });
    }

    pub(super) fn put_step(&mut self, key: StepKey, state: StepState, ended: Option<Timestamp>) {
        let Some(run) = self.steps.get(&key) else { return };
        let record = StepRecord {
            process: key.0,
            step: key.1,
            title: run.title.clone(),
            state,
            started: Some(run.started),
            resumed: run.resumed,
            ended,
        };
        self.change(Change::PutStep(Box::new(record)));
    }

    pub(super) fn end_step(&mut self, key: StepKey, end: StepEnd) {
        let well = end == StepEnd::Succeeded;
        let is_own = self.process.as_ref().is_some_and(|process| process.id == key.0);
        self.tally.count(&end, is_own.then(|| self.runner.work(key.1)));
        if is_own
            && matches!(end, StepEnd::Failed(_) | StepEnd::NeedsDecision { .. })
            && let Work::Relate(relate) = self.runner.work(key.1)
        {
            self.failed_ends.extend(relate.sources.iter().chain([&relate.target]).cloned());
        }
        self.put_step(key, StepState::Done(end.clone()), Some(self.now));
        if let Some(run) = self.steps.remove(&key)
            && (run.recorded || !well)
        {
            let millis = self.now.millis_since(run.resumed.unwrap_or(run.started));
            let happening = Happening::StepEnded { step: key.1, title: run.title, end, millis };
            self.happened(Some(key.0), happening);
        }
        self.out.acks.push(Ack::StepEnded { key, well });
    }

    pub(super) fn note_skipped(&mut self, skipped: &Skipped) {
        let Some(process) = self.process.as_ref().map(|p| p.id) else { return };
        let title = self.runner.work(skipped.step).to_string();
        let end = StepEnd::Skipped { because: skipped.because.clone() };
        let record = StepRecord {
            process,
            step: skipped.step,
            title: title.clone(),
            state: StepState::Done(end.clone()),
            started: None,
            resumed: None,
            ended: Some(self.now),
        };
        self.change(Change::PutStep(Box::new(record)));
        let happening = Happening::StepEnded { step: skipped.step, title, end, millis: 0 };
        self.happened(Some(process), happening);
    }
}

/// Returns the failure of a step from the first failure of a pair and the number of failed pairs.
fn in_one((first, count): (Failure, usize)) -> Failure {
    let message = match count {
        0 | 1 => return first,
        2 => format!("{}; another pair of nodes failed too", first.message),
        _ => format!("{}; {} other pairs of nodes failed too", first.message, count - 1),
    };
    Failure { message, ..first }
}

impl Planned {
    fn is_of(&self, pair: &PairKey) -> bool {
        matches!(&self.action, PlannedAction::Operation(own, _) if own == pair)
    }
}

/// Lists the calls of the operations of a pair, from the operation with the index `from`.
fn planned_from(
    key: &PairKey,
    operations: &[OperationCall],
    from: usize,
    made: bool,
    side: Side,
) -> Vec<Planned> {
    let last = operations.len().saturating_sub(1);
    let all = operations.iter().enumerate().map(|(at, operation)| Planned {
        action: PlannedAction::Operation(key.clone(), operation.clone()),
        then: if at == last { Advance::Pair(made) } else { Advance::PairProgress(count(at + 1)) },
        ends: !made,
        side,
    });
    all.skip(from).collect()
}
