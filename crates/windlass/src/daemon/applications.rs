//! The applications of factories, and their health checks. A check covers all applications of a factory.

use std::collections::{BTreeMap, BTreeSet};

use windlass_engine::{CheckEnd, Checked, EngineError};
use windlass_model::record::{AssemblyRecord, Intent};
use windlass_model::{AssemblyName, State};

use super::duties::Duty;
use super::{Daemon, Notice};

/// The running applications, by factory.
#[derive(Default)]
pub(super) struct Applications {
    by_factory: BTreeMap<AssemblyName, BTreeSet<AssemblyName>>,
    factories: BTreeMap<AssemblyName, AssemblyName>,
    /// The applications whose last check has failed, with the failure that was reported.
    failing: BTreeMap<AssemblyName, String>,
}

impl Applications {
    /// Adds a running application, or removes another assembly. Returns the factories whose applications are
    /// checked from now on, or no more.
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

    /// Removes an assembly. Returns its factory if that has no other application.
    pub(super) fn remove(&mut self, name: &AssemblyName) -> Option<AssemblyName> {
        self.failing.remove(name);
        let factory = self.factories.remove(name)?;
        let of_factory = self.by_factory.get_mut(&factory)?;
        of_factory.remove(name);
        if !of_factory.is_empty() {
            return None;
        }
        self.by_factory.remove(&factory);
        Some(factory)
    }

    /// Returns the applications of a factory.
    fn of(&self, factory: &AssemblyName) -> impl Iterator<Item = &AssemblyName> {
        self.by_factory.get(factory).into_iter().flatten()
    }

    /// Notes the failure of a check, or that it went well. Tells whether this is new.
    fn note_failure(&mut self, name: &AssemblyName, failure: Option<&str>) -> bool {
        match failure {
            Some(failure) => self.failing.insert(name.clone(), failure.to_owned()).as_deref() != Some(failure),
            None => self.failing.remove(name).is_some(),
        }
    }
}

impl Daemon<'_> {
    /// Adds or removes the duties of an assembly that is an application.
    pub(super) fn note_application(&mut self, record: &AssemblyRecord) {
        for (factory, is_checked) in self.applications.note(record) {
            if is_checked {
                self.duties.check(self.windlass.now(), Duty::CheckApplications(factory));
            } else {
                self.duties.remove(&Duty::CheckApplications(factory));
            }
        }
    }

    /// Removes the duties of an assembly that is gone.
    pub(super) fn forget_application(&mut self, name: &AssemblyName) {
        if let Some(factory) = self.applications.remove(name) {
            self.duties.remove(&Duty::CheckApplications(factory));
        }
    }

    /// Starts the check of the applications of a factory, but for those that an intent changes.
    pub(super) fn check_applications(&mut self, factory: AssemblyName) {
        let idle = self.applications.of(&factory).filter(|name| !self.is_changing(name));
        let names: Vec<AssemblyName> = idle.cloned().collect();
        if names.is_empty() {
            self.duties.ended(self.windlass.now(), &Duty::CheckApplications(factory));
        } else {
            self.looked_at.insert(factory.clone());
            self.work.check(factory, names);
        }
    }

    /// Handles the results of a check. Applications that are destroyed are removed; their history stays.
    pub(super) fn take_checked(
        &mut self,
        factory: AssemblyName,
        checked: Result<Vec<Checked>, EngineError>,
    ) {
        self.looked_at.remove(&factory);
        self.duties.ended(self.windlass.now(), &Duty::CheckApplications(factory));
        let checked = match checked {
            Ok(checked) => checked,
            Err(EngineError::Stopped) => return,
            Err(error) => return (self.tell)(Notice::Trouble(error.to_string())),
        };
        for Checked { name, end } in checked {
            match end {
                CheckEnd::Destroyed => {
                    (self.tell)(Notice::Destroyed { assembly: name.clone() });
                    self.changed.insert(name.clone());
                    if !self.is_changing(&name) {
                        // Nothing of it exists, so no script runs.
                        self.change(name, "remove what is destroyed".to_owned(), Intent::Down);
                    }
                }
                CheckEnd::Failed(failure) => {
                    if self.applications.note_failure(&name, Some(&failure.message)) {
                        (self.tell)(Notice::CheckFails { assembly: name, why: failure.message });
                    }
                }
                CheckEnd::Applied { .. } => {
                    if self.applications.note_failure(&name, None) {
                        (self.tell)(Notice::CheckWorks { assembly: name });
                    }
                }
                _ => {}
            }
        }
    }
}
