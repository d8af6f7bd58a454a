//! The outcome of a job: how it ended, and its outputs.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

#[cfg(any(feature = "process", feature = "docker"))]
use crate::folder_content::{FileState, NamedFile, Unlisted};
use crate::{Captured, Limits, Timestamp};
#[cfg(feature = "docker")]
use crate::{OutputKind, folder_content};

/// The outcome of a job: how it ended, its streams, and its outputs.
///
/// The serialised form of an outcome is persisted and carries `version: 1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    version: Version,
    /// How the job ended.
    pub end: End,
    /// Captured standard output of the job.
    pub stdout: Captured,
    /// Captured standard error of the job.
    pub stderr: Captured,
    /// Result of each requested output, by name.
    pub outputs: BTreeMap<String, Output>,
    /// Start time; `None` if the job never started.
    pub started: Option<Timestamp>,
    /// Time when the job ended, or was found to have ended.
    pub ended: Timestamp,
    /// Digest of the job's image, on runtimes that have images.
    pub image_digest: Option<String>,
    /// Names of the processes that were still running when the job exited, and were killed then. At most 8,
    /// each name once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
}

impl Outcome {
    /// Creates an outcome with this end and time, without output.
    pub fn new(end: End, ended: Timestamp) -> Self {
        Self {
            version: Version,
            end,
            stdout: Captured::default(),
            stderr: Captured::default(),
            outputs: BTreeMap::new(),
            started: None,
            ended,
            image_digest: None,
            left_behind: Vec::new(),
        }
    }

    /// Tells whether the job exited with code 0.
    pub fn success(&self) -> bool {
        self.end == End::Exited(0)
    }
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// The job exited by itself with this code, 0 to 255. 126, 127 and 137 have no special meaning.
    Exited(i32),
    /// The job was killed by this signal, which the runtime did not send.
    Signalled(i32),
    /// The job was killed because it exceeded its time limit.
    TimedOut,
    /// The job was killed because it was [cancelled](crate::Runtime::cancel), perhaps before it started, or
    /// because its owner died ([`OnOwnerDeath::Kill`](crate::OnOwnerDeath::Kill)).
    Cancelled,
    /// The job was killed because it exceeded its memory limit.
    OutOfMemory,
    /// The job could not be started.
    NotStarted(StartFailure),
    /// The job was started and its end is unknown: the host, its supervisor or its engine went away. The text
    /// is the reason.
    Lost(String),
}

impl End {
    /// Returns the text of `Display`, with the limit that the job exceeded.
    pub fn under(&self, limits: &Limits) -> String {
        match self {
            Self::TimedOut => format!("{self} (it had {:?})", limits.timeout),
            Self::OutOfMemory => match limits.memory_bytes {
                Some(bytes) => format!("{self} (it had {bytes} bytes)"),
                None => self.to_string(),
            },
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for End {
    /// Writes a fragment that completes "the job …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signalled(signal) => write!(f, "was ended by signal {signal}"),
            Self::TimedOut => f.write_str("ran out of time"),
            Self::Cancelled => f.write_str("was cancelled"),
            Self::OutOfMemory => f.write_str("ran out of memory"),
            Self::NotStarted(failure) => write!(f, "could not be started: {failure}"),
            Self::Lost(why) => write!(f, "was lost: {why}"),
        }
    }
}

/// The reason why a job could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartFailure {
    /// There is no such program.
    #[error("there is no program `{program}`")]
    NotFound {
        /// The program as the job names it.
        program: String,
    },
    /// The program exists, but the interpreter of its `#!` line or its loader does not.
    #[error("`{program}` is there, but its interpreter `{interpreter}` is not")]
    InterpreterNotFound {
        /// The program as the job names it.
        program: String,
        /// The interpreter as the program names it.
        interpreter: String,
    },
    /// The program exists, but it can't be executed.
    #[error("`{program}` can't be run: {why}")]
    NotExecutable {
        /// The program as the job names it.
        program: String,
        /// The reason, for people.
        why: String,
    },
    /// The image does not exist, neither locally nor in its registry.
    #[error("there is no image `{image}`: {why}")]
    ImageNotFound {
        /// The image as the job names it.
        image: String,
        /// Error text of the component that searched for the image.
        why: String,
    },
    /// The working folder was removed before the job started.
    #[error("its working folder is gone")]
    NoWorkingFolder,
    /// Any other reason; the text is the operating system's.
    #[error("{0}")]
    Other(String),
}

