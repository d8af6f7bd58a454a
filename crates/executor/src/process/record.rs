//! The two records in a job's folder: what is run, and how it ended.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    End, Limits, OnOwnerDeath, OutputRequest, Owner, Stream, Timestamp, outcome::Version,
    process::layout::JobFolder,
};

/// `job.json`: all that the supervisor needs to run a job, and an owner to find it again. It holds the whole
/// environment, so that what a job saw can be read afterwards, and nothing secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRecord {
    pub(crate) version: Version,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// Whether there is a file `stdin`.
    pub(crate) stdin: bool,
    pub(crate) outputs: Vec<OutputRequest>,
    pub(crate) limits: Limits,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) owner: Owner,
    pub(crate) on_owner_death: OnOwnerDeath,
}

/// `outcome.json`: how a job ended. What it wrote and left is in the files beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ending {
    pub(crate) version: Version,
    pub(crate) end: End,
    pub(crate) started: Option<Timestamp>,
    pub(crate) ended: Timestamp,
    /// How many bytes the job wrote to each stream.
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

impl Ending {
    /// The ending of a job that never ran.
    pub(crate) fn unstarted(end: End) -> Self {
        Self { version: Version, end, started: None, ended: Timestamp::now(), stdout: 0, stderr: 0 }
    }

    pub(crate) fn total(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }

    /// Writes the record so that it is there as a whole or not at all; with `durable`, so that it outlasts a
    /// power cut too.
    ///
    /// A process that dies, however it dies, loses nothing that it has written: the kernel has it. Only a power
    /// cut does, and only a job that must not run twice ([`OnOwnerDeath::Finish`]) is worth the disk's time.
    pub(crate) fn write(&self, folder: &JobFolder, durable: bool) -> io::Result<()> {
        let path = folder.ending();
        let fresh = path.with_extension("new");
        let mut file = create(&fresh, 0o600)?;
        file.write_all(&to_json(self)?)?;
        if durable {
            file.sync_data()?;
        }
        fs::rename(&fresh, &path)?;
        if durable { sync_folder(folder.path()) } else { Ok(()) }
    }
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(io::Error::other)
}

pub(crate) fn from_json<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> io::Result<T> {
    serde_json::from_slice(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Creates a file, emptied if it was there, that only we can read.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(mode).open(path)
}

/// Makes the names in a folder outlast a power cut.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB_1: &str = r#"{"version":1,"program":"sh","args":["-c","true"],"env":{"A":"1"},"stdin":false,"outputs":[{"name":"o","path":"a/b","max_bytes":9}],"limits":{"timeout":{"secs":3600,"nanos":0},"grace":{"secs":5,"nanos":0},"stdout_bytes":4194304,"stderr_bytes":262144,"spill_bytes":67108864,"memory_bytes":null,"pids":null,"cpu_millis":null},"labels":{},"owner":"nobody","on_owner_death":"finish"}"#;
    const OUTCOME_1: &str = r#"{"version":1,"end":{"exited":7},"started":1,"ended":2,"stdout":3,"stderr":4}"#;

    #[test]
    fn records_of_version_1_are_read_and_written_the_same() {
        let record: JobRecord = from_json(JOB_1.as_bytes()).unwrap();
        assert_eq!(to_json(&record).unwrap(), JOB_1.as_bytes());
        let ending: Ending = from_json(OUTCOME_1.as_bytes()).unwrap();
        assert_eq!(to_json(&ending).unwrap(), OUTCOME_1.as_bytes());
    }
}
