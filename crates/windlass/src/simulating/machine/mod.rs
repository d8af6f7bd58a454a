//! The pure state machine of a simulation. Its inputs are the virtual time and the results of tasks. Its
//! outputs are new tasks, and events for the timeline.
//!
//! The machine reads no clock and runs nothing. As in the daemon, a [schedule](windlass_engine::schedule) determines
//! when health checks and discoveries start. All other timed events are on the agenda: actions of
//! operators, ends of tasks, and observations of instances that are still changing (*converging*). The memory of the
//! machine depends on the existing applications, not on the simulated time.

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

/// The number that identifies an application in a simulation. Numbers are never reused.
pub(super) type Key = u64;

/// A repeated duty of a factory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Duty {
    Check(usize),
    Discover(usize),
}

/// A task for the host. The host runs a script, or simulates the result of the script. The field `factory` is the
/// position of a factory in [`Cast::factories`].
pub(super) enum Task {
    /// Performs the open call of the application `key`.
    Perform { key: Key, script: Script, call: Box<Call> },
    /// Finds out whether an instance that was still changing (*converging*) has reached the state that the call
    /// requests.
    Observe { key: Key, call: Box<Call> },
    /// Runs the health check for several applications of one factory.
    Check { factory: usize, keys: Vec<Key> },
    /// Runs the discovery script of a factory, which searches for instances.
    Discover { factory: usize, query: Box<Query> },
}

/// The result of a [`Task`], with the `key` or the `factory` of the task.
pub(super) enum TaskEnd {
    /// The host has performed a call. `checkpoint` is the last intermediate report of the call; `None` if the call
    /// had no such report.
    Performed { key: Key, script: Script, checkpoint: Option<Report>, result: Result<Report, Failure> },
    /// The host has observed an instance. `result` tells whether the instance has reached the state that the open
    /// call requests.
    Observed { key: Key, result: Result<Observed, Failure> },
    /// A health check has ended. `lines` contains the warnings that the health check script has written to stderr.
    Checked { factory: usize, answers: Vec<CheckAnswer>, lines: Vec<LogEntry>, runs: Runs },
    /// A discovery has ended. `found` contains the instances in the output of the discovery script, or the failure
    /// of the discovery. The file of answers can replace the output of the script.
    Discovered { factory: usize, found: Result<Vec<Found>, Failure> },
}

/// The result of a health check for one application.
pub(super) struct CheckAnswer {
    pub(super) key: Key,
    /// The [revision](Application::revision) of the application's records that the health check has read.
    pub(super) revision: u64,
    /// The result of the check. `None` if an earlier check of the application had the same answer and changed
    /// nothing, so that the result need not be applied again.
    pub(super) answer: Option<Result<Observed, Failure>>,
    /// The number of the answer that gives this result: its position in the file of answers. The default answer has
    /// the number `usize::MAX`.
    ///
    /// The field is `None` if the result comes from the output of a script. It is also `None` if the answer gives
    /// different data to different health checks.
    pub(super) number: Option<usize>,
}

/// A timed event of the agenda.
enum Timer {
    Launch { title: usize },
    Act(usize),
    Poll(Key),
    Ended(Box<TaskEnd>),
}

pub(super) struct MachineSettings {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// The interval of health checks; `None` for a simulation without health checks.
    pub(super) health: Option<Duration>,
    /// Number of applications that are launched from each entry of [`Cast::titles`] at the beginning.
    pub(super) count: u32,
    /// The pause before the first observation of an instance that is still changing (*converging*). Later pauses are
    /// longer, at most 15 times this pause.
    pub(super) poll: Duration,
    pub(super) actions: Vec<Action>,
}

#[derive(Default)]
struct FactoryState {
    /// The applications of the factory.
    members: BTreeSet<Key>,
    /// The applications of the factory, by natural id.
    naturals: BTreeMap<String, Key>,
    /// The applications whose health is checked repeatedly. A health check leaves out each application that is not
    /// in the stage [`Stage::Up`] when the check begins, for example an application with an open call.
    checked: BTreeSet<Key>,
    /// The failure of the last discovery, if it failed.
    failing: Option<String>,
    /// The warnings of the last health check.
    lines: Vec<LogEntry>,
}

/// The state machine of a simulation. The machine contains the simulated applications, and decides which tasks the host
/// runs at which virtual time.
pub(super) struct Machine<'c> {
    cast: &'c Cast,
    drivers: &'c Registry,
    driver: Arc<dyn Driver>,
    entropy: Box<dyn Entropy>,
    settings: MachineSettings,
    schedule: Schedule<Duty>,
    agenda: BTreeMap<(Timestamp, u64), Timer>,
    /// The next free number. The next entry of the agenda, the next application or the next call gets this
    /// number.
    next: u64,
    applications: BTreeMap<Key, Application>,
    names: BTreeMap<AssemblyName, Key>,
    /// For each base name, the first number to try for a new application. For example, the entry `("vm", 3)` means that
    /// the machine first tries the name `vm-3`.
    numbers: BTreeMap<AssemblyName, u32>,
    factories: Vec<FactoryState>,
    timeline: Timeline,
    tasks: Vec<Task>,
}

impl<'c> Machine<'c> {
    /// Creates a machine in which the factories are already launched.
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

    /// Returns the time of the next event. Returns `None` if no further event happens.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let agenda = self.agenda.keys().next().map(|(at, _)| *at);
        [agenda, self.schedule.due()].into_iter().flatten().min()
    }

    /// Handles all events that are due, and returns the tasks to run.
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

    /// Adds the end of a task to the agenda.
    pub(super) fn ends(&mut self, at: Timestamp, end: TaskEnd) {
        self.at(at, Timer::Ended(Box::new(end)));
    }

    /// Returns the events since the last call, and removes them.
    pub(super) fn take_events(&mut self) -> Vec<SimulationEvent> {
        self.timeline.take()
    }

    /// Returns the application with this key. Returns `None` if the application no longer exists.
    pub(super) fn application(&self, key: Key) -> Option<&Application> {
        self.applications.get(&key)
    }

    /// Returns the sizes of the collections in this state machine. A test compares them to check that they do not
    /// grow with the simulated time.
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

    /// Returns the summary of the simulation.
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

    /// Ends a run of a duty. If the next time of the duty has already passed, this time counts as missed, and
    /// the duty starts again at once.
    fn duty_ended(&mut self, now: Timestamp, duty: Duty) {
        let is_late = |due: Option<Timestamp>| due.is_some_and(|due| due < now);
        let before = self.schedule.due();
        self.schedule.ended(now, &duty);
        self.timeline.view.missed += u64::from(!is_late(before) && is_late(self.schedule.due()));
    }

    /// Adds log entries about an application to the timeline.
    fn log(&mut self, key: Key, event: &'static str, entries: Vec<LogEntry>) {
        let Some(application) = self.applications.get(&key) else { return };
        for entry in entries {
            self.timeline.add(&application.name, event, entry.severity, entry.message);
        }
    }

    /// Adds an event about an application to the timeline.
    fn tell(&mut self, key: Key, event: &'static str, severity: Severity, text: impl Into<String>) {
        if let Some(application) = self.applications.get(&key) {
            self.timeline.add(&application.name, event, severity, text);
        }
    }

    /// Adds an event of the kind `destroyed` to the timeline, and removes the application from the simulation.
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

    /// Adds an application under its natural id to the `naturals` of its factory. Does nothing if the application has
    /// no natural id, or if `naturals` already contains the id.
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
