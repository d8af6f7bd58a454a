//! The health checks of applications, and the discoveries of factories. One health check covers all applications of a
//! factory. A discovery is a run of the factory's script that finds applications which were created outside of
//! windlass.

use std::collections::BTreeMap;

use windlass_driver::Observation;
use windlass_engine::{CheckEnd, Checked};
use windlass_model::record::AssemblyRecord;
use windlass_model::{AssemblyName, State, Timestamp};

use super::duties::Duty;
use super::notice::{CHECK_OF_APPLICATIONS, DISCOVERY, HEALTH_CHECK};
use super::work::TaskError;
use super::{Daemon, Notice};
use crate::launching::{DiscoveryView, FoundView, LaunchError, Launcher, described};

impl Daemon<'_> {
    /// Updates the schedule of the daemon after a change of an application or a factory. While a factory is Active, its
    /// discovery stays in the schedule. While a factory has running applications, the health check of these
    /// applications stays in the schedule. Other assemblies do not change the schedule.
    pub(super) async fn note_application(&mut self, record: &AssemblyRecord) {
        if record.application.is_some() && record.owner.is_none() {
            self.note_factory(record).await;
        }
        for (factory, is_checked) in self.applications.note(record) {
            if is_checked {
                self.duties.check(Duty::CheckApplications(factory)).await;
            } else {
                self.duties.remove(Duty::CheckApplications(factory)).await;
            }
        }
    }

    async fn note_factory(&mut self, record: &AssemblyRecord) {
        let times = Launcher::new(&self.windlass).discovery_times(&record.name).await;
        match times {
            Ok(Some(times)) if record.goal == State::Active => {
                self.duties.discover(record.name.clone(), times).await;
            }
            Ok(_) => self.duties.remove(Duty::Discover(record.name.clone())).await,
            Err(error) => self.note_check(&record.name, DISCOVERY, Some(&error.to_string())),
        }
    }

    /// Reports a new failure of a check or a discovery, and the first success after a failure.
    pub(super) fn note_check(&mut self, assembly: &AssemblyName, what: &'static str, failure: Option<&str>) {
        match failure {
            Some(why) => self.note_failed(assembly, what, why, why.to_owned()),
            None if self.applications.note_success(assembly, what) => {
                (self.tell)(Notice::CheckWorks { assembly: assembly.clone(), what });
            }
            None => {}
        }
    }

    /// Reports a new failure of a check or a discovery. `why` is the text of the report. `message` is the part of this
    /// text that identifies the failure. The rest of the text, such as the stderr of the script, may differ each time.
    /// A failure with the same `message` as the last one is not new.
    fn note_failed(&mut self, assembly: &AssemblyName, what: &'static str, message: &str, why: String) {
        if self.applications.note_failure(assembly, what, message) {
            (self.tell)(Notice::CheckFails { assembly: assembly.clone(), what, why });
        }
    }

    /// Updates the schedule of the daemon after the removal of an assembly. If the assembly was a factory, its
    /// discovery leaves the schedule. If the assembly was the last running application of a factory, the health check
    /// of the factory's applications leaves the schedule.
    pub(super) async fn forget_application(&mut self, name: &AssemblyName) {
        self.duties.remove(Duty::Discover(name.clone())).await;
        if let Some(factory) = self.applications.remove(name) {
            self.duties.remove(Duty::CheckApplications(factory)).await;
        }
    }

    /// Starts the health check of a factory's applications. Leaves out applications that an intent is
    /// changing.
    pub(super) async fn check_applications(&mut self, factory: AssemblyName) {
        let idle = self.applications.of(&factory).filter(|name| !self.is_changing(name));
        let names: Vec<AssemblyName> = idle.cloned().collect();
        if names.is_empty() {
            self.duties.ended(Duty::CheckApplications(factory)).await;
        } else {
            self.checking.insert(factory.clone());
            self.work.check(factory, names, self.duties.period());
        }
    }

    /// Handles the results of a health check of a factory's applications. Removes each application whose
    /// instance the check reports as destroyed. The history of the removed application stays.
    pub(super) async fn take_checked(
        &mut self,
        factory: AssemblyName,
        checked: Result<Vec<Checked>, TaskError>,
    ) {
        self.checking.remove(&factory);
        self.take_up().await;
        self.duties.ended(Duty::CheckApplications(factory.clone())).await;
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) if error.is_stop() => return,
            Err(error) => return self.note_check(&factory, CHECK_OF_APPLICATIONS, Some(&error.to_string())),
        };
        self.note_check(&factory, CHECK_OF_APPLICATIONS, None);
        for Checked { name, end } in checked {
            match end {
                CheckEnd::Destroyed => {
                    (self.tell)(Notice::Destroyed { assembly: name.clone() });
                    self.changed.insert(name.clone());
                    if !self.is_changing(&name) {
                        self.remove_destroyed(name);
                    }
                }
                CheckEnd::Unanswered => self.note_check(&name, HEALTH_CHECK, Some(Observation::NO_ANSWER)),
                CheckEnd::Failed(failure) => {
                    self.note_failed(&name, HEALTH_CHECK, &failure.message, described(&failure));
                }
                CheckEnd::Applied { status, .. } => {
                    self.note_check(&name, HEALTH_CHECK, None);
                    if self.applications.note_status(&name, &status) {
                        (self.tell)(Notice::StatusChanged { assembly: name, status });
                    }
                }
                _ => {}
            }
        }
    }

    /// Starts the discovery of a factory for the scheduled time `fired`.
    pub(super) fn discover(&mut self, factory: AssemblyName, fired: Timestamp) {
        self.discovering.insert(factory.clone());
        self.work.discover(self.windlass.clone(), factory, fired);
    }

    /// Begins the requests that have waited for the end of a discovery. Then reports the adopted instances, the
    /// destroyed instances, and the new problems, which the factory's previous discovery did not have. If another
    /// daemon has run this discovery, `found` contains `None`, and nothing is reported.
    pub(super) async fn note_discovered(
        &mut self,
        factory: &AssemblyName,
        found: Result<Option<DiscoveryView>, TaskError>,
    ) {
        self.discovering.remove(factory);
        self.take_up().await;
        self.duties.ended(Duty::Discover(factory.clone())).await;
        let found = match found {
            Ok(Some(found)) => found.found,
            Ok(None) => return,
            Err(error) if error.is_stop() => return,
            Err(error) => {
                let text = error.to_string();
                let message = match error.of_launch() {
                    Some(LaunchError::Discovery { failure, .. }) => &failure.message,
                    _ => &text,
                };
                return self.note_failed(factory, DISCOVERY, message, text.clone());
            }
        };
        self.note_check(factory, DISCOVERY, None);
        let mut problems = BTreeMap::new();
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
                // The launch of an application was interrupted, and this launch may have created the found
                // instance. A person must first resume or end the launch. Until then, the daemon reports
                // nothing.
                ("waits", _) => {}
                (_, name) => {
                    if let Some(problem) = problem {
                        if !self.applications.has_problem(factory, &natural_id, &problem) {
                            let what = format!("discovery of `{natural_id}`");
                            let assembly = name.unwrap_or_else(|| factory.clone());
                            (self.tell)(Notice::Refused { assembly, what, why: problem.clone() });
                        }
                        problems.insert(natural_id, problem);
                    }
                }
            }
        }
        self.applications.set_problems(factory, problems);
    }
}
