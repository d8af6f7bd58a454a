//! The loop that advances the virtual clock and runs the tasks of the simulation's state machine.
//!
//! The virtual clock stands still while a script runs, so all side effects of the script happen at the virtual time of
//! its start. The paused clock of tokio is unsuitable, because that clock advances while the program waits for a
//! script.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass_driver::contract::{Found, Query};
use windlass_driver::{Call, Driver, Failure, FailureKind, Observed, Report, Unrecorded};
use windlass_engine::{EngineError, Stop};
use windlass_executor::Runtime;
use windlass_model::instance::LogEntry;
use windlass_model::{Action, InstanceId, Timestamp, Transition};
use windlass_script::ParsedOutput;

use super::answered::Printout;
use super::application::Application;
use super::cast::Cast;
use super::context::{Jobs, Kept, SimulationContext};
use super::events::{Runs, SimulationEvent};
use super::machine::{CheckAnswer, Key, Machine, Task, TaskEnd};
use super::rules::{Rule, Rules, Script, Subject};
use crate::open::Windlass;

/// Maximum virtual duration of a script.
const LONGEST: Duration = Duration::from_secs(3600);

/// An application in a health check. The fields are the key of the application, the application itself, and the
/// position of an answer in [`Rules`]. This answer replaces the output of the script for the application. The
/// position is `None` if the file of answers contains no such answer.
pub(super) type Element<'m> = (Key, &'m Application, Option<usize>);

/// The results of a health check of a batch of applications.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) answers: Vec<CheckAnswer>,
    pub(super) lines: Vec<LogEntry>,
    pub(super) took: Duration,
    pub(super) runs: Runs,
}

/// The values from which a [`Host`] is created. They include the project, the compiled manifests, and the answers
/// that replace runs of scripts.
pub(super) struct HostParts<'h> {
    pub(super) windlass: &'h Windlass,
    pub(super) stop: &'h Stop,
    pub(super) cast: &'h Cast,
    pub(super) rules: &'h Rules,
    pub(super) from: Timestamp,
    pub(super) driver: Arc<dyn Driver>,
    /// The runtime on which scripts run; `None` if answers replace all scripts.
    pub(super) runtime: Option<Arc<dyn Runtime>>,
}

/// An executor of tasks. For each task, a script really runs, or the host simulates the result of the script.
pub(super) struct Host<'h> {
    pub(super) parts: HostParts<'h>,
    /// The default answer to a health check. It is used if no answer of the file of answers applies.
    pub(super) standard: Rule,
    /// The maximum durations of health checks. There is one entry for each entry of [`Cast::titles`], in the same
    /// order.
    pub(super) timeouts: Vec<Duration>,
    /// The last parsed outputs of health checks. They are kept because the next health check often has the
    /// same output.
    pub(super) parsed: Mutex<ParsedOutputs>,
}

/// Parsed outputs of health checks. The key consists of the position of the title in [`Cast::titles`] and the position
/// of the answer in [`Rules`].
pub(super) type ParsedOutputs = BTreeMap<(usize, Option<usize>), Option<ParsedOutput>>;

impl<'h> Host<'h> {
    pub(super) fn new(parts: HostParts<'h>) -> Self {
        let HostParts { cast, driver, .. } = &parts;
        let integrity = Action::Transition(Transition::Integrity);
        let timeout = |package| driver.nature(package, &integrity).map_or(LONGEST, |nature| nature.timeout);
        let timeouts = cast.titles.iter().map(|title| timeout(&title.compiled.package)).collect();
        let standard = Rule::standard(cast);
        Self { parts, standard, timeouts, parsed: Mutex::default() }
    }

    /// Runs the simulation until the virtual time `until`. The loop advances the clock to the next due time of the
    /// machine, runs the tasks of the machine, and passes the new events of the timeline to `tell`.
    ///
    /// # Errors
    /// Returns [`EngineError::Stopped`] if a stop is triggered.
    pub(super) async fn run_until(
        &self,
        machine: &mut Machine<'_>,
        until: Timestamp,
        tell: &mut dyn FnMut(SimulationEvent),
    ) -> Result<(), EngineError> {
        while let Some(now) = machine.due().filter(|due| *due <= until) {
            for task in machine.advance(now) {
                let (end, took) = self.run(machine, now, task).await;
                if self.parts.stop.is_requested() {
                    return Err(EngineError::Stopped);
                }
                machine.ends(now.plus_millis(i64::try_from(took.as_millis()).unwrap_or(i64::MAX)), end);
            }
            machine.take_events().into_iter().for_each(&mut *tell);
        }
        Ok(())
    }

    /// Runs a task. Returns its result and its virtual duration.
    async fn run(&self, machine: &Machine<'_>, now: Timestamp, task: Task) -> (TaskEnd, Duration) {
        match task {
            Task::Perform { key, script, call } => {
                let (checkpoint, result, took) = self.perform(machine, now, (key, &script), &call).await;
                (TaskEnd::Performed { key, script, checkpoint, result }, took)
            }
            Task::Observe { key, call } => {
                let (mut answers, kept) = self.observe(machine, now, key, call).await;
                (TaskEnd::Observed { key, result: answers.remove(0) }, kept.took)
            }
            Task::Check { factory, keys } => {
                let Asked { answers, lines, took, runs } = self.check(machine, now, &keys).await;
                (TaskEnd::Checked { factory, answers, lines, runs }, took)
            }
            Task::Discover { factory, query } => {
                let (found, took) = self.discover(now, factory, &query).await;
                (TaskEnd::Discovered { factory, found }, took)
            }
        }
    }

