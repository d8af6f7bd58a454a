//! The pure machine of a simulation: time and reports in, tasks and events out.
//!
//! It reads no clock and runs nothing. The [schedule](windlass_engine::schedule) of the daemon starts health
//! checks and discoveries. All other timed events are on the agenda: actions, ends of tasks, and observations
//! of instances that are converging. Memory depends on the existing applications, not on the simulated time.

mod calls;
mod checks;
mod found;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use windlass_driver::contract::{Found, Query};
use windlass_driver::{Call, Driver, Failure, Observed, Registry, Report};
use windlass_engine::schedule::Schedule;
use windlass_model::id::Entropy;
use windlass_model::instance::LogEntry;
use windlass_model::record::Severity;
use windlass_model::{AssemblyName, Timestamp};

use super::answers::Action;
use super::application::{Application, Stage};
use super::cast::Cast;
use super::events::{Runs, SimulationEvent, SimulationView, Timeline};
use super::rules::Script;
use crate::duty_timing;

/// The number of an application in a simulation. Numbers never repeat.
pub(super) type Key = u64;

/// A repeated duty of a factory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Duty {
    Check(usize),
    Discover(usize),
}

/// A task: a script to run, or an answer instead of it.
pub(super) enum Task {
    /// Performs a call.
    Perform { key: Key, script: Script, call: Box<Call> },
    /// Observes an instance that converges.
    Observe { key: Key, call: Box<Call> },
    /// Checks applications of a factory.
    Check { factory: usize, keys: Vec<Key> },
    /// Searches for the instances of a factory.
    Discover { factory: usize, query: Box<Query> },
}

/// The end of a task.
pub(super) enum TaskEnd {
    /// A call has ended, perhaps after an intermediate report.
    Performed { key: Key, script: Script, checkpoint: Option<Report>, result: Result<Report, Failure> },
    /// An instance was observed.
    Observed { key: Key, result: Result<Observed, Failure> },
    /// A health check has ended.
    Checked { factory: usize, answers: Vec<CheckAnswer>, lines: Vec<LogEntry>, runs: Runs },
    /// A search has ended.
    Discovered { factory: usize, found: Result<Vec<Found>, Failure> },
}

/// The answer of a health check about an application.
pub(super) struct CheckAnswer {
    pub(super) key: Key,
    /// The revision of the records that the check has read.
    pub(super) revision: u64,
    /// The answer; `None` if the same answer has changed nothing before.
    pub(super) answer: Option<Result<Observed, Failure>>,
    /// The number of the answer, if it is the same for each call.
    pub(super) number: Option<usize>,
}

/// An entry of the agenda.
enum Timer {
    Launch { title: usize },
    Act(usize),
    Poll(Key),
    Ended(Box<TaskEnd>),
}

/// The settings of a machine.
pub(super) struct MachineSettings {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// The interval of health checks; `None` disables them.
    pub(super) health: Option<Duration>,
    /// Number of applications of each title that are launched at the beginning.
    pub(super) count: u32,
    /// The time until the first observation of an instance that converges.
    pub(super) poll: Duration,
    pub(super) actions: Vec<Action>,
}

/// The state of a factory.
#[derive(Default)]
struct FactoryState {
    /// Its applications.
    members: BTreeSet<Key>,
    /// Its applications, by natural id.
    naturals: BTreeMap<String, Key>,
    /// The applications with health checks. An application is skipped while it has an open call.
    checked: BTreeSet<Key>,
    /// The failure of the last discovery.
    failing: Option<String>,
    /// The warnings of the last health check.
    lines: Vec<LogEntry>,
}

