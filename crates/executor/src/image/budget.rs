//! Counts the content of an image, and refuses an image that exceeds its [limits](ImageLimits).

use std::{
    cell::Cell,
    io::{self, Read, Seek, SeekFrom},
};

use crate::image::{ImageError, ImageLimits};

/// Maximum number of bytes between the contents of two entries of a tar file, and after the last entry. These bytes are
/// the padding, the header of the next entry, and its long name, long link target and extended attributes. The crate
/// `tar` keeps these bytes in memory. Container engines read layers with Go's `archive/tar`. This library has the same
/// limit for each of three items: the long name, the long link target and the extended attributes.
const HEADER_BYTES: u64 = 1 << 20;

/// Maximum average number of header bytes per entry. Header bytes are the bytes that [`HEADER_BYTES`] limits.
const AVERAGE_HEADER_BYTES: u64 = 4096;

/// Counts the bytes and the entries in the layers of one image. A method that counts something returns an error when
/// the number exceeds its limit.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: ImageLimits,
    bytes: u64,
    entries: u64,
    path_bytes: u64,
    header_bytes: u64,
}

impl Budget {
    pub(crate) fn new(limits: ImageLimits) -> Self {
        Self { limits, bytes: 0, entries: 0, path_bytes: 0, header_bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts an entry, with its size, the length of its path and link target, and the size of its headers.
    pub(crate) fn take_entry(
        &mut self,
        bytes: u64,
        path_bytes: usize,
        header_bytes: u64,
    ) -> Result<(), ImageError> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.header_bytes = self.header_bytes.saturating_add(header_bytes);
        self.take(1, path_bytes)
    }

    /// Counts folders that were created because the path of an entry names them. `path_bytes` is the length of this
    /// path.
    pub(crate) fn take_folders(&mut self, count: usize, path_bytes: usize) -> Result<(), ImageError> {
        self.take(count, path_bytes.saturating_mul(count))
    }

    fn take(&mut self, entries: usize, path_bytes: usize) -> Result<(), ImageError> {
        self.entries = self.entries.saturating_add(entries as u64);
        self.path_bytes = self.path_bytes.saturating_add(path_bytes as u64);
        let most_header_bytes = self.limits.entries.saturating_mul(AVERAGE_HEADER_BYTES);
        for (count, limit, what) in [
            (self.entries, self.limits.entries, "files"),
            (self.bytes, self.limits.bytes, "bytes"),
            (self.path_bytes, self.limits.path_bytes, "bytes in paths and link targets"),
            (self.header_bytes, most_header_bytes, "bytes in the headers of all entries"),
        ] {
            if count > limit {
                return Err(ImageError::TooLarge { limit, what });
            }
        }
        Ok(())
    }
}

/// The number of bytes that a [`HeaderGuard`] still lets through. The reader of a tar file owns the guard, and the loop
/// over the entries of the tar file changes this number.
#[derive(Debug)]
pub(crate) struct HeaderRoom(Cell<u64>);

impl HeaderRoom {
    pub(crate) fn new() -> Self {
        Self(Cell::new(HEADER_BYTES))
    }

    /// Ends the headers of an entry, and returns their size in bytes. The reader may now read the content of the entry,
    /// however long the content is.
    pub(crate) fn end_headers(&self) -> u64 {
        HEADER_BYTES.saturating_sub(self.0.replace(u64::MAX))
    }

    /// Ends the content of an entry. The reader must have read or skipped the whole content.
    pub(crate) fn end_content(&self) {
        self.0.set(HEADER_BYTES);
    }
}

/// A reader of a tar file. A read fails when the headers of one entry, or the bytes after the last entry, are too long.
#[derive(Debug)]
pub(crate) struct HeaderGuard<'a, R> {
    inner: R,
    room: &'a HeaderRoom,
}

impl<'a, R> HeaderGuard<'a, R> {
    pub(crate) fn new(inner: R, room: &'a HeaderRoom) -> Self {
        Self { inner, room }
    }
}

impl<R: Read> Read for HeaderGuard<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let HeaderRoom(room) = self.room;
        if room.get() == 0 && !buffer.is_empty() {
            // The stream may end exactly at the limit.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(ImageError::TooLarge {
                    limit: HEADER_BYTES,
                    what: "bytes in the headers of one entry or after the last entry of a tar file",
                })),
            };
        }
        let most = usize::try_from(room.get()).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.inner.read(&mut buffer[..most])?;
        room.set(room.get() - length as u64);
        Ok(length)
    }
}

impl<R: Seek> Seek for HeaderGuard<'_, R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_up_to_a_size_and_content_in_any_size() {
        let most = usize::try_from(HEADER_BYTES).unwrap();
        for (length, is_read) in [(most, true), (most + 1, false)] {
            let room = HeaderRoom::new();
            let read = io::copy(&mut HeaderGuard::new(&vec![0; length][..], &room), &mut io::sink());
            assert_eq!(read.is_ok(), is_read, "{length}");
        }
        let room = HeaderRoom::new();
        assert_eq!(room.end_headers(), 0);
        io::copy(&mut HeaderGuard::new(&vec![0; most + 1][..], &room), &mut io::sink()).unwrap();
        room.end_content();
        HeaderGuard::new(&[0; 5][..], &room).read_exact(&mut [0; 5]).unwrap();
        assert_eq!(room.end_headers(), 5);
    }
}
