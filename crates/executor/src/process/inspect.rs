//! Reads the state of a job from its folder, which is the source of truth for all processes.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::Path,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use crate::{
    Captured, End, Outcome, Output, OutputKind, OutputRequest, Stream, Timestamp, folder_content,
    output_file::{self, Unopened},
    process::{
        layout::{JobFolder, read_if_there},
        memory, procfs,
        record::{self, Ending, JobRecord},
        wire::Written,
    },
};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FolderState {
    Absent,
    /// The supervisor lives and has not written the end of the job.
    Running,
    /// The job has ended. The file `job.json` in the folder states how.
    Ended(Ending),
    /// The supervisor died before it wrote the end of the job.
    Gone,
}

/// Determines the state of a job by two tests: whether the file `job.json` records the end of the job, and whether the
/// supervisor holds its lock on the job's folder.
pub(crate) fn inspect(folder: &JobFolder) -> io::Result<FolderState> {
    if let Some(ending) = ending(folder)? {
        return Ok(FolderState::Ended(ending));
    }
    let lock = match File::open(folder.path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FolderState::Absent),
        opened => opened?,
    };
    match flock(&lock, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Ok(FolderState::Running),
        Err(errno) => Err(errno.into()),
        // The supervisor writes the end first, and then releases the lock. Both events may have happened
        // between the first read and this lock.
        Ok(()) => match ending(folder)? {
            Some(ending) => Ok(FolderState::Ended(ending)),
            None if folder.path().exists() => Ok(FolderState::Gone),
            None => Ok(FolderState::Absent),
        },
    }
}

fn ending(folder: &JobFolder) -> io::Result<Option<Ending>> {
    match record::read(folder) {
        // A power cut has truncated the file `job.json`. So the file does not contain the end of the job.
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(None),
        record => Ok(record?.and_then(|record| record.ending)),
    }
}

/// Kills the remaining processes of a job whose supervisor is dead. The job's main process died with the
/// supervisor, but other processes may have survived.
pub(crate) fn end_leftovers(folder: &JobFolder) -> io::Result<()> {
    let sandbox = fs::read_link(folder.sandbox_link()).ok();
    procfs::end_marked(|mark| mark == folder.path() || sandbox.as_deref() == Some(mark))
}

/// Builds the outcome of an ended job from `ending`, the stored streams and the output files of the job.
pub(crate) fn outcome(folder: &JobFolder, ending: &Ending) -> io::Result<Outcome> {
    let mut outcome = remains(folder, ending.end.clone(), ending.ended, |stream| Some(ending.total(stream)))?;
    outcome.started = ending.started;
    outcome.left_behind.clone_from(&ending.left_behind);
    Ok(outcome)
}

/// Builds the outcome of a job from the supervisor's reply. The function does not read the job's folder: `folder` gives
/// only the paths of the stored streams. The caller uses this function for each lost job. It also uses this function
/// for a job without output files, if the reply contains all bytes of stdout and stderr. If a job is not lost, the
/// result equals that of [`outcome`], which reads the folder.
///
/// The result lacks the digest of the job's image, because the reply does not contain the digest. The caller adds
/// the digest.
pub(crate) fn outcome_from_reply(folder: &JobFolder, ending: Ending, written: [Written; 2]) -> Outcome {
    let [stdout, stderr] = written;
    let captured = |stream, Written(bytes): Written| {
        let spill = (!bytes.is_empty()).then(|| folder.spill(stream));
        Captured::whole(bytes).with_spill(spill)
    };
    let mut outcome = Outcome::new(ending.end, ending.ended);
    outcome.started = ending.started;
    outcome.left_behind = ending.left_behind;
    outcome.stdout = captured(Stream::Stdout, stdout);
    outcome.stderr = captured(Stream::Stderr, stderr);
    outcome
}

/// Builds the outcome of a lost job from the files that remain.
pub(crate) fn lost(folder: &JobFolder, why: &str) -> io::Result<Outcome> {
    remains(folder, End::Lost(why.to_owned()), Timestamp::now(), |_| None)
}

