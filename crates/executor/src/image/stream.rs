//! Readers that decompress a stream, or compute its digest.

use std::io::{self, BufRead, BufReader, Read};

use sha2::{Digest as _, Sha256};

use crate::image::Digest;

/// A reader that computes the digest of all bytes that are read.
pub(crate) struct Hashing<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Hashing<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, hash: Sha256::new() }
    }

    /// Reads the rest of the stream, and returns the digest of the whole stream.
    pub(crate) fn finish(mut self) -> io::Result<(Digest, R)> {
        io::copy(&mut self, &mut io::sink())?;
        Ok((Digest::from_hash(self.hash), self.inner))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.hash.update(&buffer[..length]);
        Ok(length)
    }
}

/// A reader of the plain content of a stream. If the stream is compressed with gzip or zstd, the reader decompresses
/// the stream. The reader detects the format by the first bytes of the stream.
pub(crate) enum Plain<R: Read> {
    AsIs(BufReader<R>),
    // The decoder supports several members in one stream, since parallel compressors write several members.
    Gzip(Box<flate2::bufread::MultiGzDecoder<BufReader<R>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<R>>>),
}

impl<R: Read> Plain<R> {
    pub(crate) fn new(stream: R) -> io::Result<Self> {
        let mut stream = BufReader::with_capacity(64 * 1024, stream);
        match stream.fill_buf()? {
            [0x1f, 0x8b, ..] => Ok(Self::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(stream)))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Ok(Self::Zstd(Box::new(zstd::Decoder::with_buffer(stream)?))),
            _ => Ok(Self::AsIs(stream)),
        }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        !matches!(self, Self::AsIs(_))
    }

    pub(crate) fn into_inner(self) -> R {
        match self {
            Self::AsIs(stream) => stream.into_inner(),
            Self::Gzip(decoder) => decoder.into_inner().into_inner(),
            Self::Zstd(decoder) => decoder.finish().into_inner(),
        }
    }
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::AsIs(stream) => stream.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_compressed_is_seen_from_its_bytes() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"text").unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(&b"text"[..], 1).unwrap();
        for (bytes, compressed) in [(gzip, true), (zstd, true), (b"text".to_vec(), false)] {
            let mut plain = Plain::new(Hashing::new(&bytes[..])).unwrap();
            let mut text = String::new();
            plain.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), plain.is_compressed()), ("text", compressed));
            assert_eq!(plain.into_inner().finish().unwrap().0, Digest::of(&bytes));
        }
    }
}
