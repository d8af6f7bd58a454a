//! Runs the one job that is described in a folder, and leaves its outcome there.
//!
//! For a container that runs one job: the runner is its first process. What it writes is there however the connection
//! to the engine fares, and its outcome with it.
//!
//! | in the folder | who makes it | what it is |
//! |---|---|---|
//! | `job` | the owner | the job, as `Spec::to_file` writes it; the lengths of files and stdin don't matter, but for a stdin of 0, which is none |
//! | `work/` | the owner | the working folder, with the files in it; made if it isn't there |
//! | `stdin` | the owner | what the job reads; removed when the job has it open |
//! | `tmp/` | the runner, if need be | the `TMPDIR` |
//! | `stdout`, `stderr` | the runner | the first `spill` bytes of the streams |
//! | `stdout.tail`, `stderr.tail` | the runner | the last `keep` bytes of the rest, if there is one |
//! | `outcome` | the runner | the end, as `Ending::from_file` reads it; put in place by renaming, last of all |
//!
//! The streams go to the runner's own stdout and stderr too, for whoever is attached; a job waits for readers, as it would
//! without the runner. Output files stay in the working folder: the outcome says only what they are.
//!
//! SIGTERM asks the job to end, SIGUSR1 ends it; either way it is `Cancelled`, and `outcome` is written. The runner's exit
//! code is the job's, 128 and the signal, or 125 if the job could not be started, ran out of time or was cancelled: the
//! file tells.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    files::Folders,
    job::{Job, Remains, Sink},
    processes::Others,
    protocol::{How, Spec},
    sys::{self, POLLIN, POLLOUT, PollFd},
};

/// More than this is not collected for whoever is attached.
const ENOUGH: usize = 256 << 10;

/// How long whoever is attached may take to read the rest.
const LAST: Duration = Duration::from_secs(2);

/// The names of the streams.
const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// Runs the job and returns the exit code.
pub(crate) fn init(folder: &Path) -> io::Result<u8> {
    sys::settle();
    let signals = sys::signals(&[sys::SIGCHLD, sys::SIGTERM, sys::SIGUSR1])?;
    let spec = Spec::from_file(&fs::read(folder.join("job"))?).map_err(io::Error::other)?;
    let folders = Folders { root: folder.to_owned() };
    folders.make()?;
    let mut sink = ToFiles::open(folder)?;
    let remains = match Job::start(spec, folders) {
        Ok(job) => run(job, &mut sink, signals.as_raw_fd()),
        Err(remains) => remains,
    };
    write(folder, &remains)?;
    sink.finish();
    Ok(code(&remains.ending.how))
}

fn run(mut job: Job, sink: &mut ToFiles, signals: i32) -> Remains {
    let mut childless = false;
    loop {
        let others = Others { mains: &[job.main()], childless };
        if (childless || Instant::now() >= job.look_at()) && job.step(others, sink) {
            return job.remains();
        }
        sink.write_on();
        let mut fds = vec![PollFd { fd: signals, events: POLLIN, revents: 0 }];
        fds.extend(sink.waiting().map(|fd| PollFd { fd, events: POLLOUT, revents: 0 }));
        let pipes: Vec<_> = if sink.has_room() { job.pipes().collect() } else { Vec::new() };
        let first = fds.len();
        fds.extend(pipes.iter().map(|(_, fd)| PollFd { fd: *fd, events: POLLIN, revents: 0 }));
        let left = job.look_at().saturating_duration_since(Instant::now());
        sys::wait(&mut fds, i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX));
        for (fd, (stream, _)) in fds[first..].iter().zip(pipes) {
            if fd.revents != 0 {
                job.pump(stream, sink);
            }
        }
        if fds[0].revents != 0 {
            for signal in sys::signals_seen(signals) {
                match signal {
                    sys::SIGTERM => job.cancel(u64::MAX),
                    sys::SIGUSR1 => job.cancel(0),
                    _ => {}
                }
            }
            childless = reap(&mut job);
        }
    }
}

/// Collects all children that have ended; tells whether there are no others.
fn reap(job: &mut Job) -> bool {
    loop {
        match sys::reap() {
            Ok(Some((pid, status))) if pid == job.main() => job.main_ended(status),
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

fn write(folder: &Path, remains: &Remains) -> io::Result<()> {
    for (name, tail) in STREAMS.iter().zip(&remains.tails) {
        if !tail.is_empty() {
            // On a full disk the end of a flood is lost, and nothing else.
            let _full = fs::write(folder.join(format!("{name}.tail")), tail);
        }
    }
    let fresh: PathBuf = folder.join("outcome.new");
    let mut file = File::create(&fresh)?;
    file.write_all(&remains.ending.to_file())?;
    file.sync_all()?;
    fs::rename(fresh, folder.join("outcome"))
}

fn code(how: &How) -> u8 {
    match how {
        How::Exited(code) => u8::try_from(*code).unwrap_or(125),
        How::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(125),
        How::OutOfMemory => 137,
        _ => 125,
    }
}

/// The streams on their way to the files and to whoever is attached.
struct ToFiles {
    files: [Option<File>; 2],
    waiting: [Vec<u8>; 2],
}

impl ToFiles {
    fn open(folder: &Path) -> io::Result<Self> {
        for fd in [1, 2] {
            sys::never_wait(fd)?;
        }
        let [out, err] = STREAMS.map(|name| File::create(folder.join(name)).map(Some));
        Ok(Self { files: [out?, err?], waiting: [Vec::new(), Vec::new()] })
    }

    /// The descriptors of our own that something waits for.
    fn waiting(&self) -> impl Iterator<Item = i32> {
        let waiting = [!self.waiting[0].is_empty(), !self.waiting[1].is_empty()];
        [1, 2].into_iter().zip(waiting).filter_map(|(fd, waits)| waits.then_some(fd))
    }

    /// Gives whoever is attached a moment to read the rest.
    fn finish(&mut self) {
        let limit = Instant::now() + LAST;
        self.write_on();
        while self.waiting().next().is_some() && Instant::now() < limit {
            let poll = |fd| PollFd { fd, events: POLLOUT, revents: 0 };
            let mut fds: Vec<_> = self.waiting().map(poll).collect();
            sys::wait(&mut fds, 100);
            self.write_on();
        }
    }

    fn write_on(&mut self) {
        for (fd, waiting) in [1, 2].into_iter().zip(&mut self.waiting) {
            while !waiting.is_empty() {
                match sys::write_some(fd, waiting) {
                    Ok(length) => drop(waiting.drain(..length)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // Nobody is there who could read it; it is in the file.
                    Err(_) => waiting.clear(),
                }
            }
        }
    }
}

impl Sink for ToFiles {
    fn take(&mut self, stream: usize, bytes: &[u8]) {
        // A full disk is a limit like the other: what was stored until then stays.
        if let Some(file) = &mut self.files[stream]
            && file.write_all(bytes).is_err()
        {
            self.files[stream] = None;
        }
        self.waiting[stream].extend_from_slice(bytes);
        self.write_on();
    }

    fn has_room(&self) -> bool {
        self.waiting.iter().all(|waiting| waiting.len() < ENOUGH)
    }
}
