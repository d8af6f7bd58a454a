//! The reasons why commands on launched applications are refused.

use thiserror::Error;
use windlass_driver::Failure;
use windlass_model::pins::PinId;
use windlass_model::{AssemblyName, CommandId, RequestId, State};
use windlass_source::{Code, suggest};

use super::codes;

/// The reason why a command on an application is refused. A function that returns this error has changed
/// nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No service of the environment is the factory of the application.
    #[error(
        "`{title}` needs the factory `{factory}`, and the environment `{environment}` has no such service{}; launch it, and add it by `windlass env service add {environment} NAME`",
        there(known)
    )]
    NoFactory {
        /// The title of the application.
        title: String,
        /// The title of the application's factory.
        factory: String,
        /// The name of the environment.
        environment: String,
        /// The titles of the factories that are services of the environment.
        known: Vec<String>,
    },
    /// The assembly of the application's factory has been removed. The environment still lists this assembly as a
    /// service.
    #[error(
        "`{title}` needs the factory `{factory}`, and the service `{removed}` of the environment `{environment}` has been removed; launch it again by `windlass app launch '{factory}' --env {environment} --name {removed}`, or drop the service by `windlass env service rm {environment} {removed}`"
    )]
    RemovedFactory {
        /// The title of the application.
        title: String,
        /// The title of the application's factory.
        factory: String,
        /// The name of the environment.
        environment: String,
        /// The name of the removed assembly.
        removed: AssemblyName,
    },
    /// The user must choose the factory of the application. Either several services of the environment fit, or the user
    /// has chosen a service that does not fit.
    #[error(
        "`{title}` needs the factory `{factory}`, and {} are services of the environment `{environment}`; choose one with `--factory NAME`{}",
        names(known),
        no_choice(chosen.as_ref())
    )]
    SeveralFactories {
        /// The title of the application.
        title: String,
        /// The title of the application's factory.
        factory: String,
        /// The name of the environment.
        environment: String,
        /// The fitting services of the environment. A service fits if it was launched from the factory that the
        /// application's manifest names.
        known: Box<[AssemblyName]>,
        /// The service that the user has chosen, although the service does not fit. `None` if the user has
        /// chosen no service.
        chosen: Option<AssemblyName>,
    },
    /// A pin of the factory must receive the instances of another factory, but receives no instances.
    #[error("`{title}` needs the interface of `{mapping}`, which its factory `{factory}` requires: {why}")]
    PendingReference {
        /// The title of the application.
        title: String,
        /// The assembly of the application's factory.
        factory: AssemblyName,
        /// The id of the pin, which belongs to `factory`. The manifest of `factory` lists the interface of the pin as
        /// `required`. A pin that receives the instances of another factory is also called a mapping.
        mapping: PinId,
        /// The reason why the pin receives no instances, and in some cases a remedy.
        why: String,
    },
    /// The environment has no scripting service.
    #[error(
        "the environment `{environment}` has no location for scripts; add one by `windlass env service add {environment} --location LOCATION`"
    )]
    NoScriptingService {
        /// The name of the environment.
        environment: String,
    },
    /// `windlass.yaml` does not declare the location at which the scripts of the environment run.
    #[error(
        "scripts of the environment `{environment}` run at the location `{location}`, which `windlass.yaml` does not declare{}; \
         choose another by `windlass env service add {environment} --location NAME --replace`",
        there(known)
    )]
    UnknownLocation {
        /// The name of the environment.
        environment: String,
        /// The name of the missing location.
        location: String,
        /// The names of the declared locations.
        known: Vec<String>,
    },
    /// An assembly with the requested name exists already.
    #[error(
        "there is an assembly `{0}` already; `windlass retry {0}` resumes a launch that was interrupted or has failed, and `--name` \
         chooses another name"
    )]
    NameInUse(AssemblyName),
    /// An open request, such as a queued launch, has the requested name.
    #[error(
        "the name `{name}` is reserved by {request}; execute {request} with `windlass run`, withdraw it with `windlass cancel \
         {name} {request}`, or choose another name with `--name`"
    )]
    NameReserved {
        /// The requested name.
        name: AssemblyName,
        /// The id of the queued request.
        request: RequestId,
    },
    /// The assembly was not launched from a published application.
    #[error("`{0}` is no application; it has a descriptor")]
    NotAnApplication(AssemblyName),
    /// The revision from which the application was launched is no longer published.
    #[error(
        "`{name}` belongs to revision {revision} of `{title}`, which is no longer published; `windlass app reconfigure {name} \
         --latest` switches it to revision {latest}"
    )]
    RevisionGone {
        /// The name of the application.
        name: AssemblyName,
        /// The title of the application's manifest.
        title: String,
        /// The number of the application's revision.
        revision: u32,
        /// The number of the latest published revision.
        latest: u32,
    },
    /// Values of pins would change, but the manifest has no reconfiguration script.
    #[error(
        "`{name}` has no reconfiguration script, so {} can't change; destroy it and launch it with the new value, or add `factory.reconfigurationScript` to its manifest",
        listed(pins)
    )]
    NoReconfiguration {
        /// The name of the application.
        name: AssemblyName,
        /// The ids of the pins whose values would change.
        pins: Vec<String>,
    },
    /// The launch of the application has not succeeded, so there is no instance to change.
    #[error(
        "the launch of `{0}` has not succeeded, so it can't be reconfigured; repeat the launch with `windlass retry {0}`, or \
         remove it with `windlass app destroy {0}` (`--latest` runs the scripts of the latest revision)"
    )]
    NotLaunched(AssemblyName),
    /// The application is being destroyed.
    #[error(
        "`{0}` is being destroyed; finish that with `windlass app destroy {0}` (`--latest` runs the scripts of the latest \
         revision)"
    )]
    BeingDestroyed(AssemblyName),
    /// The application is not Active, because its last process has failed or was interrupted. Its instance may exist.
    #[error(
        "`{name}` is {state}, so it can't be reconfigured; complete its last process with `windlass retry {name}` first"
    )]
    NotActive {
        /// The name of the application.
        name: AssemblyName,
        /// The state of the application.
        state: State,
    },
    /// The change can't be made to the existing instance.
    #[error(
        "the change would replace the instance of `{0}`; destroy it with `windlass app destroy {0}`, and launch it again"
    )]
    WouldReplace(AssemblyName),
    /// Another reconfiguration of the application is queued.
    #[error(
        "{request} of `{name}` is pending, and this reconfiguration would undo its change; execute {request} with \
         `windlass run`, or withdraw it with `windlass cancel {name} {request}`, and repeat the command"
    )]
    Queued {
        /// The name of the application.
        name: AssemblyName,
        /// The id of the queued request.
        request: RequestId,
    },
    /// The factory has no discovery script.
    #[error("`{0}` has no discovery: its manifest has no `component.discoveryScript`")]
    NoDiscovery(AssemblyName),
    /// No environment, or more than one, contains the factory as a service.
    #[error(
        "discovery needs exactly one environment with the service `{factory}`, and there are {}{}",
        environments.len(),
        there(environments)
    )]
    NotOneEnvironment {
        /// The name of the factory.
        factory: AssemblyName,
        /// The environments that have the factory as a service.
        environments: Vec<String>,
    },
    /// The discovery script has failed.
    #[error("the discovery of `{factory}` failed: {}", described(failure))]
    Discovery {
        /// The name of the factory.
        factory: AssemblyName,
        /// The failure, with the last lines of stderr.
        failure: Box<Failure>,
    },
    /// The application exposes no such command.
    #[error("`{name}` has no command `{command}`{}", near(command, known))]
    NoCommand {
        /// The name of the application.
        name: AssemblyName,
        /// The requested id of a command.
        command: String,
        /// The ids of the application's commands.
        known: Vec<String>,
    },
    /// No recorded command has this id. windlass keeps the records of only the last commands of each application.
    #[error("there is no command `{0}`; the last {kept} commands of each application are kept", kept = windlass_engine::KEPT_COMMANDS)]
    UnknownCommand(CommandId),
    /// No stored job has this id. windlass stores the input and output of only some jobs.
    #[error(
        "no input and output of `{0}` are kept; `windlass job ls NAME` lists the kept jobs of an application or a factory"
    )]
    UnknownJob(String),
    /// The command takes no such argument.
    #[error("`{command}` takes no argument `{argument}`{}", near(argument, known))]
    NoArgument {
        /// The id with which the user has called the command, for example `control.reboot`.
        command: String,
        /// The name of the argument that the user has passed.
        argument: String,
        /// The names of the command's arguments.
        known: Vec<String>,
    },
    /// The value of an argument does not have the type that the manifest declares.
    #[error("the value of the argument `{argument}` of `{command}` does not fit: {why}")]
    Misfit {
        /// The id with which the user has called the command, for example `control.reboot`.
        command: String,
        /// The name of the argument.
        argument: String,
        /// The expected type, and the kind of value that was found.
        why: String,
    },
}

