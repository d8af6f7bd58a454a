//! The applications of factories: their health checks and discoveries. A check covers all applications of a
//! factory.

use std::collections::{BTreeMap, BTreeSet};

use windlass_engine::{CheckEnd, Checked, EngineError};
use windlass_model::record::{AssemblyRecord, Intent};
use windlass_model::{AssemblyName, State};

use super::duties::Duty;
use super::{Daemon, Notice};
use crate::error::Error;
use crate::launching::{DiscoveryView, FoundView, Launcher};

const HEALTH_CHECK: &str = "health check";
const DISCOVERY: &str = "discovery";

/// The running applications, by factory.
#[derive(Default)]
pub(super) struct Applications {
    by_factory: BTreeMap<AssemblyName, BTreeSet<AssemblyName>>,
    factories: BTreeMap<AssemblyName, AssemblyName>,
    /// The applications whose last check has failed, and the factories whose last discovery has, with the reported
    /// failure.
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
            Some(failure) => {
                self.failing.insert(name.clone(), failure.to_owned()).as_deref() != Some(failure)
            }
            None => self.failing.remove(name).is_some(),
        }
    }
}

impl Daemon<'_> {
    /// Adds or removes the duties of an assembly that is an application or a factory.
    pub(super) async fn note_application(&mut self, record: &AssemblyRecord) {
        if record.application.is_some() && record.owner.is_none() {
            self.note_factory(record).await;
        }
        for (factory, is_checked) in self.applications.note(record) {
            if is_checked {
                self.duties.check(self.windlass.now(), Duty::CheckApplications(factory));
            } else {
                self.duties.remove(&Duty::CheckApplications(factory));
            }
        }
    }

    async fn note_factory(&mut self, record: &AssemblyRecord) {
        let times = Launcher::new(self.windlass).discovery_times(&record.name).await;
        match times {
            Ok(Some(times)) if record.goal == State::Active => {
                self.duties.discover(self.windlass.now(), record.name.clone(), times);
            }
            Ok(_) => self.duties.remove(&Duty::Discover(record.name.clone())),
            Err(error) => self.note_check(&record.name, DISCOVERY, Some(&error.to_string())),
        }
    }

    /// Reports that a check or a discovery fails, and that it works again, each once.
    fn note_check(&mut self, assembly: &AssemblyName, what: &'static str, failure: Option<&str>) {
        if !self.applications.note_failure(assembly, failure) {
            return;
        }
        let assembly = assembly.clone();
        (self.tell)(match failure {
            Some(why) => Notice::CheckFails { assembly, what, why: why.to_owned() },
            None => Notice::CheckWorks { assembly, what },
        });
    }

    /// Removes the duties of an assembly that is gone.
    pub(super) fn forget_application(&mut self, name: &AssemblyName) {
        self.duties.remove(&Duty::Discover(name.clone()));
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
    pub(super) fn take_checked(&mut self, factory: AssemblyName, checked: Result<Vec<Checked>, EngineError>) {
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
                CheckEnd::Failed(failure) => self.note_check(&name, HEALTH_CHECK, Some(&failure.message)),
                CheckEnd::Applied { .. } => self.note_check(&name, HEALTH_CHECK, None),
                _ => {}
            }
        }
    }

    /// Handles the results of a discovery.
    pub(super) fn note_discovered(&mut self, factory: AssemblyName, found: Result<DiscoveryView, Error>) {
        self.duties.ended(self.windlass.now(), &Duty::Discover(factory.clone()));
        let found = match found {
            Ok(found) => found.found,
            Err(Error::Engine(EngineError::Stopped)) => return,
            Err(error) => return self.note_check(&factory, DISCOVERY, Some(&error.to_string())),
        };
        self.note_check(&factory, DISCOVERY, None);
        for FoundView { natural_id, name, result, problem, .. } in found {
            match (result, name) {
                ("adopted", Some(name)) => {
                    self.changed.insert(name.clone());
                    (self.tell)(Notice::Adopted { assembly: name, factory: factory.clone(), natural_id });
                }
                ("destroyed", Some(name)) => {
                    self.changed.insert(name.clone());
                    (self.tell)(Notice::Destroyed { assembly: name });
                }
                (_, name) => {
                    if let Some(problem) = problem {
                        let what = format!("discovery of `{natural_id}`");
                        let assembly = name.unwrap_or_else(|| factory.clone());
                        (self.tell)(Notice::Refused { assembly, what, why: problem });
                    }
                }
            }
        }
    }
}
