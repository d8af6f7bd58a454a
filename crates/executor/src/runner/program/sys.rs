//! The few calls of the system that the standard library has no name for.
//!
//! Declared here and not taken from the crate `libc`: the runner is compiled by `rustc` alone. Types and numbers are
//! those of Linux with 64-bit words, the same on all its architectures unless said otherwise.

use std::{
    ffi::{CStr, c_char, c_int, c_long, c_short, c_uint, c_ulong, c_void},
    fs::File,
    io,
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::fs::FileExt,
    },
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicI32, Ordering},
    },
};

#[repr(C)]
pub(crate) struct PollFd {
    pub(crate) fd: RawFd,
    pub(crate) events: c_short,
    pub(crate) revents: c_short,
}

/// 1024 bits.
#[repr(C)]
struct SignalSet([c_ulong; 16]);

unsafe extern "C" {
    fn clone(
        child: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn _exit(code: c_int) -> !;
    fn setsid() -> c_int;
    fn umask(mask: c_uint) -> c_uint;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn fchdir(fd: c_int) -> c_int;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
    fn pipe2(fds: *mut c_int, flags: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
    fn sigprocmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn signalfd(fd: c_int, mask: *const SignalSet, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn read(fd: c_int, buffer: *mut c_void, length: usize) -> isize;
    fn write(fd: c_int, buffer: *const c_void, length: usize) -> isize;
    fn syscall(number: c_long, ...) -> c_long;
}

const RLIMIT_CORE: c_int = 4;

pub(crate) const SIGKILL: i32 = 9;
pub(crate) const SIGUSR1: i32 = 10;
pub(crate) const SIGPIPE: i32 = 13;
pub(crate) const SIGTERM: i32 = 15;
pub(crate) const SIGCHLD: i32 = 17;

pub(crate) const POLLIN: c_short = 1;
pub(crate) const POLLOUT: c_short = 4;

pub(crate) const ENOENT: i32 = 2;
pub(crate) const EPERM: i32 = 1;
pub(crate) const EXDEV: i32 = 18;
pub(crate) const ENOTDIR: i32 = 20;
pub(crate) const ENOSYS: i32 = 38;
pub(crate) const ELOOP: i32 = 40;

const O_NONBLOCK: c_int = 0o4000;
const O_CLOEXEC: c_int = 0o2_000_000;
const O_PATH: u64 = 0o10_000_000;
const F_GETFL: c_int = 3;
const F_SETFL: c_int = 4;
const WNOHANG: c_int = 1;
const CLONE_VM: c_int = 0x100;
const CLONE_VFORK: c_int = 0x4000;
const MFD_CLOEXEC: c_uint = 1;
const PR_SET_DUMPABLE: c_int = 4;
const PR_SET_CHILD_SUBREAPER: c_int = 36;
const SIG_SETMASK: c_int = 2;
/// The same number everywhere: it came after the tables were made one.
const SYS_OPENAT2: c_long = 437;
const RESOLVE_NO_MAGICLINKS: u64 = 0x02;
const RESOLVE_BENEATH: u64 = 0x08;

/// What `execve` takes.
pub(crate) struct Image<'a> {
    pub(crate) path: &'a CStr,
    /// Ends with a null pointer.
    pub(crate) argv: &'a [*const c_char],
    /// Ends with a null pointer.
    pub(crate) envp: &'a [*const c_char],
}

/// What the kernel answered, or why it didn't.
fn answer(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Where a child runs until it executes its image: more than a few calls need.
const STACK: usize = 64 * 1024;

/// What a child is made of, which shares our memory until it is its image.
struct Child<'a> {
    image: &'a Image<'a>,
    folder: BorrowedFd<'a>,
    streams: [BorrowedFd<'a>; 3],
    /// Why it is not; 0 if it is.
    failed: AtomicI32,
}

/// Starts a process with these three streams, in a session of its own, in this folder. An error tells why the image
/// can't be executed.
///
/// As `vfork` has it: to copy our memory for a child that throws it away at once takes longer than all else here.
pub(crate) fn spawn(
    image: &Image<'_>,
    folder: BorrowedFd<'_>,
    streams: [BorrowedFd<'_>; 3],
) -> io::Result<i32> {
    let child = Child { image, folder, streams, failed: AtomicI32::new(0) };
    let mut stack: Box<[MaybeUninit<u128>]> = Box::new_uninit_slice(STACK / size_of::<u128>());
    let argument: *const Child<'_> = &child;
    // When memory runs out it shall be the job that goes; and so it is before it is another program.
    score(JOB_SCORE);
    // SAFETY: we stand still until the child is its image or has ended, so that the stack is its own, and `child` lives. This
    // program has one thread and no handlers of signals. The end of the stack is aligned as u128 is.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len());
        answer(clone(become_job, top.cast(), CLONE_VM | CLONE_VFORK | SIGCHLD, argument.cast_mut().cast()))
    };
    score(own_score());
    let pid = pid?;
    match child.failed.load(Ordering::Acquire) {
        0 => Ok(pid),
        number => {
            let _reaped = wait_for(pid);
            Err(io::Error::from_raw_os_error(number))
        }
    }
}

extern "C" fn become_job(argument: *mut c_void) -> c_int {
    // SAFETY: it is what `spawn` passes. Plain calls, which change nothing that is our parent's; pointers are to values
    // that live until the image is executed.
    unsafe {
        let child = &*argument.cast::<Child<'_>>();
        setsid();
        umask(0o022);
        // No cores: they would be left for the next.
        setrlimit(RLIMIT_CORE, &[0, 0]);
        // 0 is the default action, which the standard library has changed.
        signal(SIGPIPE, 0);
        let streams = child.streams.iter().enumerate();
        let is_ready = sigprocmask(SIG_SETMASK, &SignalSet([0; 16]), ptr::null_mut()) >= 0
            && fchdir(child.folder.as_raw_fd()) >= 0
            && streams.fold(true, |done, (at, stream)| {
                done && dup2(stream.as_raw_fd(), c_int::try_from(at).unwrap_or(0)) >= 0
            });
        if is_ready {
            execve(child.image.path.as_ptr(), child.image.argv.as_ptr(), child.image.envp.as_ptr());
        }
        let number = io::Error::last_os_error().raw_os_error().unwrap_or(EPERM);
        child.failed.store(number, Ordering::Release);
        _exit(127)
    }
}

/// How likely the kernel is to end a process for want of memory, from -1000 to 1000.
const JOB_SCORE: i32 = 500;

/// The file with our own, opened while we could, and what was in it.
static SCORE: OnceLock<Option<(File, i32)>> = OnceLock::new();

fn open_score() -> Option<(File, i32)> {
    let path = "/proc/self/oom_score_adj";
    let own = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some((File::options().write(true).open(path).ok()?, own))
}

/// What our score is when we start no child; that of jobs if ours can't be changed.
fn own_score() -> i32 {
    SCORE.get().and_then(Option::as_ref).map_or(JOB_SCORE, |(_, own)| *own)
}

/// Sets our score; a child begins with the same.
fn score(score: i32) {
    if let Some(Some((file, own))) = SCORE.get()
        && *own < JOB_SCORE
    {
        let _not_allowed = file.write_at(score.to_string().as_bytes(), 0);
    }
}

/// Makes a file without a name, in memory.
pub(crate) fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string; who owns the descriptor is said at once.
    unsafe { Ok(File::from_raw_fd(answer(memfd_create(c"stdin".as_ptr(), MFD_CLOEXEC))?)) }
}

/// Makes a pipe that no job inherits: where to read, where to write.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: there is room for two; who owns them is said at once.
    unsafe {
        answer(pipe2(fds.as_mut_ptr(), O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// Makes reading and writing return at once.
pub(crate) fn never_wait(fd: RawFd) -> io::Result<()> {
    // SAFETY: only flags are read and set.
    unsafe {
        let flags = answer(fcntl(fd, F_GETFL))?;
        answer(fcntl(fd, F_SETFL, flags | O_NONBLOCK)).map(drop)
    }
}

/// Reads what there is.
pub(crate) fn read_some(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the buffer is as long as it says.
        let length = unsafe { read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(length) {
            Ok(length) => return Ok(length),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Writes what there is room for.
pub(crate) fn write_some(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the buffer is as long as it says.
        let length = unsafe { write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(length) {
            Ok(length) => return Ok(length),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Waits until something can be read or written, at the longest this many milliseconds; for ever if it is negative.
pub(crate) fn wait(fds: &mut [PollFd], milliseconds: i32) {
    // SAFETY: the table is as long as it says. An interruption is as good as a reason to look.
    unsafe {
        poll(fds.as_mut_ptr(), fds.len() as c_ulong, milliseconds);
    }
}

/// Collects one child that has ended: its number and its status. `None` when there is none; an error when there is no
/// child at all.
pub(crate) fn reap() -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: there is room for the status.
    match answer(unsafe { waitpid(-1, &mut status, WNOHANG) })? {
        0 => Ok(None),
        pid => Ok(Some((pid, status))),
    }
}

fn wait_for(pid: i32) -> io::Result<i32> {
    // SAFETY: nothing is written.
    answer(unsafe { waitpid(pid, ptr::null_mut(), 0) })
}

/// Sends a signal to a process.
pub(crate) fn send(pid: i32, signal: i32) {
    if pid > 1 {
        // SAFETY: a plain call; that it is gone is as good.
        unsafe {
            kill(pid, signal);
        }
    }
}

/// Ends everybody else in this namespace. Only for the first process of one, and it makes sure of that itself.
pub(crate) fn kill_all_others() {
    if std::process::id() == 1 {
        // SAFETY: a plain call, which in a namespace of our own reaches nobody outside.
        unsafe {
            kill(-1, SIGKILL);
        }
    }
}

/// Keeps these signals to be read from the descriptor.
pub(crate) fn signals(which: &[i32]) -> io::Result<OwnedFd> {
    let mut set = SignalSet([0; 16]);
    for signal in which {
        set.0[0] |= 1 << (signal - 1);
    }
    // SAFETY: the set lives as long as the calls; who owns the descriptor is said at once.
    unsafe {
        answer(sigprocmask(SIG_SETMASK, &set, ptr::null_mut()))?;
        Ok(OwnedFd::from_raw_fd(answer(signalfd(-1, &set, O_NONBLOCK | O_CLOEXEC))?))
    }
}

/// Reads the numbers of the signals that have come.
pub(crate) fn signals_seen(fd: RawFd) -> Vec<i32> {
    // A `signalfd_siginfo` has 128 bytes, the first four of which are the number.
    let mut buffer = [0; 128 * 16];
    let length = read_some(fd, &mut buffer).unwrap_or(0);
    let infos = buffer[..length].chunks_exact(128);
    infos.filter_map(|info| Some(i32::from_le_bytes(*info.first_chunk::<4>()?))).collect()
}

/// Takes in the children of our children, and lets nobody look into us or change us.
pub(crate) fn settle() {
    // Afterwards it can't be opened, as everything of ours in /proc.
    SCORE.get_or_init(open_score);
    // SAFETY: plain calls. Without the first, orphans go to who is above us, as without us.
    unsafe {
        prctl(PR_SET_CHILD_SUBREAPER, 1 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
        prctl(PR_SET_DUMPABLE, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
    }
}

/// Whether what is opened below a folder is only named, or read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Named,
    ForReading,
}

/// Opens something below a folder; the kernel sees to it that no link leads out.
pub(crate) fn open_below(folder: BorrowedFd<'_>, path: &CStr, how: Open) -> io::Result<OwnedFd> {
    let flags = match how {
        Open::Named => O_PATH,
        // A pipe that nobody writes to must not make us wait.
        Open::ForReading => O_NONBLOCK as u64,
    };
    // `struct open_how`: flags, mode, resolve.
    let how: [u64; 3] = [flags | O_CLOEXEC as u64, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS];
    // SAFETY: the path is a C string, the struct as long as it says; who owns the descriptor is said at once.
    unsafe {
        let size = size_of_val(&how);
        let fd = syscall(SYS_OPENAT2, folder.as_raw_fd(), path.as_ptr(), how.as_ptr(), size);
        answer(c_int::try_from(fd).unwrap_or(-1)).map(|fd| OwnedFd::from_raw_fd(fd))
    }
}
