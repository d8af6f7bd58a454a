//! Runs the jobs that an owner (a process that submits jobs) sends.
//!
//! All messages to the owner go through one buffer. As long as the buffer is full, the runner reads no output
//! of jobs, no output files and no requests. So the runner needs little memory. If the owner doesn't read,
//! the jobs wait. The runner ends all jobs and exits in two cases: the owner disconnects, or the owner has sent
//! nothing for the time that its first message (`Hello`) sets.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, ErrorKind, Read, Write},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    files::{self, Folders},
    job::{Job, JobResults, Sink, from_now},
    processes::Others,
    protocol::{CHUNK, Frames, How, OutputState, Reply, Request, Spec, VERSION},
    sys::{self, POLLIN, POLLOUT, PollFd},
};

/// Number of bytes in the buffer above which the runner (this program) reads no more output.
const ENOUGH: usize = 1 << 20;

/// Maximum time to end all jobs after the owner (the process that submits the jobs) has gone.
const LAST: Duration = Duration::from_secs(5);

/// Runs jobs until the owner (the process that submits the jobs) has gone.
pub(crate) fn serve(folder: &Path, scrub: &[&str]) -> io::Result<()> {
    sys::settle();
    let signals = sys::signals(&[sys::SIGCHLD, sys::SIGTERM])?;
    for fd in [0, 1] {
        sys::never_wait(fd)?;
    }
    let mut runner = Runner {
        folder: folder.to_owned(),
        scrub: scrub.iter().map(PathBuf::from).collect(),
        jobs: BTreeMap::new(),
        ahead: None,
        out: Out::default(),
        frames: Frames::default(),
        lease: None,
        last_message: Instant::now(),
        childless: true,
    };
    let served = runner.run(signals.as_raw_fd());
    runner.end_all();
    served
}

struct Runner {
    folder: PathBuf,
    scrub: Vec<PathBuf>,
    jobs: BTreeMap<u32, Phase>,
    /// Folders created in advance for the next job.
    ahead: Option<Folders>,
    out: Out,
    frames: Frames,
    lease: Option<Duration>,
    last_message: Instant,
    childless: bool,
}

/// The phase of a job: the runner receives the job's input, runs the job, or sends the job's results.
enum Phase {
    Filling(Filling),
    Running(Box<Job>),
    Delivering(Delivering),
}

/// A job whose input is not complete yet.
struct Filling {
    spec: Box<Spec>,
    folders: Folders,
    /// Index of the next file. After the last file, the stdin comes.
    next: usize,
    open: Option<(File, u64)>,
    stdin: Option<File>,
    failed: Option<String>,
    cancelled: bool,
}

/// A job that has ended, and whose results the runner is sending. The fields `stream`, `sent` and `file` tell where
/// the next piece of the results begins. `stream` and `file` are the indexes of a stream and of an output file, and
/// `sent` is the number of bytes of the stream that were already sent.
struct Delivering {
    results: JobResults,
    folders: Folders,
    stream: usize,
    sent: usize,
    file: usize,
}

/// The buffer of unsent messages.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    from: usize,
}

impl Out {
    fn len(&self) -> usize {
        self.bytes.len() - self.from
    }

    fn say(&mut self, reply: &Reply) {
        reply.encode(&mut self.bytes);
    }

    /// Sends as many bytes as the pipe accepts. Returns whether any bytes were sent.
    fn write(&mut self) -> io::Result<bool> {
        let before = self.len();
        while self.from < self.bytes.len() {
            match sys::write_some(1, &self.bytes[self.from..]) {
                Ok(length) => self.from += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let left = self.len();
        if left == 0 {
            self.bytes.clear();
            self.from = 0;
        } else if self.from > ENOUGH {
            self.bytes.drain(..self.from);
            self.from = 0;
        }
        Ok(left < before)
    }
}

/// The sink that forwards the output of one job to the owner (the process that submitted the job).
struct ToOwner<'a> {
    job: u32,
    out: &'a mut Out,
}

impl Sink for ToOwner<'_> {
    fn take(&mut self, stream: usize, bytes: &[u8]) {
        let stream = u8::from(stream == 1);
        self.out.say(&Reply::Output { job: self.job, stream, bytes: bytes.to_vec() });
    }
}

/// Number of polled file descriptors besides the pipes of jobs.
const FIXED: usize = 3;

