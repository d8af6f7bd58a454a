//! The protocol between the runner (the program that runs jobs in a container) and its owner (the process
//! that submits the jobs): frames, each with a length, a kind and fields.
//!
//! This file is compiled twice: into this crate, and into the runner, which has only the standard library.
//! All numbers are little-endian. A frame starts with the length of its rest (`u32`) and its kind (`u8`). The
//! fields follow. A text or a list starts with its length as `u32`. A frame longer than [`MAX_FRAME`] is an
//! error, so neither side can make the other side buffer more bytes. Longer contents are sent in several
//! frames with at most [`CHUNK`] bytes each.
//!
//! # Message order
//! Both sides send `Hello`, the owner first, and disconnect if the versions differ. The owner chooses a
//! number for each job. The owner sends `Start`, then `Data` until all files and the stdin are sent (their
//! lengths are in the [`Spec`]). The runner sends `Started` if the job could be started, then `Output`. When
//! all of the job's processes are gone, the runner sends `Tail`, `File`, `Ended`. `Ended` is the last message
//! of a job; the job's number may be reused afterwards. Jobs don't wait for each other.

use crate::left_behind::{LEFT_BEHIND, MAX_NAME};

/// Version of the protocol. Version 2 added [`Ending::left_behind`]. Version 3 added [`Spec::path_env`] and
/// [`OutputSpec::is_folder`].
pub(crate) const VERSION: u16 = 3;

/// Maximum length of a frame in bytes, without its length field.
pub(crate) const MAX_FRAME: usize = 4 << 20;

/// Maximum number of bytes of a file or stream in one frame.
pub(crate) const CHUNK: usize = 64 << 10;

/// A message from the owner (the process that submits the jobs) to the runner (the program that runs them).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// The owner opens the connection. This is the first frame that the owner sends.
    Hello {
        /// Protocol version of the owner.
        version: u16,
        /// Time in milliseconds after which the owner counts as dead, if the runner receives no message. 0
        /// means that silence has no effect.
        lease_ms: u64,
    },
    /// Starts a job as soon as the runner has received all `Data` of the job.
    Start {
        job: u32,
        /// Description of the job. It contains the length of each input file and of the stdin. The bytes of the files
        /// and of the stdin follow in `Data` messages.
        spec: Box<Spec>,
    },
    /// Next piece of a job's input: its files in their order, then its stdin.
    Data {
        job: u32,
        /// At most [`CHUNK`] bytes.
        bytes: Vec<u8>,
    },
    /// Cancels a job. The job is killed if it has not ended after `grace_ms`. If a job is cancelled several times, the
    /// earliest time at which it would be killed counts.
    Cancel {
        job: u32,
        /// Time until the job is killed, in milliseconds.
        grace_ms: u64,
    },
    /// Checks that the runner responds, and shows that the owner is alive. The runner answers with `Pong`.
    Ping {
        /// Number that the answer repeats.
        number: u32,
    },
}

/// A message from the runner (the program that runs the jobs) to the owner (the process that submits them).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The runner answers the owner's `Hello`. This is the first frame that the runner sends.
    Hello {
        /// Protocol version of the runner.
        version: u16,
        /// Process id of the runner in its own namespace; 1 if the runner is the first process of the
        /// namespace.
        pid: u32,
    },
    /// The main process of a job was started.
    Started {
        job: u32,
        /// Start time, in milliseconds since 1970.
        at_ms: u64,
    },
    /// A job wrote output. The runner sends the first [`Spec::spill`] bytes of a stream in this way.
    Output {
        job: u32,
        /// 0 for stdout, 1 for stderr.
        stream: u8,
        bytes: Vec<u8>,
    },
    /// A piece of the end of a stream. The runner sends the last [`Spec::keep`] bytes of a stream in one or more
    /// pieces, in order. Bytes that the runner has sent as `Output` are not sent again.
    Tail {
        job: u32,
        /// 0 for stdout, 1 for stderr.
        stream: u8,
        bytes: Vec<u8>,
    },
    /// The next piece of an output. If the output is a folder, the pieces contain its files in encoded form.
    File {
        job: u32,
        /// Index of the output in [`Spec::outputs`].
        index: u32,
        bytes: Vec<u8>,
    },
    /// A job has ended: none of its processes is left, and all its files were sent.
    Ended {
        job: u32,
        /// The end of the job, with the result of each requested output.
        ending: Box<Ending>,
    },
    Pong {
        /// Number of the ping.
        number: u32,
    },
}

