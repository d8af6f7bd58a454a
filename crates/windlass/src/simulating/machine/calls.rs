//! The calls of launches and of operators' actions. Each call acts on one application.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_driver::{Call, Failure, Input, Observation, Observed, Question, Report, Settled};
use windlass_engine::call_outcome::{CallFacts, CallOutcome, pause_before, still_converging};
use windlass_engine::claimed;
use windlass_model::instance::{LogEntry, Status, clear_complaint};
use windlass_model::record::{CommandRecord, CommandState, FailureKind, Severity};
use windlass_model::{
    Action, AssemblyName, CallId, CommandId, InstanceId, ProcessId, PropertyName, StepId, Timestamp,
    Transition,
};

use super::super::answers::Intent;
use super::super::application::{Application, OpenCall, Stage, is_checked};
use super::super::cast::Values;
use super::super::rules::Script;
use super::{Duty, Key, Machine, Task, Timer, millis};
use crate::duty_timing;
use crate::launching::{Called, called, commands, described, free_from};

/// The name of the simulated store, which is part of the ids of calls.
const STORE: &str = "sim";

/// The action of a new [`Call`], and the data that depend on the action.
struct Begin {
    action: Action,
    script: Script,
    arguments: BTreeMap<PropertyName, Input>,
    values: Option<Values>,
}

impl Begin {
    fn of(transition: Transition, script: Script) -> Self {
        Self { action: Action::Transition(transition), script, arguments: BTreeMap::new(), values: None }
    }
}

