//! The changes of elements and relationships that follow from the end of a call.

use windlass_driver::Call;
use windlass_model::record::{
    Advance, Begun, ElementRecord, Event as Happening, Failure, FailureKind, Intent, Made, PairKey,
    PairRecord, ProcessRecord, ProcessStatus,
};
use windlass_model::{Action, ElementName, ProcessId, Side, State, Transition};
use windlass_store::Change;

use super::ProcessMachine;
use crate::outdated_inputs::record_inputs;

/// The argument of [`ProcessMachine::fall`]: a call that has failed or could not be prepared.
#[derive(Clone, Copy)]
pub(super) struct Failed<'a> {
    pub(super) element: &'a ElementName,
    pub(super) action: &'a Action,
    pub(super) pair: Option<&'a PairKey>,
    /// The change that was planned for a success of the call, such as a new state of the element.
    pub(super) then: Advance,
    pub(super) failure: &'a Failure,
    pub(super) process: ProcessId,
    /// Whether the call may have had effects before it failed.
    pub(super) acted: bool,
}

impl Failed<'_> {
    /// Tells whether the call failed before it could do anything. For example, its runtime could not start the first
    /// job.
    pub(super) fn has_not_begun(&self) -> bool {
        use FailureKind::{Capacity, Infrastructure, Refused};
        !self.acted && matches!(self.failure.kind, Refused | Capacity | Infrastructure)
    }
}

impl ProcessMachine {
    /// Records the success of a call. `then` is the change that was planned for this case, such as a new state of the
    /// element.
    pub(super) fn attain(
        &mut self,
        element: &ElementName,
        action: &Action,
        pair: Option<&PairKey>,
        then: Advance,
        process: ProcessId,
    ) {
        match (then, pair) {
            (Advance::State(state), _) => {
                if *action == Action::Transition(Transition::Reconfigure) {
                    self.note_values(element, process);
                    self.note_package(element);
                }
                self.reach(element, state, Some(process));
            }
            (Advance::Progress(done), _) => {
                let attempted = action.transition();
                self.update_element(element, |record| {
                    (record.progress, record.attempted) = (done, attempted);
                });
            }
            (Advance::PairProgress(done), Some(pair)) => self.go_on_with_pair(pair, done),
            (Advance::Pair(made), Some(pair)) => self.put_pair(pair, made),
            (Advance::PairUndone, Some(pair)) => self.undo_pair(pair),
            (Advance::Nothing, _)
            | (Advance::Pair(_) | Advance::PairProgress(_) | Advance::PairUndone, None) => {}
        }
    }

    /// Records the consequences of a failed call:
    ///
    /// - Transition: the failure is recorded at the element. The state of the element may change, for example to
    ///   Failed. If the transition [has not begun](Failed::has_not_begun), the state stays.
    /// - Operation of a relationship: the failure is recorded at the element that executes the operation. If the
    ///   operation may have had effects, the pair is recorded as [in doubt](PairRecord::in_doubt).
    /// - Command: nothing is recorded.
    pub(super) fn fall(&mut self, failed: Failed<'_>) {
        let Failed { element, action, pair, then, failure, process, acted } = failed;
        if let Some(pair) = pair {
            if acted {
                self.doubt_pair(pair, then);
            }
        } else if let Action::Transition(transition) = action
            && !failed.has_not_begun()
        {
            self.fall_by(element, *transition, failure, process, acted);
        }
        // The failure of a command says nothing about the state of its element.
        if matches!(action, Action::Command(_)) {
            return;
        }
        // If the outcome of an operation on a pair is lost, only the state of the pair is unknown. The state of
        // the element is still known, so the failure of the element is recorded as Failed instead of Lost.
        // An adoption creates no instance, so the element has no remains if the outcome of the adoption is lost.
        let is_adoption = *action == Action::Transition(Transition::Adopt);
        let is_known = (pair.is_some() || is_adoption) && failure.kind == FailureKind::Lost;
        let kind = if is_known { FailureKind::Failed } else { failure.kind };
        self.note_failure(element, Some(Failure { kind, ..failure.clone() }));
    }

