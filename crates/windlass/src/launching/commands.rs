//! Commands of applications: their list, their calls, and their results.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use windlass_driver::Package;
use windlass_engine::{Absence, Arguments, CheckEnd, EngineError, Request, Stop, check, command as recorded};
use windlass_model::pins::{Pin, PinId, Pins, Record};
use windlass_model::record::{CommandRecord, CommandState, Intent};
use windlass_model::{AssemblyName, CallId, CommandId, ProcessId, StepId, Timestamp};
use windlass_source::{Diagnostic, Diagnostics};

use super::codes;
use super::error::LaunchError;
use super::launcher::{Launcher, component, is_kept, launched_from};
use crate::error::Error;

/// Longest time between two health checks while the result of a command is awaited.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Time between two reads of the record of a command.
const TICK: Duration = Duration::from_millis(500);

/// Maximum number of an application's processes that [`Launcher::last_command`] reads, newest first.
const RECENT: usize = 20;

/// A list of an application's commands.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CommandsView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the application.
    pub name: AssemblyName,
    /// The commands that have a script.
    pub commands: Vec<CommandView>,
}

/// A command that an application exposes.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CommandView {
    /// The exposed id of the command's pin, such as `control.reboot`.
    pub id: String,
    /// A description of the command for display, if the manifest contains one.
    pub label: Option<String>,
    /// The types of the arguments, by name.
    pub arguments: BTreeMap<String, String>,
    /// The types of the values of an intermediate result, by name. `None` if the command declares no intermediate
    /// results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<BTreeMap<String, String>>,
    /// The types of the values of the final result, by name.
    pub results: BTreeMap<String, String>,
}

/// A command that was called, with its results.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CalledCommandView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The id of the call of the command.
    pub id: CommandId,
    /// The name of the application.
    pub name: AssemblyName,
    /// The exposed id of the command's pin, such as `control.reboot`.
    pub command: String,
    /// The process that called the command.
    pub process: ProcessId,
    /// The state of the command. `running`: its script runs. `open`: the script has ended, and the final result is
    /// awaited. `completed`, `failed`: the command has ended. `expired`: the command has ended, because its final
    /// result did not arrive in time.
    pub state: &'static str,
    /// The reason why the command failed.
    pub problem: Option<String>,
    /// The results of the command, intermediate results first. Intermediate results have the entry
    /// `$intermediate: true`.
    pub results: Vec<Value>,
    /// The time of the call.
    #[serde(serialize_with = "crate::view::time::one")]
    pub started: Timestamp,
    /// The time until which results are awaited; `None` if the command ends with its script.
    #[serde(serialize_with = "crate::view::time::maybe")]
    pub deadline: Option<Timestamp>,
    /// The time at which the command ended.
    #[serde(serialize_with = "crate::view::time::maybe")]
    pub ended: Option<Timestamp>,
}

impl CalledCommandView {
    fn new(name: AssemblyName, record: CommandRecord, now: Timestamp) -> Self {
        let (state, problem) = match &record.state {
            _ if record.is_overdue(now) => ("expired", None),
            CommandState::Running => ("running", None),
            CommandState::Completed => ("completed", None),
            CommandState::Failed(why) => ("failed", Some(why.clone())),
            CommandState::Expired => ("expired", None),
            _ => ("open", None),
        };
        Self {
            version: 1,
            id: record.id,
            name,
            command: record.command.to_string(),
            process: record.process,
            state,
            problem,
            results: record.results,
            started: record.started,
            deadline: record.deadline,
            ended: record.ended,
        }
    }

    /// Returns this view with a new state: the command has failed, because its application is destroyed.
    fn destroyed(self) -> Self {
        Self { state: "failed", problem: Some("its application is destroyed".to_owned()), ..self }
    }

    /// Tells whether the command has ended.
    pub fn has_ended(&self) -> bool {
        !matches!(self.state, "running" | "open")
    }
}

