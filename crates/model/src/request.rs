//! Intents that are left for another process of windlass to carry out.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{ProcessId, RequestId};
use crate::name::AssemblyName;
use crate::record::Intent;

/// An intent that whoever holds the lease of its assembly next is to carry out.
///
/// What exactly is asked, with its packages and secrets, is kept beside the record, sealed, until somebody has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// Its id, from the same counter as those of processes.
    pub id: RequestId,
    /// The assembly, which need not be there yet.
    pub assembly: AssemblyName,
    /// What is asked.
    pub intent: Intent,
    /// Who asks, for people: `` `windlass scale out h_bta B` (process 12 on host) ``.
    pub by: String,
    /// When it was asked.
    pub created: Timestamp,
    /// What has become of it.
    pub status: RequestStatus,
}

/// What has become of a request. All but the first is final.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RequestStatus {
    /// Nobody has begun yet.
    Pending,
    /// A process carries it out, or did.
    Begun(ProcessId),
    /// It can't be carried out.
    Refused {
        /// Why, as the one who asked would have been told.
        why: String,
        /// Whether what was given is wrong, rather than that something went wrong.
        is_input: bool,
    },
    /// Who asked has taken it back.
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
    /// Tells whether it still waits for somebody to begin.
    pub fn is_open(&self) -> bool {
        self.status == RequestStatus::Pending
    }
}