/// A job in the form that a runner receives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Spec {
    /// Id of the job. The variable `WINDLASS_JOB` of its processes contains the id.
    pub(crate) mark: String,
    /// Program to run: a path, or a name that is looked up in the `PATH` of `env`.
    pub(crate) program: String,
    /// Arguments after the program's name.
    pub(crate) args: Vec<String>,
    /// Environment variables. The runner sets `HOME` and `TMPDIR` if they are missing.
    pub(crate) env: Vec<(String, String)>,
    /// Environment variables whose values are absolute paths. Each pair is the name of a variable, and a path
    /// relative to the working folder. The runner makes this path absolute.
    pub(crate) path_env: Vec<(String, String)>,
    /// Files to place in the working folder.
    pub(crate) files: Vec<FileSpec>,
    /// Number of bytes of stdin.
    pub(crate) stdin: u64,
    /// Files and folders whose content the runner sends after the end of the job.
    pub(crate) outputs: Vec<OutputSpec>,
    /// Maximum run time in milliseconds.
    pub(crate) timeout_ms: u64,
    /// Grace period after the maximum run time, in milliseconds.
    pub(crate) grace_ms: u64,
    /// Maximum number of bytes that the runner forwards from the beginning of a stream. The values are for
    /// stdout and for stderr.
    pub(crate) spill: [u64; 2],
    /// Maximum number of bytes that the runner keeps from the end of a stream. Bytes that the runner has
    /// already forwarded are not kept. The values are for stdout and for stderr.
    pub(crate) keep: [u64; 2],
}

/// A file to place in the working folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FileSpec {
    /// Path relative to the working folder.
    pub(crate) path: String,
    /// Permission bits of the file.
    pub(crate) mode: u32,
    /// Length of the file in bytes.
    pub(crate) length: u64,
}

/// A file or folder whose content the runner sends after the end of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OutputSpec {
    /// Path relative to the working folder.
    pub(crate) path: String,
    /// Maximum size in bytes of the file, or of all files of the folder in total.
    pub(crate) max_bytes: u64,
    /// Whether the output is a folder. The runner creates such a folder before the start of the job. The content of the
    /// output is then the encoded form of the files in the folder (see the module `folder_content`).
    pub(crate) is_folder: bool,
}

/// The end of a job: how it ended, and its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) how: How,
    /// Start of the main process, in milliseconds since 1970; `None` if it never started.
    pub(crate) started_ms: Option<u64>,
    /// End of the job, in milliseconds since 1970.
    pub(crate) ended_ms: u64,
    /// Total bytes written to stdout and stderr.
    pub(crate) totals: [u64; 2],
    /// Result of each of [`Spec::outputs`].
    pub(crate) outputs: Vec<OutputState>,
    /// Names of the processes that still ran when the main process had ended by itself. The list contains at
    /// most [`LEFT_BEHIND`] names with at most [`MAX_NAME`] bytes each.
    pub(crate) left_behind: Vec<String>,
}

/// The way a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// The main process exited with this code.
    Exited(i32),
    /// The main process was killed by a signal that the runner did not send.
    Signalled(i32),
    /// The job exceeded its maximum run time, so the runner ended the job.
    TimedOut,
    /// The owner cancelled the job, before its start or while the job ran.
    Cancelled,
    /// The job ended because the kernel killed one of its processes for lack of memory.
    OutOfMemory,
    /// The program does not exist.
    NotFound,
    /// The program exists, but its interpreter or its dynamic loader does not exist. The text describes the
    /// missing file.
    InterpreterNotFound(String),
    /// The program can't be executed, for this reason.
    NotExecutable(String),
    /// The job could not be started, for this reason. Example: `its working folder is gone`.
    NotStarted(String),
}