    fn fall_by(
        &mut self,
        element: &ElementName,
        transition: Transition,
        failure: &Failure,
        process: ProcessId,
        acted: bool,
    ) {
        let from = self.world.elements.get(element).map(|record| record.state).unwrap_or_default();
        // A failed adoption has created nothing: if its instance exists, the instance existed before, and a later plan
        // must not remove it as the remains of the adoption.
        if transition == Transition::Adopt {
            return;
        }
        let to = transition.on_failure(from);
        if to == from && !acted {
            return;
        }
        if to == from && matches!(transition, Transition::Uninstall | Transition::Delete) {
            // The function `reach` would reset the progress of the removal, and the next process would repeat
            // completed steps. It is therefore not called here.
            return self.note_attempt(element, transition);
        }
        let was_there = from == State::Broken || from.rank() >= State::Created.rank();
        self.reach(element, to, Some(process));
        if to == State::Failed {
            if was_there {
                self.failed_parts.insert(element, self.world.topology());
            }
            // No instance is left that a later plan could stop.
            let is_gone = transition == Transition::Stop && failure.kind == FailureKind::Gone;
            if (acted || was_there) && !is_gone {
                self.update_element(element, |record| record.attempted = Some(transition));
            }
        } else {
            self.note_attempt(element, transition);
        }
    }

    /// Records a transition that may have had effects which the recorded state does not show. The element may
    /// run without being Active, or may be partly removed.
    pub(super) fn note_attempt(&mut self, element: &ElementName, transition: Transition) {
        use Transition::{Delete, Integrity, Reconfigure, Start, Uninstall};
        if transition == Reconfigure {
            // Unlike `attempted`, the flag `values_in_doubt` is kept after a Stop.
            return self.update_element(element, |record| record.values_in_doubt = true);
        }
        let is_telling = matches!(transition, Start | Integrity | Uninstall | Delete);
        let has_failed = self.world.elements.get(element).is_some_and(|record| record.state == State::Failed);
        if is_telling && !has_failed {
            self.update_element(element, |record| {
                (record.progress, record.attempted) = (0, Some(transition));
            });
        }
    }

    /// Returns the reason why an operation that creates a relationship can't be called on an element. There are two
    /// such reasons: the element is missing, or an end of the relationship has failed since the call was planned. The
    /// ends are the source and the target.
    pub(super) fn failed_endpoint(&self, called: &ElementName, pair: &PairKey) -> Option<Failure> {
        if self.world.is_missed(called) {
            let message = format!("`{called}` does not exist; create `{}` first", called.assembly());
            return Some(Failure::new(FailureKind::NotFound, message));
        }
        let failed = self.failed_parts.first_at(&pair.source, &pair.target)?;
        let message =
            format!("`{}` has failed; repair it before its relationships are created", failed.local());
        Some(Failure::new(FailureKind::Refused, message))
    }

    pub(super) fn note_failure(&mut self, element: &ElementName, failure: Option<Failure>) {
        self.update_element(element, |record| record.note_failure(failure));
    }

    pub(super) fn reach(&mut self, element: &ElementName, to: State, process: Option<ProcessId>) {
        self.failed_parts.remove(element, self.world.topology());
        if to == State::Absent {
            // The private state describes an instance that is gone.
            self.world.drop_private(element, |_| true, &mut self.out.batch);
        }
        if to == State::Absent {
            self.keep_outputs(element);
        }
        let now = self.now;
        let mut from = to;
        self.update_element(element, |record| {
            from = record.state;
            record.enter(to, now);
            record.note_failure(None);
            record.attempted = None;
            if to == State::Absent {
                record.made = None;
                record.values_in_doubt = false;
                record.outdated.clear();
            }
        });
        if to == State::Absent {
            self.world.instances.empty(element, &mut self.out.batch);
            for pair in self.world.pairs_lost_with(element) {
                self.put_pair(&pair, false);
            }
        }
        if from != to {
            self.happened(process, Happening::StateChanged { element: element.clone(), from, to });
        }
    }

