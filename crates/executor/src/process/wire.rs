//! What owner and supervisor say to each other: one JSON document a line.
//!
//! The owner speaks on the supervisor's stdin, the supervisor answers on its stdout. The owner opens with the folder of the
//! jobs, which is so in nobody's sight, and the supervisor answers with its hello. The end of the supervisor's stdin is the
//! death of its owner; the end of its stdout is its own.

use std::{fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{JobId, Stream, Timestamp, process::record::Ending};

/// The version of this language. Both sides are mostly the same file; they differ when the owner's program was
/// replaced on disk while it ran.
pub(crate) const VERSION: u32 = 3;

/// What an owner asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// The folder of the jobs: the first request, and no other.
    Open { state: PathBuf },
    /// Move this staged folder into place and run the job in it. What it reads comes along if that is short, else it is
    /// in the folder.
    Start { id: JobId, staged: String, stdin: Option<Input> },
    /// End this job.
    Cancel { id: JobId, grace_ms: u64 },
    /// Tell from now on what this job writes.
    Watch { id: JobId },
}

impl Request {
    pub(crate) fn cancel(id: JobId, grace: Duration) -> Self {
        Self::Cancel { id, grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// Bytes that a job reads, on their way. They may be secret: not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Input(#[serde(with = "crate::bytes")] pub(crate) Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input({} bytes)", self.0.len())
    }
}

/// What a supervisor answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// It is there, and speaks this version.
    Hello { version: u32 },
    /// The job is in place; it was started then, if it could be started.
    Accepted { id: JobId, at: Option<Timestamp> },
    /// A job of this id is in place already.
    Exists { id: JobId },
    /// The folder could not be moved into place; nothing was started.
    Refused { id: JobId, why: String },
    /// A watched job has written to its stream, which is now this long. Some of these may be left out.
    Output { id: JobId, stream: Stream, at: Timestamp, length: u64 },
    /// The job has ended and its outcome is written: this one. What it wrote comes along if that is short.
    Ended { id: JobId, ending: Ending, written: Option<[Written; 2]> },
}

/// All that a job wrote to one stream.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Written(#[serde(with = "crate::bytes")] pub(crate) Vec<u8>);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Written({} bytes)", self.0.len())
    }
}

/// Makes the line of a message.
pub(crate) fn line<T: Serialize>(message: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("names, numbers and texts always have a JSON form");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        let refused = Reply::Refused { id: "a".parse().unwrap(), why: "no\nspace".into() };
        let line = line(&refused);
        assert_eq!(line, b"{\"refused\":{\"id\":\"a\",\"why\":\"no\\nspace\"}}\n");
        assert_eq!(serde_json::from_slice::<Reply>(&line).unwrap(), refused);
    }
}
