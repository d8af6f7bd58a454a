//! The error type `Error` of this crate. If an error has a code, `windlass explain CODE` explains the error.

use std::path::PathBuf;

use thiserror::Error;
use windlass_engine::EngineError;
use windlass_executor::RuntimeError;
use windlass_model::record::ProcessStatus;
use windlass_model::request::RequestStatus;
use windlass_model::{AssemblyName, ProcessId, RequestId, Timestamp};
use windlass_source::{Code, Diagnostics, suggest};
use windlass_store::{Holder, StoreError};

use crate::applications::ApplicationError;
use crate::codes;
use crate::launching::LaunchError;
use crate::saved::SavedPlanError;
use crate::transfer::TransferError;

/// The reason why a function of this crate refused a call, or why the call failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The user's input is invalid. The diagnostics contain all problems.
    #[error("{}", .0.to_string().trim_end())]
    Input(Diagnostics),
    /// A name in an argument is invalid.
    #[error("{0}")]
    Name(#[from] windlass_model::name::NameError),
    /// The engine rejected the intent or failed to execute it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The store can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process is executing an intent on the assembly.
    #[error(
        "`{assembly}` is held by {by}, which executes {process} {intent} since {since}; wait until it ends, or stop it with `windlass cancel {assembly} {process}`; `windlass ps` lists all processes"
    )]
    InUse {
        /// The assembly that is in use.
        assembly: AssemblyName,
        /// The holder of the assembly's lease.
        by: Box<Holder>,
        /// The process that is being executed.
        process: ProcessId,
        /// The intent of the process.
        intent: String,
        /// The start time of the process.
        since: Timestamp,
    },
    /// The project has no state folder, so it has no assemblies. The user may have run windlass in the wrong folder.
    #[error(
        "there is no assembly `{name}`: the folder `{}` has no state; run windlass in the folder of the project, or name the state's database by `--state`", .folder.display()
    )]
    NoState {
        /// The name of the requested assembly.
        name: AssemblyName,
        /// The root folder of the project.
        folder: PathBuf,
    },
    /// A runtime can't be opened or closed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// No runtime serves a location, or the runtime of a location can't be opened. The text gives the reason.
    #[error("{0}")]
    NoRuntime(String),
    /// No recorded process worked on the component.
    #[error("no step ran for a component `{component}` of `{assembly}`{}", near(component, known))]
    NoComponent {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The name of the requested component.
        component: String,
        /// The components with recorded steps.
        known: Vec<String>,
    },
    /// The assembly has no such part.
    #[error("`{assembly}` has no part `{part}`{}", near(part, known))]
    NoPart {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The name of the requested part.
        part: String,
        /// The names of the existing parts.
        known: Vec<String>,
    },
    /// The part is a reference to an existing instance, so the assembly does not create it.
    #[error("`{part}` is a reference, which this assembly does not create; name a component instead")]
    IsReference {
        /// The name of the requested part.
        part: String,
    },
    /// There is no process with this id.
    #[error("there is no process {process}{}", last.map(|last| format!("; the last one is {last}")).unwrap_or_default())]
    NoProcess {
        /// The id of the requested process.
        process: ProcessId,
        /// The id of the last process.
        last: Option<ProcessId>,
    },
    /// The process has already ended.
    #[error("{process} has ended already: it is {status}")]
    Ended {
        /// The id of the process.
        process: ProcessId,
        /// The final status of the process.
        status: ProcessStatus,
    },
    /// No process of the assembly is running, but a request is pending.
    #[error(
        "no process of `{assembly}` is running; `windlass cancel {assembly} {request}` withdraws its pending request"
    )]
    OnlyPending {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The oldest pending request.
        request: RequestId,
    },
    /// The process was interrupted, and no program executes it now.
    #[error(
        "{process} was interrupted and is not running; resume it with `windlass retry {assembly}` or the same command"
    )]
    NotRunning {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the process.
        process: ProcessId,
    },
    /// The assembly has no such request.
    #[error("`{assembly}` has no request {request}; `windlass ps` lists those that are pending")]
    NoRequest {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the unknown request.
        request: RequestId,
    },
    /// There is no such request.
    #[error("there is no request {request}; `windlass ps` lists those that are pending")]
    UnknownRequest {
        /// The id of the unknown request.
        request: RequestId,
    },
    /// The request is no longer pending.
    #[error("{request} is no longer pending: it is {status}")]
    NotPending {
        /// The id of the request.
        request: RequestId,
        /// The status of the request.
        status: RequestStatus,
    },
    /// The program that executes requests, such as the daemon, refused the request.
    #[error("{why}")]
    Refused {
        /// The reason of the refusal.
        why: String,
        /// Whether invalid input caused the refusal. If false, a failure caused the refusal.
        is_input: bool,
    },
    /// The command waited for a process that another windlass program executed. That program exited before the process
    /// had finished. A process is one execution of an intent.
    #[error(
        "the process that executed {process} exited before it finished; resume it with `windlass retry {assembly}` or `windlass run`"
    )]
    OrchestratorExited {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the process.
        process: ProcessId,
    },
    /// An exported assembly can't be written or read.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// An action on an application was refused, for example a launch or the command `control.reboot`. Or a discovery
    /// has failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A saved plan can't be applied.
    #[error(transparent)]
    Saved(#[from] SavedPlanError),
    /// An application or an environment can't be published, found or changed.
    #[error(transparent)]
    Application(#[from] ApplicationError),
    /// This process was started to supervise jobs, but its `main` did not call `supervise` first.
    #[error("this process was started to supervise jobs; let `main` begin with `windlass::supervise()`")]
    IsSupervisor,
    /// The working folder can't be determined.
    #[error("the working folder can't be found")]
    WorkingFolder(#[source] std::io::Error),
    /// The user has chosen a database for the state, and this program was built without the feature
    /// `postgres`. The field contains the address of the database, without its password.
    #[error("this windlass was built without the feature `postgres`, so it can't keep the state at `{0}`")]
    NoSuchState(String),
    /// Another program already receives metrics at this socket.
    #[error("another `windlass run` receives metrics at `{}`; stop it first", .0.display())]
    SocketTaken(PathBuf),
    /// A metric could not be delivered.
    #[error("the metric was not delivered to `{}`: {why}; run this command in the folder of a running `windlass run`, or start `windlass run` in this project's folder", path.display())]
    NotDelivered {
        /// The path of the socket.
        path: PathBuf,
        /// The reason why the metric was not delivered.
        why: String,
    },
    /// The daemon received a text that is not a metric. The message gives the reason.
    #[error("the metric was rejected: {0}")]
    NoMetric(String),
    /// A file can't be read.
    #[error("can't read `{}`", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of reading the file.
        source: std::io::Error,
    },
    /// A file or folder can't be created or written.
    #[error("can't write `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error of creating or writing the file.
        source: std::io::Error,
    },
}

