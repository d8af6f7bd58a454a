//! The events of a job, read from the files with its output.
//!
//! The supervisor reports only the length of a stream. This module reads the content, as fast as the receiver
//! of the events takes it. So a slow receiver delays nothing else, and no output is buffered for it. The
//! dispatcher may drop progress messages, and sends none about jobs that another windlass process has
//! submitted. So this module also polls the files regularly.

use std::{io, time::Duration};

use tokio::{
    sync::mpsc,
    task::spawn_blocking,
    time::{sleep, timeout},
};

use crate::{
    EventSender, JobEvent, Stream, Timestamp,
    process::{
        inspect::{self, FolderState},
        layout::JobFolder,
        memory,
        message::Progress,
    },
};

/// Maximum number of bytes in one output event.
const CHUNK: u64 = 64 * 1024;

/// Time between two polls of the files of a job that another process has submitted. The [`Follower`] receives no
/// progress messages about such a job.
const INTERVAL: Duration = Duration::from_millis(50);

/// Maximum time between two polls of the files of a job that this process has submitted. A progress message about the
/// job causes an earlier poll.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Reads the files of one job, and sends the events of the job to one receiver.
pub(crate) struct Follower {
    folder: JobFolder,
    events: EventSender,
    started: bool,
    shown: [u64; 2],
}

/// The error that ends a follower. Either the receiver of the events was dropped, or the files of the job can't be
/// read.
struct Over;

impl Follower {
    pub(crate) fn new(folder: JobFolder, events: EventSender) -> Self {
        Self { folder, events, started: false, shown: [0, 0] }
    }

    /// Sends the events of a job that this process has submitted, until the job ends. Each message from `progress`
    /// causes a read of the job's files. When the job ends, the dispatcher closes the channel `progress`.
    pub(crate) async fn by_progress(mut self, mut progress: mpsc::Receiver<Progress>) {
        let followed = async {
            loop {
                match timeout(PROGRESS_INTERVAL, progress.recv()).await {
                    Ok(Some(event)) => self.take(event).await?,
                    Ok(None) => return self.finish().await,
                    Err(_) if self.started => self.show_all(Timestamp::now()).await?,
                    Err(_) => {}
                }
            }
        };
        let _over = followed.await;
    }

    /// Sends the events of a job until the job ends. The job was submitted by another process, so this method polls
    /// the job's files.
    pub(crate) async fn by_polling(mut self) {
        let followed = async {
            while self.inspect().await? == FolderState::Running {
                self.started(blocking(&self.folder, inspect::placed).await?).await?;
                let at = Timestamp::now();
                self.show_all(at).await?;
                sleep(INTERVAL).await;
            }
            self.finish().await
        };
        let _over = followed.await;
    }

    async fn take(&mut self, progress: Progress) -> Result<(), Over> {
        match progress {
            Progress::Started { at } => {
                self.started(at).await?;
                self.show_all(at).await
            }
            Progress::Written { stream, at, length } => self.show(stream, at, length).await,
        }
    }

    /// Sends the remaining output, the number of omitted bytes, and the event that the job has ended.
    async fn finish(&mut self) -> Result<(), Over> {
        let state = self.inspect().await?;
        if let FolderState::Ended(ending) = &state
            && let Some(at) = ending.started
        {
            self.started(at).await?;
        }
        self.show_all(Timestamp::now()).await?;
        if let FolderState::Ended(ending) = state {
            for stream in [Stream::Stdout, Stream::Stderr] {
                let bytes = ending.total(stream).saturating_sub(self.shown[index(stream)]);
                if bytes > 0 {
                    self.send(JobEvent::Omitted { stream, bytes }).await?;
                }
            }
        }
        self.send(JobEvent::Ended).await
    }

    async fn inspect(&self) -> Result<FolderState, Over> {
        blocking(&self.folder, inspect::inspect).await
    }

    async fn started(&mut self, at: Timestamp) -> Result<(), Over> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        self.send(JobEvent::Started { at }).await
    }

    async fn show_all(&mut self, at: Timestamp) -> Result<(), Over> {
        self.show(Stream::Stdout, at, u64::MAX).await?;
        self.show(Stream::Stderr, at, u64::MAX).await
    }

    /// Sends the content of a stream up to the position `length`, or up to the end of the stored content.
    async fn show(&mut self, stream: Stream, at: Timestamp, length: u64) -> Result<(), Over> {
        while self.shown[index(stream)] < length {
            let from = self.shown[index(stream)];
            let wanted = CHUNK.min(length - from);
            let chunk = blocking(&self.folder, move |folder| read(folder, stream, from, wanted)).await?;
            if chunk.is_empty() {
                return Ok(());
            }
            self.shown[index(stream)] += chunk.len() as u64;
            self.send(JobEvent::Output { stream, at, chunk }).await?;
        }
        Ok(())
    }

    async fn send(&self, event: JobEvent) -> Result<(), Over> {
        if self.events.send(event).await { Ok(()) } else { Err(Over) }
    }
}

fn index(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}

fn read(folder: &JobFolder, stream: Stream, from: u64, length: u64) -> io::Result<Vec<u8>> {
    match memory::open(&folder.spill(stream)) {
        Ok(mut file) => inspect::read_range(&mut file, from, length),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Runs `ask`, which reads the job's files, on a blocking thread. If `ask` fails, for example because the job was
/// removed, returns [`Over`]. The follower then sends no more events.
async fn blocking<T: Send + 'static>(
    folder: &JobFolder,
    ask: impl FnOnce(&JobFolder) -> io::Result<T> + Send + 'static,
) -> Result<T, Over> {
    let folder = folder.clone();
    match spawn_blocking(move || ask(&folder)).await {
        Ok(Ok(answer)) => Ok(answer),
        _ => Err(Over),
    }
}
