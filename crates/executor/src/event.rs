//! The events of a running job.

use std::fmt;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::Timestamp;

/// A standard stream of a job's output: stdout or stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// An event of a running job.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// The job started.
    Started {
        /// Time of the start.
        at: Timestamp,
    },
    /// The job wrote output. Chunks of one stream arrive in their order. The boundaries between chunks have
    /// no meaning.
    Output {
        /// Stream to which the job wrote the chunk.
        stream: Stream,
        /// Time when the runtime read the chunk.
        at: Timestamp,
        /// Bytes of the chunk.
        chunk: Vec<u8>,
    },
    /// The runtime can't send some bytes of a stream, because it has not stored them. The stream was longer than its
    /// storage limit ([`Limits::spill_bytes`](crate::Limits::spill_bytes)).
    Omitted {
        /// Stream to which the job wrote the omitted bytes.
        stream: Stream,
        /// Number of omitted bytes.
        bytes: u64,
    },
    /// The job ended, and its outcome is available. No event follows.
    Ended,
}

impl fmt::Debug for JobEvent {
    /// Writes only the size of a chunk, since it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { at } => write!(f, "Started({at})"),
            Self::Output { stream, at, chunk } => {
                write!(f, "Output({stream:?}, {at}, {} bytes)", chunk.len())
            }
            Self::Omitted { stream, bytes } => write!(f, "Omitted({stream:?}, {bytes} bytes)"),
            Self::Ended => f.write_str("Ended"),
        }
    }
}

/// The receiving end of a channel with the events of one job, in their order.
///
/// The channel has a limited buffer. A slow receiver delays only the delivery of events, never the job.
/// Output that waits for the receiver arrives in larger chunks, or as [`JobEvent::Omitted`].
#[derive(Debug)]
pub struct Events(mpsc::Receiver<JobEvent>);

/// The sending end of [`Events`], for implementations of the trait `Runtime`.
#[derive(Debug, Clone)]
pub struct EventSender(mpsc::Sender<JobEvent>);

impl Events {
    /// Creates both ends of a channel, with a buffer of `capacity` events. A `capacity` of 0 counts as 1.
    pub fn channel(capacity: usize) -> (EventSender, Self) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (EventSender(sender), Self(receiver))
    }

    /// Waits for the next event. Returns `None` after the last event.
    pub async fn next(&mut self) -> Option<JobEvent> {
        self.0.recv().await
    }
}

impl EventSender {
    /// Waits for space in the buffer, and then sends an event. Returns `false` when the receiver was dropped.
    pub async fn send(&self, event: JobEvent) -> bool {
        self.0.send(event).await.is_ok()
    }

    /// Waits until the receiver is dropped.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}