impl Launcher<'_> {
    /// Returns the commands of an application.
    ///
    /// # Errors
    /// Fails if there is no such assembly, or if it was not launched from an application.
    pub async fn commands(&self, name: &AssemblyName) -> Result<CommandsView, Error> {
        let snapshot = self.windlass.snapshot(name).await?;
        launched_from(&snapshot)?;
        let package = self.package(&snapshot).await?;
        let commands = package.iter().flat_map(commands).map(|(id, _, pin)| view(&id, pin)).collect();
        Ok(CommandsView { version: 1, name: name.clone(), commands })
    }

    /// Returns the request that calls a command of an application, with warnings. `open` lists the arguments that are
    /// not secrets. All other arguments are stored as secrets.
    ///
    /// # Errors
    /// Fails if there is no such application, command or argument. Also fails if the value of an argument
    /// does not have the type that the manifest declares.
    pub async fn command_request(
        &self,
        name: &AssemblyName,
        command: &str,
        given: BTreeMap<String, Value>,
        open: &[String],
    ) -> Result<(Request, Diagnostics), Error> {
        let snapshot = self.windlass.snapshot(name).await?;
        launched_from(&snapshot)?;
        is_kept(&snapshot)?;
        let package = self.package(&snapshot).await?;
        let all: Vec<(PinId, PinId, &Pin)> = package.iter().flat_map(commands).collect();
        let Called { pin: inner, arguments, missing } = called(&all, name, command, given)?;
        let warnings = missing.into_iter().map(|argument| {
            let message = format!("`{command}` declares the argument `{argument}`, which is not given");
            Diagnostic::warning(codes::NOT_AN_ARGUMENT, message).help(format!("pass `-a {argument}=VALUE`"))
        });
        let arguments = Arguments::new(arguments, |argument| !open.iter().any(|open| open == argument))?;
        let part = component(&snapshot).map(|component| component.name.clone());
        let part = part.ok_or_else(|| LaunchError::NotAnApplication(name.clone()))?;
        Ok((Request::call(part, inner.to_string().parse()?, arguments), warnings.collect()))
    }

    /// Returns the last command that was called on an application, with its results. Only the 20 newest processes of
    /// the application are read. Returns `None` if none of these processes called a command. If one of them did, but
    /// the record of the command is missing, also returns `None`.
    ///
    /// # Errors
    /// Fails if there is no store, or if the store fails.
    pub async fn last_command(&self, name: &AssemblyName) -> Result<Option<CalledCommandView>, Error> {
        let store = self.windlass.store_of(name).await?;
        let recent = store.processes_of(name, None, RECENT).await?;
        let last = recent.into_iter().find(|process| matches!(process.intent, Intent::Call { .. }));
        let Some(last) = last else { return Ok(None) };
        let id = CommandId::of(&CallId::of(store.id(), last.id, StepId(1), 0));
        let record = recorded(&*store, name, &id).await?;
        Ok(record.map(|record| CalledCommandView::new(name.clone(), record, self.windlass.now())))
    }

    /// Returns the state and the results of a called command, by the id of the call.
    ///
    /// # Errors
    /// Fails if there is no such command, the command was removed with its application, or the store fails.
    pub async fn called_command(&self, id: &CommandId) -> Result<CalledCommandView, Error> {
        let unknown = || LaunchError::UnknownCommand(id.clone());
        let store = self.windlass.store(false).await?.ok_or_else(unknown)?;
        let process = match id.process(store.id()) {
            Some(process) => store.process(process).await?,
            None => None,
        };
        let name = process.ok_or_else(unknown)?.assembly;
        let record = recorded(&*store, &name, id).await?.ok_or_else(unknown)?;
        Ok(CalledCommandView::new(name, record, self.windlass.now()))
    }

    /// Waits until a command has ended. Meanwhile checks the health of the application at growing intervals,
    /// because a health check may report the result.
    ///
    /// # Errors
    /// Fails like [`called_command`](Self::called_command). Also fails if `stop` is triggered; the command
    /// then continues.
    pub async fn wait(&self, id: &CommandId, stop: &Stop) -> Result<CalledCommandView, Error> {
        let (mut pause, mut waited) = (Duration::from_secs(1), Duration::ZERO);
        let mut view = self.called_command(id).await?;
        loop {
            if view.has_ended() {
                return Ok(view);
            }
            if stop.is_requested() {
                return Err(EngineError::Stopped.into());
            }
            if view.state == "open" && waited >= pause {
                (pause, waited) = ((pause * 2).min(LONGEST_PAUSE), Duration::ZERO);
                if self.is_destroyed_meanwhile(&view.name, stop).await? {
                    return Ok(view.destroyed());
                }
            }
            tokio::select! {
                () = stop.requested() => {}
                () = tokio::time::sleep(TICK) => waited += TICK,
            }
            view = match self.called_command(id).await {
                Err(error) if is_removed(&error) => return Ok(view.destroyed()),
                view => view?,
            };
        }
    }

    /// Checks the health of an application. If the health check reports that the application is destroyed, removes the
    /// application, and returns `true`.
    ///
    /// If the factory of the application has several running applications, the report is not believed, and the
    /// application stays; see [`Absence::Doubted`].
    async fn is_destroyed_meanwhile(&self, name: &AssemblyName, stop: &Stop) -> Result<bool, Error> {
        let engine = self.windlass.engine(self.windlass.store_of(name).await?);
        let (names, holder) = (std::slice::from_ref(name), self.windlass.holder());
        let checked = check(&engine, names, Absence::Doubted, &holder, stop).await?;
        if checked.iter().any(|checked| checked.end == CheckEnd::Destroyed) {
            return self.finish_destroyed(name, stop).await;
        }
        Ok(false)
    }
}

