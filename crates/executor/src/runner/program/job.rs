//! The course of one job, from its start until all its processes are gone.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Seek},
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
    time::{Duration, Instant, SystemTime},
};

use crate::{
    files::{self, Folders},
    launch,
    processes::{Others, Processes},
    protocol::{Ending, How, OutputState, Spec},
    sys,
};

/// Capacity of a pipe in bytes.
const PIPE: usize = 64 << 10;

/// Maximum time to read a stream after the main process has ended, if other processes hold the stream open.
const DRAIN: Duration = Duration::from_millis(250);

/// Longest supported duration of a job.
const FOREVER: Duration = Duration::from_secs(1 << 31);

/// The receiver of a job's output.
pub(crate) trait Sink {
    /// Takes the next bytes of a stream. The runner passes only the first bytes of a stream, up to the limit
    /// of the job.
    fn take(&mut self, stream: usize, bytes: &[u8]);
}

/// A job that runs or is ending.
pub(crate) struct Job {
    spec: Spec,
    folders: Folders,
    main: i32,
    processes: Processes,
    streams: [Stream; 2],
    started: u64,
    time_over: Instant,
    ooms: u64,
    forced: Option<How>,
    /// Deadline after which the remaining processes are killed; `None` before SIGTERM was sent.
    patience: Option<Instant>,
    status: Option<i32>,
    drain_until: Option<Instant>,
    /// Names of the processes that remained after the main process had ended by itself; `None` before the
    /// search for them.
    left_behind: Option<Vec<String>>,
}

/// An output stream of a job.
struct Stream {
    pipe: Option<OwnedFd>,
    total: u64,
    passed: u64,
    spill: u64,
    tail: VecDeque<u8>,
    keep: usize,
}

/// The results of a job after all its processes are gone.
pub(crate) struct JobResults {
    pub(crate) ending: Ending,
    pub(crate) tails: [Vec<u8>; 2],
    /// Opened outputs, in the order of the request; `None` for an output without content.
    pub(crate) files: Vec<Option<File>>,
}

impl JobResults {
    /// Returns the results of a job that was never started: no output bytes, and all requested outputs are missing.
    /// `how` tells why the job was not started, for example [`How::Cancelled`].
    pub(crate) fn unstarted(spec: &Spec, how: How) -> Self {
        let outputs = spec.outputs.iter().map(|_| OutputState::Missing).collect();
        let ending = Ending {
            how,
            started_ms: None,
            ended_ms: now(),
            totals: [0, 0],
            outputs,
            left_behind: Vec::new(),
        };
        Self { ending, tails: [Vec::new(), Vec::new()], files: spec.outputs.iter().map(|_| None).collect() }
    }
}

/// Returns the milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(0)
}

/// Returns the instant this many milliseconds from now, limited to `FOREVER`.
pub(crate) fn from_now(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds).min(FOREVER)
}

impl Job {
    /// Starts a job whose files are in place; `stdin` is its standard input, if it has any.
    pub(crate) fn start(spec: Spec, folders: Folders, stdin: Option<File>) -> Result<Self, JobResults> {
        // At the end of the job, a higher number shows that the kernel has killed a process for lack of memory.
        // The number is read before the start, because the job may run out of memory immediately after the
        // start.
        let ooms = ooms();
        match Self::try_start(&spec, &folders, stdin) {
            Ok((main, pipes)) => {
                let [out, err] = pipes;
                Ok(Self {
                    main,
                    processes: Processes::new(main, &spec.mark),
                    streams: [
                        Stream::new(out, spec.spill[0], spec.keep[0]),
                        Stream::new(err, spec.spill[1], spec.keep[1]),
                    ],
                    started: now(),
                    time_over: from_now(spec.timeout_ms),
                    ooms,
                    forced: None,
                    patience: None,
                    status: None,
                    drain_until: None,
                    left_behind: None,
                    spec,
                    folders,
                })
            }
            Err(how) => {
                let mut results = JobResults::unstarted(&spec, how);
                // A requested output may be one of the placed files.
                (results.ending.outputs, results.files) = outputs(&spec, &folders);
                Err(results)
            }
        }
    }

