//! Reads stdout and stderr of the job. Up to the storage limit, reports the bytes of a stream as soon as they are
//! read. If a stream is longer, also reports its last bytes when the stream has ended.

use std::{
    collections::VecDeque,
    io::{self, Read},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use crate::{
    life::Event,
    report::{PIECE, Report},
    spec::Spec,
};

/// Maximum time to wait for the end of a stream, if a process that can't be killed holds the stream open.
pub(crate) const REMAINING: Duration = Duration::from_millis(250);

/// A thread that reads one stream.
pub(crate) struct Pump<R> {
    stream: Sender<Option<R>>,
    progress: Arc<Mutex<Progress>>,
    /// Receiver without messages. It is disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// The part of a stream that the thread of a [`Pump`] has read.
#[derive(Default)]
struct Progress {
    /// Number of bytes that were read.
    total: u64,
    /// Last bytes that the thread has read and not reported yet.
    rest: VecDeque<u8>,
    /// Whether [`Pump::end`] no longer waits for the thread. If so, the thread reports nothing more.
    is_over: bool,
}

fn locked(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread that reads a stream of the job, and writes the bytes to `report` in lines that begin with `letter`.
/// Before the thread reads, it waits until a caller of [`Pump::begin`] passes the stream to it.
///
/// `keep` is the maximum number of bytes of the stream in the job's outcome: half of them from the beginning of the
/// stream, and half from its end.
///
/// The storage limit is [`Spec::spill`], or `keep` if `keep` is larger. Up to this limit, the thread reports all
/// bytes as soon as it has read them. If the stream is longer, the thread keeps the end of the stream in memory: at
/// most half of `keep`, and no bytes that were already reported. [`Pump::end`] reports the bytes in memory.
pub(crate) fn pump<R: Read + Send + 'static>(
    letter: char,
    keep: u64,
    spec: &Spec,
    report: &Report,
    events: &Sender<Event>,
) -> Pump<R> {
    let (spill, keep) = (spec.spill.max(keep), usize::try_from(keep.div_ceil(2)).unwrap_or(usize::MAX));
    let (report, events) = (report.clone(), events.clone());
    let (stream, begin) = channel();
    let (running, ended) = channel();
    let progress = Arc::<Mutex<Progress>>::default();
    let read = progress.clone();
    thread::spawn(move || {
        let _running: Sender<()> = running;
        let Ok(Some(stream)) = Receiver::<Option<R>>::recv(&begin) else { return };
        take_all(stream, letter, spill, keep, &report, &read);
        let _over = events.send(Event::Drained);
    });
    Pump { stream, progress, ended }
}

impl<R> Pump<R> {
    /// Passes the stream to the thread of this pump, which then reads the stream. If `stream` is `None`, the thread
    /// ends and reports nothing.
    pub(crate) fn begin(&self, stream: Option<R>) {
        let _it_waits = self.stream.send(stream);
    }

    /// Waits until the thread has read the whole stream, or until the time `limit` has passed. Then reports the last
    /// bytes that the thread has not reported. Returns the number of bytes that were read.
    pub(crate) fn end(self, letter: char, report: &Report, limit: Option<Duration>) -> u64 {
        let _ended = match limit {
            Some(limit) => self.ended.recv_timeout(limit).ok(),
            None => self.ended.recv().ok(),
        };
        let mut progress = locked(&self.progress);
        progress.is_over = true;
        for piece in Vec::from(std::mem::take(&mut progress.rest)).chunks(PIECE) {
            report.say_bytes(letter.encode_utf8(&mut [0; 4]), piece);
        }
        progress.total
    }
}

/// Reports the first `spill` bytes of the stream, and keeps the last `keep` bytes of the rest.
fn take_all(
    mut stream: impl Read,
    letter: char,
    spill: u64,
    keep: usize,
    report: &Report,
    progress: &Mutex<Progress>,
) {
    let mut chunk = vec![0; PIECE * 4];
    loop {
        let length = match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut progress = locked(progress);
        if progress.is_over {
            return;
        }
        let fits = usize::try_from(spill.saturating_sub(progress.total)).unwrap_or(usize::MAX).min(length);
        progress.total += length as u64;
        for piece in chunk[..fits].chunks(PIECE) {
            report.say_bytes(letter.encode_utf8(&mut [0; 4]), piece);
        }
        let rest = &chunk[fits..length];
        progress.rest.extend(&rest[rest.len().saturating_sub(keep)..]);
        let excess = progress.rest.len().saturating_sub(keep);
        progress.rest.drain(..excess);
    }
}
