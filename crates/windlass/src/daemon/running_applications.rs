//! The running applications of each factory.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::instance::Status;
use windlass_model::record::AssemblyRecord;
use windlass_model::{AssemblyName, State};

/// The running applications and their factories, with the last results of their health checks and discoveries.
#[derive(Default)]
pub(super) struct Applications {
    by_factory: BTreeMap<AssemblyName, BTreeSet<AssemblyName>>,
    factories: BTreeMap<AssemblyName, AssemblyName>,
    /// The assemblies and applications whose last check failed, and the factories whose last discovery failed. The text
    /// is the failure that was reported last.
    failing: BTreeMap<AssemblyName, String>,
    /// For each application that this daemon has checked, the last status as one word, such as `active`.
    statuses: BTreeMap<AssemblyName, &'static str>,
}

impl Applications {
    /// Updates the list of running applications. If the assembly of `record` is a running application, adds the
    /// assembly to the list. Otherwise, removes the assembly from the list. Returns the factories whose health
    /// checks must begin (`true`) or end (`false`).
    pub(super) fn note(&mut self, record: &AssemblyRecord) -> Vec<(AssemblyName, bool)> {
        let is_running =
            record.application.is_some() && record.goal == State::Active && record.reached.is_some();
        let Some(factory) = record.owner.as_ref().filter(|_| is_running) else {
            return self.remove(&record.name).map(|factory| (factory, false)).into_iter().collect();
        };
        if self.factories.get(&record.name) == Some(factory) {
            return Vec::new();
        }
        let mut changes: Vec<_> =
            self.remove(&record.name).map(|factory| (factory, false)).into_iter().collect();
        self.factories.insert(record.name.clone(), factory.clone());
        self.by_factory.entry(factory.clone()).or_default().insert(record.name.clone());
        changes.push((factory.clone(), true));
        changes
    }

    /// Removes an assembly from the list of running applications. Returns the assembly's factory if the factory has
    /// no other running application.
    pub(super) fn remove(&mut self, name: &AssemblyName) -> Option<AssemblyName> {
        self.failing.remove(name);
        self.statuses.remove(name);
        let factory = self.factories.remove(name)?;
        let of_factory = self.by_factory.get_mut(&factory)?;
        of_factory.remove(name);
        if !of_factory.is_empty() {
            return None;
        }
        self.by_factory.remove(&factory);
        Some(factory)
    }

    /// Returns the running applications of a factory.
    pub(super) fn of(&self, factory: &AssemblyName) -> impl Iterator<Item = &AssemblyName> {
        self.by_factory.get(factory).into_iter().flatten()
    }

    /// Records the failure or the success of a check or a discovery. Returns `true` for a new failure, and for the
    /// first success after a failure. The daemon must report these two cases.
    pub(super) fn note_failure(&mut self, name: &AssemblyName, failure: Option<&str>) -> bool {
        match failure {
            Some(failure) => {
                self.failing.insert(name.clone(), failure.to_owned()).as_deref() != Some(failure)
            }
            None => self.failing.remove(name).is_some(),
        }
    }

    /// Records the status that a check has found. Returns `true` for a changed status, and for a failed status at
    /// the first check. The daemon must report these two cases.
    pub(super) fn note_status(&mut self, name: &AssemblyName, status: &Status) -> bool {
        match self.statuses.insert(name.clone(), status.word()) {
            Some(before) => before != status.word(),
            None => status.failed,
        }
    }
}
