//! The sandbox of one job: the namespaces and mounts that `bwrap` creates.
//!
//! The job is not a child of `bwrap`. `bwrap` creates the sandbox, and starts only the first process of the sandbox
//! ([`holder`]). Then the job's main process enters the sandbox (`setns`) as a child of the supervisor. So the
//! supervisor gets the exit code and signal of the main process directly, and can signal it directly. If the program is
//! missing, the supervisor also gets this error directly from the kernel. When the job has ended, the supervisor kills
//! the first process, and the kernel then kills all other processes in the sandbox.

use std::{
    cell::{Cell, OnceCell, RefCell},
    fs,
    io::{self, ErrorKind},
    os::fd::OwnedFd,
    path::Path,
    time::Duration,
};

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, flock, openat},
    io::{Errno, fcntl_dupfd_cloexec},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, PidfdFlags, Signal, WaitStatus, getpid, pidfd_open, pidfd_send_signal},
};
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::unix::pipe::Receiver,
    sync::oneshot,
    time::timeout,
};

use crate::{
    StartFailure,
    bwrap::{
        advice,
        plan::{SandboxNetwork, SandboxPlan},
    },
    cgroup::Entrance,
    confine::{self, Prepared},
    process::{
        procfs::MARK,
        supervisor::{
            fork::{self, Child, Failed, Stack},
            holder,
            launch::{ChildSetup, Image, Launch},
            reaper::Reaper,
        },
    },
};

/// Maximum time to create a sandbox, and maximum time to close it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Maximum number of bytes of each text that is read from `bwrap`, for example of its error messages.
const LAST_WORDS: u64 = 2048;

/// Path by which `bwrap` executes the program of the sandbox's first process: file descriptor 3 of `bwrap`.
const HOLDER: &str = "/proc/self/fd/3";

/// Number of the file descriptor to which `bwrap` writes the process id of the sandbox's first process.
const INFO: &str = "4";

/// Number of the file descriptor from which `bwrap` reads the first system-call filter. The file descriptors of the
/// other filters have the next numbers.
const FILTERS: usize = 5;

/// Lowest number of the file descriptors that the supervisor opens for `bwrap`. The child copies these descriptors
/// to the numbers 3, 4 and so on, and then executes `bwrap`. The numbers of the copies are below `ABOVE`, so no
/// copy overwrites an original that the child has not yet copied.
const ABOVE: i32 = 16;

/// A sandbox in which a job can be started, or was started. Each sandbox runs only one job.
#[derive(Debug)]
pub(crate) struct Sandbox {
    /// Process id of the first process.
    pub(crate) first: i32,
    /// Root of the sandbox's file system. The supervisor looks there for the job's program.
    pub(crate) root: OwnedFd,
    process: OwnedFd,
    network: SandboxNetwork,
    /// Receives the exit status of the `bwrap` process. `bwrap` exits after the sandbox's first process has ended.
    maker: oneshot::Receiver<WaitStatus>,
    /// Pipe that keeps the first process alive as long as the pipe is open.
    lifeline: OwnedFd,
    /// Lock on the sandbox's image.
    image: OwnedFd,
}

/// The folders for a new sandbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SandboxFolders<'a> {
    /// Folder that becomes the sandbox's working folder.
    pub(crate) work: &'a Path,
    /// Path that marks the sandbox's processes: the variable `WINDLASS_JOB` of each process contains it.
    pub(crate) mark: &'a Path,
}

/// The information that `bwrap` reports about a sandbox.
#[derive(Debug, Deserialize)]
struct Info {
    #[serde(rename = "child-pid")]
    child_pid: i32,
}

#[derive(Debug)]
pub(crate) struct SandboxFactory {
    reaper: Reaper,
    /// Executable file that each sandbox runs as its first process. The file is created together with the first
    /// sandbox.
    holder: OnceCell<OwnedFd>,
}

impl SandboxFactory {
    /// Creates a factory. The `reaper` reports the end of `bwrap` processes.
    pub(crate) fn new(reaper: Reaper) -> Self {
        Self { reaper, holder: OnceCell::new() }
    }