impl LaunchError {
    /// Tells whether invalid input caused the error. The failure of a discovery script is no invalid input.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Discovery { .. })
    }

    /// Returns the code of the error.
    pub fn code(&self) -> Code {
        match self {
            Self::NoFactory { .. } | Self::RemovedFactory { .. } => codes::NO_FACTORY,
            Self::SeveralFactories { .. } => codes::SEVERAL_FACTORIES,
            Self::PendingReference { .. } => codes::PENDING_REFERENCE,
            Self::NoScriptingService { .. } | Self::UnknownLocation { .. } => codes::NO_SCRIPTING_SERVICE,
            Self::NameInUse(_) | Self::NameReserved { .. } => codes::NAME_IN_USE,
            Self::NotAnApplication(_) => codes::NOT_AN_APPLICATION,
            Self::NoReconfiguration { .. } => codes::NO_RECONFIGURATION,
            Self::NotLaunched(_)
            | Self::BeingDestroyed(_)
            | Self::NotActive { .. }
            | Self::WouldReplace(_)
            | Self::Queued { .. } => codes::NOT_CHANGEABLE,
            Self::RevisionGone { .. } => windlass_manifest::codes::UNKNOWN_APPLICATION,
            Self::NoDiscovery(_) | Self::NotOneEnvironment { .. } => codes::NO_DISCOVERY,
            Self::Discovery { .. } => codes::DISCOVERY,
            Self::NoCommand { .. } => codes::NO_COMMAND,
            Self::UnknownJob(_) => codes::UNKNOWN_JOB,
            Self::UnknownCommand(_) => codes::UNKNOWN_COMMAND,
            Self::NoArgument { .. } | Self::Misfit { .. } => codes::NOT_AN_ARGUMENT,
        }
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

fn names(known: &[AssemblyName]) -> String {
    listed(&known.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn no_choice(chosen: Option<&AssemblyName>) -> String {
    chosen.map(|chosen| format!("; `{chosen}` is none of them")).unwrap_or_default()
}

fn there(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" (there are {})", listed(known)) }
}

fn near(wanted: &str, known: &[String]) -> String {
    match suggest(wanted, known.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => "; it has none".to_owned(),
        None => format!("; there are {}", listed(known)),
    }
}

/// Describes a failure by its message and, if it has one, its detail. If both texts contain the same problem of a
/// script's output, the description contains the problem only once.
pub(crate) fn described(failure: &Failure) -> String {
    let Some(detail) = failure.detail.as_deref().map(str::trim).filter(|detail| !detail.is_empty()) else {
        return failure.message.clone();
    };
    let problem = detail.lines().next().and_then(|line| Some(line.split_once("]: ")?.1));
    let start = problem.and_then(|problem| Some(failure.message.split_once(&format!(": {problem}"))?.0));
    format!("{}: {detail}", start.unwrap_or(&failure.message))
}
