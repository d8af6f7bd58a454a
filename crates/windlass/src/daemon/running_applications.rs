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
    /// The checks and discoveries whose last run failed. The first part of a key is the name of the checked assembly or
    /// application. For a discovery, and for a health check of all applications of a factory, it is the name of the
    /// factory. The second part is the duty, such as `discovery`. The text is the failure that was reported last.
    failing: BTreeMap<(AssemblyName, &'static str), String>,
    /// For each factory, the problems of its last discovery. Each problem belongs to one found instance, which is named
    /// by its natural id.
    problems: BTreeMap<AssemblyName, BTreeMap<String, String>>,
    /// For each application that this daemon has checked, the last status as one word, such as `active`.
    statuses: BTreeMap<AssemblyName, &'static str>,
}

impl Applications {
    /// Updates the list of running applications. If the assembly of `record` is a running application, adds the
    /// assembly to the list. Otherwise, removes the assembly from the list.
    ///
    /// Each entry of the result is a factory with a flag. If the flag is `true`, the health check of the factory's
    /// applications must begin. If the flag is `false`, this check must end, because the factory has no running
    /// application any more.
    pub(super) fn note(&mut self, record: &AssemblyRecord) -> Vec<(AssemblyName, bool)> {
        let is_running =
            record.application.is_some() && record.goal == State::Active && record.reached.is_some();
        let Some(factory) = record.owner.as_ref().filter(|_| is_running) else {
            return self.leave(&record.name).map(|factory| (factory, false)).into_iter().collect();
        };
        if self.factories.get(&record.name) == Some(factory) {
            return Vec::new();
        }
        let mut changes: Vec<_> =
            self.leave(&record.name).map(|factory| (factory, false)).into_iter().collect();
        self.factories.insert(record.name.clone(), factory.clone());
        self.by_factory.entry(factory.clone()).or_default().insert(record.name.clone());
        changes.push((factory.clone(), true));
        changes
    }

    /// Removes the data about an assembly that no longer exists. Returns the assembly's factory if the assembly was the
    /// last running application of the factory.
    pub(super) fn remove(&mut self, name: &AssemblyName) -> Option<AssemblyName> {
        self.failing.retain(|(failing, _), _| failing != name);
        self.problems.remove(name);
        self.leave(name)
    }

    /// Removes an assembly from the list of running applications. Returns the assembly's factory if the factory has
    /// no other running application.
    fn leave(&mut self, name: &AssemblyName) -> Option<AssemblyName> {
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

    /// Records a failure of the duty `what`, which is a check or a discovery. Returns `true` for a new failure, which
    /// the daemon must report.
    pub(super) fn note_failure(&mut self, name: &AssemblyName, what: &'static str, failure: &str) -> bool {
        let before = self.failing.insert((name.clone(), what), failure.to_owned());
        before.as_deref() != Some(failure)
    }

    /// Records a success of the duty `what`, which is a check or a discovery. Returns `true` for the first success
    /// after a failure. The daemon must report such a success.
    pub(super) fn note_success(&mut self, name: &AssemblyName, what: &'static str) -> bool {
        self.failing.remove(&(name.clone(), what)).is_some()
    }

    /// Tells whether `problem` is the problem that the last discovery of a factory had with the instance `natural`.
    pub(super) fn has_problem(&self, factory: &AssemblyName, natural: &str, problem: &str) -> bool {
        let known = self.problems.get(factory).and_then(|known| known.get(natural));
        known.is_some_and(|known| known == problem)
    }

    /// Records the problems of the last discovery of a factory, in place of the problems of the previous one.
    /// `problems` contains one text for each instance with a problem. The key is the natural id of the instance.
    pub(super) fn set_problems(&mut self, factory: &AssemblyName, problems: BTreeMap<String, String>) {
        self.problems.insert(factory.clone(), problems);
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

#[cfg(test)]
mod tests {
    use super::super::notice::{DISCOVERY, HEALTH_CHECK};
    use super::*;

    /// Creates [`Applications`], and records that the discovery of a factory has failed. Also returns the name of
    /// this factory.
    fn failed() -> (Applications, AssemblyName) {
        let (mut applications, factory) = (Applications::default(), "vms".parse().unwrap());
        assert!(applications.note_failure(&factory, DISCOVERY, "no space"));
        (applications, factory)
    }

    #[test]
    fn a_repeated_failure_is_reported_once_and_its_end_is_reported() {
        let (mut applications, factory) = failed();
        assert!(!applications.note_failure(&factory, DISCOVERY, "no space"));
        assert!(applications.note_success(&factory, DISCOVERY));
        assert!(!applications.note_success(&factory, DISCOVERY));
    }

    #[test]
    fn a_successful_health_check_does_not_end_the_failure_of_a_discovery() {
        let (mut applications, factory) = failed();
        assert!(!applications.note_success(&factory, HEALTH_CHECK));
        assert!(!applications.note_failure(&factory, DISCOVERY, "no space"));
    }

    #[test]
    fn a_change_of_a_factory_does_not_end_the_failure_of_its_discovery() {
        let (mut applications, factory) = failed();
        // The daemon reads the changed factory, which is not a running application of another factory.
        assert_eq!(applications.leave(&factory), None);
        assert!(applications.note_success(&factory, DISCOVERY));
    }

    #[test]
    fn a_problem_of_a_discovery_lasts_until_the_next_discovery() {
        let (mut applications, factory) = failed();
        let problems = BTreeMap::from([("i-1".to_owned(), "no space".to_owned())]);
        applications.set_problems(&factory, problems);
        assert!(applications.has_problem(&factory, "i-1", "no space"));
        assert!(!applications.has_problem(&factory, "i-1", "no name"));
        applications.set_problems(&factory, BTreeMap::new());
        assert!(!applications.has_problem(&factory, "i-1", "no space"));
    }
}