    /// Records the process that creates an element, and the package of the element. The caller uses this
    /// method before a transition, or in a step without calls. If the state of the element is neither Absent nor
    /// Failed, the element already exists, and nothing is recorded.
    pub(super) fn note_making(&mut self, element: &ElementName, process: ProcessId) {
        let known = self.world.elements.get(element);
        if known.is_none_or(|record| !matches!(record.state, State::Absent | State::Failed)) {
            return;
        }
        let described = self.world.element(element, Side::Desired);
        let package =
            described.and_then(|found| self.world.assembly.packages.get(&found.descriptor)).cloned();
        if let Some(package) = package {
            self.keep_outputs(element);
            let made = Made { package, installed_by: process, configured_by: process, location: None };
            self.update_element(element, |record| {
                record.made = Some(made);
                record.values_in_doubt = false;
                record.outdated.clear();
            });
        }
    }

    /// Records the location of a call that gives an element its desired values. Before the call begins, `is_done` is
    /// false, and a location that is already recorded stays.
    pub(super) fn note_location(&mut self, call: &Call, side: Side, is_done: bool) {
        let made = self.world.elements.get(&call.element).and_then(|record| record.made.as_ref());
        let is_missing = made.is_some_and(|made| made.location.is_none());
        let location = call.location.recorded();
        let is_other = made.is_some_and(|made| made.location.as_ref() != Some(&location));
        let is_transition = matches!(call.action, Action::Transition(_)) && side == Side::Desired;
        if is_transition && (is_missing || is_done && is_other) {
            self.update_element(&call.element, |record| {
                if let Some(made) = &mut record.made {
                    made.location = Some(location);
                }
            });
        }
    }

    /// Keeps the outputs of an element whose instance is removed or replaced, so that they can be compared with the
    /// outputs of the next instance.
    fn keep_outputs(&mut self, element: &ElementName) {
        let made = self.world.elements.get(element).and_then(|record| record.made.as_ref());
        if let Some(installed_by) = made.map(|made| made.installed_by) {
            self.world.instances.keep_outputs(element, installed_by, &mut self.out.batch);
        }
    }

    /// Undoes the change that [`note_making`](Self::note_making) has made in the record of an element: the process
    /// and the package of the element's creation are no longer recorded. The caller has found that a stop has
    /// prevented the first call on the element. The function changes the record only if the element is Absent and
    /// not even partly created.
    pub(super) fn unmake_what_has_not_begun(&mut self, element: &ElementName) {
        let known = self.world.elements.get(element);
        if known.is_some_and(|record| record.state == State::Absent && record.progress == 0) {
            self.update_element(element, |record| record.made = None);
        }
    }

    /// Drops the recorded inputs of a pair after a requested stop has prevented an operation of the pair. If the
    /// pair exists, or exists in part, the function drops nothing.
    pub(super) fn unrelate_what_has_not_begun(&mut self, pair: &PairKey) {
        if self.world.pairs.get(pair).is_some_and(|known| !known.is_there()) {
            self.put_pair(pair, false);
        }
    }

    /// Records that a successful transition has applied values to its element.
    pub(super) fn record_inputs(
        &mut self,
        element: &ElementName,
        action: &Action,
        side: Side,
        call: Option<&Call>,
    ) {
        if record_inputs(&mut self.world, element, action, side, call) {
            self.put_element(element);
        }
    }

