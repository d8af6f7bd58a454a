//! Discoveries: the script of a factory searches for instances, and the simulation adopts the found instances.

use std::collections::BTreeMap;

use windlass_driver::contract::{Found, Purpose, Query};
use windlass_driver::{Failure, Observation, Observed};
use windlass_model::Timestamp;
use windlass_model::record::Severity;

use super::super::application::{Application, Stage};
use super::{Duty, Machine, Task};
use crate::launching::{Decision, Known, described, name_base};

impl Machine<'_> {
    /// Adds a task in which the discovery script of a factory searches for instances.
    pub(super) fn begin_discovery(&mut self, factory: usize) {
        let of = &self.cast.factories[factory];
        let (package, location) = (of.compiled.package.clone(), self.cast.location.clone());
        let Some(binding) = package.bindings().query(&location.infrastructure).cloned() else { return };
        let (configuration, purpose) = (of.configuration.clone(), Purpose::Inventory);
        let query = Query { package, binding, location, configuration, properties: BTreeMap::new(), purpose };
        self.tasks.push(Task::Discover { factory, query: Box::new(query) });
    }

    /// Ends a discovery: adopts the new instances that the script has found, and applies the reports about known
    /// instances.
    pub(super) fn discovered(&mut self, now: Timestamp, factory: usize, found: Result<Vec<Found>, Failure>) {
        self.duty_ended(now, Duty::Discover(factory));
        let found = match found {
            Ok(found) => found,
            Err(failure) => return self.discovery_failed(factory, &failure),
        };
        if self.factories[factory].failing.take().is_some() {
            let name = &self.cast.factories[factory].name;
            self.timeline.add(name, "works", Severity::Info, "the discovery works again");
        }
        if found.is_empty() {
            return;
        }
        let mut known = self.known(factory);
        for found in found {
            match known.decide(&found) {
                Decision::Known(name) => {
                    let Some(key) = self.names.get(&name).copied() else { continue };
                    let is_up = |application: &Application| matches!(application.stage, Stage::Up);
                    if self.applications.get(&key).is_some_and(is_up) {
                        let is_gone = found.is_gone();
                        let observation = if is_gone { Observation::Absent } else { Observation::Reached };
                        let report = found.without_name().report;
                        let observed = report.map(|report| Observed { observation, report });
                        self.take_answer(now, key, observed, None);
                    }
                }
                // In the case `Waits`, a launch that has not succeeded may have created the instance, so the
                // instance is not adopted.
                Decision::Ignored | Decision::Waits => {}
                Decision::New => self.adopt(now, factory, found),
            }
        }
    }

    fn adopt(&mut self, now: Timestamp, factory: usize, found: Found) {
        let Some((title, _)) = self.cast.factories[factory].discovery else { return };
        let of_title = &self.cast.titles[title];
        let name = self.free_name(&name_base(&found, &of_title.published.name));
        let key = self.add(name, title);
        let Some(application) = self.applications.get_mut(&key) else { return };
        let natural = found.natural.clone();
        match found.report.and_then(|report| application.apply(of_title, report, now)) {
            Ok(applied) => {
                self.note_natural(key);
                self.timeline.view.adopted += 1;
                self.timeline.view.changes += applied.changes.len() as u64;
                let finder = &self.cast.factories[factory].name;
                let text = format!("is adopted: {finder} has found {natural}");
                self.tell(key, "adopted", Severity::Info, text);
                self.log(key, "log", applied.log);
                self.log(key, "changed", applied.changes);
                self.is_up(now, key);
            }
            Err(failure) => {
                self.remove(key);
                let text = format!("discovery of `{natural}`: {}", described(&failure));
                let finder = &self.cast.factories[factory].name;
                self.timeline.add(finder, "refused", Severity::Error, text);
            }
        }
    }

    /// Reports that a discovery has failed. If the same failure is repeated, only the first one is reported.
    fn discovery_failed(&mut self, factory: usize, failure: &Failure) {
        let text = format!("the discovery failed: {}", described(failure));
        if self.factories[factory].failing.as_ref() != Some(&text) {
            let name = &self.cast.factories[factory].name;
            self.timeline.add(name, "fails", Severity::Error, text.clone());
            self.factories[factory].failing = Some(text);
        }
    }

    /// Returns the applications of a factory. The field `by_natural` of the result contains each application that
    /// has a natural id. The field `launching` contains the applications without a natural id.
    fn known(&self, factory: usize) -> Known {
        let mut known = Known { by_natural: BTreeMap::new(), launching: Vec::new() };
        let members = self.factories[factory].members.iter();
        for application in members.filter_map(|key| self.applications.get(key)) {
            match &application.check.natural {
                Some(natural) => drop(known.by_natural.insert(natural.clone(), application.name.clone())),
                None => known.launching.push(application.name.clone()),
            }
        }
        known
    }
}