/// The simulated applications, and the times of all events.
pub(super) struct Machine<'c> {
    cast: &'c Cast,
    drivers: &'c Registry,
    driver: Arc<dyn Driver>,
    entropy: Box<dyn Entropy>,
    settings: MachineSettings,
    schedule: Schedule<Duty>,
    agenda: BTreeMap<(Timestamp, u64), Timer>,
    /// The next number for an entry of the agenda, an application or a call.
    next: u64,
    applications: BTreeMap<Key, Application>,
    names: BTreeMap<AssemblyName, Key>,
    /// The number in the next name of an application, by the part of the name before the number.
    numbers: BTreeMap<AssemblyName, u32>,
    factories: Vec<FactoryState>,
    timeline: Timeline,
    tasks: Vec<Task>,
}

impl<'c> Machine<'c> {
    /// Creates a machine whose factories are launched.
    pub(super) fn new(
        cast: &'c Cast,
        drivers: &'c Registry,
        driver: Arc<dyn Driver>,
        entropy: Box<dyn Entropy>,
        settings: MachineSettings,
    ) -> Self {
        let (from, until) = (settings.from, settings.until);
        let mut machine = Self {
            cast,
            drivers,
            driver,
            entropy,
            settings,
            schedule: Schedule::default(),
            agenda: BTreeMap::new(),
            next: 1,
            applications: BTreeMap::new(),
            names: BTreeMap::new(),
            numbers: BTreeMap::new(),
            factories: cast.factories.iter().map(|_| FactoryState::default()).collect(),
            timeline: Timeline::new(from, until),
            tasks: Vec::new(),
        };
        for (at, factory) in cast.factories.iter().enumerate() {
            if let Some((_, times)) = &factory.discovery {
                machine.schedule.set(from, Duty::Discover(at), duty_timing::of_discovery(times.clone()));
            }
        }
        for title in 0..cast.titles.len() {
            for _ in 0..machine.settings.count {
                machine.at(from, Timer::Launch { title });
            }
        }
        for action in 0..machine.settings.actions.len() {
            let at = millis(machine.settings.actions[action].at);
            machine.at(from.plus_millis(at), Timer::Act(action));
        }
        machine
    }

