//! The few calls of the system that the standard library has no name for.
//!
//! Declared here and not taken from the crate `libc`: the runner is compiled by `rustc` alone. Types and numbers are
//! those of Linux with 64-bit words, the same on all its architectures unless said otherwise.

use std::{
    ffi::{CStr, c_char, c_int, c_long, c_short, c_uint, c_ulong, c_void},
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
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
    fn fork() -> c_int;
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
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
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
pub(crate) const E2BIG: i32 = 7;
pub(crate) const ENOEXEC: i32 = 8;
pub(crate) const EACCES: i32 = 13;
pub(crate) const EPERM: i32 = 1;
pub(crate) const EXDEV: i32 = 18;
pub(crate) const ENOTDIR: i32 = 20;
pub(crate) const ENOSYS: i32 = 38;
pub(crate) const ELOOP: i32 = 40;

const O_WRONLY: c_int = 1;
const O_NONBLOCK: c_int = 0o4000;
const O_CLOEXEC: c_int = 0o2_000_000;
const O_PATH: u64 = 0o10_000_000;
const F_GETFL: c_int = 3;
const F_SETFL: c_int = 4;
const WNOHANG: c_int = 1;
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

/// Starts a process with these three streams, in a session of its own, in this folder. An error tells why the image
/// can't be executed.
pub(crate) fn spawn(
    image: &Image<'_>,
    folder: BorrowedFd<'_>,
    streams: [BorrowedFd<'_>; 3],
) -> io::Result<i32> {
    let (why, child_why) = pipe()?;
    // SAFETY: this program has one thread, so the child may do all that its parent may.
    let pid = answer(unsafe { fork() })?;
    if pid == 0 {
        let error = become_job(image, folder, streams);
        let number = error.raw_os_error().unwrap_or(0).to_le_bytes();
        // SAFETY: the buffer is as long as it says; the process ends here.
        unsafe {
            write(child_why.as_raw_fd(), number.as_ptr().cast(), number.len());
            _exit(127);
        }
    }
    drop(child_why);
    let mut number = [0; 4];
    // It ends when the child has become its image.
    match read_some(why.as_raw_fd(), &mut number) {
        Ok(4) => {
            let _reaped = wait_for(pid);
            Err(io::Error::from_raw_os_error(i32::from_le_bytes(number)))
        }
        _ => Ok(pid),
    }
}

fn become_job(image: &Image<'_>, folder: BorrowedFd<'_>, streams: [BorrowedFd<'_>; 3]) -> io::Error {
    // SAFETY: plain calls; pointers are to values that live until the image is executed.
    unsafe {
        setsid();
        umask(0o022);
        // The runner is not to be looked into; its jobs are as any process.
        prctl(PR_SET_DUMPABLE, 1 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
        // No cores: they would be left for the next.
        setrlimit(RLIMIT_CORE, &[0, 0]);
        // When memory runs out it shall be the job that goes.
        let score = open(c"/proc/self/oom_score_adj".as_ptr(), O_WRONLY | O_CLOEXEC);
        if score >= 0 {
            write(score, c"500".as_ptr().cast(), 3);
        }
        // 0 is the default action, which the standard library has changed.
        signal(SIGPIPE, 0);
        if sigprocmask(SIG_SETMASK, &SignalSet([0; 16]), ptr::null_mut()) < 0
            || fchdir(folder.as_raw_fd()) < 0
        {
            return io::Error::last_os_error();
        }
        for (at, stream) in streams.iter().enumerate() {
            if dup2(stream.as_raw_fd(), c_int::try_from(at).unwrap_or(0)) < 0 {
                return io::Error::last_os_error();
            }
        }
        execve(image.path.as_ptr(), image.argv.as_ptr(), image.envp.as_ptr());
    }
    io::Error::last_os_error()
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
