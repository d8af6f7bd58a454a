//! Driver calls, their jobs, and their failures.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_secret::SecretRef;

use super::PairKey;
use crate::assembly::{Action, Side};
use crate::clock::Timestamp;
use crate::id::{CallId, ProcessId, StepId};
use crate::name::{DriverKind, ElementName};
use crate::state::State;

/// The consequence of executing an action twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The action does nothing, and no driver is called.
    None,
    /// A second execution does no harm.
    Repeatable,
    /// A second execution may do harm.
    #[default]
    Once,
}

/// One call of a driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The id of the call, which is the same for all attempts.
    pub id: CallId,
    /// The id of the process that makes the call.
    pub process: ProcessId,
    /// The id of the step that makes the call.
    pub step: StepId,
    /// The element that the driver acts on.
    pub element: ElementName,
    /// The pair for which the call executes an operation; none if the action is no operation of a
    /// relationship. A pair is a relationship between two nodes.
    pub pair: Option<PairKey>,
    /// The action that the call performs.
    pub action: Action,
    /// The version of the assembly from which the call takes its values and its package.
    #[serde(default)]
    pub side: Side,
    /// The kind of the driver.
    pub driver: DriverKind,
    /// The consequence of executing the action twice.
    pub effect: Effect,
    /// The number of the current attempt, from 1.
    pub attempt: u32,
    /// The host and the folder of the windlass program that makes the current attempt, as text. None if the current
    /// attempt is the first one: then [`ProcessRecord::from`](crate::record::ProcessRecord::from) contains the host and
    /// the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The change that the engine makes to the element or to the pair when the call succeeds.
    pub then: Advance,
    /// The state of the call.
    pub state: CallState,
    /// The reason why the outcome of the call is unknown. None if the outcome was never unknown, or if an older
    /// windlass has written the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<UnknownOutcome>,
    /// The time at which the call started.
    pub started: Timestamp,
    /// The time at which the call ended; none before the end.
    pub ended: Option<Timestamp>,
}

/// The reason why a windlass program could not find out the outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownOutcome {
    /// The reason, for messages.
    pub why: String,
    /// The host and the folder of the windlass program that could not find out the outcome, as text. If another program
    /// runs on the host and in the folder of the call's last attempt, that program may find out the outcome later.
    pub by: String,
}

/// A planned change to an element or to a pair. The engine makes this change when a call succeeds. A pair is a
/// relationship between two nodes.
///
/// The planned change is recorded before the call begins. So a process that resumes after a crash can make the
/// change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advance {
    /// The element reaches this state.
    State(State),
    /// Some calls on the way to the next state are complete, and more calls follow. The number counts the completed
    /// calls.
    Progress(u32),
    /// Some of the operations that create or remove the pair are complete, and more operations follow. The number
    /// counts the completed operations. The engine writes the number into
    /// [`PairRecord::progress`](crate::record::PairRecord::progress).
    PairProgress(u32),
    /// The relationship between the two nodes of the pair now exists (`true`), or no longer exists (`false`).
    Pair(bool),
    /// One of the operations in [`Begun::undo`](crate::record::Begun::undo) is complete. These operations undo an
    /// incomplete creation of the pair.
    PairUndone,
    /// Neither the element nor the pair changes.
    Nothing,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallState {
    /// The call has started, and its end is not recorded.
    Open,
    /// The driver has answered, and the instance is still changing.
    Converging {
        /// The time at which the call fails if the instance is still changing.
        deadline: Timestamp,
    },
    /// The call succeeded.
    Succeeded,
    /// The call failed.
    Failed(Failure),
    /// The job of the call was lost, and only a person can tell whether the action was done.
    Undecided,
    /// A person stated that the action was done.
    AssumedDone,
    /// A person stated that the action was not done.
    AssumedNotDone,
}

/// The answer of a person about an *undecided* call: a call whose outcome windlass cannot find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// The action was executed.
    Done,
    /// The action was not executed and had no effect.
    NotDone,
    /// The action was begun and failed, and may have had effects.
    Failed,
}

impl CallState {
    /// Tells whether the outcome of the call is not final yet. The outcome of an undecided call is not final
    /// either.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Converging { .. } | Self::Undecided)
    }
}

/// A job: one run of a program, such as a script, on a runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The id of the job on the runtime.
    pub id: String,
    /// The calls for which a driver runs the job.
    pub calls: Vec<CallId>,
    /// The name that the driver gives to the job. Within one attempt of a call, each job has a different name.
    pub name: String,
    /// The command line of the job, as messages show it. It does not contain the values of properties.
    pub command: String,
    /// The kind of the runtime that executes the job, such as `process`.
    pub runtime: String,
    /// The name of the location at which the job runs. `windlass.yaml` declares the locations.
    pub location: String,
    /// The time at which the job was submitted to the runtime.
    pub submitted: Timestamp,
    /// Whether the runtime has accepted the job. The engine records this only for a job whose repetition may do
    /// harm. If the runtime no longer knows an accepted job, the files or the container of the job were deleted.
    /// The engine then does not run the job again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// The end of the job; none if it is not recorded yet.
    pub end: Option<JobEnd>,
}

/// The end of a job, with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// The time at which the job ended.
    pub at: Timestamp,
    /// How the job ended, for display: `exit 0`, `signal 9`, `timeout`.
    pub how: String,
    /// The exit code; none if the job ended in another way.
    pub exit: Option<i32>,
    /// The last part of the job's stderr. The engine adds this text when all [calls](JobRecord::calls) of the job
    /// have ended. Until then, the text is empty.
    pub stderr: String,
    /// The last part of the job's stdout. The engine adds this text at the same time as `stderr`. `None` before this
    /// time, and for a successful job whose stdout is data for windlass.
    pub stdout: Option<String>,
    /// The complete outcome of the job, encrypted in the store. The store removes the outcome when all calls of the
    /// job have ended. `None` after this time, and for a job that could not be started.
    pub outcome: Option<SecretRef>,
}

/// A failure of a call, a job or a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// The cause, as a lower-case sentence fragment.
    pub message: String,
    /// Details, such as the end of a script's stderr, with secrets masked.
    pub detail: Option<String>,
}

impl Failure {
    /// Creates a failure without details.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: None }
    }

    /// Adds details, unless they are blank.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        self.detail = (!detail.trim().is_empty()).then_some(detail);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The call was refused before it could have any effect.
    Refused,
    /// The object that the action creates exists already.
    AlreadyExists,
    /// The object of the action does not exist.
    NotFound,
    /// The instance no longer exists, according to its health check or its driver.
    Gone,
    /// The runtime ran out of a resource, such as memory.
    Capacity,
    /// The infrastructure failed, for example the runtime.
    Infrastructure,
    /// The action exceeded its time limit.
    Timeout,
    /// The outcome is unknown.
    Lost,
    /// The answer of a script or a driver violates the protocol.
    Protocol,
    /// The action was executed and failed.
    Failed,
}

impl FailureKind {
    /// Returns `true` if an action with a failure of this kind did not begin, or if its outcome is unknown. If the
    /// action is a health check, such a failure says nothing about the checked element.
    pub fn could_not_run(self) -> bool {
        match self {
            Self::Refused | Self::Capacity | Self::Infrastructure | Self::Lost => true,
            Self::AlreadyExists | Self::NotFound | Self::Gone => false,
            Self::Timeout | Self::Protocol | Self::Failed => false,
        }
    }
}
