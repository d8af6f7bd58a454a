//! Why something asked of the facade was not done.

use std::path::PathBuf;

use thiserror::Error;
use windlass_engine::EngineError;
use windlass_executor::RuntimeError;
use windlass_model::record::ProcessStatus;
use windlass_model::request::RequestStatus;
use windlass_model::{AssemblyName, ProcessId, RequestId};
use windlass_source::{Diagnostics, suggest};
use windlass_store::{Holder, StoreError};

use crate::saved::SavedPlanError;
use crate::transfer::TransferError;

/// Why something asked of the facade was not done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// What the user wrote is wrong: all of it.
    #[error("{} problems", .0.len())]
    Input(Diagnostics),
    /// A name given on the way is wrong.
    #[error("{0}")]
    Name(#[from] windlass_model::name::NameError),
    /// The engine refuses, or can't.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The store can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A runtime can't be opened or closed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// There is no runtime for a location, or it can't be opened; the sentence says why.
    #[error("{0}")]
    NoRuntime(String),
    /// Nothing was ever done for a component.
    #[error("nothing was done for a component `{component}` of `{assembly}`{}", near(component, known))]
    NoComponent {
        /// The assembly.
        assembly: AssemblyName,
        /// The component, as it was asked for.
        component: String,
        /// Those for which something was done.
        known: Vec<String>,
    },
    /// The assembly has no such part.
    #[error("`{assembly}` has no part `{part}`{}", near(part, known))]
    NoPart {
        /// The assembly.
        assembly: AssemblyName,
        /// The part, as it was asked for.
        part: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The part is there already, and nothing of it is made.
    #[error("`{part}` is a reference, and nothing of it is made here; name a part that is")]
    NotMadeHere {
        /// The part, as it was given.
        part: String,
    },
    /// There is no such process.
    #[error("there is no process {process}{}", last.map(|last| format!("; the last one is {last}")).unwrap_or_default())]
    NoProcess {
        /// The process, as it was asked for.
        process: ProcessId,
        /// The last one.
        last: Option<ProcessId>,
    },
    /// The process has ended already.
    #[error("{process} has ended already: it is {status}")]
    Ended {
        /// The process.
        process: ProcessId,
        /// How it ended.
        status: ProcessStatus,
    },
    /// Whoever ran the process is gone.
    #[error(
        "nobody runs {process}, which was interrupted; `windlass retry {assembly}` goes on with it, and so does the same command"
    )]
    NobodyRuns {
        /// The assembly.
        assembly: AssemblyName,
        /// The process.
        process: ProcessId,
    },
    /// The assembly has no such request.
    #[error("`{assembly}` has no request {request}; `windlass ps` lists those that are pending")]
    NoRequest {
        /// The assembly.
        assembly: AssemblyName,
        /// The request, as it was asked for.
        request: RequestId,
    },
    /// There is no such request.
    #[error("there is no request {request}; `windlass ps` lists those that are pending")]
    NeverAsked {
        /// The request, as it was asked for.
        request: RequestId,
    },
    /// The request is not pending any more.
    #[error("{request} is not pending any more: it is {status}")]
    NotPending {
        /// The request.
        request: RequestId,
        /// What has become of it.
        status: RequestStatus,
    },
    /// Whoever holds the assembly refuses what was asked.
    #[error("{why}")]
    Refused {
        /// Why.
        why: String,
        /// Whether what was given is wrong, rather than that something went wrong.
        is_input: bool,
    },
    /// Whoever ran a process for this one is gone.
    #[error(
        "whoever ran {process} is gone before it ended; `windlass run` goes on with it, or `windlass retry {assembly}`"
    )]
    Deserted {
        /// The assembly.
        assembly: AssemblyName,
        /// The process.
        process: ProcessId,
    },
    /// An exported assembly can't be written or read.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A saved plan can't be carried out.
    #[error(transparent)]
    Saved(#[from] SavedPlanError),
    /// The working folder can't be found.
    #[error("the working folder can't be found")]
    WorkingFolder(#[source] std::io::Error),
    /// The state is somewhere this build can't keep it.
    #[error("this windlass was built without the feature `postgres`, so it can't keep its state at `{0}`")]
    NoSuchState(String),
    /// Another process takes metrics.
    #[error("another `windlass run` takes metrics at `{}`; stop it first", .0.display())]
    SocketTaken(PathBuf),
    /// A metric could not be delivered.
    #[error("the metric was not taken at `{}`: {why}; start `windlass run` in this project's folder, and leave it running", path.display())]
    Unheard {
        /// The socket.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A metric was delivered, and is none.
    #[error("the metric was not taken: {0}")]
    NoMetric(String),
    /// A file can't be read.
    #[error("can't read `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file or folder can't be made or written.
    #[error("can't write `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// How many names are listed where none is near.
const LISTED: usize = 8;

fn near(wanted: &str, known: &[String]) -> String {
    near_or(wanted, known, "there are")
}

/// Names what was meant perhaps, or lists what there is behind a few words.
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
    /// Tells whether what the user gave is wrong, rather than that something went wrong.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Input(_)
            | Self::Name(_)
            | Self::NoComponent { .. }
            | Self::NoPart { .. }
            | Self::NotMadeHere { .. }
            | Self::NobodyRuns { .. }
            | Self::Ended { .. }
            | Self::Saved(_)
            | Self::Transfer(_)
            | Self::NoProcess { .. }
            | Self::NoRequest { .. }
            | Self::NeverAsked { .. }
            | Self::NotPending { .. }
            | Self::NoMetric(_)
            | Self::File { .. }
            | Self::Write { .. } => true,
            Self::Refused { is_input, .. } => *is_input,
            Self::Engine(error) => error.is_input(),
            Self::NoSuchState(_) => true,
            Self::Store(error) => matches!(error, StoreError::NoProcess { .. } | StoreError::Address { .. }),
            Self::Runtime(_)
            | Self::NoRuntime(_)
            | Self::WorkingFolder(_)
            | Self::SocketTaken(_)
            | Self::Deserted { .. }
            | Self::Unheard { .. } => false,
        }
    }

    /// Returns the long-running mode that has the assembly, and can be asked instead.
    pub fn served_by(&self) -> Option<&Holder> {
        match self {
            Self::Engine(EngineError::Store(StoreError::Held { by, .. }))
            | Self::Store(StoreError::Held { by, .. })
                if by.serves =>
            {
                Some(by)
            }
            _ => None,
        }
    }

    /// Tells whether the user stopped it.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Engine(EngineError::Stopped))
    }
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn a_part_within_another_is_what_was_meant() {
        let known: Vec<String> = ["lb", "data__db", "data__cache"].map(String::from).into();
        assert_eq!(near("db", &known), "; did you mean `data__db`?");
        assert_eq!(near("bl", &known), "; did you mean `lb`?");
    }
}