impl Machine<'_> {
    /// Launches a new application from a manifest. `title` is the position of the manifest in
    /// [`Cast::titles`](super::super::cast::Cast::titles).
    pub(super) fn launch(&mut self, now: Timestamp, title: usize) {
        let name = self.free_name(&self.cast.titles[title].published.name.clone());
        let key = self.add(name, title);
        self.begin(now, key, Begin::of(Transition::Install, Script::Launch));
    }

    /// Returns a name that no application has yet.
    pub(super) fn free_name(&mut self, base: &AssemblyName) -> AssemblyName {
        let first = self.numbers.get(base).copied().unwrap_or(1);
        let (name, number) = free_from(base, first, |name| self.names.contains_key(name));
        self.numbers.insert(base.clone(), number + 1);
        name
    }

    /// Adds an application that has no instance yet.
    pub(super) fn add(&mut self, name: AssemblyName, title: usize) -> Key {
        let of_title = &self.cast.titles[title];
        let factory = &self.cast.factories[of_title.factory];
        let action = Action::Transition(if of_title.compiled.is_checked() {
            Transition::Integrity
        } else {
            Transition::Install
        });
        let location = self.cast.location.clone();
        let package = of_title.compiled.package.clone();
        let binding = package.bindings().find(&action, &location.infrastructure).cloned();
        let key = self.number();
        let check = Call {
            id: call_id(key),
            attempt: 1,
            action,
            element: of_title.compiled.element(&name),
            instance: InstanceId::random(&*self.entropy),
            natural: None,
            document: Value::Object(serde_json::Map::new()),
            properties: of_title.compiled.properties.clone(),
            sensitive: of_title.compiled.sensitive(),
            configuration: factory.configuration.clone(),
            arguments: BTreeMap::new(),
            pair: None,
            open_commands: Vec::new(),
            question: Question::Health,
            private: windlass_driver::PrivateState::default(),
            package,
            binding: binding.expect("each application has a launch script"),
            location,
        };
        let application = Application {
            name: name.clone(),
            title,
            parameters: of_title.parameters.clone(),
            document: check.document.clone(),
            check,
            stage: Stage::Up,
            failed_check: None,
            commands: BTreeMap::new(),
            unchanged_by: None,
            revision: 0,
        };
        self.factories[of_title.factory].members.insert(key);
        self.names.insert(name, key);
        self.applications.insert(key, application);
        key
    }

    /// Executes an action of a simulated operator. `action` is the position of this action in
    /// [`MachineSettings::actions`](super::MachineSettings::actions).
    pub(super) fn act(&mut self, now: Timestamp, action: usize) {
        match self.settings.actions[action].what.clone() {
            Intent::Launch { title, count } => (0..count).for_each(|_| self.launch(now, title)),
            Intent::Destroy(name) => {
                if let Some(key) = self.idle(&name, "destroy") {
                    self.leave_checks(key);
                    self.begin(now, key, Begin::of(Transition::Uninstall, Script::Destroy));
                }
            }
            Intent::Reconfigure(name, values) => self.reconfigure(now, &name, &values),
            Intent::Command { application, command, arguments } => {
                self.call_command(now, &application, &command, arguments);
            }
        }
    }

    /// Returns the key of the application `name`, if an action on this application is possible now. Otherwise, reports
    /// the reason and returns `None`. The report names the action as `what`, for example `destroy`.
    fn idle(&mut self, name: &AssemblyName, what: &str) -> Option<Key> {
        let key = self.names.get(name).copied();
        let why = match key.and_then(|key| self.applications.get(&key)).map(|found| &found.stage) {
            None => "there is no such application",
            Some(Stage::Busy(_)) => "another action on it has not ended",
            Some(Stage::Failed(_)) if what != "destroy" => "its launch or its removal has failed",
            Some(_) => return key,
        };
        self.timeline.add(name, "refused", Severity::Error, format!("{what}: {why}"));
        None
    }

    fn reconfigure(&mut self, now: Timestamp, name: &AssemblyName, values: &BTreeMap<String, Value>) {
        let Some(key) = self.idle(name, "reconfigure") else { return };
        let Some(application) = self.applications.get(&key) else { return };
        let title = &self.cast.titles[application.title];
        let all: BTreeMap<String, Value> = application
            .parameters
            .iter()
            .chain(values)
            .map(|(pin, value)| (pin.clone(), value.clone()))
            .collect();
        let begin = Begin::of(Transition::Reconfigure, Script::Reconfigure);
        if !title.compiled.package.bindings().declares(&begin.action) {
            let why = "reconfigure: its manifest names no `factory.reconfigurationScript`";
            return self.tell(key, "refused", Severity::Error, why);
        }
        match title.with(self.drivers, &self.cast.location.name, &all) {
            Ok(values) => self.begin(now, key, Begin { values: Some(values), ..begin }),
            Err(crate::Error::Input(problems)) => {
                let first = problems.iter().next().map(|problem| problem.message.clone()).unwrap_or_default();
                self.tell(key, "refused", Severity::Error, format!("reconfigure: {first}"));
            }
            Err(error) => self.tell(key, "refused", Severity::Error, format!("reconfigure: {error}")),
        }
    }

    fn call_command(
        &mut self,
        now: Timestamp,
        name: &AssemblyName,
        command: &str,
        arguments: BTreeMap<String, Value>,
    ) {
        let Some(key) = self.idle(name, &format!("command {command}")) else { return };
        let Some(application) = self.applications.get(&key) else { return };
        let package = self.cast.titles[application.title].compiled.package.clone();
        let all = commands(&package);
        let call = called(&all, name, command, arguments).map_err(|error| error.to_string());
        let begin = call.and_then(|Called { pin, arguments, .. }| {
            let pin = pin.to_string();
            let action = pin.parse().map(Action::Command).map_err(|error| format!("{error}"))?;
            let arguments = arguments.into_iter().map(|(argument, value)| {
                Ok((
                    argument.parse::<PropertyName>().map_err(|error| error.to_string())?,
                    Input::plain(value),
                ))
            });
            let arguments = arguments.collect::<Result<_, String>>()?;
            Ok(Begin { action, script: Script::Command(pin), arguments, values: None })
        });
        match begin {
            Ok(begin) => self.begin(now, key, begin),
            Err(why) => self.tell(key, "refused", Severity::Error, format!("command {command}: {why}")),
        }
    }

    /// Begins a call of an application, and adds a task in which the host performs the call. The parameter `begin`
    /// contains the action and the arguments of the call. The application is [busy](Stage::Busy) until the call
    /// ends.
    ///
    /// If the application's package has no script for the action, no call begins. The method then only adds an
    /// event of the kind `refused` to the timeline.
    fn begin(&mut self, now: Timestamp, key: Key, begin: Begin) {
        let id = call_id(self.number());
        let Some(application) = self.applications.get_mut(&key) else { return };
        let package = application.check.package.clone();
        let infrastructure = &application.check.location.infrastructure;
        let binding = package.bindings().find(&begin.action, infrastructure).cloned();
        let nature = self.driver.nature(&package, &begin.action);
        let (Some(binding), Some(nature)) = (binding, nature) else {
            return self.tell(
                key,
                "refused",
                Severity::Error,
                format!("it has no script for {}", begin.script),
            );
        };
        let mut call = Call {
            id,
            action: begin.action.clone(),
            binding,
            arguments: begin.arguments,
            document: application.document.clone(),
            ..application.check.clone()
        };
        clear_complaint(&mut call.document);
        if let Some(values) = &begin.values {
            call.properties.clone_from(&values.properties);
        }
        if let Action::Command(command) = &begin.action {
            let late = self.driver.late_results(&package, command);
            application.open_command(CommandRecord {
                id: CommandId::of(&call.id),
                element: call.element.clone(),
                command: command.clone(),
                process: ProcessId(key),
                started: now,
                deadline: late.map(|late| now.plus_millis(millis(late))),
                state: CommandState::Running,
                results: Vec::new(),
                ended: None,
            });
        }
        self.tasks.push(Task::Perform { key, script: begin.script.clone(), call: Box::new(call.clone()) });
        application.stage = Stage::Busy(Box::new(OpenCall {
            action: begin.action,
            script: begin.script,
            call,
            started: now,
            timeout: nature.timeout,
            is_observable: nature.observable,
            polls: 0,
            is_unheard: true,
            values: begin.values,
        }));
    }

    /// Handles the end of the script of a call.
    pub(super) fn performed(
        &mut self,
        now: Timestamp,
        key: Key,
        checkpoint: Option<Report>,
        result: Result<Report, Failure>,
    ) {
        if let Some(report) = checkpoint {
            // An intermediate report that can't be applied is dropped, because only the result of the call
            // tells whether the call has failed.
            let _ = self.take_report(now, key, report);
        }
        match result {
            Ok(report) => self.reported(now, key, report, None),
            Err(failure) => self.failed(now, key, &failure),
        }
    }

    /// Handles the result of an observation. An observation finds out whether an instance that was still changing
    /// (*converging*) has reached the state that its open call requests. If the observation has failed, schedules
    /// the next observation.
    pub(super) fn observed(&mut self, now: Timestamp, key: Key, result: Result<Observed, Failure>) {
        match result {
            Ok(Observed { observation, mut report }) => {
                report.settled = Settled::Yes;
                self.reported(now, key, report, Some(&observation));
            }
            Err(failure) => {
                let entry = LogEntry::new(Severity::Warning, format!("the observation failed: {failure}"));
                self.log(key, "log", vec![entry]);
                self.converge(now, key);
            }
        }
    }

    /// Applies the report of the open call. Then ends the call, or schedules another observation if the instance is
    /// still changing. `seen` is the observation from which the report comes; `None` if the report is the answer to
    /// the call itself.
    fn reported(&mut self, now: Timestamp, key: Key, report: Report, seen: Option<&Observation>) {
        let settled = report.settled;
        let Some(Application { stage: Stage::Busy(open), .. }) = self.applications.get(&key) else { return };
        let is_command = open.action.transition().is_none();
        let removes = open.action == Action::Transition(Transition::Uninstall);
        let is_unheard = open.is_unheard;
        let before = match self.applications.get(&key) {
            Some(application) if is_command && is_unheard => application.status(),
            _ => Status::default(),
        };
        if let Err(failure) = self.take_report(now, key, report) {
            return self.failed(now, key, &failure);
        }
        let after = self.applications.get(&key).map(Application::status).unwrap_or_default();
        let facts = CallFacts { before: &before, after: &after, settled, seen, removes };
        match CallOutcome::of(facts) {
            CallOutcome::Succeeded => self.succeeded(now, key),
            CallOutcome::Converging => self.converge(now, key),
            CallOutcome::Gone if is_command => self.destroyed(key),
            CallOutcome::Gone => self.failed(now, key, &CallOutcome::gone()),
            CallOutcome::Failed(failure) => self.failed(now, key, &failure),
        }
    }

    /// Applies a report to the application whose call is open, and adds the changes to the timeline. Before the
    /// first report of a transition, the method resets the flags `failed` and `converging` of the status.
    ///
    /// # Errors
    /// Returns a failure if the report is not valid, or if its natural id belongs to another application.
    fn take_report(&mut self, now: Timestamp, key: Key, report: Report) -> Result<(), Failure> {
        self.refuse_claimed(key, &report)?;
        let Some(application) = self.applications.get_mut(&key) else { return Ok(()) };
        if let Stage::Busy(open) = &mut application.stage {
            let is_transition = open.action.transition().is_some();
            if std::mem::take(&mut open.is_unheard) && is_transition {
                let mut document = application.document.clone();
                clear_complaint(&mut document);
                application.replace(document);
            }
        }
        let applied = application.apply(&self.cast.titles[application.title], report, now)?;
        self.note_natural(key);
        self.timeline.view.changes += applied.changes.len() as u64;
        self.log(key, "log", applied.log);
        self.log(key, "changed", applied.changes);
        self.log(key, "command", applied.results);
        Ok(())
    }

    /// Refuses a report whose natural id belongs to another application of the factory.
    fn refuse_claimed(&self, key: Key, report: &Report) -> Result<(), Failure> {
        let own = self.applications.get(&key).filter(|application| application.check.natural.is_none());
        let (Some(own), Some(natural)) = (own, &report.natural) else { return Ok(()) };
        let factory = self.cast.titles[own.title].factory;
        let other =
            self.factories[factory].naturals.get(natural).and_then(|other| self.applications.get(other));
        other.map_or(Ok(()), |other| Err(claimed(natural, &other.name)))
    }

    /// Schedules the next [`poll`](Self::poll) of an instance that is still changing (*converging*). The poll happens
    /// no later than the timeout of the open call.
    fn converge(&mut self, now: Timestamp, key: Key) {
        let first = self.settings.poll;
        let Some(Application { stage: Stage::Busy(open), .. }) = self.applications.get_mut(&key) else {
            return;
        };
        open.polls += 1;
        let deadline = open.started.plus_millis(millis(open.timeout));
        let at = now.plus_millis(millis(pause_before(first, open.polls))).min(deadline);
        self.at(at, Timer::Poll(key));
    }

    /// Continues an open call whose instance is still changing (*converging*). If the timeout of the call has passed,
    /// the call fails. Before the timeout, the method adds a task that observes the instance. If the driver can't
    /// observe the instance, the method schedules the next poll instead.
    pub(super) fn poll(&mut self, now: Timestamp, key: Key) {
        let Some(application) = self.applications.get_mut(&key) else { return };
        let Stage::Busy(open) = &mut application.stage else { return };
        if now >= open.started.plus_millis(millis(open.timeout)) {
            let timeout = open.timeout;
            let failure = still_converging(timeout, application.status().message.as_deref());
            return self.failed(now, key, &failure);
        }
        if !open.is_observable {
            return self.converge(now, key);
        }
        let mut call = open.call.clone();
        call.question = Question::Settled;
        call.natural.clone_from(&application.check.natural);
        call.document.clone_from(&application.document);
        self.tasks.push(Task::Observe { key, call: Box::new(call) });
    }

    fn succeeded(&mut self, now: Timestamp, key: Key) {
        let Some(application) = self.applications.get_mut(&key) else { return };
        let Stage::Busy(open) = std::mem::replace(&mut application.stage, Stage::Up) else { return };
        application.failed_check = None;
        match open.script {
            Script::Launch => {
                let natural = application.check.natural.clone().unwrap_or_default();
                let text = format!("is launched as {natural}: {}", application.status().word());
                let is_checked = is_checked(self.cast, application);
                self.timeline.view.launched += 1;
                self.tell(key, "launched", Severity::Info, text);
                if is_checked {
                    self.begin(now, key, Begin::of(Transition::Integrity, Script::HealthCheck));
                } else {
                    self.is_up(now, key);
                }
            }
            Script::Destroy => self.destroyed(key),
            Script::Reconfigure => {
                if let Some(Values { properties, parameters }) = open.values {
                    application.check.properties = properties;
                    application.parameters = parameters;
                }
                self.tell(key, "log", Severity::Info, "is reconfigured");
                self.is_up(now, key);
            }
            Script::Command(_) => {
                let id = CommandId::of(&open.call.id);
                if let Some(record) = application.commands.get_mut(&id) {
                    record.call_succeeded(now);
                }
                let awaits = application.commands.get(&id).is_some_and(|record| !record.state.is_final());
                application.note_commands();
                if awaits {
                    let text = format!("command `{}` ({id}): its final result is awaited", open.script);
                    self.tell(key, "command", Severity::Info, text);
                }
                self.is_up(now, key);
            }
            Script::HealthCheck | Script::Discover => self.is_up(now, key),
        }
    }

    /// Adds an application to the health checks of its factory.
    pub(super) fn is_up(&mut self, now: Timestamp, key: Key) {
        let Some(application) = self.applications.get(&key) else { return };
        if !is_checked(self.cast, application) {
            return;
        }
        let factory = self.cast.titles[application.title].factory;
        self.factories[factory].checked.insert(key);
        if let Some(period) = self.settings.health {
            self.schedule.set(now, Duty::Check(factory), duty_timing::of_checks(period));
        }
    }

    fn failed(&mut self, now: Timestamp, key: Key, failure: &Failure) {
        let Some(application) = self.applications.get_mut(&key) else { return };
        let Stage::Busy(open) = std::mem::replace(&mut application.stage, Stage::Up) else { return };
        let what = match &open.script {
            Script::HealthCheck => "the launch".to_owned(),
            Script::Command(_) => format!("command `{}`", open.script),
            script => format!("the {script}"),
        };
        let text = format!("{what} failed: {}", described(failure));
        match open.script {
            Script::Reconfigure => {}
            Script::Command(_) => {
                application.commands.remove(&CommandId::of(&open.call.id));
                application.note_commands();
            }
            _ => {
                let is_removal = open.script == Script::Destroy;
                application.stage =
                    Stage::Failed(if is_removal { "removal failed" } else { "launch failed" });
                application.failed_check = None;
            }
        }
        self.tell(key, "fails", Severity::Error, text);
        if failure.kind == FailureKind::Gone && matches!(open.script, Script::Reconfigure) {
            self.destroyed(key);
        } else if matches!(open.script, Script::Reconfigure | Script::Command(_)) {
            self.is_up(now, key);
        }
    }
}

fn call_id(number: u64) -> CallId {
    CallId::of(&STORE.parse().expect("it is a short word"), ProcessId(number), StepId(1), 0)
}