/// The result of a requested output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Output {
    /// Content of the file.
    Content(#[serde(with = "crate::bytes")] Vec<u8>),
    /// The files directly in a folder, by name. No entry is `Files` itself.
    Files(BTreeMap<String, Output>),
    /// The file or folder does not exist.
    Missing,
    /// The file is larger than the request allows.
    TooLarge {
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// The file is a link that leads out of the working folder. It was not followed.
    Outside,
    /// For a file: the path is a folder, device, pipe or socket; inside a requested folder, also a link. For
    /// a requested folder: the path is not a folder.
    NotAFile,
    /// The file could not be read; the text is the operating system's.
    Unreadable(String),
}

#[cfg(any(feature = "process", feature = "docker"))]
impl Output {
    /// Returns the output for the files of a folder, or the reason why they can't be listed.
    pub(crate) fn of_folder(files: Result<Vec<NamedFile>, Unlisted>) -> Self {
        let of_file = |(name, state)| {
            let output = match state {
                FileState::Content(bytes) => Self::Content(bytes),
                FileState::TooLarge(bytes) => Self::TooLarge { bytes },
                FileState::NotAFile => Self::NotAFile,
                FileState::Unreadable(why) => Self::Unreadable(why),
            };
            (name, output)
        };
        match files {
            Ok(files) => Self::Files(files.into_iter().map(of_file).collect()),
            Err(Unlisted::Missing) => Self::Missing,
            Err(Unlisted::Outside) => Self::Outside,
            Err(Unlisted::NotAFolder) => Self::NotAFile,
            Err(Unlisted::Unreadable(why)) => Self::Unreadable(why),
        }
    }

    /// Returns the output for a request, from the content that a program inside a container sent. The content
    /// of a folder is decoded into its files.
    #[cfg(feature = "docker")]
    pub(crate) fn received(self, kind: OutputKind) -> Self {
        match (kind, self) {
            (OutputKind::Folder, Self::Content(bytes)) => match folder_content::decode(&bytes) {
                Some(files) => Self::of_folder(Ok(files)),
                None => Self::Unreadable("its list of files is damaged".to_owned()),
            },
            (_, output) => output,
        }
    }
}

impl fmt::Debug for Output {
    /// Writes only the size of a content, since it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(bytes) => write!(f, "Content({} bytes)", bytes.len()),
            other => write!(f, "{other}"),
        }
    }
}

impl fmt::Display for Output {
    /// Writes a fragment that completes "the output …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(bytes) => write!(f, "has {} bytes", bytes.len()),
            Self::Files(files) => write!(f, "has {} files", files.len()),
            Self::Missing => f.write_str("is missing"),
            Self::TooLarge { bytes } => write!(f, "is too large ({bytes} bytes)"),
            Self::Outside => f.write_str("is a link that leads out of the working folder"),
            Self::NotAFile => f.write_str("is not a regular file"),
            Self::Unreadable(why) => write!(f, "can't be read: {why}"),
        }
    }
}

/// The `version: 1` of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub(crate) struct Version;

impl From<Version> for u32 {
    fn from(_: Version) -> Self {
        1
    }
}

impl TryFrom<u32> for Version {
    type Error = String;

    fn try_from(version: u32) -> Result<Self, String> {
        if version == 1 {
            Ok(Self)
        } else {
            Err(format!("version {version} is newer than this program knows (1)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Outcome {
        let mut outcome = Outcome::new(End::Exited(3), Timestamp::from_millis(1_700_000_000_500));
        outcome.started = Some(Timestamp::from_millis(1_700_000_000_000));
        outcome.stdout = Captured::whole(*b"ok\n");
        outcome.stderr = Captured::whole(*b"\xff");
        outcome.outputs.insert("result".to_owned(), Output::Content(b"42".to_vec()));
        outcome.outputs.insert("log".to_owned(), Output::TooLarge { bytes: 9 });
        outcome
    }

    /// A record of format version 1. Every later version must read it.
    const VERSION_1: &str = r#"{"version":1,"end":{"exited":3},"stdout":{"head":"ok\n","tail":"","total":3,"spill":null},"stderr":{"head":{"hex":"ff"},"tail":"","total":1,"spill":null},"outputs":{"log":{"too_large":{"bytes":9}},"result":{"content":"42"}},"started":1700000000000,"ended":1700000000500,"image_digest":null}"#;

    #[test]
    fn a_record_of_version_1_is_read_and_written_the_same() {
        assert_eq!(serde_json::from_str::<Outcome>(VERSION_1).unwrap(), example());
        assert_eq!(serde_json::to_string(&example()).unwrap(), VERSION_1);
    }

    #[test]
    fn a_newer_record_is_refused_by_its_version() {
        let newer = VERSION_1.replace("\"version\":1", "\"version\":2");
        let error = serde_json::from_str::<Outcome>(&newer).unwrap_err();
        assert!(error.to_string().starts_with("version 2 is newer"), "{error}");
    }

    #[test]
    fn every_end_reads_back() {
        let not_started = StartFailure::InterpreterNotFound { program: "a".into(), interpreter: "b".into() };
        for end in [
            End::Exited(0),
            End::Signalled(9),
            End::TimedOut,
            End::Cancelled,
            End::OutOfMemory,
            End::NotStarted(not_started),
            End::Lost("why".into()),
        ] {
            let text = serde_json::to_string(&end).unwrap();
            assert_eq!(serde_json::from_str::<End>(&text).unwrap(), end, "{text}");
        }
    }
}
