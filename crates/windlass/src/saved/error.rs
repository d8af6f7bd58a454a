//! The reasons why a saved plan can't be executed.

use std::path::PathBuf;

use thiserror::Error;
use windlass_model::{AssemblyName, Timestamp};
use windlass_source::Code;

use crate::codes;
use crate::document::DocumentError;

/// The reason why a saved plan can't be executed. A function that returns this error has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SavedPlanError {
    /// The plan file can't be used.
    #[error("`{}` {cause}", file.display())]
    File {
        /// The path of the file.
        file: PathBuf,
        /// The reason why the file can't be used.
        cause: DocumentError,
    },
    /// The plan belongs to another project.
    #[error("the plan was made for another project, {made}; this is {here}")]
    OtherProject {
        /// The path of the root folder of the project in which the plan was made. The path is enclosed in backticks.
        made: String,
        /// The path of the root folder of the open project. The path is enclosed in backticks.
        here: String,
    },
    /// The inputs of the plan have changed, or the state of the assembly has changed.
    #[error("the plan for `{assembly}` was made at {made}, and is out of date: {}; save a new plan", what.join(", "))]
    Outdated {
        /// The assembly that the plan changes.
        assembly: AssemblyName,
        /// The time at which the plan was saved.
        made: Timestamp,
        /// The changes since the plan was saved, as sentence fragments.
        what: Vec<String>,
    },
    /// The present plan differs from the saved plan. The user gives the secrets again for each execution, so
    /// another value of a secret may be the cause.
    #[error(
        "the steps for `{assembly}` would differ from the saved plan; pass {} with the value of the plan, or save a new plan",
        list(secrets)
    )]
    OtherSecrets {
        /// The assembly that the plan changes.
        assembly: AssemblyName,
        /// The names of the secrets that the plan uses.
        secrets: Vec<String>,
    },
    /// The intent can't be saved as a plan. Examples are a call of a command, the answer to an undecided call, and the
    /// launch of an application.
    #[error("this command can't be saved as a plan; omit `-o`, and `--dry-run` alone shows the plan")]
    NoPlan,
    /// The user has not passed a secret of the plan, or has passed a parameter that is not a secret of the
    /// plan.
    #[error("{}", secrets(missing, unknown))]
    Secrets {
        /// The names of the plan's secrets for which the user has passed no value.
        missing: Vec<String>,
        /// The names of the parameters that the user has passed, although they are not secrets of the plan.
        unknown: Vec<String>,
    },
}

impl SavedPlanError {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::File { cause, .. } => cause.code(),
            Self::OtherProject { .. } => codes::OTHER_PROJECT,
            Self::Outdated { .. } => codes::OUTDATED_PLAN,
            Self::OtherSecrets { .. } => codes::OTHER_SECRETS,
            Self::NoPlan => codes::NO_PLAN,
            Self::Secrets { .. } => codes::SECRETS,
        }
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn secrets(missing: &[String], unknown: &[String]) -> String {
    if unknown.is_empty() {
        return format!(
            "the plan needs the secret {}, which it does not contain; pass it again with `-p {}=@FILE`",
            list(missing),
            missing.first().map_or("", String::as_str)
        );
    }
    format!(
        "a plan accepts only its secrets again, and {} is not one of them; save a new plan to change parameters",
        list(unknown)
    )
}