impl Runner {
    fn run(&mut self, signals: i32) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let ended = self.step_all();
            let written = self.out.write();
            self.clear(&ended);
            match written {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                // An owner (a process that submits jobs) that reads replies is alive, even if the runner
                // reads no requests of the owner at the moment.
                Ok(true) => self.last_message = Instant::now(),
                Ok(false) => {}
                Err(error) => return Err(error),
            }
            let (mut fds, pipes) = self.watched(signals);
            let left = self.next_look().saturating_duration_since(Instant::now());
            // The time is rounded up, so that `poll` does not end slightly too early.
            let left = i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
            sys::wait(&mut fds, left);
            if fds[2].revents != 0 && sys::signals_seen(signals).contains(&sys::SIGTERM) {
                return Ok(());
            }
            // Pipes are read first: the output of an ended process is in its pipe when the end becomes known.
            for (fd, (job, stream)) in fds[FIXED..].iter().zip(pipes) {
                if fd.revents != 0
                    && let Some(Phase::Running(running)) = self.jobs.get_mut(&job)
                {
                    running.pump(stream, &mut ToOwner { job, out: &mut self.out });
                }
            }
            if fds[2].revents != 0 {
                self.reap();
            }
            if fds[0].revents != 0 {
                match sys::read_some(0, &mut buffer) {
                    Ok(0) => return Ok(()),
                    Ok(length) => self.receive(&buffer[..length])?,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
            if self.lease.is_some_and(|lease| self.last_message.elapsed() > lease) {
                return Err(io::Error::other("the owner did not respond in time"));
            }
        }
    }

    fn watched(&self, signals: i32) -> (Vec<PollFd>, Vec<(u32, usize)>) {
        let has_space = self.out.len() < ENOUGH;
        let poll = |fd, events| PollFd { fd, events, revents: 0 };
        let mut fds = vec![
            poll(if has_space { 0 } else { -1 }, POLLIN),
            poll(if self.out.len() > 0 { 1 } else { -1 }, POLLOUT),
            poll(signals, POLLIN),
        ];
        let mut pipes = Vec::new();
        for (job, phase) in &self.jobs {
            if let Phase::Running(running) = phase
                && has_space
            {
                for (stream, fd) in running.pipes() {
                    fds.push(poll(fd, POLLIN));
                    pipes.push((*job, stream));
                }
            }
        }
        (fds, pipes)
    }

    fn next_look(&self) -> Instant {
        let lease = self.lease.map(|lease| self.last_message + lease + Duration::from_millis(1));
        let looks = self.jobs.values().filter_map(|phase| match phase {
            Phase::Running(job) => Some(job.look_at()),
            Phase::Delivering(_) if self.out.len() < ENOUGH => Some(Instant::now()),
            _ => None,
        });
        looks.chain(lease).min().unwrap_or_else(|| from_now(u64::MAX))
    }

    fn receive(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.last_message = Instant::now();
        self.frames.push(bytes);
        loop {
            let request = match self.frames.next_frame().map_err(io::Error::other)? {
                Some(frame) => Request::decode(frame).map_err(io::Error::other)?,
                None => return Ok(()),
            };
            match request {
                Request::Hello { version, lease_ms } => {
                    self.out.say(&Reply::Hello { version: VERSION, pid: std::process::id() });
                    if version != VERSION {
                        self.out.write()?;
                        return Err(io::Error::other(format!(
                            "the owner speaks version {version}, this is {VERSION}"
                        )));
                    }
                    self.lease = Some(Duration::from_millis(lease_ms)).filter(|lease| !lease.is_zero());
                }
                Request::Start { job, spec } => self.start(job, spec),
                Request::Data { job, bytes } => self.data(job, &bytes),
                Request::Cancel { job, grace_ms } => match self.jobs.get_mut(&job) {
                    Some(Phase::Filling(filling)) => filling.cancelled = true,
                    Some(Phase::Running(running)) => running.cancel(grace_ms),
                    // The job has already ended.
                    _ => {}
                },
                Request::Ping { number } => self.out.say(&Reply::Pong { number }),
            }
        }
    }

    fn start(&mut self, job: u32, spec: Box<Spec>) {
        if self.jobs.contains_key(&job) {
            // The owner (the process that submits the jobs) has given a new job the number of a running job.
            // The runner ignores the new job, and the owner gets no answer to its request.
            return;
        }
        let (folders, made) = self.ahead.take().map_or_else(|| self.make_folders(), |ahead| (ahead, Ok(())));
        let failed = made.err().map(|error| error.to_string());
        let mut filling =
            Filling { spec, folders, next: 0, open: None, stdin: None, failed, cancelled: false };
        filling.open_next();
        self.jobs.insert(job, Phase::Filling(filling));
        self.launch_if_filled(job);
    }