/// The result of a requested output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputState {
    /// The content of the output has this many bytes.
    Content(u64),
    /// There is no output: no file or folder exists at the path, or the runner did not try to start the job.
    Missing,
    /// The file has this many bytes, which is more than allowed.
    TooLarge(u64),
    /// The path leads through a link out of the working folder. For a requested folder, any link in the path causes
    /// this state.
    Outside,
    /// The path of a requested file leads to a folder, device, pipe or socket. Or the path of a requested folder does
    /// not lead to a folder.
    NotAFile,
    /// The file or folder could not be read, for this reason.
    Unreadable(String),
}

/// The reason why bytes are not a valid frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the received data is not of this protocol: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// A buffer that assembles frames from the pieces of a byte stream.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    from: usize,
}

impl Frames {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.from == self.bytes.len() {
            self.bytes.clear();
            self.from = 0;
        } else if self.from > CHUNK {
            self.bytes.drain(..self.from);
            self.from = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame without its length field, if the frame is complete.
    ///
    /// # Errors
    /// When the frame is longer than [`MAX_FRAME`], or empty.
    pub(crate) fn next_frame(&mut self) -> Result<Option<&[u8]>, Malformed> {
        let Some((length, rest)) = self.bytes[self.from..].split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > MAX_FRAME {
            return Err(Malformed("a frame has an impossible length"));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let start = self.from + 4;
        self.from = start + length;
        Ok(Some(&self.bytes[start..self.from]))
    }
}

impl Request {
    /// Encodes the request as a frame, and appends the frame to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, lease_ms } => {
                frame(out, 0, |out| {
                    put_u16(out, *version);
                    put_u64(out, *lease_ms);
                });
            }
            Self::Start { job, spec } => {
                frame(out, 1, |out| {
                    put_u32(out, *job);
                    spec.encode(out);
                });
            }
            Self::Data { job, bytes } => encode_data(out, *job, bytes),
            Self::Cancel { job, grace_ms } => {
                frame(out, 3, |out| {
                    put_u32(out, *job);
                    put_u64(out, *grace_ms);
                });
            }
            Self::Ping { number } => frame(out, 4, |out| put_u32(out, *number)),
        }
    }

    /// Decodes a frame without its length field, as [`Frames::next_frame`] returns it.
    pub(crate) fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader(frame);
        let request = match from.u8()? {
            0 => Self::Hello { version: from.u16()?, lease_ms: from.u64()? },
            1 => Self::Start { job: from.u32()?, spec: Box::new(Spec::decode(&mut from)?) },
            2 => Self::Data { job: from.u32()?, bytes: from.rest() },
            3 => Self::Cancel { job: from.u32()?, grace_ms: from.u64()? },
            4 => Self::Ping { number: from.u32()? },
            _ => return Err(Malformed("a request is of no known kind")),
        };
        from.end()?;
        Ok(request)
    }
}

/// Appends a frame `Data` to `out`. The bytes are copied only once.
pub(crate) fn encode_data(out: &mut Vec<u8>, job: u32, bytes: &[u8]) {
    frame(out, 2, |out| {
        put_u32(out, job);
        out.extend_from_slice(bytes);
    });
}

/// Appends the frame of a reply `Output` (kind 2), `Tail` (3) or `File` (4) to `out`.
fn encode_piece(out: &mut Vec<u8>, kind: u8, job: u32, which: u32, bytes: &[u8]) {
    frame(out, kind, |out| {
        put_u32(out, job);
        put_u32(out, which);
        out.extend_from_slice(bytes);
    });
}

