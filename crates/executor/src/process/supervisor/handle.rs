//! The part of a running job that other tasks of the supervisor access: the requests to the job, and the
//! lengths of its output.

use std::{cell::Cell, rc::Rc, time::Duration};

use tokio::{sync::watch, time::Instant};

use crate::{OnOwnerDeath, Stream};

/// Maximum grace period. A longer period is shortened, because the computation of the deadline could overflow.
const LONGEST_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// The part of a running job that other tasks of the supervisor access.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) requests: watch::Sender<JobRequests>,
    pub(crate) lengths: Rc<Lengths>,
    pub(crate) on_owner_death: OnOwnerDeath,
    pub(crate) grace: Duration,
}

impl Handle {
    /// Requests the end of the job. If the end is requested several times, the earliest deadline counts.
    pub(crate) fn cancel(&self, grace: Duration) {
        let until = Instant::now() + grace.min(LONGEST_GRACE);
        self.requests.send_modify(|requests| {
            requests.cancel = Some(requests.cancel.map_or(until, |by| by.min(until)));
        });
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct JobRequests {
    /// Deadline after which the job is killed. `None` if nobody has requested the end of the job yet.
    pub(crate) cancel: Option<Instant>,
    /// Whether the owner (the process that submitted the job) wants to know how long the output is.
    pub(crate) watched: bool,
}

/// The number of bytes that the job has written to each stream so far.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    stdout: Cell<u64>,
    stderr: Cell<u64>,
}

impl Lengths {
    pub(crate) fn of(&self, stream: Stream) -> &Cell<u64> {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    /// Lists the streams to which the job has written, with their lengths.
    pub(crate) fn seen(&self) -> impl Iterator<Item = (Stream, u64)> {
        let all = [Stream::Stdout, Stream::Stderr].map(|stream| (stream, self.of(stream).get()));
        all.into_iter().filter(|(_, length)| *length > 0)
    }
}