fn remains(
    folder: &JobFolder,
    end: End,
    ended: Timestamp,
    total: impl Fn(Stream) -> Option<u64>,
) -> io::Result<Outcome> {
    // A power cut may have left the folder incomplete.
    let record = record::read(folder).ok().flatten().map(|record| record.job);
    let mut outcome = Outcome::new(end, ended);
    if let Some(JobRecord { limits, outputs, sandbox, .. }) = record {
        outcome.image_digest = sandbox.map(|sandbox| sandbox.digest.to_string());
        outcome.stdout = captured(folder, Stream::Stdout, total(Stream::Stdout), limits.stdout_bytes)?;
        outcome.stderr = captured(folder, Stream::Stderr, total(Stream::Stderr), limits.stderr_bytes)?;
        outcome.outputs = collect(&folder.work(), &outputs);
    }
    Ok(outcome)
}

/// Reads up to `keep` bytes of a stream from the files in which it was stored: one half from the beginning of
/// the stream, and the other half from its end.
fn captured(folder: &JobFolder, stream: Stream, total: Option<u64>, keep: u64) -> io::Result<Captured> {
    let path = folder.spill(stream);
    let mut file = match memory::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Captured::new([], [], total.unwrap_or(0)));
        }
        opened => opened?,
    };
    let stored = file.metadata()?.len();
    let total = total.unwrap_or(stored);
    let rest =
        if total > stored { read_if_there(&folder.tail(stream))?.unwrap_or_default() } else { Vec::new() };
    let tail_limit = keep.div_ceil(2);
    let head = read_range(&mut file, 0, stored.min(keep - tail_limit))?;
    let after_head = head.len() as u64;
    // `rest` may contain fewer than `tail_limit` bytes. If the bytes in `file` reach up to the start of `rest`,
    // the last ones of them supply the missing bytes.
    let from_file = if total == stored + rest.len() as u64 {
        let wanted = tail_limit.saturating_sub(rest.len() as u64).min(stored - after_head);
        read_range(&mut file, stored - wanted, wanted)?
    } else {
        Vec::new()
    };
    Ok(Captured::new(head, [from_file, rest].concat(), total).with_spill(Some(path)))
}

pub(crate) fn read_range(file: &mut File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn collect(work: &Path, requests: &[OutputRequest]) -> BTreeMap<String, Output> {
    requests.iter().map(|request| (request.name.clone(), output(work, request))).collect()
}

fn output(work: &Path, request: &OutputRequest) -> Output {
    if request.kind == OutputKind::Folder {
        let files = folder_content::read(work, request.path.as_path(), request.max_bytes);
        return Output::of_folder(files);
    }
    match output_file::open(work, request.path.as_path(), request.max_bytes) {
        Ok((mut file, length)) => read_range(&mut file, 0, length)
            .map_or_else(|error| Output::Unreadable(error.to_string()), Output::Content),
        Err(Unopened::Missing) => Output::Missing,
        Err(Unopened::Outside) => Output::Outside,
        Err(Unopened::NotAFile) => Output::NotAFile,
        Err(Unopened::TooLarge(bytes)) => Output::TooLarge { bytes },
        Err(Unopened::Unreadable(reason)) => Output::Unreadable(reason),
    }
}

/// Returns an approximate start time of a running job: the time when its file `job.json` was written.
pub(crate) fn placed(folder: &JobFolder) -> io::Result<Timestamp> {
    let found = fs::metadata(folder.record())?;
    let millis = found.mtime() * 1000 + found.mtime_nsec() / 1_000_000;
    Ok(Timestamp::from_millis(u64::try_from(millis).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::tests::CUTS;

    /// Writes `stored` to the main file of a stream and `rest` to the tail file, and captures the stream.
    fn stream(stored: &str, rest: &str, total: u64, keep: u64) -> Captured {
        let dir = tempfile::tempdir().unwrap();
        let folder = JobFolder::at(dir.path().to_owned());
        fs::write(folder.spill(Stream::Stdout), stored).unwrap();
        if !rest.is_empty() {
            fs::write(folder.tail(Stream::Stdout), rest).unwrap();
        }
        captured(&folder, Stream::Stdout, Some(total), keep).unwrap()
    }

    #[test]
    fn a_job_with_a_newer_record_is_not_gone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = JobFolder::at(dir.path().to_owned());
        let state = |text: &str| {
            fs::write(folder.record(), text).unwrap();
            inspect(&folder)
        };
        assert_eq!(state(r#"{"version":1,"prog"#).unwrap(), FolderState::Gone);
        assert!(state("{\"version\":2,\"program\":\"sh\"}\n").is_err());
    }

    #[test]
    fn head_and_tail_come_from_wherever_they_are() {
        for (stored, rest, total, keep, text) in CUTS {
            assert_eq!(stream(stored, rest, total, keep).text(), text, "{stored} {rest} {keep}");
        }
    }
}
