//! The supervisor: the parent process of jobs.
//!
//! The supervisor has one thread and one loop. Requests of its owner (the process that submits the jobs)
//! arrive on stdin. Cancellations by other processes arrive through a named pipe. Each job is a task of its
//! own ([`run`]). The state of each job is also in the folder of the job, so other processes can read it
//! there.

mod context;
mod fork;
mod groups;
mod handle;
mod holder;
mod launch;
mod members;
mod prewarmed;
mod program;
mod pump;
mod reaper;
mod run;
mod sandbox;
mod spawn;

use std::{
    cell::RefCell,
    fs::{self, File},
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    process::ExitCode,
    rc::Rc,
    time::Duration,
};

use rustix::{
    fs::{CWD, FileType, FlockOperation, Mode, RenameFlags, flock, mknodat, renameat_with},
    io::Errno,
    process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior, setsid},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::unix::pipe::{OpenOptions, Receiver, Sender},
    signal::unix::{SignalKind, signal},
    sync::{Notify, mpsc, watch},
    task::{LocalSet, spawn_local},
};

use self::{
    context::Context,
    groups::Groups,
    handle::{Handle, JobRequests, Lengths},
    members::MainProcesses,
    prewarmed::PrewarmedSandboxes,
    reaper::Reaper,
    sandbox::SandboxFactory,
};
use crate::{
    JobId, OnOwnerDeath, Timestamp, confine,
    process::{
        inspect::{self, FolderState},
        layout::{JobFolder, StateDir},
        memory::Memory,
        procfs::Birth,
        record::{self, Record},
        wire::{Input, Reply, Request, VERSION, line},
    },
};

/// Maximum number of replies in the queue to the owner (the process that submits the jobs). If the queue is full, the
/// supervisor drops replies about output. For any other reply, the job's task in the supervisor waits until the queue
/// has space. The processes of the job continue meanwhile.
const REPLIES: usize = 1024;

/// Maximum number of attempts to create the supervisor's named pipe. In each attempt, the supervisor first creates
/// the pipe's folder, and then the pipe. The attempt fails if another process removes the folder between these two
/// steps.
const CONTROL_TRIES: u32 = 10;

/// Runs the supervisor until its owner (the process that submits the jobs) is gone, and all its jobs have
/// ended.
///
/// A [`SupervisorCommand`](super::SupervisorCommand) names a program. The `main` of this program must call
/// this function first, before it starts threads, opens files or prints, and must do nothing afterwards. The
/// owner sends all parameters on stdin, since every user can read the arguments of a process.
///
/// The supervisor leaves the terminal's session, communicates on stdin and stdout, and writes only fatal
/// errors to stderr.
pub fn supervise() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _nobody_listens = writeln!(io::stderr(), "the supervisor can't go on: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    die_of_any_panic();
    // The first call determines the time of the supervisor's start.
    Birth::of_this_process();
    // Jobs run as the same user: they must not read or write the supervisor's memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    confine::leave_keyring();
    keep_files_from_jobs()?;
    // The supervisor gets a new session, so that an interrupt typed at the terminal reaches only the owner
    // (the process that submits the jobs).
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    // The supervisor gets another working folder, since the folder of the owner (the process that submits the
    // jobs) may be removed or unmounted.
    std::env::set_current_dir("/")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, Supervisor::run())
}

/// Aborts the supervisor after any panic. A panic in one task would leave a job without supervision. The
/// owner and later processes can handle the death of the supervisor: its jobs end with it, and the owner
/// reads the reason on stderr.
fn die_of_any_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::abort();
    }));
}

/// Marks all inherited descriptors as close-on-exec, so that jobs don't get them.
fn keep_files_from_jobs() -> io::Result<()> {
    #[expect(unsafe_code, reason = "neither `std` nor rustix has close_range")]
    // SAFETY: the call closes nothing now; it sets a flag of descriptors, which has no effect in this
    // process.
    let result = unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC.cast_signed()) };
    match io::Error::last_os_error() {
        // Kernels before 5.11 don't support this call. Present-day programs open descriptors as close-on-exec
        // anyway.
        _ if result == 0 => Ok(()),
        error if matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::NOSYS | Errno::PERM)) => {
            Ok(())
        }
        error => Err(error),
    }
}

struct Supervisor {
    state: StateDir,
    context: Rc<Context>,
}

type RequestLines = Lines<BufReader<Receiver>>;