    fn try_start(spec: &Spec, folders: &Folders, stdin: Option<File>) -> Result<(i32, [OwnedFd; 2]), How> {
        let failed = |error: io::Error| How::NotStarted(error.to_string());
        let stdin = match stdin {
            None => File::open("/dev/null"),
            Some(mut stdin) => stdin.rewind().map(|()| stdin),
        };
        let stdin = stdin.map_err(failed)?;
        let work = folders.work();
        spec.outputs.iter().try_for_each(|output| files::make_output(&work, output)).map_err(failed)?;
        let (out, out_end) = sys::pipe().map_err(failed)?;
        let (err, err_end) = sys::pipe().map_err(failed)?;
        for pipe in [&out, &err] {
            sys::never_wait(pipe.as_raw_fd()).map_err(failed)?;
        }
        let streams = [stdin.as_fd(), out_end.as_fd(), err_end.as_fd()];
        let main = launch::start(spec, &work, &folders.tmp(), streams)?;
        Ok((main, [out, err]))
    }

    pub(crate) fn main(&self) -> i32 {
        self.main
    }

    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    pub(crate) fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Returns the open pipes, with the index of their stream.
    pub(crate) fn pipes(&self) -> impl Iterator<Item = (usize, RawFd)> + '_ {
        let open = |(at, stream): (usize, &Stream)| Some((at, stream.pipe.as_ref()?.as_raw_fd()));
        self.streams.iter().enumerate().filter_map(open)
    }

    /// Reads the available bytes of a stream.
    pub(crate) fn pump(&mut self, stream: usize, sink: &mut dyn Sink) {
        self.streams[stream].pump(|bytes| sink.take(stream, bytes));
    }

    /// Records the wait status of the main process, which has ended. If other processes hold a stream open, the
    /// runner still reads this stream, at most for the time [`DRAIN`].
    pub(crate) fn main_ended(&mut self, status: i32) {
        self.status = Some(status);
        self.drain_until = Some(Instant::now() + DRAIN);
    }

    /// Cancels the job: [`step`](Self::step) then sends SIGTERM, and SIGKILL after `grace_ms` milliseconds. If an
    /// earlier time for SIGKILL is already set, it stays valid. Does nothing if the main process has already ended by
    /// itself.
    pub(crate) fn cancel(&mut self, grace_ms: u64) {
        if self.status.is_some() && self.forced.is_none() {
            return;
        }
        self.forced.get_or_insert(How::Cancelled);
        let until = from_now(grace_ms);
        self.patience = Some(self.patience.map_or(until, |patience| patience.min(until)));
    }

    /// Returns the time at which [`step`](Self::step) must be called if no event arrives earlier.
    pub(crate) fn look_at(&self) -> Instant {
        if self.processes.are_being_killed() {
            return self.processes.look_at();
        }
        match (self.patience, self.drain_until) {
            (Some(patience), _) => patience.min(self.processes.look_at()),
            (None, Some(drained)) if self.has_open_stream() => drained,
            (None, Some(_)) => self.processes.look_at(),
            (None, None) => self.time_over,
        }
    }

    fn has_open_stream(&self) -> bool {
        self.streams.iter().any(|stream| stream.pipe.is_some())
    }

    /// Checks whether the job must end, and takes the next action to end its processes. For example, the function
    /// sends SIGTERM when the time limit has passed, and SIGKILL after the grace period. Returns `true` if the job
    /// has ended, and no process is left that can be killed. Otherwise the caller calls the function again at the
    /// time that [`look_at`](Self::look_at) returns.
    pub(crate) fn step(&mut self, others: Others<'_>, sink: &mut dyn Sink) -> bool {
        if self.status.is_none() && self.forced.is_none() && Instant::now() >= self.time_over {
            self.forced = Some(How::TimedOut);
            self.patience = Some(from_now(self.spec.grace_ms));
        }
        if let Some(patience) = self.patience {
            let gone = Instant::now() < patience && self.processes.terminate(others);
            let killed = Instant::now() >= patience && self.processes.kill(others);
            if !gone && !killed {
                return false;
            }
        }
        match self.drain_until {
            // The main process has ended, but its status is not known yet.
            None if !self.processes.cannot_be_killed() => return false,
            Some(drained) if Instant::now() < drained && self.has_open_stream() => return false,
            _ => {}
        }
        // A timeout or a cancellation interrupts the main process. Other processes are then expected to
        // remain, so they are not reported.
        if self.forced.is_none() && self.left_behind.is_none() {
            self.left_behind = Some(self.processes.names(others));
        }
        if !self.processes.kill(others) {
            return false;
        }
        for stream in 0..2 {
            self.pump(stream, sink);
            self.streams[stream].pipe = None;
        }
        true
    }

    /// Opens the requested outputs, and returns all results. The caller calls this function after
    /// [`step`](Self::step) has returned `true`.
    pub(crate) fn results(self) -> JobResults {
        let (outputs, files) = outputs(&self.spec, &self.folders);
        let how = self.forced.unwrap_or_else(|| natural(self.status.unwrap_or(0), ooms() > self.ooms));
        let [out, err] = self.streams;
        let ending = Ending {
            how,
            started_ms: Some(self.started),
            ended_ms: now(),
            totals: [out.total, err.total],
            outputs,
            left_behind: self.left_behind.unwrap_or_default(),
        };
        JobResults { ending, tails: [out.tail.into(), err.tail.into()], files }
    }
}