impl Reply {
    /// Encodes the reply as a frame, and appends the frame to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, pid } => {
                frame(out, 0, |out| {
                    put_u16(out, *version);
                    put_u32(out, *pid);
                });
            }
            Self::Started { job, at_ms } => {
                frame(out, 1, |out| {
                    put_u32(out, *job);
                    put_u64(out, *at_ms);
                });
            }
            Self::Output { job, stream, bytes } => encode_piece(out, 2, *job, u32::from(*stream), bytes),
            Self::Tail { job, stream, bytes } => encode_piece(out, 3, *job, u32::from(*stream), bytes),
            Self::File { job, index, bytes } => encode_piece(out, 4, *job, *index, bytes),
            Self::Ended { job, ending } => {
                frame(out, 5, |out| {
                    put_u32(out, *job);
                    ending.encode(out);
                });
            }
            Self::Pong { number } => frame(out, 6, |out| put_u32(out, *number)),
        }
    }

    /// Decodes a frame without its length field, as [`Frames::next_frame`] returns it.
    pub(crate) fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader(frame);
        let reply = match from.u8()? {
            0 => Self::Hello { version: from.u16()?, pid: from.u32()? },
            1 => Self::Started { job: from.u32()?, at_ms: from.u64()? },
            2 => Self::Output { job: from.u32()?, stream: from.stream()?, bytes: from.rest() },
            3 => Self::Tail { job: from.u32()?, stream: from.stream()?, bytes: from.rest() },
            4 => Self::File { job: from.u32()?, index: from.u32()?, bytes: from.rest() },
            5 => Self::Ended { job: from.u32()?, ending: Box::new(Ending::decode(&mut from)?) },
            6 => Self::Pong { number: from.u32()? },
            _ => return Err(Malformed("a reply is of no known kind")),
        };
        from.end()?;
        Ok(reply)
    }
}

impl Spec {
    /// Returns the number of bytes that the spec takes in a frame.
    pub(crate) fn encoded_length(&self) -> usize {
        let mut out = Vec::new();
        self.encode(&mut out);
        out.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_text(out, &self.mark);
        put_text(out, &self.program);
        put_list(out, &self.args, |out, arg| put_text(out, arg));
        for pairs in [&self.env, &self.path_env] {
            put_list(out, pairs, |out, (name, value)| {
                put_text(out, name);
                put_text(out, value);
            });
        }
        put_list(out, &self.files, |out, file| {
            put_text(out, &file.path);
            put_u32(out, file.mode);
            put_u64(out, file.length);
        });
        put_u64(out, self.stdin);
        put_list(out, &self.outputs, |out, output| {
            put_text(out, &output.path);
            put_u64(out, output.max_bytes);
            out.push(u8::from(output.is_folder));
        });
        for number in
            [self.timeout_ms, self.grace_ms, self.spill[0], self.spill[1], self.keep[0], self.keep[1]]
        {
            put_u64(out, number);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            mark: from.text()?,
            program: from.text()?,
            args: from.list(Reader::text)?,
            env: from.pairs()?,
            path_env: from.pairs()?,
            files: from
                .list(|from| Ok(FileSpec { path: from.text()?, mode: from.u32()?, length: from.u64()? }))?,
            stdin: from.u64()?,
            outputs: from.list(|from| {
                let (path, max_bytes, is_folder) = (from.text()?, from.u64()?, from.u8()? == 1);
                Ok(OutputSpec { path, max_bytes, is_folder })
            })?,
            timeout_ms: from.u64()?,
            grace_ms: from.u64()?,
            spill: [from.u64()?, from.u64()?],
            keep: [from.u64()?, from.u64()?],
        })
    }
}

impl Ending {
    fn encode(&self, out: &mut Vec<u8>) {
        self.how.encode(out);
        put_u64(out, self.started_ms.map_or(0, |at| at.saturating_add(1)));
        put_u64(out, self.ended_ms);
        put_u64(out, self.totals[0]);
        put_u64(out, self.totals[1]);
        put_list(out, &self.outputs, |out, state| state.encode(out));
        put_list(out, &self.left_behind, |out, name| put_text(out, name));
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            how: How::decode(from)?,
            started_ms: from.u64()?.checked_sub(1),
            ended_ms: from.u64()?,
            totals: [from.u64()?, from.u64()?],
            outputs: from.list(OutputState::decode)?,
            left_behind: from.names()?,
        })
    }
}