impl Supervisor {
    async fn run() -> io::Result<()> {
        let mut owner = request_lines(Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?);
        let state = opened(&mut owner).await?;
        let Control { path, pipe } = Control::open(&state)?;
        let others = request_lines(pipe);
        let replies = replies(Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?);
        let reaper = Reaper::default();
        spawn_local(reaper.clone().run(reaper::children()?));
        let (mains, jobs, over) = (MainProcesses::default(), RefCell::default(), Notify::new());
        let buffer = pump::read_buffer();
        let sandboxes = Rc::new(SandboxFactory::new(reaper.clone()));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let groups = Groups::new(&state, &name);
        let prewarmed = Rc::new(PrewarmedSandboxes::new(&state, sandboxes.clone()));
        let memory = Memory::of(&state);
        let context = Rc::new(Context {
            reaper,
            mains,
            jobs,
            over,
            replies,
            buffer,
            sandboxes,
            prewarmed,
            groups,
            memory,
        });
        context.send(Reply::Hello { version: VERSION }).await;
        let served = Self { state: state.clone(), context: context.clone() }.serve(owner, others).await;
        context.prewarmed.close().await;
        context.groups.close();
        put_on_disk(&state, &context.memory);
        // The folders can be removed only after the last supervisor and the last job.
        let _swept = fs::remove_file(path);
        let _in_use = fs::remove_dir(state.control()).and_then(|()| fs::remove_dir(state.path()));
        served
    }

    async fn serve(self, mut owner: RequestLines, mut others: RequestLines) -> io::Result<()> {
        let mut terminated = signal(SignalKind::terminate())?;
        let mut orphaned = false;
        while !orphaned || !self.context.jobs.borrow().is_empty() {
            tokio::select! {
                request = owner.next_line(), if !orphaned => {
                    if let Ok(Some(request)) = request {
                        self.handle(&request).await;
                    } else {
                        orphaned = true;
                        self.cancel_where(|job| job.on_owner_death == OnOwnerDeath::Kill);
                    }
                }
                Ok(Some(request)) = others.next_line() => self.handle(&request).await,
                _ = terminated.recv() => {
                    // The host shuts down, or an operator ends the supervisor. All jobs are cancelled, since
                    // a recorded end is better than a lost job.
                    orphaned = true;
                    self.cancel_where(|_| true);
                }
                () = self.context.over.notified() => {}
            }
        }
        Ok(())
    }

    async fn handle(&self, request: &str) {
        match serde_json::from_str(request) {
            Ok(Request::Start { id, staged, stdin }) => self.start(id, &staged, stdin).await,
            Ok(Request::Cancel { id, grace_ms }) => self.cancel(&id, Duration::from_millis(grace_ms)),
            Ok(Request::Watch { id }) => self.watch(&id),
            // The request `Open` of the owner (the process that submits the jobs) was read before this loop.
            // Malformed lines from the pipe are ignored.
            Ok(Request::Open { .. }) | Err(_) => {}
        }
    }

    async fn start(&self, id: JobId, staged: &str, stdin: Option<Input>) {
        let (requests, receiver) = watch::channel(JobRequests::default());
        match self.place(&id, staged) {
            Ok((folder, record, lock)) => {
                let Record { job: record, end_at, .. } = record;
                let lengths = Rc::new(Lengths::default());
                let handle = Handle {
                    requests,
                    lengths: lengths.clone(),
                    on_owner_death: record.on_owner_death,
                    grace: record.limits.grace,
                };
                self.context.jobs.borrow_mut().insert(id.clone(), handle);
                let context = self.context.clone();
                let job =
                    run::Job { id, folder, record, end_at, stdin, requests: receiver, lengths, context };
                spawn_local(job.run(lock));
            }
            Err(error) => self.refuse(id, staged, &error).await,
        }
    }

    /// Locks the prepared folder of a job, and then moves it from the staging folder to its final path. So no
    /// other process ever sees the folder without the lock.
    fn place(&self, id: &JobId, staged: &str) -> io::Result<(JobFolder, Record, OwnedFd)> {
        let staged = self.state.staging().join(staged);
        let lock = OwnedFd::from(File::open(&staged)?);
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let record = record::read(&JobFolder::at(staged.clone()))?.ok_or_else(missing)?;
        let folder = self.state.job(id);
        renameat_with(CWD, &staged, CWD, folder.path(), RenameFlags::NOREPLACE)?;
        if record.job.on_owner_death == OnOwnerDeath::Finish {
            // The name of the folder is flushed to the disk. So a job that must not run twice is found after
            // a power cut.
            if let Err(error) = record::sync_folder(self.state.path()) {
                // Nothing has started, so no trace of the job may remain.
                fs::remove_dir_all(folder.path())?;
                return Err(error);
            }
        }
        Ok((folder, record, lock))
    }

