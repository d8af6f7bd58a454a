//! The protocol between owner and supervisor: one JSON document on each line.
//!
//! The owner writes to the supervisor's stdin; the supervisor answers on its stdout. The owner first sends
//! the folder of the jobs. Other users can't see this message, unlike the arguments of a program. The
//! supervisor answers with its greeting. It treats the end of its stdin as the death of its owner. The owner
//! treats the end of the supervisor's stdout as the supervisor's death.

use std::{fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{JobId, Stream, Timestamp, process::record::Ending};

/// Version of the protocol. Owner and supervisor usually run the same file. Their versions differ if the
/// owner's program was replaced on disk while it ran.
pub(crate) const VERSION: u32 = 3;

/// A request of the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// The folder of the jobs. It is the first request, and is sent only once.
    Open { state: PathBuf },
    /// Moves this staged folder into place and runs the job in it. A short stdin is included; a longer one is
    /// in the folder.
    Start { id: JobId, staged: String, stdin: Option<Input> },
    /// Ends a job after a grace period.
    Cancel { id: JobId, grace_ms: u64 },
    /// Reports the output of a job from now on.
    Watch { id: JobId },
}

impl Request {
    pub(crate) fn cancel(id: JobId, grace: Duration) -> Self {
        Self::Cancel { id, grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// The stdin of a job in a message. It may be secret, so `Debug` masks it.
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
    /// Greeting with the protocol version.
    Hello { version: u32 },
    /// The job is in place. `at` is the time of its start, if it could be started.
    Accepted { id: JobId, at: Option<Timestamp> },
    /// A job of this id is in place already.
    Exists { id: JobId },
    /// The folder could not be moved into place; nothing was started.
    Refused { id: JobId, why: String },
    /// A watched job has written to its stream, which now has this length. Some of these replies may be
    /// dropped.
    Output { id: JobId, stream: Stream, at: Timestamp, length: u64 },
    /// The job has ended and this ending is written. Short output is included.
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

/// Serialises a message as a line.
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