    /// Returns the time of the next event; `None` if nothing happens any more.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let agenda = self.agenda.keys().next().map(|(at, _)| *at);
        [agenda, self.schedule.due()].into_iter().flatten().min()
    }

    /// Handles all that is due, and returns the tasks to run.
    pub(super) fn advance(&mut self, now: Timestamp) -> Vec<Task> {
        self.timeline.tell(now);
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Timer::Launch { title } => self.launch(now, title),
                Timer::Act(action) => self.act(now, action),
                Timer::Poll(key) => self.poll(now, key),
                Timer::Ended(end) => self.ended(now, *end),
            }
        }
        for duty in self.schedule.start(now) {
            match duty {
                Duty::Check(factory) => self.begin_check(now, factory),
                Duty::Discover(factory) => self.begin_discovery(factory),
            }
        }
        std::mem::take(&mut self.tasks)
    }

    /// Notes the time at which a task ends.
    pub(super) fn ends(&mut self, at: Timestamp, end: TaskEnd) {
        self.at(at, Timer::Ended(Box::new(end)));
    }

    /// Returns the events since the last call, and removes them.
    pub(super) fn take_events(&mut self) -> Vec<SimulationEvent> {
        self.timeline.take()
    }

    /// Returns an application.
    pub(super) fn application(&self, key: Key) -> Option<&Application> {
        self.applications.get(&key)
    }

    /// Returns the sizes of all records, which depend only on the existing applications.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 7] {
        let factories = self.factories.iter();
        [
            self.applications.len(),
            self.applications.values().map(|application| application.commands.len()).sum(),
            self.applications.values().map(|application| application.document.to_string().len()).sum(),
            self.names.len() + self.numbers.len(),
            self.agenda.len(),
            factories.clone().map(|factory| factory.members.len() + factory.checked.len()).sum(),
            factories.map(|factory| factory.naturals.len() + factory.lines.len()).sum(),
        ]
    }

    /// Returns the summary.
    pub(super) fn summary(mut self) -> SimulationView {
        for application in self.applications.values() {
            let word = match (&application.stage, application.check.natural.is_some()) {
                (Stage::Failed(what), _) => what,
                (Stage::Busy(_), false) => "converging",
                _ => application.status().word(),
            };
            *self.timeline.view.applications.entry(word).or_default() += 1;
        }
        self.timeline.view
    }

    fn at(&mut self, at: Timestamp, timer: Timer) {
        let number = self.number();
        self.agenda.insert((at, number), timer);
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn ended(&mut self, now: Timestamp, end: TaskEnd) {
        match end {
            TaskEnd::Performed { key, script, checkpoint, result } => {
                self.note_run(&script, result.is_err());
                self.performed(now, key, checkpoint, result);
            }
            TaskEnd::Observed { key, result } => {
                self.note_run(&Script::HealthCheck, result.is_err());
                self.observed(now, key, result);
            }
            TaskEnd::Checked { factory, answers, lines, runs } => {
                self.timeline.view.scripts.entry(Script::HealthCheck.word()).or_default().add(runs);
                self.checked(now, factory, answers, lines);
            }
            TaskEnd::Discovered { factory, found } => {
                self.note_run(&Script::Discover, found.is_err());
                self.discovered(now, factory, found);
            }
        }
    }

    fn note_run(&mut self, script: &Script, has_failed: bool) {
        self.timeline.view.scripts.entry(script.word()).or_default().note(has_failed);
    }

    /// Ends a run of a duty. If its next time has already passed, the duty starts again at once.
    fn duty_ended(&mut self, now: Timestamp, duty: Duty) {
        let is_late = |due: Option<Timestamp>| due.is_some_and(|due| due < now);
        let before = self.schedule.due();
        self.schedule.ended(now, &duty);
        self.timeline.view.missed += u64::from(!is_late(before) && is_late(self.schedule.due()));
    }

    /// Adds entries of a log.
    fn log(&mut self, key: Key, event: &'static str, entries: Vec<LogEntry>) {
        let Some(application) = self.applications.get(&key) else { return };
        for entry in entries {
            self.timeline.add(&application.name, event, entry.severity, entry.message);
        }
    }

    /// Adds an event about an application.
    fn tell(&mut self, key: Key, event: &'static str, severity: Severity, text: impl Into<String>) {
        if let Some(application) = self.applications.get(&key) {
            self.timeline.add(&application.name, event, severity, text);
        }
    }

    /// Removes an application that no longer exists.
    fn destroyed(&mut self, key: Key) {
        self.tell(key, "destroyed", Severity::Info, "its script says that it is destroyed");
        self.timeline.view.destroyed += 1;
        self.remove(key);
    }

    /// Removes the records of an application.
    fn remove(&mut self, key: Key) {
        self.leave_checks(key);
        let Some(application) = self.applications.remove(&key) else { return };
        let factory = &mut self.factories[self.cast.titles[application.title].factory];
        factory.members.remove(&key);
        if let Some(natural) = application.check.natural {
            factory.naturals.remove(&natural);
        }
        self.names.remove(&application.name);
        self.numbers.clear();
    }

    /// Notes the natural id of an application after a report.
    fn note_natural(&mut self, key: Key) {
        let Some(application) = self.applications.get(&key) else { return };
        let factory = &mut self.factories[self.cast.titles[application.title].factory];
        if let Some(natural) = &application.check.natural
            && !factory.naturals.contains_key(natural)
        {
            factory.naturals.insert(natural.clone(), key);
        }
    }

    /// Ends the health checks of an application.
    fn leave_checks(&mut self, key: Key) {
        let Some(application) = self.applications.get(&key) else { return };
        let factory = self.cast.titles[application.title].factory;
        let checked = &mut self.factories[factory].checked;
        if checked.remove(&key) && checked.is_empty() {
            self.schedule.remove(&Duty::Check(factory));
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
