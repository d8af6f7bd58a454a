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
/// Callers and runtimes store the serialised form of an outcome. It contains `version: 1`.
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
    /// Time when the job ended, or when the runtime noticed that it had ended.
    pub ended: Timestamp,
    /// Digest of the job's image, on runtimes that have images.
    pub image_digest: Option<String>,
    /// Names of the processes that still ran when the main process of the job exited. The runtime has killed
    /// these processes. The list contains at most 8 names, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
}

impl Outcome {
    /// Creates an outcome without output. `ended` is the time of the end.
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
    /// The main process of the job exited with this code, from 0 to 255. The runtime never uses an exit code
    /// to report its own errors, so the codes 126, 127 and 137 also come from the job itself.
    Exited(i32),
    /// A signal killed the job. The runtime did not send this signal.
    Signalled(i32),
    /// The job was killed because it exceeded its time limit.
    TimedOut,
    /// The job was killed for one of three reasons:
    ///
    /// - A caller [cancelled](crate::Runtime::cancel) the job, perhaps before it started.
    /// - The process that submitted the job died, and the setting of the job is
    ///   [`OnOwnerDeath::Kill`](crate::OnOwnerDeath::Kill).
    /// - The supervisor of the job got SIGTERM.
    Cancelled,
    /// The job ended because the kernel killed one of its processes for lack of memory.
    OutOfMemory,
    /// The job could not be started.
    NotStarted(StartFailure),
    /// The job was started, and its end is unknown, for example because its supervisor was killed. The text
    /// is the reason.
    Lost(String),
}

impl End {
    /// Returns the text of `Display`. If the job exceeded its time limit or its memory limit, the text also
    /// contains this limit from `limits`.
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
    /// The program does not exist.
    #[error("there is no program `{program}`")]
    NotFound {
        /// The program as the job names it.
        program: String,
    },
    /// The program exists, but its dynamic loader does not exist, or the interpreter in its `#!` line does not exist.
    #[error("`{program}` is there, but its interpreter `{interpreter}` is not")]
    InterpreterNotFound {
        /// The program as the job names it.
        program: String,
        /// A text that names the missing file: its path, such as `/bin/bash`, or the words `its dynamic loader`.
        interpreter: String,
    },
    /// The program exists, but it can't be executed.
    #[error("`{program}` can't be run: {why}")]
    NotExecutable {
        /// The program as the job names it.
        program: String,
        /// The reason why the program can't be executed, as text for people.
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
    /// Another reason, as text.
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
    /// The files directly in a folder, by name. No value of the map is `Files`.
    Files(BTreeMap<String, Output>),
    /// The file or folder does not exist.
    Missing,
    /// The file is larger than the request allows. For a file in a requested folder: the file is larger than what is
    /// left of the folder's limit.
    TooLarge {
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// The output was not read, because its path contains a forbidden symbolic link. In the path of a requested
    /// file, a link is forbidden if it leads out of the working folder. In the path of a requested folder, every
    /// link is forbidden.
    Outside,
    /// The output has the wrong kind, in one of three ways:
    ///
    /// - A requested file is a folder, a device, a pipe or a socket.
    /// - An entry of a requested folder is a subfolder, a link, a device, a pipe or a socket.
    /// - The path of a requested folder is not a folder.
    NotAFile,
    /// The file or folder could not be read, for this reason.
    Unreadable(String),
}

#[cfg(any(feature = "process", feature = "docker"))]
impl Output {
    /// Converts the files of a requested folder into an output. An `Err` is the reason why the files can't be
    /// listed.
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

    /// Completes an output that a program inside a container has sent. If `kind` is a folder, the function
    /// decodes the content into the files of the folder.
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
    /// Writes only the size of the file's content, because the content may hold secrets.
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

/// The entry `version: 1` of a stored JSON form.
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

    /// An outcome in the stored form with `version: 1`. Every later version of the crate must be able to read
    /// this form.
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