    /// Returns the position in [`Rules`] of the first answer that applies to a call of a script.
    fn rule(&self, now: Timestamp, script: &Script, application: &Application, call: &Call) -> Option<usize> {
        let active = self.parts.rules.active(script, Some(application.title), self.since(now));
        self.parts.rules.first(&active, Subject::of(call, application.name.as_str()))
    }

    pub(super) fn since(&self, now: Timestamp) -> Duration {
        Duration::from_millis(now.millis_since(self.parts.from))
    }

    async fn perform(
        &self,
        machine: &Machine<'_>,
        now: Timestamp,
        (key, script): (Key, &Script),
        call: &Call,
    ) -> (Option<Report>, Result<Report, Failure>, Duration) {
        let Some(application) = machine.application(key) else {
            return (None, Err(no_answer()), Duration::ZERO);
        };
        let rule = self.rule(now, script, application, call).map(|at| self.parts.rules.get(at));
        let calls = std::slice::from_ref(call);
        let printout = || Printout::of_call(rule, script, call, application.name.as_str());
        let context = self.context(now, rule.is_some(), printout);
        let mut results = self.parts.driver.perform(&context, calls).await;
        let kept = context.into_kept();
        let result = results.pop().unwrap_or_else(|| Err(no_answer()));
        (kept.checkpoint, result, kept.took)
    }

    /// Asks the driver whether an instance has reached the state that `call` requests. Until now, the instance was
    /// still changing (*converging*). The returned list contains one result.
    async fn observe(
        &self,
        machine: &Machine<'_>,
        now: Timestamp,
        key: Key,
        call: Box<Call>,
    ) -> (Vec<Result<Observed, Failure>>, Kept) {
        let Some(application) = machine.application(key) else {
            return (vec![Err(no_answer())], Kept::default());
        };
        let rule = self.rule(now, &Script::HealthCheck, application, &call);
        let batch = [(key, application, rule)];
        self.ask(now, &[*call], &batch).await
    }

    async fn discover(
        &self,
        now: Timestamp,
        factory: usize,
        query: &Query,
    ) -> (Result<Vec<Found>, Failure>, Duration) {
        let title = self.parts.cast.factories[factory].discovery.as_ref().map(|(title, _)| *title);
        let active = self.parts.rules.active(&Script::Discover, title, self.since(now));
        let rule = active.first().map(|at| self.parts.rules.get(*at));
        let context = self.context(now, rule.is_some(), || Printout::of_discovery(rule));
        let found = self.parts.driver.discover(&context, query).await;
        (found, context.into_kept().took)
    }

    /// Asks the driver for the state of the instances of `calls`, and returns one result for each call. `batch`
    /// contains the applications of the calls, in the same order.
    ///
    /// The driver reads the results from the output of the health check script. The script really runs if the
    /// simulation has a runtime, and if the file of answers has no answer for any application in `batch`. Otherwise,
    /// the driver gets a simulated output.
    pub(super) async fn ask(
        &self,
        now: Timestamp,
        calls: &[Call],
        batch: &[Element<'_>],
    ) -> (Vec<Result<Observed, Failure>>, Kept) {
        let has_answer = batch.iter().any(|(.., rule)| rule.is_some());
        let context = self.context(now, has_answer, || self.printout(batch, calls.iter()));
        let answers = self.parts.driver.observe(&context, calls).await;
        let kept = context.into_kept();
        let missing = calls.len().saturating_sub(answers.len());
        (answers.into_iter().chain((0..missing).map(|_| Err(no_answer()))).collect(), kept)
    }

    /// Returns the output that the file of answers gives for a health check.
    pub(super) fn printout<'c>(
        &self,
        batch: &[Element<'_>],
        calls: impl Iterator<Item = &'c Call>,
    ) -> Printout {
        let rule = |rule: &Option<usize>| rule.map(|at| self.parts.rules.get(at));
        let asked = batch.iter().zip(calls);
        let asked: Vec<(Option<&Rule>, &Call, &str)> = asked
            .map(|((_, application, number), call)| (rule(number), call, application.name.as_str()))
            .collect();
        Printout::of_calls(&asked, &Script::HealthCheck)
    }

    /// Returns the context in which the driver runs one script. `has_answer` tells whether the file of answers has an
    /// answer for this run. If `has_answer` is false and the simulation has a runtime, the script really runs.
    /// Otherwise, the driver gets `printout` as the output of the script.
    fn context(
        &self,
        now: Timestamp,
        has_answer: bool,
        printout: impl FnOnce() -> Printout,
    ) -> SimulationContext {
        let settings = &self.parts.windlass.settings;
        let jobs = match self.parts.runtime.clone().filter(|_| !has_answer) {
            None => Jobs::Answer(printout()),
            Some(runtime) => Jobs::Run(Unrecorded {
                runtime,
                prefix: format!("simulate-{}", InstanceId::random(&*settings.entropy)),
                owner: None,
                clock: settings.clock.clone(),
                longest: LONGEST,
                stop: self.parts.stop.clone(),
            }),
        };
        SimulationContext::new(jobs, now)
    }
}

/// Returns the failure of a call for which the driver returned no result. A correct driver never causes this
/// failure.
pub(super) fn no_answer() -> Failure {
    Failure::new(FailureKind::Protocol, "the driver gave no answer")
}
