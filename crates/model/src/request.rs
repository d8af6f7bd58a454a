//! Intents that are queued for the daemon.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{ProcessId, RequestId};
use crate::name::AssemblyName;
use crate::record::{ApplicationIntent, Intent};

/// A queued intent, which the daemon executes once it gets the lease of the assembly.
///
/// The full request contains packages and secrets. The store keeps it sealed beside this record until a
/// process begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The id of the request. The ids of requests and processes come from the same counter.
    pub id: RequestId,
    /// The assembly, which may not exist yet.
    pub assembly: AssemblyName,
    /// The intent that is queued.
    pub intent: Intent,
    /// The action on an application. None for other assemblies, and in a record that an older windlass wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationIntent>,
    /// The requester, as text for display: `` `windlass scale out h_bta B` (process 12 on host) ``.
    pub by: String,
    /// The time of the request.
    pub created: Timestamp,
    /// The status of the request.
    pub status: RequestStatus,
}

/// The status of a request. Each status except `Pending` is final.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RequestStatus {
    /// No process has begun to execute the request.
    Pending,
    /// This process executes the request, or has executed it.
    Begun(ProcessId),
    /// The request can't be executed.
    Refused {
        /// The error message for the requester.
        why: String,
        /// Whether the request was refused because of an invalid input.
        is_input: bool,
    },
    /// The requester has withdrawn the request.
    Withdrawn,
}

impl fmt::Display for RequestStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("pending"),
            Self::Begun(process) => write!(f, "begun as {process}"),
            Self::Refused { .. } => f.write_str("refused"),
            Self::Withdrawn => f.write_str("withdrawn"),
        }
    }
}

impl RequestRecord {
    /// Returns the intent for display. See [`ProcessRecord::title`](crate::record::ProcessRecord::title).
    pub fn title(&self) -> String {
        ApplicationIntent::title(self.application, &self.intent)
    }

    /// Tells whether the request still waits for its execution.
    pub fn is_open(&self) -> bool {
        self.status == RequestStatus::Pending
    }
}
