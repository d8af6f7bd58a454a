//! The events of a job, read from the log of its container, as fast as the receiver of the events takes them.
//! A slow receiver delays nothing else.

use std::time::Duration;

use futures::StreamExt;
use tokio::{sync::watch, time::sleep};

use crate::{
    EventSender, JobEvent, JobId, Stream, Timestamp,
    docker::{
        Engine,
        handle::Phase,
        inspect::{self, Stage},
        lines::{Line, index},
    },
};

/// Maximum number of bytes in one output event.
const CHUNK: usize = 64 * 1024;

/// Pause before the log is read again after a broken connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of checks whether the container of an ended job has exited. With the pauses between them, the
/// checks take five seconds in total.
const EXITS: usize = 100;

/// Reads the log of one job's container, and sends the events of the job to one receiver.
pub(crate) struct Follower {
    engine: Engine,
    id: JobId,
    events: EventSender,
    started: bool,
    /// Number of bytes of each stream that were sent to the receiver.
    shown: [u64; 2],
    /// Number of bytes of each stream that were read from the log. The count restarts at zero each time the
    /// log is read from its beginning.
    passed: [u64; 2],
    /// Bytes of one stream that were read and not sent yet. They are collected, so that one event contains several
    /// pieces.
    pending: Option<(Stream, Vec<u8>)>,
}

/// Signals that a follower must stop: the receiver of the events was dropped, or the follower has sent all
/// events of the job.
struct Over;

impl Follower {
    pub(crate) fn new(engine: Engine, id: JobId, events: EventSender) -> Self {
        Self { engine, id, events, started: false, shown: [0; 2], passed: [0; 2], pending: None }
    }

    /// Follows a job until the job has ended. If this client has submitted the job, `phase` is the phase of
    /// the job. Such a job may have no container yet, or may never get a container. So the function first
    /// waits until the job is no longer `Waiting`.
    pub(crate) async fn follow(mut self, phase: Option<watch::Receiver<Phase>>) {
        if let Some(mut phase) = phase {
            let now = phase.wait_for(|phase| !matches!(phase, Phase::Waiting)).await.map(|now| now.clone());
            let never_began = match now {
                Ok(Phase::Ended(outcome)) => outcome.started.is_none(),
                Ok(Phase::Failed(_)) => true,
                // The job runs, or belongs to another client.
                _ => false,
            };
            if never_began {
                let _nobody_listens = self.events.send(JobEvent::Ended).await;
                return;
            }
        }
        let _over = self.read().await;
    }

    async fn read(&mut self) -> Result<(), Over> {
        loop {
            self.passed = [0; 2];
            let engine = self.engine.clone();
            let mut logged = inspect::logged(&engine, &self.id, true);
            while let Some(Ok(lines)) = logged.next().await {
                for line in lines {
                    self.take(line).await?;
                }
                self.flush().await?;
            }
            match inspect::inspect(&self.engine, &self.id).await {
                // The container no longer exists, so no line is left to read, even if no line has stated the
                // end of the job.
                Ok(None) => return self.end().await,
                Ok(Some(inspected)) if inspected.stage == Stage::Exited => return self.rest().await,
                _ => {}
            }
            sleep(PAUSE).await;
        }
    }

    /// Reads the whole log of an exited container. The log may be longer than at the last reading.
    async fn rest(&mut self) -> Result<(), Over> {
        self.passed = [0; 2];
        let engine = self.engine.clone();
        let mut logged = inspect::logged(&engine, &self.id, false);
        while let Some(Ok(lines)) = logged.next().await {
            for line in lines {
                self.take(line).await?;
            }
        }
        self.end().await
    }

    async fn take(&mut self, line: Line) -> Result<(), Over> {
        match line {
            Line::Started(at) if !self.started => {
                self.started = true;
                self.send(JobEvent::Started { at }).await
            }
            Line::Written(stream, bytes) => self.written(stream, bytes).await,
            Line::Ended(ended) => {
                self.flush().await?;
                for stream in [Stream::Stdout, Stream::Stderr] {
                    let bytes = ended.totals[index(stream)].saturating_sub(self.shown[index(stream)]);
                    if bytes > 0 {
                        self.send(JobEvent::Omitted { stream, bytes }).await?;
                    }
                }
                self.gone().await;
                self.end().await?;
                Err(Over)
            }
            _ => Ok(()),
        }
    }

    /// Waits until the container of an ended job has exited. The receiver of the events gets the last event only after
    /// this wait, and can then remove the job at once. Before the exit, the job would count as running, and the removal
    /// would fail.
    async fn gone(&self) {
        for _ in 0..EXITS {
            match inspect::inspect(&self.engine, &self.id).await {
                Ok(Some(inspected)) if inspected.stage != Stage::Exited => sleep(PAUSE).await,
                _ => return,
            }
        }
    }

    async fn written(&mut self, stream: Stream, mut bytes: Vec<u8>) -> Result<(), Over> {
        let at = index(stream);
        let known = self.shown[at].saturating_sub(self.passed[at]).min(bytes.len() as u64);
        self.passed[at] += bytes.len() as u64;
        bytes.drain(..usize::try_from(known).unwrap_or(bytes.len()));
        if bytes.is_empty() {
            return Ok(());
        }
        self.shown[at] += bytes.len() as u64;
        match &mut self.pending {
            Some((pending, chunk)) if *pending == stream && chunk.len() < CHUNK => chunk.extend(bytes),
            _ => {
                self.flush().await?;
                self.pending = Some((stream, bytes));
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Over> {
        match self.pending.take() {
            Some((stream, chunk)) => {
                self.send(JobEvent::Output { stream, at: Timestamp::now(), chunk }).await
            }
            None => Ok(()),
        }
    }

    async fn end(&mut self) -> Result<(), Over> {
        self.flush().await?;
        self.send(JobEvent::Ended).await
    }

    async fn send(&self, event: JobEvent) -> Result<(), Over> {
        if self.events.send(event).await { Ok(()) } else { Err(Over) }
    }
}