impl Stream {
    fn new(pipe: OwnedFd, spill: u64, keep: u64) -> Self {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        Self { pipe: Some(pipe), total: 0, passed: 0, spill, tail: VecDeque::new(), keep }
    }

    /// Reads the available bytes, at most [`PIPE`] of them. The function passes the first bytes of the stream to
    /// `pass`, up to the limit `self.spill`. If the stream is longer, the function keeps the end of the stream in
    /// `self.tail`: at most `self.keep` bytes, and no bytes that were passed to `pass`.
    fn pump(&mut self, mut pass: impl FnMut(&[u8])) {
        let Some(pipe) = &self.pipe else { return };
        let mut buffer = [0; PIPE];
        match sys::read_some(pipe.as_raw_fd(), &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                let bytes = &buffer[..length];
                self.total += length as u64;
                let space = usize::try_from(self.spill - self.passed).unwrap_or(usize::MAX);
                let (fits, rest) = bytes.split_at(space.min(length));
                if !fits.is_empty() {
                    self.passed += fits.len() as u64;
                    pass(fits);
                }
                self.tail.extend(&rest[rest.len().saturating_sub(self.keep)..]);
                self.tail.drain(..self.tail.len().saturating_sub(self.keep));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.pipe = None,
        }
    }
}

fn outputs(spec: &Spec, folders: &Folders) -> (Vec<OutputState>, Vec<Option<File>>) {
    let work = folders.work();
    spec.outputs.iter().map(|request| files::output(&work, request)).unzip()
}

/// Derives the end of a job from the wait status of its main process. `out_of_memory` tells whether the kernel has
/// killed a process of this container for lack of memory while the job ran. The kernel doesn't report which process
/// this was. If `out_of_memory` is `true`, the function interprets two statuses as [`How::OutOfMemory`]: signal 9 and
/// exit code 137. A shell exits with 137 (128 + 9) after signal 9 has killed its child.
fn natural(status: i32, out_of_memory: bool) -> How {
    match (status & 0x7f, (status >> 8) & 0xff) {
        (9, _) | (0, 137) if out_of_memory => How::OutOfMemory,
        (0, code) => How::Exited(code),
        (signal, _) => How::Signalled(signal),
    }
}

/// Returns how many processes of this container the kernel has killed for lack of memory. Returns 0 outside
/// of a container, where the counter includes all processes of the host.
fn ooms() -> u64 {
    if std::process::id() != 1 {
        return 0;
    }
    ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|text| {
            text.lines()
                .filter_map(|line| line.strip_prefix("oom_kill ")?.parse::<u64>().ok())
                .collect::<Vec<_>>()
        })
        .sum()
}