impl How {
    fn encode(&self, out: &mut Vec<u8>) {
        let (kind, number, text) = match self {
            Self::Exited(code) => (0, *code, ""),
            Self::Signalled(signal) => (1, *signal, ""),
            Self::TimedOut => (2, 0, ""),
            Self::Cancelled => (3, 0, ""),
            Self::OutOfMemory => (4, 0, ""),
            Self::NotFound => (5, 0, ""),
            Self::InterpreterNotFound(name) => (6, 0, name.as_str()),
            Self::NotExecutable(why) => (7, 0, why.as_str()),
            Self::NotStarted(why) => (8, 0, why.as_str()),
        };
        out.push(kind);
        put_u32(out, number.cast_unsigned());
        put_text(out, text);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, number, text) = (from.u8()?, from.u32()?.cast_signed(), from.text()?);
        Ok(match kind {
            0 => Self::Exited(number),
            1 => Self::Signalled(number),
            2 => Self::TimedOut,
            3 => Self::Cancelled,
            4 => Self::OutOfMemory,
            5 => Self::NotFound,
            6 => Self::InterpreterNotFound(text),
            7 => Self::NotExecutable(text),
            8 => Self::NotStarted(text),
            _ => return Err(Malformed("an end is of no known kind")),
        })
    }
}

impl OutputState {
    fn encode(&self, out: &mut Vec<u8>) {
        let (kind, number, text) = match self {
            Self::Content(bytes) => (0, *bytes, ""),
            Self::Missing => (1, 0, ""),
            Self::TooLarge(bytes) => (2, *bytes, ""),
            Self::Outside => (3, 0, ""),
            Self::NotAFile => (4, 0, ""),
            Self::Unreadable(why) => (5, 0, why.as_str()),
        };
        out.push(kind);
        put_u64(out, number);
        put_text(out, text);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, number, text) = (from.u8()?, from.u64()?, from.text()?);
        Ok(match kind {
            0 => Self::Content(number),
            1 => Self::Missing,
            2 => Self::TooLarge(number),
            3 => Self::Outside,
            4 => Self::NotAFile,
            5 => Self::Unreadable(text),
            _ => return Err(Malformed("an output is of no known kind")),
        })
    }
}

fn frame(out: &mut Vec<u8>, kind: u8, fields: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.push(kind);
    fields(out);
    // The caller keeps the frame short enough. The receiver refuses a frame that is too long.
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn put_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u32(out, u32::try_from(text.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(text.as_bytes());
}

fn put_list<T>(out: &mut Vec<u8>, items: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    put_u32(out, u32::try_from(items.len()).unwrap_or(u32::MAX));
    for item in items {
        put(out, item);
    }
}

/// A reader that takes fields from the front of a frame.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed("a frame is too short"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.take::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn stream(&mut self) -> Result<u8, Malformed> {
        match self.u32()? {
            0 => Ok(0),
            1 => Ok(1),
            _ => Err(Malformed("there are two streams")),
        }
    }

    fn text(&mut self) -> Result<String, Malformed> {
        let length = self.u32()? as usize;
        if length > self.0.len() {
            return Err(Malformed("a text is longer than its frame"));
        }
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| Malformed("a text is not UTF-8"))
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, Malformed>) -> Result<Vec<T>, Malformed> {
        let length = self.u32()? as usize;
        // Every item takes at least one byte. So a forged length can't make this code allocate more memory
        // than was sent.
        if length > self.0.len() {
            return Err(Malformed("a list is longer than its frame"));
        }
        (0..length).map(|_| item(self)).collect()
    }

    fn pairs(&mut self) -> Result<Vec<(String, String)>, Malformed> {
        self.list(|from| Ok((from.text()?, from.text()?)))
    }

    fn names(&mut self) -> Result<Vec<String>, Malformed> {
        let names = self.list(Self::text)?;
        if names.len() > LEFT_BEHIND || names.iter().any(|name| name.len() > MAX_NAME) {
            return Err(Malformed("the names of leftover processes are too many or too long"));
        }
        Ok(names)
    }

    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }

    fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("a frame is too long")) }
    }
}