    /// Returns the executable file that each sandbox runs as its first process.
    fn holder(&self) -> io::Result<OwnedFd> {
        if let Some(holder) = self.holder.get() {
            return holder.try_clone();
        }
        let made = holder::file()?;
        self.holder.get_or_init(|| made).try_clone()
    }

    /// Creates a sandbox by means of `bwrap`, and waits until the sandbox is ready.
    pub(crate) async fn make(
        &self,
        plan: &SandboxPlan,
        folders: SandboxFolders<'_>,
    ) -> Result<Sandbox, StartFailure> {
        let other = |error: io::Error| StartFailure::Other(format!("the sandbox can't be made: {error}"));
        let image = lock(plan).map_err(|error| StartFailure::ImageNotFound {
            image: plan.digest.to_string(),
            why: format!("its folder in the store can't be used: {error}"),
        })?;
        let mut making = PendingSandbox::start(plan, folders, self.holder().map_err(other)?, &self.reaper)
            .map_err(other)?;
        let info = timeout(PATIENCE, making.wait_ready()).await;
        let entered = match info {
            Ok(Ok(Some(info))) => enter(info.child_pid),
            Ok(Ok(None)) => return Err(making.failed().await),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::from(ErrorKind::TimedOut)),
        };
        let (first, process, root) = entered.map_err(other)?;
        let PendingSandbox { maker, lifeline, .. } = making;
        let network = plan.network;
        Ok(Sandbox { first, root, process, network, maker, lifeline, image })
    }
}

impl Sandbox {
    /// Tells whether the first process of the sandbox still runs. When this process has ended, `bwrap` exits, too,
    /// and the reaper reports the end of `bwrap`. Until this report, the function still returns `true`.
    pub(crate) fn is_alive(&self) -> bool {
        self.maker.is_empty()
    }

    /// Tells whether the first process of the sandbox has no child. The first process inherits all orphans in the
    /// sandbox. So if the main process has ended and the first process has no child, no other process is left in
    /// the sandbox. Returns `false` on a kernel that doesn't list the children of a process.
    pub(crate) fn is_empty(&self) -> bool {
        let children = fs::read(format!("/proc/{0}/task/{0}/children", self.first));
        children.is_ok_and(|children| children.is_empty())
    }

    /// Begins to kill all processes in the sandbox. The returned future resolves when no process is left.
    pub(crate) fn close(self) -> impl Future<Output = ()> + 'static {
        let Self { process, maker, lifeline, image, .. } = self;
        // The image is not needed any more and may be pruned.
        drop(image);
        let _ended = pidfd_send_signal(&process, Signal::KILL);
        async move {
            // A process that hangs in the kernel can't be killed.
            let _late = timeout(PATIENCE, maker).await;
            drop(lifeline);
        }
    }

    /// Starts a child that enters the sandbox and executes its program there. Returns the child's process id
    /// outside of the sandbox.
    pub(crate) fn start(
        &self,
        launch: &Launch,
        entrance: &Entrance,
        stack: &mut Stack,
    ) -> Result<i32, Failed> {
        let inner = RefCell::default();
        let entry = Entry { sandbox: self, launch, inner, started: Cell::new(0) };
        fork::start(&entry, entrance, stack)?;
        Ok(entry.started.get())
    }
}

/// A sandbox that is being created.
struct PendingSandbox {
    maker: oneshot::Receiver<WaitStatus>,
    lifeline: OwnedFd,
    ready: Receiver,
    info: Receiver,
    words: Receiver,
}

