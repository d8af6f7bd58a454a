//! What the end of a call means for elements and relationships.

use windlass_driver::Call;
use windlass_model::record::{
    Advance, ElementRecord, Event as Happening, Failure, FailureKind, InstanceRecord, Intent, Made, PairKey,
    PairRecord, ProcessRecord, ProcessStatus,
};
use windlass_model::{Action, ElementName, ProcessId, Side, State};
use windlass_store::Change;

use super::Machine;

impl Machine {
    /// Carries out what the success of a call means.
    pub(super) fn attain(
        &mut self,
        element: &ElementName,
        pair: Option<&PairKey>,
        then: Advance,
        process: ProcessId,
    ) {
        match (then, pair) {
            (Advance::State(state), _) => {
                // What stays where it is was given new values there.
                if self.world.elements.get(element).is_some_and(|record| record.state == state) {
                    self.note_values(element, process);
                }
                self.reach(element, state, Some(process));
            }
            (Advance::Progress(done), _) => self.update_element(element, |record| record.progress = done),
            (Advance::PairProgress(done), Some(pair)) => self.put_pair(pair, None, done),
            (Advance::Pair(made), Some(pair)) => self.put_pair(pair, Some(made), 0),
            (Advance::Pair(_) | Advance::PairProgress(_), None) => {}
        }
    }

    /// Carries out what the failure of a call means.
    pub(super) fn fall(
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
            if to == State::Failed && from.rank() >= State::Created.rank() {
                self.fallen.insert(element.clone());
            }
        }
        self.note_failure(element, Some(failure.clone()));
    }

    /// Says why a relationship can't be made by a call on an element: that is not there, or an end has failed since it was planned.
    pub(super) fn obstacle(&self, called: &ElementName, pair: &PairKey) -> Option<Failure> {
        if self.world.is_missed(called) {
            let message = format!("`{called}` is not there; bring `{}` up first", called.assembly());
            return Some(Failure::new(FailureKind::NotFound, message));
        }
        let is_end = |part: &&ElementName| {
            let of =
                |end: &ElementName| self.world.topology().leaves(end).iter().any(|leaf| leaf.name == **part);
            of(&pair.source) || of(&pair.target)
        };
        let failed = self.fallen.iter().filter(is_end).min()?;
        let message =
            format!("`{}` has failed: nothing is related to it before it is in order", failed.local());
        Some(Failure::new(FailureKind::Refused, message))
    }

    pub(super) fn note_failure(&mut self, element: &ElementName, failure: Option<Failure>) {
        self.update_element(element, |record| record.failure = failure);
    }

    pub(super) fn reach(&mut self, element: &ElementName, to: State, process: Option<ProcessId>) {
        self.fallen.remove(element);
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
            if to == State::Absent {
                record.made = None;
                record.stale.clear();
            }
        });
        if to == State::Absent {
            self.forget_instance(element);
            for pair in self.world.pairs_lost_with(element) {
                self.put_pair(&pair, Some(false), 0);
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
        let gone: Vec<ElementName> = strange
            .filter(|record| record.state == State::Absent && record.made.is_none())
            .map(|record| record.name.clone())
            .collect();
        let lost = |name: &ElementName| topology.get(name).is_none();
        let pairs = self.world.pairs.values().filter(|pair| !pair.created);
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

    pub(super) fn put_pair(&mut self, key: &PairKey, created: Option<bool>, progress: u32) {
        let before = self.world.pairs.get(key).is_some_and(|pair| pair.created);
        let created = created.unwrap_or(before);
        if !created && progress == 0 {
            self.world.forget_given(key, &mut self.out.batch);
        }
        let given = self.world.pairs.get(key).and_then(|pair| pair.given.clone());
        let record = PairRecord { key: key.clone(), created, progress, since: self.now, given };
        self.world.put_pair(record.clone());
        self.change(Change::PutPair(Box::new(record)));
    }
}
