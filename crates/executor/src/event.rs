//! What a job does while it runs.

use std::fmt;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::Timestamp;

/// One of a job's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Something a running job did.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// It started.
    Started {
        /// When.
        at: Timestamp,
    },
    /// It wrote something. Chunks of one stream come in order; how they are cut means nothing.
    Output {
        /// On which stream.
        stream: Stream,
        /// When it was seen.
        at: Timestamp,
        /// What.
        chunk: Vec<u8>,
    },
    /// It wrote more than is kept ([`Limits::spill_bytes`](crate::Limits::spill_bytes)); this many bytes can't be
    /// shown.
    Omitted {
        /// On which stream.
        stream: Stream,
        /// How many bytes.
        bytes: u64,
    },
    /// It ended, and its outcome can be had. Nothing follows.
    Ended,
}

impl fmt::Debug for JobEvent {
    /// Shows the size of a chunk only: it may hold what must not be logged.
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

/// The events of one job, as they come.
///
/// It is bounded: a reader that doesn't keep up makes the runtime wait with *telling*, never the job. What the
/// reader missed in the meantime comes in larger chunks, or as [`JobEvent::Omitted`].
#[derive(Debug)]
pub struct Events(mpsc::Receiver<JobEvent>);

/// The other end of [`Events`], for those who implement a runtime.
#[derive(Debug, Clone)]
pub struct EventSender(mpsc::Sender<JobEvent>);

impl Events {
    /// Makes both ends, with room for `capacity` events (at least one) between them.
    pub fn channel(capacity: usize) -> (EventSender, Self) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (EventSender(sender), Self(receiver))
    }

    /// Waits for the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<JobEvent> {
        self.0.recv().await
    }
}

impl EventSender {
    /// Hands on an event, waiting for room. `false` when nobody listens any more.
    pub async fn send(&self, event: JobEvent) -> bool {
        self.0.send(event).await.is_ok()
    }

    /// Waits until nobody listens any more.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}
