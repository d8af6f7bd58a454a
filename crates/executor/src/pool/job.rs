//! A job of a pool of warm containers, as other tasks see it. These tasks wait for the job, follow it or cancel it.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::stream_buffer::StreamBuffer;
use crate::{EventSender, Job, JobEvent, JobId, Outcome, Owner, Stream, Timestamp};

/// Maximum grace period: a day. It keeps the deadline within the range of the clock.
const LONGEST_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum bytes of one output event.
const CHUNK: u64 = 64 * 1024;

pub(crate) struct PooledJob {
    pub(crate) id: JobId,
    pub(crate) job: Job,
    streams: Mutex<[StreamBuffer; 2]>,
    progress: watch::Sender<Progress>,
    cancel_by: watch::Sender<Option<Instant>>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    started: Option<Timestamp>,
    /// Number of stored bytes of each stream, from its beginning: first of stdout, then of stderr.
    lengths: [u64; 2],
    outcome: Option<Arc<Outcome>>,
}

impl PooledJob {
    /// Creates a job that stores long output in `folder`.
    pub(crate) fn new(id: JobId, job: Job, folder: &Path) -> Self {
        let streams = ["stdout", "stderr"].map(|name| StreamBuffer::new(folder.join(format!("{id}.{name}"))));
        let (progress, cancel_by) = (watch::Sender::default(), watch::Sender::default());
        Self { id, job, streams: Mutex::new(streams), progress, cancel_by }
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.job.owner
    }

    fn streams(&self) -> MutexGuard<'_, [StreamBuffer; 2]> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the end of the job. If the end is requested several times, the earliest deadline counts.
    pub(crate) fn cancel(&self, grace: Duration) {
        let until = Instant::now() + grace.min(LONGEST_GRACE);
        self.cancel_by.send_if_modified(|cancel_by| {
            let sooner = cancel_by.is_none_or(|by| until < by);
            if sooner {
                *cancel_by = Some(until);
            }
            sooner
        });
    }

    pub(crate) fn cancellation(&self) -> watch::Receiver<Option<Instant>> {
        self.cancel_by.subscribe()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel_by.borrow().is_some()
    }

    pub(crate) fn has_started(&self, at: Timestamp) {
        self.progress.send_modify(|progress| progress.started = Some(at));
    }

    pub(crate) fn has_written(&self, stream: usize, bytes: &[u8]) {
        let length = {
            let buffer = &mut self.streams()[stream];
            buffer.push(bytes);
            buffer.length()
        };
        self.progress.send_modify(|progress| progress.lengths[stream] = length);
    }

    pub(crate) fn has_tail(&self, stream: usize, bytes: &[u8]) {
        self.streams()[stream].push_tail(bytes);
    }

    /// Records the end of the job, and adds the captured streams to the outcome. `totals` are the numbers of bytes that
    /// the job wrote to stdout and to stderr. If the runner has not reported these numbers, `totals` is `None`, and the
    /// function uses the numbers of stored bytes.
    pub(crate) fn has_ended(&self, mut outcome: Outcome, totals: Option<[u64; 2]>) {
        let limits = &self.job.limits;
        {
            let streams = self.streams();
            let total = |at: usize| totals.map_or(streams[at].length(), |totals| totals[at]);
            outcome.stdout = streams[0].captured(total(0), limits.stdout_bytes).unwrap_or_default();
            outcome.stderr = streams[1].captured(total(1), limits.stderr_bytes).unwrap_or_default();
        }
        outcome.started = self.progress.borrow().started;
        self.progress.send_modify(|progress| progress.outcome = Some(Arc::new(outcome)));
    }

    pub(crate) fn outcome(&self) -> Option<Arc<Outcome>> {
        self.progress.borrow().outcome.clone()
    }

    /// Waits until the task that runs the job has recorded the outcome, and returns the outcome. The result is never
    /// `None`: the channel `progress` stays open as long as `self` exists.
    pub(crate) async fn wait(&self) -> Option<Arc<Outcome>> {
        let mut progress = self.progress.subscribe();
        let ended = progress.wait_for(|progress| progress.outcome.is_some()).await.ok()?;
        ended.outcome.clone()
    }

    /// Sends all events of the job, from its start, to one receiver. A slow receiver delays nothing else,
    /// since the output stays stored until the receiver takes it.
    pub(crate) async fn follow(self: Arc<Self>, events: EventSender) {
        let mut progress = self.progress.subscribe();
        let (mut started, mut shown) = (false, [0, 0]);
        loop {
            let now = progress.borrow_and_update().clone();
            if let (false, Some(at)) = (started, now.started) {
                started = true;
                if !events.send(JobEvent::Started { at }).await {
                    return;
                }
            }
            if !self.show(&now, &mut shown, &events).await {
                return;
            }
            if let Some(outcome) = &now.outcome {
                return finish(outcome, shown, &events).await;
            }
            tokio::select! {
                changed = progress.changed() => if changed.is_err() { return },
                () = events.closed() => return,
            }
        }
    }

    async fn show(&self, now: &Progress, shown: &mut [u64; 2], events: &EventSender) -> bool {
        for (at, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            while shown[at] < now.lengths[at] {
                let chunk = self.streams()[at].read(shown[at], CHUNK.min(now.lengths[at] - shown[at]));
                let Ok(chunk) = chunk else { return false };
                shown[at] += chunk.len() as u64;
                if !events.send(JobEvent::Output { stream, at: Timestamp::now(), chunk }).await {
                    return false;
                }
            }
        }
        true
    }
}

async fn finish(outcome: &Outcome, shown: [u64; 2], events: &EventSender) {
    let streams = [(Stream::Stdout, &outcome.stdout, shown[0]), (Stream::Stderr, &outcome.stderr, shown[1])];
    for (stream, captured, shown) in streams {
        let bytes = captured.total().saturating_sub(shown);
        if bytes > 0 && !events.send(JobEvent::Omitted { stream, bytes }).await {
            return;
        }
    }
    events.send(JobEvent::Ended).await;
}
