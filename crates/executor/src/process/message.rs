//! The messages between a runtime, its dispatcher and the followers of jobs.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::{JobId, OnOwnerDeath, Outcome, Owner, RuntimeError, Stream, Timestamp, process::staging::Staged};

/// A request to the dispatcher.
#[derive(Debug)]
pub(crate) enum Message {
    /// Runs a job as soon as the number of running jobs is below the maximum. The reply comes when the
    /// supervisor has accepted the job, or when the job is queued.
    Submit { id: JobId, meta: JobMeta, staged: Staged, reply: Submitter },
    /// Waits until the supervisor has accepted the job. The reply is `false` if the job can't be handed over. There is
    /// no reply if the dispatcher no longer knows the job.
    Stored { id: JobId, reply: oneshot::Sender<bool> },
    /// Ends a job. The reply is `false` if the dispatcher does not know the job.
    Cancel { id: JobId, grace: Duration, reply: oneshot::Sender<bool> },
    /// Wakes the waiter when the job has ended.
    Wait { id: JobId, waiter: Waiter },
    /// Sends the progress of a job until its end. The reply is `None` if the dispatcher does not know the
    /// job.
    Watch { id: JobId, reply: oneshot::Sender<Option<mpsc::Receiver<Progress>>> },
    /// Asks for the state of a job. The reply is `true` if this process has submitted the job and the job has
    /// not ended.
    Has { id: JobId, reply: oneshot::Sender<bool> },
    /// Lists the queued jobs of an owner.
    Queued { owner: Owner, reply: oneshot::Sender<Vec<JobId>> },
    /// Disconnects from the supervisor as if this process died. The reply comes when all jobs with
    /// `OnOwnerDeath::Kill` have ended.
    Disconnect { reply: oneshot::Sender<()> },
}

/// The properties of a submitted job that the dispatcher remembers.
#[derive(Debug)]
pub(crate) struct JobMeta {
    pub(crate) owner: Owner,
    pub(crate) on_owner_death: OnOwnerDeath,
    pub(crate) needs: ResultNeeds,
    /// Digest of the job's image.
    pub(crate) image: Option<String>,
}

/// Tells which outputs the outcome of a job must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultNeeds {
    /// Only stdout and stderr. If both are short, the supervisor's reply contains them, and the caller does not read
    /// the job's folder.
    Streams,
    /// Stdout, stderr and output files. The caller reads them from the job's folder.
    Files,
}

/// The reason why a caller that waits for a job is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WakeReason {
    /// The job or its supervisor has ended. The caller looks for the outcome in the job's folder.
    Changed,
    /// The job has ended with this outcome, which equals the outcome in the job's folder.
    Ended(Box<Outcome>),
    /// The dispatcher does not know the job. Therefore, the caller polls the job's folder.
    Unknown,
    /// The job was queued and could not be handed over to the supervisor.
    Failed { problem: String },
}

/// A message to the watchers of a job. If the channel of a watcher is full, the dispatcher drops the message.
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
