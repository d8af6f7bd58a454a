//! What a step does in the world: calls of drivers, the jobs that these run, and why one has failed.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_secret::SecretRef;

use super::PairKey;
use crate::assembly::{Action, Side};
use crate::clock::Timestamp;
use crate::id::{CallId, ProcessId, StepId};
use crate::name::{DriverKind, ElementName};
use crate::state::State;

/// Whether doing something twice does harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing is done.
    None,
    /// Doing it again does no harm.
    Repeatable,
    /// It must be done once.
    #[default]
    Once,
}

/// One call of a driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Its id; a repeated attempt keeps it.
    pub id: CallId,
    /// The process.
    pub process: ProcessId,
    /// The step.
    pub step: StepId,
    /// The element that the driver acts on.
    pub element: ElementName,
    /// The relationship that it is made for.
    pub pair: Option<PairKey>,
    /// What is done.
    pub action: Action,
    /// The version of the assembly whose values and package it is done with.
    #[serde(default)]
    pub side: Side,
    /// Who does it.
    pub driver: DriverKind,
    /// Whether doing it twice does harm.
    pub effect: Effect,
    /// How often it was started, from 1.
    pub attempt: u32,
    /// What its success means.
    pub then: Advance,
    /// How far it is.
    pub state: CallState,
    /// When it started.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// What a call's success means for what it acts on. It is written down before the call is made, so that whoever finds
/// out later how the call ended knows it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advance {
    /// The element takes this state.
    State(State),
    /// The element's transition has more calls, and this many of them are done.
    Progress(u32),
    /// The relationship has more operations, and this many of them are done.
    PairProgress(u32),
    /// The relationship is made (true) or ended (false).
    Pair(bool),
    /// The operation that was called last to make the relationship is undone, or the next part of that is.
    PairUndone,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallState {
    /// It was started, and its end is not recorded.
    Open,
    /// The driver has done its part, and the instance is on its way until this deadline.
    Converging {
        /// When it fails.
        deadline: Timestamp,
    },
    /// It did what it should.
    Succeeded,
    /// It failed.
    Failed(Failure),
    /// Its job was lost and nobody but a person can tell whether it happened.
    Undecided,
    /// A person said that it happened.
    AssumedDone,
    /// A person said that it did not happen.
    AssumedNotDone,
}

/// What a person says became of a call that nobody else can tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// It was done.
    Done,
    /// It was not done, and nothing of it is there.
    NotDone,
    /// It was begun and has failed: something of it may be there.
    Failed,
}

impl CallState {
    /// Tells whether the call still has to be settled.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Converging { .. } | Self::Undecided)
    }
}

/// One execution on a runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Its id on the runtime.
    pub id: String,
    /// The calls that it serves.
    pub calls: Vec<CallId>,
    /// Its name within its call.
    pub name: String,
    /// What it runs, for people; without values.
    pub command: String,
    /// The runtime.
    pub runtime: String,
    /// The location.
    pub location: String,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// How it ended.
    pub end: Option<JobEnd>,
}

/// How a job ended, with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// When.
    pub at: Timestamp,
    /// How, for people: `exit 0`, `signal 9`, `timeout`.
    pub how: String,
    /// The exit code, if it exited.
    pub exit: Option<i32>,
    /// The last of what it wrote to stderr; empty until its calls have ended.
    pub stderr: String,
    /// The last of what it wrote to stdout; kept for failed jobs only.
    pub stdout: Option<String>,
    /// The whole outcome, sealed, until its calls have ended.
    pub outcome: Option<SecretRef>,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// A lower-case sentence fragment that says what failed.
    pub message: String,
    /// More of it: the end of a script's stderr, masked.
    pub detail: Option<String>,
}

impl Failure {
    /// Makes a failure without details.
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

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The request can't be served as it is.
    Refused,
    /// What should be made is there already.
    AlreadyExists,
    /// What should be acted on is not there.
    NotFound,
    /// There is no room for it.
    Capacity,
    /// What it runs on failed.
    Infrastructure,
    /// It took too long.
    Timeout,
    /// Its end can't be known.
    Lost,
    /// The answer breaks the protocol.
    Protocol,
    /// It said that it failed.
    Failed,
}
