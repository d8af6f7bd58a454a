//! Takes what a job writes: to the file, to the count, and the end of it to memory.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::PathBuf,
    pin::pin,
    rc::Rc,
    time::Duration,
};

use tokio::{net::unix::pipe::Receiver, sync::oneshot, time::sleep};

use crate::process::{record::create, supervisor::Context};

/// As much as a pipe holds.
pub(crate) const CHUNK: usize = 64 * 1024;

/// How long somebody else may hold on to a stream once the main process has ended.
const DRAIN: Duration = Duration::from_millis(250);

/// What is this short is remembered as a whole, so that the owner can be told without a look at the disk.
const SHORT: usize = 4 * 1024;

/// A stream that has ended.
#[derive(Debug, Default)]
pub(crate) struct Pumped {
    /// How long it was.
    pub(crate) total: u64,
    /// All of it, if it was short.
    pub(crate) short: Option<Vec<u8>>,
}

/// Where a stream goes.
#[derive(Debug)]
pub(crate) struct Pump {
    spill: Spill,
    /// The bytes that did not go to the file, the last of them.
    tail: VecDeque<u8>,
    keep: usize,
    tail_path: PathBuf,
    total: u64,
    short: Option<Vec<u8>>,
}

impl Pump {
    /// Makes a pump that stores the first `spill_bytes` of a stream in a file and remembers the last `keep` of the
    /// rest.
    pub(crate) fn new(spill_path: PathBuf, spill_bytes: u64, tail_path: PathBuf, keep: usize) -> Self {
        let spill = Spill { path: spill_path, file: None, stored: 0, limit: spill_bytes };
        Self { spill, tail: VecDeque::new(), keep, tail_path, total: 0, short: Some(Vec::new()) }
    }

    /// Pumps until the stream ends, or for a moment longer than the main process lives, which `ended` tells. `seen`
    /// is told the length of the stream after each piece.
    pub(crate) async fn run(
        mut self,
        pipe: Receiver,
        ended: oneshot::Receiver<()>,
        context: Rc<Context>,
        mut seen: impl FnMut(u64),
    ) -> Pumped {
        let mut over = pin!(async {
            let _or_dropped = ended.await;
            sleep(DRAIN).await;
        });
        loop {
            tokio::select! {
                biased;
                () = &mut over => break,
                _ = pipe.readable() => {}
            }
            let mut chunk = context.buffer.borrow_mut();
            match pipe.try_read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => {
                    self.take(&chunk[..length]);
                    seen(self.total);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        self.finish()
    }

    fn take(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        self.short = self.short.take().filter(|short| short.len() + chunk.len() <= SHORT);
        if let Some(short) = &mut self.short {
            short.extend_from_slice(chunk);
        }
        let rest = self.spill.take(chunk);
        self.tail.extend(&rest[rest.len().saturating_sub(self.keep)..]);
        self.tail.drain(..self.tail.len().saturating_sub(self.keep));
    }

    fn finish(mut self) -> Pumped {
        if !self.tail.is_empty() {
            // On a full disk the end of a flood is lost, and nothing else.
            let _full = fs::write(&self.tail_path, self.tail.make_contiguous());
        }
        Pumped { total: self.total, short: self.short }
    }
}

/// The file with the beginning of a stream, made when there is something to put into it.
#[derive(Debug)]
struct Spill {
    path: PathBuf,
    file: Option<File>,
    stored: u64,
    limit: u64,
}

impl Spill {
    /// Stores what there is room for and returns the rest.
    fn take<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let room = usize::try_from(self.limit - self.stored).unwrap_or(usize::MAX);
        let (fits, rest) = chunk.split_at(room.min(chunk.len()));
        if fits.is_empty() {
            return rest;
        }
        if self.write(fits).is_err() {
            self.close();
            return chunk;
        }
        self.stored += fits.len() as u64;
        rest
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(create(&self.path, 0o600)?),
        };
        file.write_all(bytes)
    }

    /// Ends the file where the last whole piece ended: a full disk is a limit like the other.
    fn close(&mut self) {
        self.limit = self.stored;
        if let Some(file) = self.file.take() {
            let _still_full = file.set_len(self.stored);
        }
    }
}
