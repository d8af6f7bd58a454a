//! The stored part of stdout or stderr of a job that runs in a warm container.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::PathBuf,
};

use crate::Captured;

/// Maximum number of bytes that are kept in memory. Longer output is stored in a file.
const MEMORY: usize = 256 << 10;

/// The stored bytes of one stream: its first bytes and its last bytes. The first bytes are in memory if their
/// number is at most [`MEMORY`]. Otherwise they are in a file.
///
/// Async tasks write to the file directly, without moving the write to another thread. A write to the page cache of
/// a local disk takes microseconds. Moving the write to another thread would take longer.
#[derive(Debug)]
pub(crate) struct StreamBuffer {
    /// First bytes of the stream, unless they are in `file`.
    memory: Vec<u8>,
    file: Option<File>,
    path: PathBuf,
    /// Number of bytes in `memory` or in `file`.
    length: u64,
    /// Last bytes of the stream. They do not contain bytes that are stored in `memory` or in `file`.
    tail: Vec<u8>,
    /// Whether bytes were dropped because the file could not be written.
    is_full: bool,
}

impl StreamBuffer {
    /// Creates an empty buffer. Long output will be stored in a file at `path`.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { memory: Vec::new(), file: None, path, length: 0, tail: Vec::new(), is_full: false }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Appends `bytes` to the field `memory`, or to `file` if the stream has more than [`MEMORY`] bytes. If `bytes`
    /// can't be written to the file, for example because the disk is full, the function drops `bytes` and all later
    /// bytes. So the stored first bytes of the stream have no gap.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.is_full {
            return;
        }
        if self.file.is_none() && self.memory.len() + bytes.len() <= MEMORY {
            self.memory.extend_from_slice(bytes);
            self.length = self.memory.len() as u64;
        } else if self.write(bytes).is_ok() {
            self.length += bytes.len() as u64;
        } else {
            self.is_full = true;
        }
    }

    /// Appends `bytes` to the field `tail`, which contains the last bytes of the stream. The number of these bytes is
    /// not checked here: the runner sends at most as many as the job's `Spec::keep` permits.
    pub(crate) fn push_tail(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                if let Some(folder) = self.path.parent() {
                    fs::create_dir_all(folder)?;
                }
                let file = File::options()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .mode(0o600)
                    .open(&self.path)?;
                // If the disk is full, the bytes stay in memory.
                file.write_all_at(&self.memory, 0)?;
                self.memory = Vec::new();
                none.insert(file)
            }
        };
        file.write_all_at(bytes, self.length)
    }

    /// Reads up to `length` bytes at the position `from` of the stream. Only the stored first bytes of the stream are
    /// read, not the last bytes in `tail`.
    pub(crate) fn read(&self, from: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = self.length.min(from.saturating_add(length));
        let wanted = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
        if let Some(file) = &self.file {
            let mut bytes = vec![0; wanted];
            file.read_exact_at(&mut bytes, from)?;
            return Ok(bytes);
        }
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(self.memory.len());
        Ok(self.memory[from..from + wanted].to_vec())
    }

    /// Captures `keep` bytes of a stream of `total` bytes: one half from the beginning of the stream, and the
    /// other half from its end.
    pub(crate) fn captured(&self, total: u64, keep: u64) -> io::Result<Captured> {
        let tail_bytes = keep.div_ceil(2);
        let head = self.read(0, keep - tail_bytes)?;
        let tail =
            &self.tail[self.tail.len().saturating_sub(usize::try_from(tail_bytes).unwrap_or(usize::MAX))..];
        // `self.tail` may contain fewer than `tail_bytes` bytes. If the stored bytes reach up to the start of
        // `self.tail`, the last ones of them supply the missing bytes.
        let between = if total == self.length + self.tail.len() as u64 {
            let after_head = self.length - head.len() as u64;
            let wanted = tail_bytes.saturating_sub(tail.len() as u64).min(after_head);
            self.read(self.length - wanted, wanted)?
        } else {
            Vec::new()
        };
        let captured = Captured::new(head, [&between, tail].concat(), total);
        Ok(captured.with_spill(self.file.is_some().then(|| self.path.clone())))
    }
}

impl Drop for StreamBuffer {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _gone = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::tests::CUTS;

    #[test]
    fn head_and_tail_come_from_wherever_they_are() {
        for (first, last, total, keep, text) in CUTS {
            let mut buffer = StreamBuffer::new(PathBuf::from("/nowhere"));
            buffer.push(first.as_bytes());
            buffer.push_tail(last.as_bytes());
            assert_eq!(buffer.captured(total, keep).unwrap().text(), text, "{first} {last} {keep}");
        }
    }

    #[test]
    fn a_full_disk_loses_no_byte_that_was_in_memory() {
        // Writing to this device fails as on a full disk.
        let mut buffer = StreamBuffer::new(PathBuf::from("/dev/full"));
        buffer.push(b"first");
        buffer.push(&vec![0; MEMORY]);
        assert_eq!(buffer.length(), 5);
        assert_eq!(buffer.captured(5 + MEMORY as u64, 10).unwrap().head(), b"first");
        // The beginning has no gap: bytes after the dropped bytes are dropped, too.
        buffer.push(b"later");
        assert_eq!(buffer.length(), 5);
        assert_eq!(buffer.captured(10 + MEMORY as u64, 20).unwrap().head(), b"first");
    }

    #[test]
    fn what_is_too_much_for_memory_is_in_a_file_that_goes_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job/stdout");
        let mut buffer = StreamBuffer::new(path.clone());
        let bytes: Vec<u8> = (0..MEMORY * 3).map(|at| (at % 251).to_le_bytes()[0]).collect();
        for piece in bytes.chunks(100_000) {
            buffer.push(piece);
        }
        assert!(path.exists());
        assert_eq!(buffer.read(0, u64::MAX).unwrap(), bytes);
        assert_eq!(buffer.read(300_000, 5).unwrap(), bytes[300_000..300_005]);
        let captured = buffer.captured(bytes.len() as u64, 10).unwrap();
        assert_eq!((captured.head(), captured.tail()), (&bytes[..5], &bytes[bytes.len() - 5..]));
        drop(buffer);
        assert!(!path.exists());
    }
}
