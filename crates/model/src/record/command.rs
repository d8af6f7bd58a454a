//! Commands that an operator called by hand, and their results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::id::{CommandId, ProcessId};
use crate::name::{CommandName, ElementName};

/// The key of a result that is not the last one.
const INTERMEDIATE: &str = "$intermediate";

/// A command that an operator called by hand.
///
/// Its results may arrive after its process has ended. The record is a document of the assembly. Its arguments are
/// sealed beside it, until it has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// Its id, by which scripts report results.
    pub id: CommandId,
    /// The element.
    pub element: ElementName,
    /// The command.
    pub command: CommandName,
    /// The process that called it.
    pub process: ProcessId,
    /// The time of the call.
    pub started: Timestamp,
    /// The time until which a health check may report results; none if the results end with the call.
    pub deadline: Option<Timestamp>,
    /// The state.
    pub state: CommandState,
    /// The results, intermediate ones first. Secrets in them are masked.
    pub results: Vec<Value>,
    /// The time of its end.
    pub ended: Option<Timestamp>,
}

impl CommandRecord {
    /// Ends the command.
    pub fn end(&mut self, state: CommandState, now: Timestamp) {
        (self.state, self.ended) = (state, Some(now));
    }

    /// Tells whether its time for results is over.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.state == CommandState::Open && self.deadline.is_none_or(|deadline| deadline < now)
    }

    /// Tells whether a result is not the last one of its command.
    pub fn is_intermediate(result: &Value) -> bool {
        result[INTERMEDIATE] == true
    }

    /// Returns the fields of a result, without the mark of an intermediate one.
    pub fn fields(result: &Value) -> impl Iterator<Item = (&String, &Value)> {
        result.as_object().into_iter().flatten().filter(|(name, _)| *name != INTERMEDIATE)
    }
}

/// The state of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CommandState {
    /// Its call runs.
    Running,
    /// Its call has succeeded, and the final result is awaited.
    Open,
    /// Its final result has arrived, or its call has ended and has no results.
    Completed,
    /// Its call has failed.
    Failed(String),
    /// Its final result did not arrive in time.
    Expired,
}

impl CommandState {
    /// Tells whether no further result is accepted.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Running | Self::Open)
    }
}
