//! Takes what a job writes: to the file, which is in memory while it is short, to the count, and the end of it to our own memory.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, ErrorKind, Write},
    path::PathBuf,
    pin::pin,
    rc::Rc,
    time::Duration,
};

use tokio::{net::unix::pipe::Receiver, sync::oneshot, time::sleep};

use crate::{
    Stream,
    process::{
        layout::JobFolder,
        memory::{FITS, Kept, Memory},
        record::create,
        supervisor::Context,
    },
};

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
    pub(crate) fn new(
        folder: &JobFolder,
        stream: Stream,
        spill_bytes: u64,
        keep: usize,
        memory: Memory,
    ) -> Self {
        let (path, tail_path) = (folder.spill(stream), folder.tail(stream));
        let spill = Spill { path, memory, file: None, stored: 0, limit: spill_bytes };
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
            let tail = self.tail.make_contiguous();
            let _full = create(&self.tail_path, 0o600).and_then(|mut file| file.write_all(tail));
        }
        Pumped { total: self.total, short: self.short }
    }
}

/// The file with the beginning of a stream, made when there is something to put into it.
#[derive(Debug)]
struct Spill {
    path: PathBuf,
    memory: Memory,
    file: Option<Store>,
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
        if self.file.is_none() {
            self.file = Some(match self.memory.create(&self.path) {
                Some(kept) => Store::Memory(kept),
                None => Store::Disk(create(&self.path, 0o600)?),
            });
        }
        if let Some(Store::Memory(kept)) = &mut self.file {
            let fits = self.stored + bytes.len() as u64 <= FITS;
            if fits && kept.file.write_all(bytes).is_ok() {
                return Ok(());
            }
            let disk = kept.move_to_disk(&self.path, self.stored)?;
            self.file = Some(Store::Disk(disk));
        }
        match &mut self.file {
            Some(Store::Disk(file)) => file.write_all(bytes),
            _ => Ok(()),
        }
    }

    /// Ends the file where the last whole piece ended: a full disk is a limit like the other.
    fn close(&mut self) {
        self.limit = self.stored;
        if let Some(Store::Memory(Kept { file, .. }) | Store::Disk(file)) = self.file.take() {
            let _still_full = file.set_len(self.stored);
        }
    }
}

/// Where the file is.
#[derive(Debug)]
enum Store {
    Memory(Kept),
    Disk(File),
}
