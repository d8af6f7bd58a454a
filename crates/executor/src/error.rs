//! The errors of runtimes.

use std::{io, path::PathBuf};

use crate::{Capability, JobError, JobId};

/// An error of a runtime.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The job is invalid, for example because its program is empty. Some problems, such as
    /// [`JobProblem::NoImage`](crate::JobProblem::NoImage), occur only on runtimes with containers.
    #[error("the job can't be run: {0}")]
    Invalid(#[from] JobError),
    /// The job needs capabilities that this runtime doesn't have.
    #[error("the runtime `{runtime}` can't give the job {}", listed(missing))]
    Unsupported {
        /// The kind of the runtime.
        runtime: String,
        /// All capabilities that the runtime lacks.
        missing: Vec<Capability>,
    },
    /// No job has this id.
    #[error("there is no job `{id}`")]
    UnknownJob {
        /// The id as given.
        id: JobId,
    },
    /// The job has not ended, so it can't be removed.
    #[error("the job `{id}` is still running: cancel it or wait for it before removing it")]
    StillRunning {
        /// The id as given.
        id: JobId,
    },
    /// A file or folder of the runtime could not be read or written.
    #[error("can't {action} `{}`", path.display())]
    Storage {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The supervisor or the container engine that runs the jobs can't be reached, or it refused the request.
    #[error("the runtime `{runtime}` is not available: {problem}")]
    Unavailable {
        /// The kind of the runtime.
        runtime: String,
        /// A description of the problem, as text for people.
        problem: String,
    },
}

fn listed(missing: &[Capability]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