    /// Records that `process` has reconfigured an element. The element now has the values of the desired version of the
    /// assembly.
    pub(super) fn note_values(&mut self, element: &ElementName, process: ProcessId) {
        self.update_element(element, |record| {
            record.values_in_doubt = false;
            if let Some(made) = &mut record.made {
                made.configured_by = process;
            }
        });
    }

    /// Records that an element now uses its desired package. Does nothing if the driver can't manage the existing
    /// instance of the element with that package.
    pub(super) fn note_package(&mut self, element: &ElementName) {
        let Some(package) = self.world.new_package(element).cloned() else { return };
        self.update_element(element, |record| {
            if let Some(made) = &mut record.made {
                made.package = package;
            }
        });
    }

    /// Drops leftover records: records of elements and pairs that were removed or never created, and that the desired
    /// version does not contain.
    pub(super) fn forget_leftovers(&mut self) {
        let topology = &self.world.assembly.topology;
        let strange = self.world.elements.values().filter(|record| topology.get(&record.name).is_none());
        // An element may be the source or the target of a relationship that must still be removed, even if the
        // element itself was never created. The record of such an element is kept.
        let gone: Vec<ElementName> = strange
            .filter(|record| record.state == State::Absent && record.made.is_none())
            .filter(|record| !self.world.pairs.is_tied(&record.name))
            .map(|record| record.name.clone())
            .collect();
        let lost = |name: &ElementName| topology.get(name).is_none();
        let pairs = self.world.pairs.iter().filter(|pair| !pair.is_there());
        let pairs: Vec<PairKey> = pairs
            .filter(|pair| {
                let key = &pair.key;
                lost(&key.source)
                    || lost(&key.target)
                    || topology.relationship(&key.assembly, key.relationship.as_str()).is_none()
            })
            .map(|pair| pair.key.clone())
            .collect();
        for name in gone {
            self.world.elements.remove(&name);
            self.world.instances.remove(&name);
            self.change(Change::DropElement(name));
        }
        for key in pairs {
            self.world.pairs.remove(key, &mut self.world.secrets, &mut self.out.batch);
        }
    }

    /// Records that a completed process has brought about the desired version of the assembly. Removes each
    /// recorded reference to another assembly if the desired version does not contain this reference.
    pub(super) fn note_reached(&mut self) {
        let through = |process: &ProcessRecord| {
            process.status == ProcessStatus::Completed && process.intent != Intent::Down
        };
        if !self.process.as_ref().is_some_and(through) || self.world.limited {
            return;
        }
        self.forget_failures();
        let mut references = self.world.topology().referenced();
        let assembly = &mut self.world.assembly;
        references.extend(assembly.owner.clone());
        if assembly.references != references || assembly.reached != assembly.version {
            assembly.references = references;
            assembly.reached = assembly.version;
            let record = assembly.clone();
            self.change(Change::PutAssembly(Box::new(record)));
        }
    }

    /// Drops recorded failures that are out of date, after the process of this machine has completed. The function does
    /// nothing unless the intent of the process [updates all parts](Intent::updates_all).
    ///
    /// A failure is out of date if its element is neither Failed nor Broken. For example, an operation on the element
    /// failed in an earlier process, and succeeded in this process. Without this function, the failure would stay
    /// recorded until the next transition of the element.
    fn forget_failures(&mut self) {
        if !self.process.as_ref().is_some_and(|process| process.intent.updates_all()) {
            return;
        }
        let is_well = |state: State| !matches!(state, State::Failed | State::Broken);
        let recovered = self.world.elements.values();
        let recovered = recovered.filter(|record| record.failure.is_some() && is_well(record.state));
        let recovered: Vec<ElementName> = recovered.map(|record| record.name.clone()).collect();
        for element in recovered {
            self.note_failure(&element, None);
        }
    }

    pub(super) fn update_element(&mut self, element: &ElementName, update: impl FnOnce(&mut ElementRecord)) {
        if let Some(record) = self.world.elements.get_mut(element) {
            update(record);
            self.put_element(element);
        }
    }