    async fn refuse(&self, id: JobId, staged: &str, error: &io::Error) {
        let _left_for_the_sweep = fs::remove_dir_all(self.state.staging().join(staged));
        let reply = match error.kind() {
            io::ErrorKind::AlreadyExists => Reply::Exists { id },
            _ => Reply::Refused { id, why: error.to_string() },
        };
        self.context.send(reply).await;
    }

    fn cancel(&self, id: &JobId, grace: Duration) {
        if let Some(job) = self.context.jobs.borrow().get(id) {
            job.cancel(grace);
        }
    }

    fn watch(&self, id: &JobId) {
        if let Some(job) = self.context.jobs.borrow().get(id) {
            job.requests.send_modify(|requests| requests.watched = true);
            // The supervisor reports the length of a job's output only after this request. So the current
            // lengths are reported now.
            for (stream, length) in job.lengths.seen() {
                self.context.try_send(Reply::Output { id: id.clone(), stream, at: Timestamp::now(), length });
            }
        }
    }

    fn cancel_where(&self, which: impl Fn(&Handle) -> bool) {
        for job in self.context.jobs.borrow().values().filter(|job| which(job)) {
            job.cancel(job.grace);
        }
    }
}

/// Moves the output of ended jobs from memory to disk, since the host may be about to shut down.
fn put_on_disk(state: &StateDir, memory: &Memory) {
    for folder in state.jobs().unwrap_or_default().iter().map(|id| state.job(id)) {
        if matches!(inspect::inspect(&folder), Ok(FolderState::Ended(_))) {
            let _stays_where_it_is = Memory::settle(&folder);
        }
    }
    let _by_the_next = memory.sweep(state);
}

/// Reads the path of the jobs folder from the first request of the owner (the process that submits the jobs).
async fn opened(owner: &mut RequestLines) -> io::Result<StateDir> {
    let first = owner.next_line().await?.unwrap_or_default();
    match serde_json::from_str(&first) {
        Ok(Request::Open { state }) => Ok(StateDir::new(state)),
        _ => Err(io::Error::other("its owner has not sent the folder of the jobs")),
    }
}

fn request_lines(pipe: Receiver) -> RequestLines {
    BufReader::new(pipe).lines()
}

/// Starts the task that writes replies to the owner (the process that submits the jobs). The task writes all waiting
/// replies at once. After the death of the owner, the task discards the replies.
fn replies(mut pipe: Sender) -> mpsc::Sender<Reply> {
    let (sender, mut receiver) = mpsc::channel(REPLIES);
    spawn_local(async move {
        let mut batch = Vec::new();
        let mut owned = true;
        while receiver.recv_many(&mut batch, REPLIES).await > 0 {
            let lines: Vec<u8> = batch.drain(..).flat_map(|reply: Reply| line(&reply)).collect();
            owned = owned && pipe.write_all(&lines).await.is_ok();
        }
    });
    sender
}

/// The named pipe through which other processes send requests, and its path.
struct Control {
    path: PathBuf,
    pipe: Receiver,
}

impl Control {
    /// Creates the named pipe, opens the pipe for reading, and then gives the pipe its final name. The first name
    /// begins with a dot, so that other processes ignore the pipe. They would remove a pipe without a reader.
    fn open(state: &StateDir) -> io::Result<Self> {
        let name = format!("{}-{}", std::process::id(), Timestamp::now().as_millis());
        let (path, fresh) = (state.control().join(&name), state.control().join(format!(".{name}")));
        for _ in 0..CONTROL_TRIES {
            fs::create_dir_all(state.control())?;
            match mknodat(CWD, &fresh, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
                // Another process removed the folder between the two calls.
                Err(Errno::NOENT) => {}
                made => {
                    made?;
                    break;
                }
            }
        }
        // The pipe is opened for reading and writing, so that it doesn't end when the last writer closes it.
        let pipe = OpenOptions::new().read_write(true).open_receiver(&fresh)?;
        fs::rename(&fresh, &path)?;
        Ok(Self { path, pipe })
    }
}
