//! The file `job.json` in a job's folder. The first line describes the job, and the second line states the
//! end of the job.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    End, Limits, OnOwnerDeath, OutputRequest, Owner, Stream, Timestamp,
    bwrap::plan::SandboxPlan,
    confine::Confinement,
    outcome::Version,
    process::layout::{JobFolder, read_if_there},
};

/// The content of `job.json`.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) job: JobRecord,
    /// Offset of the second line.
    pub(crate) end_at: u64,
    pub(crate) ending: Option<Ending>,
}

/// Reads the file `job.json`; `None` if the file does not exist.
///
/// The first line describes the job, and the second line states the end of the job. If the second line does not end
/// with a line break, the function ignores the line. In this case, the line is still being written, or its writer died.
///
/// # Errors
/// All errors of reading. [`io::ErrorKind::InvalidData`] when the file is no JSON: a power cut may have truncated it.
/// [`io::ErrorKind::Unsupported`] when the file is JSON, but not of this version. A later version of this program may
/// have written it.
pub(crate) fn read(folder: &JobFolder) -> io::Result<Option<Record>> {
    let Some(bytes) = read_if_there(&folder.record())? else { return Ok(None) };
    let first = bytes.iter().position(|byte| *byte == b'\n');
    let (job, rest) = first.map_or((&bytes[..], None), |end| (&bytes[..end], Some(&bytes[end + 1..])));
    let ending = match rest.and_then(|rest| rest.strip_suffix(b"\n")) {
        Some(line) => Some(from_json(line)?),
        // Earlier versions wrote a second file in place of the second line.
        None => read_if_there(&folder.former_ending())?.map(|bytes| from_json(&bytes)).transpose()?,
    };
    Ok(Some(Record { job: from_json(job)?, end_at: job.len() as u64 + 1, ending }))
}

/// The first line of `job.json`: the description of a job. The line contains everything that the supervisor needs to
/// run the job, except stdin and the files. The contents of stdin and of the files may be secret, so the line does not
/// contain them. The line also contains the owner, by which later processes find the job. The line lists all
/// environment variables, so that people can read them later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRecord {
    pub(crate) version: Version,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// Whether the folder contains a file `stdin`.
    pub(crate) stdin: bool,
    pub(crate) outputs: Vec<OutputRequest>,
    pub(crate) limits: Limits,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) owner: Owner,
    pub(crate) on_owner_death: OnOwnerDeath,
    #[serde(default, skip_serializing_if = "Confinement::is_none")]
    pub(crate) confinement: Confinement,
    /// Plan of the job's sandbox, if the job runs in a sandbox.
    #[serde(rename = "room", default, skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<SandboxPlan>,
}

/// The second line of `job.json`: the end of a job. The output of the job is in other files of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ending {
    pub(crate) version: Version,
    pub(crate) end: End,
    pub(crate) started: Option<Timestamp>,
    pub(crate) ended: Timestamp,
    /// Number of bytes that the job wrote to stdout. The folder of the job may contain only some of these bytes.
    pub(crate) stdout: u64,
    /// Number of bytes that the job wrote to stderr. The folder may contain only some of them.
    pub(crate) stderr: u64,
    /// Names of the processes that the job left running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_behind: Vec<String>,
}

impl Ending {
    /// Returns the ending of a job that was never started. The ending has no start time and no output. `end` tells
    /// why the job was not started, for example [`End::Cancelled`] if it was cancelled in the queue.
    pub(crate) fn unstarted(end: End) -> Self {
        Self {
            version: Version,
            end,
            started: None,
            ended: Timestamp::now(),
            stdout: 0,
            stderr: 0,
            left_behind: Vec::new(),
        }
    }

    pub(crate) fn total(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }

    /// Writes this ending as the second line of `job.json`, in one call. The line begins at the offset `end_at`. If
    /// `durable` is true, the line also survives a power cut. The caller may repeat the call after an error.
    ///
    /// Written data is in the kernel, so it survives the death of this process. Only a power cut loses data that
    /// was not flushed to the disk. A flush takes much time. So callers set `durable` only for jobs that must not
    /// run twice ([`OnOwnerDeath::Finish`]).
    pub(crate) fn write(&self, folder: &JobFolder, end_at: u64, durable: bool) -> io::Result<()> {
        let file = File::options().write(true).open(folder.record())?;
        file.write_all_at(&line(self)?, end_at)?;
        if durable { file.sync_data() } else { Ok(()) }
    }
}