    /// Creates the folders of a new job below the first unused path: `job-0`, `job-1` and so on. The function returns
    /// the folders even if their creation fails, because the runner later removes the part that was created.
    fn make_folders(&self) -> (Folders, io::Result<()>) {
        let taken = |root: &PathBuf| self.jobs.values().any(|phase| phase.folders().root == *root);
        let places = (0..).map(|number| self.folder.join(format!("job-{number}")));
        // The names `job-0`, `job-1` and so on have no end, so an unused name exists.
        let root = places.into_iter().find(|root| !taken(root)).unwrap_or_default();
        let folders = Folders { root };
        files::remove(&folders.root);
        let made = folders.make();
        (folders, made)
    }

    /// Removes the files of ended jobs, and prepares folders for the next job. The runner calls this function
    /// after it has sent the outcomes, so the owner does not wait for the removal.
    fn clear(&mut self, ended: &[Folders]) {
        ended.iter().for_each(|folders| files::remove(&folders.root));
        if ended.is_empty() || !self.jobs.is_empty() {
            return;
        }
        if std::process::id() == 1 {
            // The runner is the first process of its namespace, and no job runs in the namespace. No process
            // uses the files that the jobs have left in these folders.
            self.scrub.iter().for_each(|folder| files::scrub(folder));
        }
        if self.ahead.is_none()
            && let (folders, Ok(())) = self.make_folders()
        {
            self.ahead = Some(folders);
        }
    }

    fn data(&mut self, job: u32, bytes: &[u8]) {
        if let Some(Phase::Filling(filling)) = self.jobs.get_mut(&job) {
            filling.take(bytes);
            self.launch_if_filled(job);
        }
    }

    fn launch_if_filled(&mut self, number: u32) {
        if !matches!(self.jobs.get(&number), Some(Phase::Filling(filling)) if filling.open.is_none()) {
            return;
        }
        let Some(Phase::Filling(filling)) = self.jobs.remove(&number) else { return };
        let Filling { spec, folders, stdin, failed, cancelled, .. } = filling;
        let started = if let Some(why) = failed {
            Err(JobResults::unstarted(&spec, How::NotStarted(why)))
        } else if cancelled {
            Err(JobResults::unstarted(&spec, How::Cancelled))
        } else {
            Job::start(*spec, folders.clone(), stdin)
        };
        let phase = match started {
            Ok(job) => {
                self.childless = false;
                self.out.say(&Reply::Started { job: number, at_ms: job.started() });
                Phase::Running(Box::new(job))
            }
            Err(results) => Phase::Delivering(Delivering::new(results, folders)),
        };
        self.jobs.insert(number, phase);
    }

    /// Reaps all children that have ended, and records the status of each main process in its job. Sets `childless`
    /// if the runner has no more children.
    fn reap(&mut self) {
        loop {
            match sys::reap() {
                Ok(Some((pid, status))) => {
                    for phase in self.jobs.values_mut() {
                        if let Phase::Running(job) = phase
                            && job.main() == pid
                        {
                            job.main_ended(status);
                        }
                    }
                }
                Ok(None) => {
                    self.childless = false;
                    return;
                }
                Err(_) => {
                    self.childless = true;
                    return;
                }
            }
        }
    }

    /// Advances every job. Returns the folders of the jobs whose results were sent completely.
    fn step_all(&mut self) -> Vec<Folders> {
        let numbers: Vec<u32> = self.jobs.keys().copied().collect();
        numbers.into_iter().filter_map(|number| self.step(number)).collect()
    }

    fn step(&mut self, number: u32) -> Option<Folders> {
        let mains: Vec<i32> = self
            .jobs
            .values()
            .filter_map(|phase| if let Phase::Running(job) = phase { Some(job.main()) } else { None })
            .collect();
        let others = Others { mains: &mains, childless: self.childless };
        let phase = self.jobs.get_mut(&number)?;
        if let Phase::Running(job) = phase {
            let due = Instant::now() >= job.look_at() || self.childless;
            if !due || !job.step(others, &mut ToOwner { job: number, out: &mut self.out }) {
                return None;
            }
            let Some(Phase::Running(job)) = self.jobs.remove(&number) else { return None };
            let folders = job.folders().clone();
            self.jobs.insert(number, Phase::Delivering(Delivering::new(job.results(), folders)));
        }
        let Some(Phase::Delivering(delivering)) = self.jobs.get_mut(&number) else { return None };
        if !delivering.deliver(number, &mut self.out) {
            return None;
        }
        self.jobs.remove(&number).map(|phase| phase.folders().clone())
    }

