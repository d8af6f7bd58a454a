//! The protocol between a process that submits jobs (the owner) and its supervisor: one JSON document on each
//! line.
//!
//! The owner writes to the supervisor's stdin, and the supervisor answers on its stdout. The first message of
//! the owner contains the path of the jobs folder. Other users can't see this message, but they could see the
//! arguments of the supervisor. The supervisor answers with its greeting. It treats the end of its stdin as
//! the death of its owner. The owner treats the end of the supervisor's stdout as the death of the
//! supervisor.

use std::{fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{JobId, Stream, Timestamp, process::record::Ending};

/// Version of the protocol. Owner and supervisor usually execute the same file. Their versions may differ if the
/// [command](super::SupervisorCommand) that starts the supervisor names a file, and this file was replaced while
/// the owner ran.
pub(crate) const VERSION: u32 = 3;

/// A request of the owner to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Contains the path of the jobs folder. This request is the first, and is sent only once.
    Open { state: PathBuf },
    /// Moves the prepared folder `staged` to its final path, and runs the job. The request contains a short
    /// stdin; a longer stdin is a file in the folder.
    Start { id: JobId, staged: String, stdin: Option<Input> },
    /// Asks a job to end, and kills it after the grace period.
    Cancel { id: JobId, grace_ms: u64 },
    /// Asks for reports about the length of a job's output.
    Watch { id: JobId },
}

impl Request {
    pub(crate) fn cancel(id: JobId, grace: Duration) -> Self {
        Self::Cancel { id, grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// The stdin of a job in a message. It may hold secrets, so `Debug` masks it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Input(#[serde(with = "crate::bytes")] pub(crate) Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input({} bytes)", self.0.len())
    }
}

/// A reply of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The first reply. If `version` is not the [`VERSION`] of the owner, the owner kills the supervisor.
    Hello { version: u32 },
    /// The folder of the job is at its final path. `at` is the time of the job's start, if the job could be
    /// started.
    Accepted { id: JobId, at: Option<Timestamp> },
    /// The jobs folder already contains a job with this id. The supervisor does not start this job again.
    Exists { id: JobId },
    /// The supervisor could not lock, read or move the prepared folder of the job, and started nothing. `why` is the
    /// error.
    Refused { id: JobId, why: String },
    /// The job has written to `stream`, which now has `length` bytes. The supervisor sends this reply only after a
    /// request `Watch`. The supervisor drops the reply if its queue of unsent replies is full.
    Output { id: JobId, stream: Stream, at: Timestamp, length: u64 },
    /// The job has ended, and its end is written to its folder. If stdout and stderr are both short, `written`
    /// contains all bytes of both streams. Otherwise, `written` is `None`.
    Ended { id: JobId, ending: Ending, written: Option<[Written; 2]> },
}

/// The whole output of a job on one stream.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Written(#[serde(with = "crate::bytes")] pub(crate) Vec<u8>);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Written({} bytes)", self.0.len())
    }
}

/// Serialises a message as JSON on one line, and adds a line break.
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