/// Maximum number of known names that a hint lists. A hint lists names only if no known name is similar to
/// the requested name.
const LISTED: usize = 8;

fn near(wanted: &str, known: &[String]) -> String {
    near_or(wanted, known, "there are")
}

/// Returns a hint for the unknown name `wanted`. If a known name is similar, the hint suggests this known
/// name. If no known name is similar, the hint consists of `words` and a list of the known names.
pub(crate) fn near_or(wanted: &str, known: &[String], words: &str) -> String {
    let within = format!("__{wanted}");
    if let [inside] = known.iter().filter(|name| name.ends_with(&within)).collect::<Vec<_>>()[..] {
        return format!("; did you mean `{inside}`?");
    }
    if let Some(near) = suggest(wanted, known.iter().map(String::as_str)) {
        return format!("; did you mean `{near}`?");
    }
    let names: Vec<String> = known.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    match known.len().saturating_sub(LISTED) {
        _ if known.is_empty() => String::new(),
        0 => format!("; {words} {}", names.join(", ")),
        more => format!("; {words} {} and {more} more", names.join(", ")),
    }
}

impl Error {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    ///
    /// Returns `None` for [`Error::Input`], because each diagnostic in it has its own code.
    pub fn code(&self) -> Option<Code> {
        Some(match self {
            Self::Input(_) => return None,
            Self::Name(_) => codes::NAME,
            Self::Engine(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::InUse { .. } => windlass_store::codes::HELD,
            Self::NoState { .. } => windlass_engine::codes::UNKNOWN,
            Self::Runtime(_) => codes::RUNTIME,
            Self::NoRuntime(_) => codes::NO_RUNTIME,
            Self::NoComponent { .. } => codes::NO_COMPONENT,
            Self::NoPart { .. } => codes::NO_PART,
            Self::IsReference { .. } => codes::IS_REFERENCE,
            Self::NoProcess { .. } => codes::NO_PROCESS,
            Self::Ended { .. } | Self::OnlyPending { .. } => codes::ENDED,
            Self::NotRunning { .. } => codes::NOT_RUNNING,
            Self::NoRequest { .. } | Self::UnknownRequest { .. } => codes::NO_REQUEST,
            Self::NotPending { .. } => codes::NOT_PENDING,
            Self::Refused { .. } => codes::REFUSED,
            Self::OrchestratorExited { .. } => codes::ORCHESTRATOR_EXITED,
            Self::Launch(error) => error.code(),
            Self::Transfer(error) => error.code(),
            Self::Saved(error) => error.code(),
            Self::Application(error) => error.code(),
            Self::IsSupervisor => codes::IS_SUPERVISOR,
            Self::WorkingFolder(_) => codes::WORKING_FOLDER,
            Self::NoSuchState(_) => codes::NO_SUCH_STATE,
            Self::SocketTaken(_) => codes::SOCKET_TAKEN,
            Self::NotDelivered { .. } => codes::NOT_DELIVERED,
            Self::NoMetric(_) => codes::NO_METRIC,
            Self::File { .. } => codes::FILE,
            Self::Write { .. } => codes::WRITE,
        })
    }

    /// Tells whether invalid input, such as an unknown name, caused the error. If the result is false, a failure
    /// caused the error, such as an unreachable store. The program `windlass` exits with code 2 for invalid input,
    /// and with code 1 for a failure.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Input(_)
            | Self::Name(_)
            | Self::NoState { .. }
            | Self::NoComponent { .. }
            | Self::NoPart { .. }
            | Self::IsReference { .. }
            | Self::NotRunning { .. }
            | Self::Ended { .. }
            | Self::OnlyPending { .. }
            | Self::Saved(_)
            | Self::Transfer(_)
            | Self::NoProcess { .. }
            | Self::NoRequest { .. }
            | Self::UnknownRequest { .. }
            | Self::NotPending { .. }
            | Self::NoMetric(_)
            | Self::File { .. }
            | Self::Write { .. } => true,
            Self::Refused { is_input, .. } => *is_input,
            Self::Application(error) => error.is_input(),
            Self::Launch(error) => error.is_input(),
            Self::Engine(error) => error.is_input(),
            Self::NoSuchState(_) => true,
            Self::Store(StoreError::Key(error)) => error.is_input(),
            Self::Store(error) => matches!(
                error,
                StoreError::NoProcess { .. }
                    | StoreError::Address { .. }
                    | StoreError::DocumentChanged { .. }
            ),
            Self::InUse { .. }
            | Self::Runtime(_)
            | Self::NoRuntime(_)
            | Self::IsSupervisor
            | Self::WorkingFolder(_)
            | Self::SocketTaken(_)
            | Self::OrchestratorExited { .. }
            | Self::NotDelivered { .. } => false,
        }
    }

    /// Returns the daemon that holds the lease of the assembly, if the lease caused the error. That daemon
    /// can execute the intent in place of this program.
    pub fn served_by(&self) -> Option<&Holder> {
        self.holder().filter(|by| by.serves)
    }

    /// Returns the holder of the assembly's lease, if the lease caused the error.
    pub fn holder(&self) -> Option<&Holder> {
        match self {
            Self::Engine(EngineError::Store(StoreError::Held { by, .. }))
            | Self::Store(StoreError::Held { by, .. })
            | Self::InUse { by, .. } => Some(by),
            _ => None,
        }
    }

    /// Tells whether the user stopped the operation.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Engine(EngineError::Stopped))
    }
}