    /// Ends all jobs, and sends no message to the process that submitted them.
    fn end_all(&mut self) {
        let limit = Instant::now() + LAST;
        for phase in self.jobs.values_mut() {
            if let Phase::Running(job) = phase {
                job.cancel(0);
            }
        }
        while Instant::now() < limit && self.jobs.values().any(|phase| matches!(phase, Phase::Running(_))) {
            self.reap();
            self.step_all().iter().for_each(|folders| files::remove(&folders.root));
            self.out = Out::default();
            std::thread::sleep(Duration::from_millis(1));
        }
        let of_jobs = self.jobs.values().map(Phase::folders);
        of_jobs.chain(&self.ahead).for_each(|folders| files::remove(&folders.root));
    }
}

impl Phase {
    fn folders(&self) -> &Folders {
        match self {
            Self::Filling(filling) => &filling.folders,
            Self::Running(job) => job.folders(),
            Self::Delivering(delivering) => &delivering.folders,
        }
    }
}

impl Filling {
    /// Creates the empty files of the job up to the next file with content. Creates this file too, and opens
    /// it for its content. If no file is left, creates and opens the file for the stdin.
    fn open_next(&mut self) {
        while let Some(file) = self.spec.files.get(self.next) {
            self.next += 1;
            let (length, made) = (file.length, self.folders.place(&file.path, file.mode));
            if self.opened(made.map_err(|error| format!("can't place `{}`: {error}", file.path)), length) {
                return;
            }
        }
        if self.next == self.spec.files.len() {
            self.next += 1;
            let length = self.spec.stdin;
            if length > 0 {
                let made = self.folders.stdin(length).and_then(|file| Ok((file.try_clone()?, file)));
                let made = made.map_err(|error| format!("can't write its stdin: {error}"));
                let file = made.map(|(stdin, file)| {
                    self.stdin = Some(stdin);
                    file
                });
                self.opened(file, length);
            }
        }
    }

    /// Prepares the new file `made` for the next `length` bytes of the job's input. Returns `true` if the caller must
    /// wait for these bytes, and `false` if `length` is 0.
    ///
    /// If `made` is an error, the job fails with this error. The owner (the process that submits the jobs) sends
    /// the bytes even then, and the runner discards them. So the returned value does not depend on the error.
    fn opened(&mut self, made: Result<File, String>, length: u64) -> bool {
        let file = made.or_else(|why| {
            self.failed.get_or_insert(why);
            // The file can't be created, so the content that arrives for it is discarded.
            File::options().write(true).open("/dev/null")
        });
        match file {
            Ok(file) if length > 0 => {
                self.open = Some((file, length));
                true
            }
            _ => false,
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some((file, left)) = &mut self.open {
            let length = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            let (now, rest) = bytes.split_at(length);
            if let Err(error) = file.write_all(now) {
                self.failed.get_or_insert(format!("can't write its input files: {error}"));
            }
            *left -= length as u64;
            bytes = rest;
            if *left > 0 {
                return;
            }
            self.open = None;
            self.open_next();
        }
    }
}

impl Delivering {
    fn new(results: JobResults, folders: Folders) -> Self {
        Self { results, folders, stream: 0, sent: 0, file: 0 }
    }

    /// Sends as many results as fit into the buffer. Returns whether all results were sent.
    fn deliver(&mut self, job: u32, out: &mut Out) -> bool {
        while let Some(tail) = self.results.tails.get(self.stream) {
            let piece = &tail[self.sent..tail.len().min(self.sent + CHUNK)];
            if piece.is_empty() {
                (self.stream, self.sent) = (self.stream + 1, 0);
                continue;
            }
            if out.len() >= ENOUGH {
                return false;
            }
            let stream = u8::from(self.stream == 1);
            out.say(&Reply::Tail { job, stream, bytes: piece.to_vec() });
            self.sent += piece.len();
        }
        while let Some(file) = self.results.files.get_mut(self.file) {
            if out.len() >= ENOUGH {
                return false;
            }
            let state = &mut self.results.ending.outputs[self.file];
            if !send_piece(job, self.file, file, state, out) {
                self.file += 1;
            }
        }
        let ending = Box::new(self.results.ending.clone());
        out.say(&Reply::Ended { job, ending });
        true
    }
}

/// Sends the next piece of an output. Returns whether more pieces may follow.
fn send_piece(
    job: u32,
    index: usize,
    file: &mut Option<File>,
    state: &mut OutputState,
    out: &mut Out,
) -> bool {
    let (Some(open), OutputState::Content(length)) = (file.as_mut(), &*state) else { return false };
    let mut bytes = Vec::new();
    match open.take(CHUNK as u64).read_to_end(&mut bytes) {
        Ok(0) => false,
        Ok(_) => {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            out.say(&Reply::File { job, index, bytes });
            *length > CHUNK as u64
        }
        Err(error) => {
            *state = OutputState::Unreadable(error.to_string());
            false
        }
    }
}
