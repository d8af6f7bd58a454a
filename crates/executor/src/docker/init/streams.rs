//! Reads stdout and stderr of the job. Reports the first bytes of each stream up to the storage limit. If a
//! stream is longer, keeps the last bytes of the stream.

use std::{
    collections::VecDeque,
    io::{self, Read},
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
};

use crate::{
    life::Event,
    report::{PIECE, Report},
    spec::Spec,
};

/// A thread that reads one stream.
pub(crate) struct Pump<R> {
    stream: Sender<Option<R>>,
    thread: JoinHandle<Tail>,
}

/// The value that the thread of a [`Pump`] returns at the end of the stream.
#[derive(Default)]
struct Tail {
    /// Number of bytes of the whole stream.
    total: u64,
    /// Last bytes of the stream, without those that the thread has already reported.
    rest: VecDeque<u8>,
}

/// Starts a thread that reads a stream of the job, and writes the bytes to `report` in lines that begin with `letter`.
/// The thread waits until [`Pump::begin`] passes the stream.
///
/// The storage limit is [`Spec::spill`], or `keep` if `keep` is larger. Up to this limit, the thread reports all
/// bytes as soon as it has read them. If the stream is longer, the thread keeps the end of the remaining bytes in
/// memory, at most half of `keep`. [`Pump::end`] reports the kept bytes.
///
/// `keep` is the maximum number of bytes of the stream in the job's outcome: half of them from the beginning of the
/// stream, and half from its end.
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
    let thread = thread::spawn(move || {
        let Ok(Some(stream)) = Receiver::<Option<R>>::recv(&begin) else { return Tail::default() };
        let tail = take_all(stream, letter, spill, keep, &report);
        let _over = events.send(Event::Drained);
        tail
    });
    Pump { stream, thread }
}

impl<R> Pump<R> {
    /// Passes the stream to the thread of this pump, which then reads the stream. If `stream` is `None`, the thread
    /// ends and reports nothing.
    pub(crate) fn begin(&self, stream: Option<R>) {
        let _it_waits = self.stream.send(stream);
    }

    /// Waits until the thread has read the whole stream. Then reports the last bytes that the thread has not reported.
    /// Returns the length of the stream.
    pub(crate) fn end(self, letter: char, report: &Report) -> u64 {
        let tail = self.thread.join().unwrap_or_default();
        for piece in Vec::from(tail.rest).chunks(PIECE) {
            report.say_bytes(letter.encode_utf8(&mut [0; 4]), piece);
        }
        tail.total
    }
}

/// Reports the first `spill` bytes of the stream, and keeps the last `keep` bytes of the rest.
fn take_all(mut stream: impl Read, letter: char, spill: u64, keep: usize, report: &Report) -> Tail {
    let mut tail = Tail::default();
    let mut chunk = vec![0; PIECE * 4];
    loop {
        let length = match stream.read(&mut chunk) {
            Ok(0) => return tail,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return tail,
        };
        let fits = usize::try_from(spill.saturating_sub(tail.total)).unwrap_or(usize::MAX).min(length);
        tail.total += length as u64;
        for piece in chunk[..fits].chunks(PIECE) {
            report.say_bytes(letter.encode_utf8(&mut [0; 4]), piece);
        }
        let rest = &chunk[fits..length];
        tail.rest.extend(&rest[rest.len().saturating_sub(keep)..]);
        tail.rest.drain(..tail.rest.len().saturating_sub(keep));
    }
}
