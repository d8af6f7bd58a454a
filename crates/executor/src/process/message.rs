//! The messages between a runtime, its dispatcher and the followers of jobs.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::{JobId, OnOwnerDeath, Outcome, Owner, RuntimeError, Stream, Timestamp, process::staging::Staged};

/// A request to the dispatcher.
#[derive(Debug)]
pub(crate) enum Message {
    /// Runs a job when a slot is free. The reply comes when the job is in place, or queued.
    Submit { id: JobId, meta: JobMeta, staged: Staged, reply: Submitter },
    /// Ends a job. Answers `false` if the job is unknown here.
    Cancel { id: JobId, grace: Duration, reply: oneshot::Sender<bool> },
    /// Wakes the waiter when the job has ended.
    Wait { id: JobId, waiter: Waiter },
    /// Sends the progress of a job until its end. Answers `None` if the job is unknown here.
    Watch { id: JobId, reply: oneshot::Sender<Option<mpsc::Receiver<Progress>>> },
    /// Asks whether a job was submitted here and has not ended.
    Has { id: JobId, reply: oneshot::Sender<bool> },
    /// Lists the queued jobs of an owner.
    Queued { owner: Owner, reply: oneshot::Sender<Vec<JobId>> },
    /// Disconnects from the supervisor as if this process died. The reply comes when all jobs that die with
    /// their owner have ended.
    Disconnect { reply: oneshot::Sender<()> },
}

/// The properties of a submitted job that the dispatcher keeps.
#[derive(Debug)]
pub(crate) struct JobMeta {
    pub(crate) owner: Owner,
    pub(crate) on_owner_death: OnOwnerDeath,
    pub(crate) needs: ResultNeeds,
    /// Digest of the job's image.
    pub(crate) image: Option<String>,
}

/// The output of a job that its outcome contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultNeeds {
    /// Only the two streams: the supervisor's reply contains the whole outcome.
    Streams,
    /// Output files too, which are in the folder.
    Files,
}

/// The reason why a waiter is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WakeReason {
    /// The job or its supervisor has ended: read the folder.
    Changed,
    /// The job has ended with this outcome. The outcome equals that of the job's folder.
    Ended(Box<Outcome>),
    /// The job is unknown here: poll the folder.
    Unknown,
    /// The job was queued and could then not be handed over.
    Failed { problem: String },
}

/// The progress of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Started {
        at: Timestamp,
    },
    /// The length of a stream has grown.
    Written {
        stream: Stream,
        at: Timestamp,
        length: u64,
    },
}

/// The sender of messages to the dispatcher. When the last clone is dropped, the dispatcher disconnects from
/// the supervisor.
pub(crate) type Dispatch = mpsc::Sender<Message>;

/// The sender that wakes a task that waits for the end of a job.
pub(crate) type Waiter = oneshot::Sender<WakeReason>;

/// The sender of the answer to a submission.
pub(crate) type Submitter = oneshot::Sender<Result<(), RuntimeError>>;