/// Formats an error with all its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::DocumentError;

    #[test]
    fn an_error_has_the_code_of_its_cause() {
        let name: AssemblyName = "shop".parse().unwrap();
        let damaged = || DocumentError::Damaged;
        let coded: [(Error, Option<Code>); 6] = [
            (Error::Input(Diagnostics::default()), None),
            (Error::Engine(EngineError::Store(StoreError::Closed)), Some(windlass_store::codes::CLOSED)),
            (Error::Engine(EngineError::Unfinished(name)), Some(windlass_engine::codes::UNFINISHED)),
            (
                Error::Saved(SavedPlanError::File { file: PathBuf::new(), cause: damaged() }),
                Some(codes::DAMAGED_DOCUMENT),
            ),
            (
                Error::Transfer(TransferError::File { file: PathBuf::new(), cause: damaged() }),
                Some(codes::DAMAGED_DOCUMENT),
            ),
            (Error::NoRuntime(String::new()), Some(codes::NO_RUNTIME)),
        ];
        for (error, code) in coded {
            assert_eq!(error.code(), code, "{error}");
        }
    }

    #[test]
    fn a_part_within_another_is_what_was_meant() {
        let known: Vec<String> = ["lb", "data__db", "data__cache"].map(String::from).into();
        assert_eq!(near("db", &known), "; did you mean `data__db`?");
        assert_eq!(near("bl", &known), "; did you mean `lb`?");
    }
}