/// Tells whether the error means that an application, or the record of its command, no longer exists.
fn is_removed(error: &Error) -> bool {
    matches!(
        error,
        Error::Launch(LaunchError::UnknownCommand(_)) | Error::Engine(EngineError::Unknown { .. })
    )
}

/// A command that is called.
pub(crate) struct Called {
    /// The id of the command's pin in the component.
    pub(crate) pin: PinId,
    /// The given arguments, and the defaults of other arguments.
    pub(crate) arguments: BTreeMap<String, Value>,
    /// The declared arguments that were not given and have no default.
    missing: Vec<String>,
}

/// Finds a command by the id under which the application exposes it.
///
/// # Errors
/// Fails if there is no such command or argument. Also fails if the value of an argument does not have the
/// type that the manifest declares.
pub(crate) fn called(
    all: &[(PinId, PinId, &Pin)],
    name: &AssemblyName,
    command: &str,
    given: BTreeMap<String, Value>,
) -> Result<Called, LaunchError> {
    let Some((_, inner, pin)) = all.iter().find(|(id, ..)| id.to_string() == command) else {
        let known = all.iter().map(|(id, ..)| id.to_string()).collect();
        return Err(LaunchError::NoCommand { name: name.clone(), command: command.to_owned(), known });
    };
    let arguments = arguments(command, pin, given)?;
    let declared = pin.kind.as_command().into_iter().flat_map(|signature| signature.arguments.0.keys());
    let missing = declared.map(ToString::to_string).filter(|name| !arguments.contains_key(name)).collect();
    Ok(Called { pin: inner.clone(), arguments, missing })
}

/// Returns those commands of a component that have a script. Each entry contains the id under which the manifest
/// exposes the command, the id under which the component declares the command, and the declaration itself. A
/// command with several exposed ids has several entries.
pub(crate) fn commands(package: &Package) -> Vec<(PinId, PinId, &Pin)> {
    let pins = package.pins().into_iter().flat_map(Pins::iter);
    let scripted = pins.filter(|(id, _)| package.bindings().commands.contains_key(&id.to_string()));
    scripted
        .flat_map(|(id, pin)| pin.exposed.iter().map(move |exposed| (exposed.clone(), id.clone(), pin)))
        .collect()
}

fn view(id: &PinId, pin: &Pin) -> CommandView {
    let signature = pin.kind.as_command();
    let types = |record: &Record| -> BTreeMap<String, String> {
        record.0.iter().map(|(name, kind)| (name.to_string(), kind.to_string())).collect()
    };
    CommandView {
        id: id.to_string(),
        label: pin.label.clone(),
        arguments: signature.map(|signature| types(&signature.arguments)).unwrap_or_default(),
        progress: signature.and_then(|signature| signature.progress.as_ref().map(types)),
        results: signature.map(|signature| types(&signature.results)).unwrap_or_default(),
    }
}

/// Converts the given arguments of a command to their declared types. Adds the defaults of arguments that are
/// not given.
fn arguments(
    command: &str,
    pin: &Pin,
    given: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, LaunchError> {
    let Some(signature) = pin.kind.as_command() else { return Ok(given) };
    let fields = &signature.arguments.0;
    let defaults = pin.defaults.iter().map(|(name, value)| (name.to_string(), value.clone()));
    let mut arguments: BTreeMap<String, Value> = defaults.collect();
    for (argument, value) in given {
        let Some(kind) = fields.get(argument.as_str()) else {
            let known = fields.keys().map(ToString::to_string).collect();
            return Err(LaunchError::NoArgument { command: command.to_owned(), argument, known });
        };
        let misfit = |why: windlass_model::pins::Misfit| LaunchError::Misfit {
            command: command.to_owned(),
            argument: argument.clone(),
            why: why.to_string(),
        };
        let value = kind.fit(&value).map_err(misfit)?;
        arguments.insert(argument, value);
    }
    Ok(arguments)
}
