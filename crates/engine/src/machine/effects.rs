//! What the end of a call means for elements and relationships.

use windlass_driver::Call;
use windlass_model::record::{
    Advance, Begun, ElementRecord, Event as Happening, Failure, FailureKind, InstanceRecord, Intent, Made,
    PairKey, PairRecord, ProcessRecord, ProcessStatus,
};
use windlass_model::{Action, ElementName, ProcessId, Side, State, Transition};
use windlass_store::Change;

use super::Machine;

/// A call that failed.
#[derive(Clone, Copy)]
pub(super) struct Failed<'a> {
    pub(super) element: &'a ElementName,
    pub(super) action: &'a Action,
    pub(super) pair: Option<&'a PairKey>,
    /// What its success would have meant.
    pub(super) then: Advance,
    pub(super) failure: &'a Failure,
    pub(super) process: ProcessId,
    /// Whether it may have done something before it failed.
    pub(super) acted: bool,
}

impl Machine {
    /// Carries out what the success of a call means.
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
            (Advance::Pair(_) | Advance::PairProgress(_) | Advance::PairUndone, None) => {}
        }
    }

    /// Carries out what the failure of a call means; `acted` tells whether it may have done something before it failed.
    pub(super) fn fall(&mut self, failed: Failed<'_>) {
        let Failed { element, action, pair, then, failure, process, acted } = failed;
        if let Some(pair) = pair {
            if acted {
                self.doubt_pair(pair, then);
            }
        } else if let Action::Transition(transition) = action {
            self.fall_by(element, *transition, failure, process, acted);
        }
        // What an operation has done, or not, says nothing of how far its element has come: that is not in doubt.
        let is_of_pair = pair.is_some() && failure.kind == FailureKind::Lost;
        let kind = if is_of_pair { FailureKind::Failed } else { failure.kind };
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
        if failure.kind == FailureKind::Refused {
            // Nothing has begun yet.
            return;
        }
        let to = transition.on_failure(from);
        if to == from && !acted {
            return;
        }
        if to == from && matches!(transition, Transition::Uninstall | Transition::Delete) {
            // What was undone before it is not undone again.
            return self.note_attempt(element, transition);
        }
        let was_there = from.rank() >= State::Created.rank();
        self.reach(element, to, Some(process));
        if to == State::Failed {
            if was_there {
                self.failed_parts.insert(element, self.world.topology());
            }
            if acted || was_there {
                self.update_element(element, |record| record.attempted = Some(transition));
            }
        } else {
            self.note_attempt(element, transition);
        }
    }

    /// Notes that a transition may have done something to an element, whose state says nothing of it: it may run without being
    /// Active, or some of it may be gone.
    pub(super) fn note_attempt(&mut self, element: &ElementName, transition: Transition) {
        use Transition::{Delete, Integrity, Start, Uninstall};
        let is_telling = matches!(transition, Start | Integrity | Uninstall | Delete);
        let has_failed = self.world.elements.get(element).is_some_and(|record| record.state == State::Failed);
        if is_telling && !has_failed {
            self.update_element(element, |record| {
                (record.progress, record.attempted) = (0, Some(transition));
            });
        }
    }

    /// Says why a relationship can't be made by a call on an element: that is not there, or an end has failed since it was planned.
    pub(super) fn obstacle(&self, called: &ElementName, pair: &PairKey) -> Option<Failure> {
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
        self.update_element(element, |record| record.failure = failure);
    }

    pub(super) fn reach(&mut self, element: &ElementName, to: State, process: Option<ProcessId>) {
        self.failed_parts.remove(element, self.world.topology());
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
            record.attempted = None;
            if to == State::Absent {
                record.made = None;
                record.stale.clear();
            }
        });
        if to == State::Absent {
            self.forget_instance(element);
            for pair in self.world.pairs_lost_with(element) {
                self.put_pair(&pair, false);
            }
        }
        if from != to {
            self.happened(process, Happening::StateChanged { element: element.clone(), from, to });
        }
    }

    /// Notes from what an element is made, as soon as anything of it may be there. What was noted of an earlier attempt that
    /// left nothing, counts no more.
    pub(super) fn note_making(&mut self, element: &ElementName, process: ProcessId) {
        let known = self.world.elements.get(element);
        if known.is_none_or(|record| !matches!(record.state, State::Absent | State::Failed)) {
            return;
        }
        let described = self.world.element(element, Side::Desired);
        let package =
            described.and_then(|found| self.world.assembly.packages.get(&found.descriptor)).cloned();
        if let Some(package) = package {
            let made = Made { package, installed_by: process, configured_by: process };
            self.update_element(element, |record| {
                record.made = Some(made);
                record.stale.clear();
            });
        }
    }

    /// Takes back from what an element would have been made, where a stop came before the call that would have made it.
    pub(super) fn unmake_what_has_not_begun(&mut self, element: &ElementName) {
        let known = self.world.elements.get(element);
        if known.is_some_and(|record| record.state == State::Absent && record.progress == 0) {
            self.update_element(element, |record| record.made = None);
        }
    }

    /// Takes back with what a relationship would have been made, where a stop came before its first operation.
    pub(super) fn unrelate_what_has_not_begun(&mut self, pair: &PairKey) {
        if self.world.pairs.get(pair).is_some_and(|known| !known.is_there()) {
            self.put_pair(pair, false);
        }
    }

    /// Notes what values a transition that went well has given to its element.
    pub(super) fn note_given(
        &mut self,
        element: &ElementName,
        action: &Action,
        side: Side,
        call: Option<&Call>,
    ) {
        if self.world.note_given(element, action, side, call) {
            self.update_element(element, |_| {});
        }
    }

    /// Notes that an element has the values of the version that is wanted.
    pub(super) fn note_values(&mut self, element: &ElementName, process: ProcessId) {
        self.update_element(element, |record| {
            if let Some(made) = &mut record.made {
                made.configured_by = process;
            }
        });
    }

    /// Drops the records of elements and relationships that are gone and that nobody wants back.
    pub(super) fn forget_leftovers(&mut self) {
        let topology = &self.world.assembly.topology;
        let strange = self.world.elements.values().filter(|record| topology.get(&record.name).is_none());
        // What ends a relationship may be asked of a part that never came to be.
        let gone: Vec<ElementName> = strange
            .filter(|record| record.state == State::Absent && record.made.is_none())
            .filter(|record| !self.world.is_tied(&record.name))
            .map(|record| record.name.clone())
            .collect();
        let lost = |name: &ElementName| topology.get(name).is_none();
        let pairs = self.world.pairs.values().filter(|pair| !pair.is_there());
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
            self.world.forget_given(&key, &mut self.out.batch);
            self.world.pairs.remove(&key);
            self.change(Change::DropPair(Box::new(key)));
        }
    }

    /// Notes that all of the assembly is what it should be, once a change is through, and forgets the references that it
    /// has parted from.
    pub(super) fn note_reached(&mut self) {
        let through = |process: &ProcessRecord| {
            process.status == ProcessStatus::Completed && process.intent != Intent::Down
        };
        if !self.process.as_ref().is_some_and(through) || self.world.limited {
            return;
        }
        let references = self.world.topology().referenced();
        let assembly = &mut self.world.assembly;
        if assembly.references != references || assembly.reached != assembly.version {
            assembly.references = references;
            assembly.reached = assembly.version;
            let record = assembly.clone();
            self.change(Change::PutAssembly(Box::new(record)));
        }
    }

    pub(super) fn forget_instance(&mut self, element: &ElementName) {
        let Some(instance) = self.world.instances.get_mut(element) else { return };
        *instance = InstanceRecord {
            element: element.clone(),
            natural: None,
            sealed_natural: None,
            document: serde_json::json!({}),
            revision: instance.revision + 1,
        };
        let record = instance.clone();
        self.change(Change::PutInstance(Box::new(record)));
    }

    pub(super) fn update_element(&mut self, element: &ElementName, update: impl FnOnce(&mut ElementRecord)) {
        if let Some(record) = self.world.elements.get_mut(element) {
            update(record);
            let record = record.clone();
            self.change(Change::PutElement(Box::new(record)));
        }
    }

    /// Notes that a relationship is made or ended.
    pub(super) fn put_pair(&mut self, key: &PairKey, created: bool) {
        if !created {
            self.world.forget_given(key, &mut self.out.batch);
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

    /// Notes that one more operation has ended well of those that make or end a relationship.
    fn go_on_with_pair(&mut self, key: &PairKey, done: u32) {
        let begun = self.begun_with(key, done);
        self.update_pair(key, |record| {
            record.begun = begun;
            (record.progress, record.in_doubt) = (done, false);
        });
    }

    /// Notes that what was called last to make a relationship is undone, or the next part of that.
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

    /// Notes that an operation of a relationship failed that may have begun to act.
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

    /// Returns what has been called to make a relationship once so many of its operations have been called; nothing of one that
    /// is made, and so is being ended.
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
        self.world.put_pair(record.clone());
        self.change(Change::PutPair(Box::new(record)));
    }
}