/// Returns `value` as JSON on one line, with a line break at the end.
pub(crate) fn line<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = to_json(value)?;
    line.push(b'\n');
    Ok(line)
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(io::Error::other)
}

/// Parses a value from JSON.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] when `bytes` is not valid JSON. [`io::ErrorKind::Unsupported`] when the JSON does not
/// describe a `T`.
pub(crate) fn from_json<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> io::Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        let kind = if error.is_data() { io::ErrorKind::Unsupported } else { io::ErrorKind::InvalidData };
        io::Error::new(kind, error)
    })
}

/// Creates a file, or truncates an existing file. `mode` defines who can read a new file.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(mode).open(path)
}

/// Flushes the names in a folder to the disk, so that they survive a power cut.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB_1: &str = r#"{"version":1,"program":"sh","args":["-c","true"],"env":{"A":"1"},"stdin":false,"outputs":[{"name":"o","path":"a/b","max_bytes":9}],"limits":{"timeout":{"secs":3600,"nanos":0},"grace":{"secs":5,"nanos":0},"stdout_bytes":4194304,"stderr_bytes":262144,"spill_bytes":67108864,"memory_bytes":null,"pids":null,"cpu_millis":null},"labels":{},"owner":"nobody","on_owner_death":"finish"}"#;
    const OUTCOME_1: &str = r#"{"version":1,"end":{"exited":7},"started":1,"ended":2,"stdout":3,"stderr":4}"#;

    fn record(files: &[(&str, &str)]) -> io::Result<Option<Record>> {
        let dir = tempfile::tempdir()?;
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text)?;
        }
        read(&JobFolder::at(dir.path().to_owned()))
    }

    #[test]
    fn records_of_version_1_are_read_and_written_the_same() {
        let record: JobRecord = from_json(JOB_1.as_bytes()).unwrap();
        assert_eq!(to_json(&record).unwrap(), JOB_1.as_bytes());
        let ending: Ending = from_json(OUTCOME_1.as_bytes()).unwrap();
        assert_eq!(to_json(&ending).unwrap(), OUTCOME_1.as_bytes());
    }

    #[test]
    fn the_plan_of_a_sandbox_is_read_and_written_as_room() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let room = format!(
            r#","room":{{"bwrap":"/usr/bin/bwrap","image":"/images/x","digest":"{digest}","network":"none","uid":1000,"gid":1000,"tmp_bytes":9,"volumes":[{{"host":"/volumes/v","path":"/v"}}]}}}}"#
        );
        let text = format!("{}{room}", JOB_1.strip_suffix('}').unwrap());
        let record: JobRecord = from_json(text.as_bytes()).unwrap();
        assert_eq!(record.sandbox.as_ref().unwrap().volumes[0].path, "/v");
        assert_eq!(String::from_utf8(to_json(&record).unwrap()).unwrap(), text);
    }

    #[test]
    fn an_end_counts_when_its_line_is_whole() {
        let (half, whole) = (format!("{JOB_1}\n{OUTCOME_1}"), format!("{JOB_1}\n{OUTCOME_1}\n"));
        for (text, ended) in [(JOB_1.to_owned() + "\n", false), (half, false), (whole, true)] {
            let record = record(&[("job.json", &text)]).unwrap().unwrap();
            assert_eq!(record.ending.is_some(), ended, "{text}");
            assert_eq!(record.end_at, JOB_1.len() as u64 + 1);
        }
    }

    #[test]
    fn an_end_in_a_file_of_its_own_is_read() {
        let record = record(&[("job.json", JOB_1), ("outcome.json", OUTCOME_1)]).unwrap().unwrap();
        assert_eq!(record.ending.unwrap().end, End::Exited(7));
    }

    #[test]
    fn where_there_is_none_there_is_none_and_half_a_one_is_an_error() {
        assert!(record(&[]).unwrap().is_none());
        assert_eq!(record(&[("job.json", "{")]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_newer_or_unknown_record_is_not_mistaken_for_half_a_one() {
        let newer = |text: &str| text.replace("\"version\":1", "\"version\":2");
        let unknown = |text: &str| text.replace("\"version\":1", "\"version\":1,\"later\":true");
        for text in [
            newer(JOB_1),
            unknown(JOB_1),
            format!("{JOB_1}\n{}\n", newer(OUTCOME_1)),
            format!("{JOB_1}\n{}\n", unknown(OUTCOME_1)),
        ] {
            let error = record(&[("job.json", &text)]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{text}");
        }
        let error = record(&[("job.json", &newer(JOB_1))]).unwrap_err();
        assert!(error.to_string().starts_with("version 2 is newer"), "{error}");
    }
}
