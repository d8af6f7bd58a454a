//! Decoding of bytes into a [`Source`]. For bytes that are not text, the result is a [`Diagnostic`].

use std::sync::Arc;

use crate::files::MAX_SIZE;
use crate::{Diagnostic, Source, Span, codes};

impl Source {
    /// Creates a source from the bytes of a file.
    ///
    /// # Errors
    /// [`codes::NOT_UTF8`] for bytes that are not UTF-8:
    ///
    /// - For a known binary format, such as an image, the diagnostic names the format and has no place.
    /// - For other bytes, the diagnostic states the offset of the first invalid byte, and points to this byte. For
    ///   UTF-16, it also names the byte-order mark. The diagnostic contains a copy of the text, with `U+FFFD` in place
    ///   of the invalid bytes.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Arc<Self>, Box<Diagnostic>> {
        Self::from_bytes_with_limit(name, bytes, MAX_SIZE)
    }

    /// Creates a source as [`from_bytes`](Self::from_bytes) does, with the maximum size `limit` in bytes. This
    /// function does not check the size. [`load`](crate::load()) later reports an error if the source is too large;
    /// see [`with_limit`](Self::with_limit).
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes).
    pub fn from_bytes_with_limit(
        name: impl Into<String>,
        bytes: Vec<u8>,
        limit: usize,
    ) -> Result<Arc<Self>, Box<Diagnostic>> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::with_limit(name, text, limit)),
            Err(error) => Err(not_utf8(name.into(), error.as_bytes(), error.utf8_error().valid_up_to())),
        }
    }
}

/// First bytes of binary formats, with the names of the formats.
const NO_TEXT: [(&[u8], &str); 12] = [
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an XZ archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xcf\xfa\xed\xfe", "a program"),
];

fn not_utf8(name: String, bytes: &[u8], valid: usize) -> Box<Diagnostic> {
    if let Some((_, what)) = NO_TEXT.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        let message = format!("`{name}` is {what}, and a text is needed");
        return Diagnostic::error(codes::NOT_UTF8, message).help("name another file").into();
    }
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    // `source` and `bytes` are equal up to the offset `valid`. At this offset, `source` has U+FFFD (3 bytes)
    // in place of the first invalid bytes.
    let source = Source::new(name, String::from_utf8_lossy(bytes));
    let place = source.place(Span::from(valid..valid + '\u{fffd}'.len_utf8()));
    let found = format!("byte {:#04x} at offset {valid}", bytes.get(valid).copied().unwrap_or_default());
    let (label, help) = if utf16 {
        ("a UTF-16 byte-order mark".to_owned(), "save the file as UTF-8")
    } else {
        (found.clone(), "save the file as UTF-8; bytes that are not text can be given as base64")
    };
    Diagnostic::error(codes::NOT_UTF8, format!("the text is not UTF-8: {found}"))
        .at(place)
        .label(label)
        .help(help)
        .into()
}