    /// Stores the present record of an element.
    fn put_element(&mut self, element: &ElementName) {
        if let Some(record) = self.world.elements.get(element).cloned() {
            self.change(Change::PutElement(Box::new(record)));
        }
    }

    /// Records whether a pair exists. A pair is a relationship between two nodes.
    pub(super) fn put_pair(&mut self, key: &PairKey, created: bool) {
        if !created {
            self.world.pairs.forget_inputs(key, &mut self.world.secrets, &mut self.out.batch);
        }
        let described = self.world.topology().relationship(&key.assembly, key.relationship.as_str());
        let cease = described.filter(|_| created).map(|described| described.cease.clone());
        self.update_pair(key, |record| {
            *record = PairRecord {
                created,
                given: record.given.take(),
                cease,
                ..PairRecord::new(key.clone(), record.since)
            };
        });
    }

    /// Records that one more operation of a pair has succeeded. The pair is being created or removed. `done` counts the
    /// operations that have succeeded so far, including this operation.
    fn go_on_with_pair(&mut self, key: &PairKey, done: u32) {
        let begun = self.begun_with(key, done);
        self.update_pair(key, |record| {
            record.begun = begun;
            (record.progress, record.in_doubt) = (done, false);
        });
    }

    /// Records that an undo call for a half-created pair has succeeded. An undo call undoes the last called operation
    /// of the pair, completely or in part.
    ///
    /// If this operation is now undone completely, the function removes the operation from the record. If no called
    /// operation is left, the function records that the pair does not exist.
    fn undo_pair(&mut self, key: &PairKey) {
        let mut begun = self.world.begun(key);
        while begun.pop_if(|last| last.undo.is_empty()).is_some() {}
        let mut in_doubt = false;
        if let Some(last) = begun.last_mut() {
            last.undo.remove(0);
            in_doubt = !last.undo.is_empty();
        }
        if !in_doubt {
            begun.pop();
        }
        if begun.is_empty() {
            return self.put_pair(key, false);
        }
        self.update_pair(key, |record| {
            record.progress = super::count(begun.len() - usize::from(in_doubt));
            (record.begun, record.in_doubt) = (begun, in_doubt);
        });
    }

    /// Records that an operation has failed and may have had effects. The operation belongs to the pair `key`: one
    /// source and one target of a relationship.
    pub(super) fn doubt_pair(&mut self, key: &PairKey, then: Advance) {
        let known = self.world.pairs.get(key);
        let is_made = known.is_some_and(|pair| pair.created);
        let begun = match then {
            Advance::PairProgress(done) if !is_made => self.begun_with(key, done),
            Advance::Pair(true) => {
                let done = known.map_or(0, |pair| pair.progress);
                self.begun_with(key, done + 1)
            }
            _ => self.world.begun(key),
        };
        self.update_pair(key, |record| (record.begun, record.in_doubt) = (begun, true));
    }

    /// Returns the operations that were called to create a pair, each with the operations that undo it. A pair is a
    /// relationship between two nodes.
    ///
    /// For a pair that is not created yet, `called` is the number of these operations. For a created pair, the result
    /// is empty.
    fn begun_with(&self, key: &PairKey, called: u32) -> Vec<Begun> {
        if self.world.pairs.get(key).is_some_and(|pair| pair.created) {
            return Vec::new();
        }
        let before = (called as usize).saturating_sub(1);
        let mut begun = self.world.begun(key);
        begun.truncate(before);
        begun.extend(self.world.begins(key, before));
        begun
    }

    fn update_pair(&mut self, key: &PairKey, update: impl FnOnce(&mut PairRecord)) {
        let known = self.world.pairs.get(key).cloned();
        let mut record = known.unwrap_or_else(|| PairRecord::new(key.clone(), self.now));
        update(&mut record);
        record.since = self.now;
        self.world.pairs.put(record, &mut self.out.batch);
    }
}