impl PendingSandbox {
    fn start(
        plan: &SandboxPlan,
        folders: SandboxFolders<'_>,
        holder: OwnedFd,
        reaper: &Reaper,
    ) -> io::Result<Self> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from);
        let ((held, lifeline), (ready, ready_end), (info, info_end), (words, words_end)) =
            (pipe()?, pipe()?, pipe()?, pipe()?);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let filters = confine::filters()?;
        let numbers: Vec<String> = (FILTERS..).take(filters.len()).map(|number| number.to_string()).collect();
        let args = plan.arguments(&text(folders.work), INFO, &numbers, HOLDER);
        let extra = [holder, info_end].into_iter().chain(filters);
        let extra = extra.map(|file| fcntl_dupfd_cloexec(file, ABOVE)).collect::<Result<_, _>>()?;
        let said = ["bwrap".to_owned()].into_iter().chain(args);
        let env = [format!("{MARK}={}", text(folders.mark))];
        let launch = Launch {
            image: Image::of(text(&plan.bwrap), said, env).map_err(io::Error::other)?,
            stdio: [held, ready_end, words_end],
            extra,
            setup: ChildSetup::Host { folder: None, supervisor: getpid() },
            confinement: Prepared::default(),
            open_files: None,
        };
        let started = fork::start(&launch, &Entrance::default(), &mut Stack::default());
        let pid = started.map_err(|failed| match io::Error::from(failed) {
            error if error.kind() == ErrorKind::NotFound => io::Error::other(advice::missing(&plan.bwrap)),
            error => error,
        })?;
        let maker = reaper.status_of(pid);
        let pipe = Receiver::from_owned_fd;
        Ok(Self { maker, lifeline, ready: pipe(ready)?, info: pipe(info)?, words: pipe(words)? })
    }

    /// Waits until the first process reports that the sandbox is ready. Returns `None` if the sandbox could
    /// not be created.
    async fn wait_ready(&mut self) -> io::Result<Option<Info>> {
        if self.ready.read(&mut [0; 1]).await? == 0 {
            return Ok(None);
        }
        let json = text(&mut self.info).await?;
        serde_json::from_str(&json).map(Some).map_err(io::Error::other)
    }

    async fn failed(mut self) -> StartFailure {
        let words = timeout(PATIENCE, text(&mut self.words)).await;
        let words = words.ok().and_then(Result::ok).unwrap_or_default();
        StartFailure::Other(advice::unmade(words.trim()))
    }
}

async fn text(pipe: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut bytes = Vec::new();
    pipe.take(LAST_WORDS).read_to_end(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens the first process of a sandbox by its process id `pid`, and opens the root of the sandbox's file system.
/// Returns `pid`, the descriptor of the process, and the descriptor of the root.
fn enter(pid: i32) -> io::Result<(i32, OwnedFd, OwnedFd)> {
    let number = Pid::from_raw(pid).ok_or_else(|| io::Error::from(ErrorKind::InvalidData))?;
    let process = pidfd_open(number, PidfdFlags::empty())?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty())?;
    Ok((pid, process, root))
}

/// Locks the image of a sandbox, so that the image is not pruned.
fn lock(plan: &SandboxPlan) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let image = openat(CWD, &plan.image, flags, Mode::empty())?;
    flock(&image, FlockOperation::NonBlockingLockShared)?;
    Ok(image)
}

/// A child process of the supervisor. The child enters the sandbox, and starts the main process of the job there. The
/// parent of the main process is the supervisor, and not this child (`CLONE_PARENT`).
struct Entry<'a> {
    sandbox: &'a Sandbox,
    launch: &'a Launch,
    /// Stack of the second child, which becomes the main process of the job.
    inner: RefCell<Stack>,
    started: Cell<i32>,
}

#[expect(unsafe_code, reason = "a child can be set up only between its making and its program")]
// SAFETY: `run` makes system calls on values that were prepared before. It writes to `started` and borrows
// `inner`, which no other code accesses before the child has ended.
unsafe impl Child for Entry<'_> {
    fn run(&self) -> Result<(), Errno> {
        enter_namespaces(&self.sandbox.process, self.sandbox.network)?;
        // The id is valid in the supervisor, since this child is still in the supervisor's PID namespace.
        let pid = fork::start_in_child(self.launch, libc::CLONE_PARENT, &mut self.inner.borrow_mut())?;
        self.started.set(pid);
        Ok(())
    }
}

fn enter_namespaces(process: &OwnedFd, network: SandboxNetwork) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let own = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    let network = match network {
        SandboxNetwork::None => libc::CLONE_NEWNET,
        SandboxNetwork::Host => 0,
    };
    #[expect(unsafe_code, reason = "rustix moves threads only, and not by the descriptor of a process")]
    // SAFETY: this child is a process of one thread; the call changes only its own namespaces.
    let moved = unsafe { libc::setns(process.as_raw_fd(), own | network) };
    if moved == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}
