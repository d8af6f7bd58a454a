//! Reads files that a user names: only regular files, up to a maximum size, without blocking.
//!
//! A path on a command line or in a document may refer to anything. For example, `/dev/zero` never ends, a
//! named pipe waits for a writer, and opening a device can have side effects. So only regular files are
//! opened. There are two exceptions, which are read up to the same maximum size: standard input, and pipes
//! that the program has inherited. For example, a shell replaces the argument `<(command)` by the path of such a
//! pipe, `/dev/fd/63`.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Default maximum size of a document in bytes: 16 MiB.
pub const MAX_SIZE: usize = 16 << 20;

/// Returns the value that a file contains, such as a password. The argument is the text of the file. If the
/// text is a single line, its line break is removed.
///
/// Editors and `echo` end a line with a line break, which is no part of a password. A text of several lines,
/// such as a key or a certificate, is returned unchanged, because programs refuse a key without its last line
/// break.
///
/// ```
/// use windlass_source::files::value;
///
/// assert_eq!(value("hunter2\n".to_owned()), "hunter2");
/// assert_eq!(value("-----BEGIN\nabc\n-----END\n".to_owned()), "-----BEGIN\nabc\n-----END\n");
/// ```
pub fn value(mut text: String) -> String {
    if text.find('\n').is_some_and(|at| at + 1 == text.len()) {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// The reason why a file is not read. Each message is a sentence fragment in which `it` means the file: ``it
/// is a folder``.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file can't be opened or read.
    Io(io::Error),
    /// The path is a folder.
    Folder,
    /// The path is a named pipe, a device or a socket. The value is the kind with an article, such as
    /// `a device`.
    NotAFile(&'static str),
    /// The path is a link to a missing file.
    DanglingLink(PathBuf),
    /// The file is larger than the limit.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => f.write_str(&in_words(error)),
            Self::Folder => f.write_str("it is a folder, and a file is needed"),
            Self::NotAFile(what) => write!(f, "it is {what}, and a regular file is needed"),
            Self::DanglingLink(target) => {
                write!(f, "it is a link to `{}`, which is not there", target.display())
            }
            Self::TooLarge { limit } => write!(f, "it has more than {}", size(*limit)),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::Io(_) => io::ErrorKind::Other,
            ReadError::Folder => io::ErrorKind::IsADirectory,
            ReadError::NotAFile(_) | ReadError::DanglingLink(_) => io::ErrorKind::InvalidInput,
            ReadError::TooLarge { .. } => io::ErrorKind::FileTooLarge,
        };
        match error {
            ReadError::Io(error) => error,
            other => Self::new(kind, other),
        }
    }
}

impl ReadError {
    /// Tells whether the path does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// Reads a file of at most `limit` bytes.
///
/// ```
/// use windlass_source::files::{MAX_SIZE, ReadError, read};
///
/// assert!(matches!(read("/dev/zero".as_ref(), MAX_SIZE), Err(ReadError::NotAFile("a device"))));
/// assert!(matches!(read("/".as_ref(), MAX_SIZE), Err(ReadError::Folder)));
/// assert!(matches!(read("/etc/passwd".as_ref(), 3), Err(ReadError::TooLarge { limit: 3 })));
/// ```
///
/// # Errors
/// See [`ReadError`]. A path that is no regular file is refused before it is opened.
pub fn read(path: &Path, limit: usize) -> Result<Vec<u8>, ReadError> {
    let (file, length) = open(path)?;
    if length > limit as u64 {
        return Err(ReadError::TooLarge { limit });
    }
    read_from(file, limit)
}

/// Reads a file as [`read`] does, and returns its content as text.
///
/// # Errors
/// The errors of [`read`]; [`ReadError::Io`] for bytes that are not UTF-8.
pub fn read_text(path: &Path, limit: usize) -> Result<String, ReadError> {
    text(read(path, limit)?)
}

/// Reads standard input, or any other open stream, up to its end.
///
/// # Errors
/// [`ReadError::TooLarge`] as soon as more than `limit` bytes have arrived.
pub fn read_from(reader: impl Read, limit: usize) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    reader.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() > limit { Err(ReadError::TooLarge { limit }) } else { Ok(bytes) }
}

/// Converts bytes to text.
///
/// # Errors
/// [`ReadError::Io`] if the bytes are not UTF-8.
pub fn text(bytes: Vec<u8>) -> Result<String, ReadError> {
    let invalid = |_| ReadError::Io(io::Error::new(io::ErrorKind::InvalidData, "the text is not UTF-8"));
    String::from_utf8(bytes).map_err(invalid)
}

/// Opens a regular file or an inherited pipe, and returns it with its length. A pipe has an unknown length, for which
/// the function returns 0. Callers that read only a part of the file, or read it piece by piece, use this function.
///
/// # Errors
/// The errors of [`read`], except [`ReadError::TooLarge`].
pub fn open(path: &Path) -> Result<(File, u64), ReadError> {
    let inherited = is_inherited(path);
    let seen = path.metadata().map_err(|error| why(path, error))?;
    refuse(&seen, inherited)?;
    // The file is opened without blocking, in case the path has become a named pipe in the meantime.
    let mut options = OpenOptions::new();
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = options.read(true).custom_flags(flags).open(path).map_err(|error| why(path, error))?;
    let opened = file.metadata().map_err(ReadError::Io)?;
    refuse(&opened, inherited)?;
    if opened.file_type().is_fifo() {
        // An inherited pipe is read with blocking, as usual. Its length is unknown.
        let flags = fcntl_getfl(&file).map_err(io::Error::from).map_err(ReadError::Io)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(io::Error::from).map_err(ReadError::Io)?;
        return Ok((file, 0));
    }
    Ok((file, opened.len()))
}

/// Checks the type of an opened file. Only a regular file and an inherited pipe are accepted. An inherited pipe is, for
/// example, the standard input in `cat a.yaml | windlass check /dev/stdin`.
///
/// `inherited` is true if the path is `/dev/stdin` or a file descriptor of this process.
fn refuse(metadata: &Metadata, inherited: bool) -> Result<(), ReadError> {
    let kind = metadata.file_type();
    if kind.is_file() || (inherited && kind.is_fifo()) {
        Ok(())
    } else if kind.is_dir() {
        Err(ReadError::Folder)
    } else if kind.is_fifo() {
        Err(ReadError::NotAFile("a named pipe"))
    } else if kind.is_socket() {
        Err(ReadError::NotAFile("a socket"))
    } else {
        Err(ReadError::NotAFile("a device"))
    }
}

fn is_inherited(path: &Path) -> bool {
    let number = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().is_ascii());
    let below = |folder: &str| path.parent() == Some(Path::new(folder)) && number(path);
    path == Path::new("/dev/stdin") || below("/dev/fd") || below("/proc/self/fd")
}

/// Returns the reason why `path` can't be opened. `error` is the error of the attempt to open it. If the path is a link
/// to a missing file, the reason names the target of the link.
fn why(path: &Path, error: io::Error) -> ReadError {
    match path.read_link() {
        Ok(target) if error.kind() == io::ErrorKind::NotFound => ReadError::DanglingLink(target),
        _ => ReadError::Io(error),
    }
}

/// Returns the text of an error as a part of a sentence: without the number of the error, and without a capital
/// letter at the start.
///
/// ```
/// let error = std::fs::read("/none").unwrap_err();
/// assert_eq!(windlass_source::files::in_words(&error), "no such file or directory");
/// ```
pub fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    let mut letters = text.split(" (os error").next().unwrap_or_default().chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Formats a number of bytes for people.
fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}
