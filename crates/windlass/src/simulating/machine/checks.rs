//! The start of health checks, and the effects of their results on the simulated applications.

use windlass_driver::{Failure, Observation, Observed};
use windlass_engine::check_failure;
use windlass_model::Timestamp;
use windlass_model::instance::LogEntry;
use windlass_model::record::Severity;

use super::super::application::{Application, Stage};

use super::{CheckAnswer, Duty, Key, Machine, Task};

impl Machine<'_> {
    /// Starts the health check of a factory's applications. Leaves out applications with an open call, and
    /// applications whose launch or removal has failed.
    pub(super) fn begin_check(&mut self, now: Timestamp, factory: usize) {
        let is_up = |key: &&Key| {
            self.applications.get(*key).is_some_and(|application| matches!(application.stage, Stage::Up))
        };
        let keys: Vec<Key> = self.factories[factory].checked.iter().filter(is_up).copied().collect();
        if keys.is_empty() {
            self.schedule.ended(now, &Duty::Check(factory));
        } else {
            self.tasks.push(Task::Check { factory, keys });
        }
    }

    /// Ends a health check of the applications of a factory, and applies each answer to its application. Ignores an
    /// answer if its application has left the stage [`Stage::Up`], for example because of a new call. Also ignores
    /// an answer if the records of its application have changed since the check read them.
    ///
    /// `lines` contains the warnings and errors that the script of the health check has printed. The method adds
    /// them to the timeline, unless the previous health check of the factory has printed the same.
    pub(super) fn checked(
        &mut self,
        now: Timestamp,
        factory: usize,
        answers: Vec<CheckAnswer>,
        lines: Vec<LogEntry>,
    ) {
        self.duty_ended(now, Duty::Check(factory));
        // A warning that each health check repeats is reported only once.
        if self.factories[factory].lines != lines {
            let name = &self.cast.factories[factory].name;
            for line in &lines {
                self.timeline.add(name, "log", line.severity, line.message.clone());
            }
            self.factories[factory].lines = lines;
        }
        self.timeline.view.checked += answers.len() as u64;
        for CheckAnswer { key, revision, answer, number } in answers {
            let Some(answer) = answer else { continue };
            let is_current = |application: &Application| {
                application.revision == revision && matches!(application.stage, Stage::Up)
            };
            if self.applications.get(&key).is_some_and(is_current) {
                self.take_answer(now, key, answer, number);
            }
        }
    }

    /// Applies the result of a health check to an application, by the rules of the engine.
    pub(super) fn take_answer(
        &mut self,
        now: Timestamp,
        key: Key,
        answer: Result<Observed, Failure>,
        number: Option<usize>,
    ) {
        let Some(application) = self.applications.get_mut(&key) else { return };
        let title = &self.cast.titles[application.title];
        let observed = match answer {
            Ok(observed) => observed,
            Err(failure) => return self.check_failed(key, &failure),
        };
        let is_gone = observed.observation == Observation::Absent;
        let is_answered = observed.observation != Observation::Unanswered;
        let mut applied = match application.apply(title, observed.report, now) {
            Ok(applied) => applied,
            Err(failure) => return self.check_failed(key, &failure),
        };
        applied.log.retain(|entry| entry.severity >= Severity::Warning);
        let expired = expire(application, now);
        let works_again = application.failed_check.take_if(|_| is_answered).is_some();
        let is_silent = applied.log.is_empty() && applied.results.is_empty() && expired.is_empty();
        if works_again || !is_silent {
            application.touch();
        } else if !applied.has_changed {
            application.unchanged_by = number;
        }
        self.timeline.view.changes += applied.changes.len() as u64;
        self.log(key, "log", applied.log);
        self.log(key, "changed", applied.changes);
        self.log(key, "command", applied.results);
        self.log(key, "command", expired);
        if works_again {
            self.tell(key, "works", Severity::Info, "the health check works again");
        }
        if is_gone {
            self.destroyed(key);
        }
    }

    /// Records that a health check has failed. If the same failure is repeated, only the first one is
    /// reported.
    fn check_failed(&mut self, key: Key, failure: &Failure) {
        let recorded = check_failure::of(failure);
        let Some(application) = self.applications.get_mut(&key) else { return };
        if application.failed_check.as_ref().is_some_and(|known| known.message == recorded.message) {
            return;
        }
        let text = match failure.detail.as_deref().map(str::trim).filter(|detail| !detail.is_empty()) {
            Some(detail) => format!("{}: {detail}", recorded.message),
            None => recorded.message.clone(),
        };
        application.failed_check = Some(recorded);
        application.touch();
        self.tell(key, "fails", Severity::Error, text);
    }
}

/// Ends the commands whose results are overdue. Returns a log entry about each of these commands.
fn expire(application: &mut Application, now: Timestamp) -> Vec<LogEntry> {
    let overdue = application.commands.values_mut().filter(|record| record.is_overdue(now));
    let log: Vec<LogEntry> = overdue.map(|record| record.expire(now)).collect();
    if !log.is_empty() {
        application.note_commands();
    }
    log
}
