//! What happened, in the order in which it became durable.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Intent, ProcessStatus, StepEnd};
use crate::clock::Timestamp;
use crate::id::{ProcessId, RequestId, Seq, StepId, TransferId};
use crate::name::{AssemblyName, ElementName};
use crate::state::State;

/// Something that happened. Events are numbered in the order in which they became durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Its number.
    pub seq: Seq,
    /// The event.
    #[serde(rename = "event")]
    pub draft: EventDraft,
}

/// An event that has no number yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventDraft {
    /// When.
    pub at: Timestamp,
    /// The assembly it concerns.
    pub assembly: AssemblyName,
    /// The process it happened in.
    pub process: Option<ProcessId>,
    /// What happened.
    pub body: Event,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// Somebody left an intent for another process to carry out.
    Asked {
        /// The request.
        request: RequestId,
        /// What is asked.
        intent: Intent,
        /// Who asks.
        by: String,
    },
    /// A request will not be carried out.
    Dismissed {
        /// The request.
        request: RequestId,
        /// What was asked.
        intent: Intent,
        /// Why not; none when who asked has taken it back.
        why: Option<String>,
    },
    /// The assembly was written to a file, and this store has forgotten it.
    Exported {
        /// Which export it was.
        transfer: TransferId,
        /// The file, as it was named.
        file: String,
    },
    /// The assembly was taken over from a file that another store has written.
    Imported {
        /// Which export it was; none of one whose writer gave it no id.
        transfer: Option<TransferId>,
        /// The file, as it was named.
        file: String,
    },
    /// A process began.
    ProcessStarted {
        /// What was asked.
        intent: Intent,
        /// How many steps its plan has.
        steps: u32,
    },
    /// A process ended.
    ProcessEnded {
        /// How.
        status: ProcessStatus,
        /// Why it did not complete.
        reason: Option<String>,
    },
    /// A step began.
    StepStarted {
        /// The step.
        step: StepId,
        /// What it does.
        title: String,
    },
    /// A step ended.
    StepEnded {
        /// The step.
        step: StepId,
        /// What it does.
        title: String,
        /// How it ended.
        end: StepEnd,
        /// How long it took, in milliseconds.
        millis: u64,
    },
    /// An element took a state.
    StateChanged {
        /// The element.
        element: ElementName,
        /// The state it had.
        from: State,
        /// The state it has.
        to: State,
    },
    /// Something was written to an element's activity log.
    Logged {
        /// The element.
        element: ElementName,
        /// How serious it is.
        severity: Severity,
        /// What was written.
        message: String,
    },
}

/// How serious a log entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Every detail.
    Trace,
    /// For finding faults.
    Debug,
    /// Worth knowing.
    #[default]
    Info,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
}

impl Severity {
    /// Reads a word in any case; what is no severity is [`Severity::Info`].
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_uppercase().as_str() {
            "TRACE" => Self::Trace,
            "DEBUG" => Self::Debug,
            "WARNING" => Self::Warning,
            "ERROR" => Self::Error,
            _ => Self::Info,
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
