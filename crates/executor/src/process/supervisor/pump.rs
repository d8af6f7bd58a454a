//! Reads the output of a job, and counts the bytes of each stream. A file stores the beginning of each stream, up to a
//! limit. A short file is in memory (in `/dev/shm`) if possible. A long file is on the disk. If the stream exceeds the
//! limit, a buffer keeps the last bytes of the stream.

use std::{
    cell::RefCell,
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
        memory::{FITS, Memory, MemoryFile},
        record::create,
    },
};

/// Size of the read buffer in bytes: the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// Maximum time to read a stream after the main process has ended, if other processes hold the stream open.
const DRAIN: Duration = Duration::from_millis(250);

/// Maximum length in bytes of a short stream. The supervisor sends the content of a short stream to the process
/// that submitted the job. So the submitting process does not need to read the content from the disk.
const SHORT: usize = 4 * 1024;

/// The buffer for one read of a pipe. All pumps (the tasks that read the output of jobs) use the same buffer, one
/// at a time.
pub(crate) type ReadBuffer = Rc<RefCell<Vec<u8>>>;

pub(crate) fn read_buffer() -> ReadBuffer {
    Rc::new(RefCell::new(vec![0; CHUNK]))
}

/// The result of reading one stream to its end.
#[derive(Debug, Default)]
pub(crate) struct Pumped {
    /// Total number of bytes.
    pub(crate) total: u64,
    /// Content of the stream, if it has at most `SHORT` bytes.
    pub(crate) short: Option<Vec<u8>>,
}

/// The state of reading one stream of a job.
#[derive(Debug)]
pub(crate) struct Pump {
    spill: Spill,
    /// Last bytes of the stream, at most `keep`, without the bytes that `spill` has stored.
    tail: VecDeque<u8>,
    keep: usize,
    tail_path: PathBuf,
    total: u64,
    short: Option<Vec<u8>>,
}

impl Pump {
    /// Creates a pump that stores the first `spill_bytes` of a stream in a file. If the stream is longer, the pump
    /// keeps the end of the stream in memory: at most `keep` bytes, and no bytes that are in the file.
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

    /// Reads until the stream ends, but not longer than `DRAIN` after the end of the job's main process. `ended`
    /// receives a message when the main process has ended. After each read, calls `seen` with the length of the stream
    /// so far.
    pub(crate) async fn run(
        mut self,
        pipe: Receiver,
        ended: oneshot::Receiver<()>,
        buffer: ReadBuffer,
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
            let mut chunk = buffer.borrow_mut();
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
            // On a full disk, only the last bytes of a long stream are lost.
            let tail = self.tail.make_contiguous();
            let _full = create(&self.tail_path, 0o600).and_then(|mut file| file.write_all(tail));
        }
        Pumped { total: self.total, short: self.short }
    }
}

/// The file that stores the beginning of a stream. It is created when the first bytes are written.
#[derive(Debug)]
struct Spill {
    path: PathBuf,
    memory: Memory,
    file: Option<Store>,
    stored: u64,
    limit: u64,
}

impl Spill {
    /// Stores as many bytes as the limit allows, and returns the other bytes.
    fn take<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let space = usize::try_from(self.limit - self.stored).unwrap_or(usize::MAX);
        let (fits, rest) = chunk.split_at(space.min(chunk.len()));
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
                Some(file) => Store::Memory(file),
                None => Store::Disk(create(&self.path, 0o600)?),
            });
        }
        if let Some(Store::Memory(file)) = &mut self.file {
            let fits = self.stored + bytes.len() as u64 <= FITS;
            if fits && file.file.write_all(bytes).is_ok() {
                return Ok(());
            }
            let disk = file.move_to_disk(&self.path, self.stored)?;
            self.file = Some(Store::Disk(disk));
        }
        match &mut self.file {
            Some(Store::Disk(file)) => file.write_all(bytes),
            _ => Ok(()),
        }
    }

    /// Closes the file after a failed write, for example on a full disk. Truncates the file to the bytes of the earlier
    /// writes. Lowers the field `limit` to this length, so that no more bytes are stored.
    fn close(&mut self) {
        self.limit = self.stored;
        if let Some(Store::Memory(MemoryFile { file, .. }) | Store::Disk(file)) = self.file.take() {
            let _still_full = file.set_len(self.stored);
        }
    }
}

/// The file with the beginning of a stream: in memory, or on disk.
#[derive(Debug)]
enum Store {
    Memory(MemoryFile),
    Disk(File),
}
