//! The events of a store, in the order in which they became durable.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ApplicationIntent, Intent, ProcessStatus, StepEnd};
use crate::clock::Timestamp;
use crate::id::{ProcessId, RequestId, Seq, StepId, TransferId};
use crate::name::{AssemblyName, ElementName};
use crate::state::State;

/// A stored event. The numbers of events follow the order in which the events became durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// The number of the event.
    pub seq: Seq,
    /// The event without its number.
    #[serde(rename = "event")]
    pub draft: EventDraft,
}

/// An event without its number. The store assigns the number when it writes the event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventDraft {
    /// The time of the event.
    pub at: Timestamp,
    /// The assembly that the event concerns.
    pub assembly: AssemblyName,
    /// The process that the event belongs to; none for an event that no process caused.
    pub process: Option<ProcessId>,
    /// The content of the event.
    pub body: Event,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// An intent was queued for the daemon.
    Asked {
        /// The id of the request.
        request: RequestId,
        /// The intent that was queued.
        intent: Intent,
        /// The action on an application. None for other assemblies, and in an event that an older windlass wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        application: Option<ApplicationIntent>,
        /// The name of the requester.
        by: String,
    },
    /// A request was refused or withdrawn.
    Dismissed {
        /// The id of the request.
        request: RequestId,
        /// The intent that was queued.
        intent: Intent,
        /// The action on an application. None for other assemblies, and in an event that an older windlass wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        application: Option<ApplicationIntent>,
        /// The reason of the refusal; none if the requester withdrew the request.
        why: Option<String>,
    },
    /// The assembly was exported to a file, and removed from this store.
    Exported {
        /// The id of the export.
        transfer: TransferId,
        /// The file, as the user named it.
        file: String,
    },
    /// The assembly was imported from a file that another store exported.
    Imported {
        /// The id of the export that wrote the imported file; none if the file contains no id.
        transfer: Option<TransferId>,
        /// The file, as the user named it.
        file: String,
    },
    /// The assembly was renamed.
    Renamed {
        /// The name before the change. It is stored as text, so that later renames don't change it.
        from: String,
        /// The name after the change; none in an event that an older windlass wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// The records of the assembly, or of one of its parts, were removed without calling a driver.
    Forgotten {
        /// The part; none for the whole assembly.
        part: Option<ElementName>,
    },
    /// A process began.
    ProcessStarted {
        /// The intent that the process executes.
        intent: Intent,
        /// The action on an application. None for other assemblies, and in an event that an older windlass wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        application: Option<ApplicationIntent>,
        /// The number of steps in the plan of the process.
        steps: u32,
    },
    /// A process ended.
    ProcessEnded {
        /// The final status of the process.
        status: ProcessStatus,
        /// The reason why the process did not complete.
        reason: Option<String>,
    },
    /// A step began.
    StepStarted {
        /// The id of the step.
        step: StepId,
        /// The title of the step.
        title: String,
    },
    /// A step ended.
    StepEnded {
        /// The id of the step.
        step: StepId,
        /// The title of the step.
        title: String,
        /// The end of the step.
        end: StepEnd,
        /// The duration in milliseconds.
        millis: u64,
    },
    /// An element changed its state.
    StateChanged {
        /// The name of the element.
        element: ElementName,
        /// The state of the element before the change.
        from: State,
        /// The state of the element after the change.
        to: State,
    },
    /// A message was added to an element's activity log.
    Logged {
        /// The name of the element.
        element: ElementName,
        /// The severity of the message.
        severity: Severity,
        /// The text of the message.
        message: String,
        /// JSON data that belongs to the message, for programs. None if the message has no data, or if an older
        /// windlass stored the event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
}

impl Event {
    /// Returns the severity of the event:
    ///
    /// - A log entry has the severity that it states.
    /// - A failure, an undecided step, and a change to the state Failed or Broken are errors.
    /// - Refused requests, skipped steps and cancelled work are warnings.
    /// - All other events are information.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Logged { severity, .. } => *severity,
            Self::StepEnded { end, .. } => Severity::of_end(end),
            Self::ProcessEnded { status, .. } => Severity::of_status(*status),
            Self::StateChanged { to: State::Failed | State::Broken, .. } => Severity::Error,
            Self::Dismissed { why: Some(_), .. } => Severity::Warning,
            _ => Severity::Info,
        }
    }
}

/// The severity of a message or an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Details of every action.
    Trace,
    /// Information for debugging.
    Debug,
    /// Information about normal operation.
    #[default]
    Info,
    /// A possible problem, or work that was refused, skipped or cancelled.
    Warning,
    /// A problem, such as a failed step.
    Error,
}

impl Severity {
    /// Parses a word in any letter case. Returns [`Severity::Info`] for an unknown word.
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_uppercase().as_str() {
            "TRACE" => Self::Trace,
            "DEBUG" => Self::Debug,
            "WARNING" => Self::Warning,
            "ERROR" => Self::Error,
            _ => Self::Info,
        }
    }

    /// Splits a line of the stderr of a script into its severity and its message. The prefixes `E! `, `W! `,
    /// `I! `, `D! ` and `T! ` state the severity. Returns `None` for a line without such a prefix.
    pub fn of_line(line: &str) -> Option<(Self, &str)> {
        let (prefix, message) = line.split_once(' ')?;
        let severity = match prefix {
            "E!" => Self::Error,
            "W!" => Self::Warning,
            "I!" => Self::Info,
            "D!" => Self::Debug,
            "T!" => Self::Trace,
            _ => return None,
        };
        Some((severity, message))
    }

    /// Returns the severity of the end of a step.
    pub fn of_end(end: &StepEnd) -> Self {
        match end {
            StepEnd::Failed(_) | StepEnd::NeedsDecision { .. } => Self::Error,
            StepEnd::Skipped { .. } | StepEnd::Cancelled => Self::Warning,
            StepEnd::Succeeded => Self::Info,
        }
    }

    /// Returns the severity of a process with this status.
    pub fn of_status(status: ProcessStatus) -> Self {
        match status {
            ProcessStatus::Failed => Self::Error,
            ProcessStatus::Cancelled => Self::Warning,
            ProcessStatus::InProgress | ProcessStatus::Completed => Self::Info,
        }
    }

    /// Returns the word for the severity.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_of_stderr_has_a_severity() {
        assert_eq!(Severity::of_line("E! it is gone"), Some((Severity::Error, "it is gone")));
        assert_eq!(Severity::of_line("T! a  b"), Some((Severity::Trace, "a  b")));
        for plain in ["E!", "E: x", "", "note E! x"] {
            assert_eq!(Severity::of_line(plain), None, "{plain}");
        }
    }

    #[test]
    fn an_entry_of_an_older_windlass_is_read_and_has_no_data() {
        let old = json!({"logged": {"element": "t__a", "severity": "INFO", "message": "it rests"}});
        let event: Event = serde_json::from_value(old.clone()).unwrap();
        assert!(matches!(event, Event::Logged { data: None, .. }), "{event:?}");
        assert_eq!(serde_json::to_value(&event).unwrap(), old);
    }
}
