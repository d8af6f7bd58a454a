//! The system calls that the standard library doesn't wrap.
//!
//! The build script compiles the runner without other crates. So this file declares the calls itself, and
//! does not use the crate `libc`. The types and the values of constants are those of Linux on x86-64 and 64-bit
//! Arm. Both architectures have the same types and values.

use std::{
    ffi::{CStr, c_char, c_int, c_short, c_uint, c_ulong, c_void},
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

/// The C type `sigset_t`. On 64-bit Linux, a set has 1024 bits. Bit 0 of the first number stands for signal 1.
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
}

const RLIMIT_CORE: c_int = 4;

pub(crate) const SIGKILL: i32 = 9;
pub(crate) const SIGUSR1: i32 = 10;
pub(crate) const SIGPIPE: i32 = 13;
pub(crate) const SIGTERM: i32 = 15;
pub(crate) const SIGCHLD: i32 = 17;

pub(crate) const POLLIN: c_short = 1;
pub(crate) const POLLOUT: c_short = 4;

const EPERM: i32 = 1;

const O_NONBLOCK: c_int = 0o4000;
const O_CLOEXEC: c_int = 0o2_000_000;
const F_GETFL: c_int = 3;
const F_SETFL: c_int = 4;
const WNOHANG: c_int = 1;
const CLONE_VM: c_int = 0x100;
const CLONE_VFORK: c_int = 0x4000;
const MFD_CLOEXEC: c_uint = 1;
const PR_SET_DUMPABLE: c_int = 4;
const PR_SET_CHILD_SUBREAPER: c_int = 36;
const SIG_SETMASK: c_int = 2;

/// The arguments of `execve`: a program with its arguments and its environment.
pub(crate) struct Image<'a> {
    pub(crate) path: &'a CStr,
    /// Array of pointers that ends with a null pointer.
    pub(crate) argv: &'a [*const c_char],
    /// Array of pointers that ends with a null pointer.
    pub(crate) envp: &'a [*const c_char],
}

/// Converts a negative result into the last OS error.
fn answer(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Stack size in bytes for a child process. The child uses this stack only until it executes its program. Until
/// then, the child calls only a few functions, which need less stack than this.
const STACK: usize = 64 * 1024;

/// The parameters of a child, which shares the parent's memory until it executes its program.
struct Child<'a> {
    image: &'a Image<'a>,
    folder: BorrowedFd<'a>,
    streams: [BorrowedFd<'a>; 3],
    /// Error number of the failed start; 0 after a success.
    failed: AtomicI32,
}

/// Starts a process in this folder and in a new session, with these three streams. An error is the reason why the
/// program can't be executed.
///
/// As after `vfork`, the child shares the memory of this program until it executes its own program. A copy of the
/// memory would take longer than all other steps, and the child would discard the copy at once.
pub(crate) fn spawn(
    image: &Image<'_>,
    folder: BorrowedFd<'_>,
    streams: [BorrowedFd<'_>; 3],
) -> io::Result<i32> {
    let child = Child { image, folder, streams, failed: AtomicI32::new(0) };
    let mut stack: Box<[MaybeUninit<u128>]> = Box::new_uninit_slice(STACK / size_of::<u128>());
    let argument: *const Child<'_> = &child;
    // If memory runs out, the kernel should kill the job and not the runner (this program). The child
    // inherits the score of the runner. So the score is changed before the child exists.
    score(JOB_SCORE);
    // SAFETY: this thread is suspended until the child has executed its program or has ended. So the child
    // has the stack to itself, and `child` stays alive. This program has one thread and no signal handlers.
    // The end of the stack is aligned as u128 is.
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
    // SAFETY: `argument` is the pointer that `spawn` passes. The calls change no state of the parent;
    // pointers are to values that live until the program is executed.
    unsafe {
        let child = &*argument.cast::<Child<'_>>();
        setsid();
        umask(0o022);
        // The job writes no core files, since they would remain for the next job.
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

/// OOM score adjustment of jobs. The values are from -1000 to 1000. The kernel kills processes with higher
/// values first.
const JOB_SCORE: i32 = 500;

/// The file with the OOM score adjustment of the runner (this program), and the adjustment at the start of the runner.
/// The runner opens the file at its start, because it later gives up the permission to open the file.
static SCORE: OnceLock<Option<(File, i32)>> = OnceLock::new();

fn open_score() -> Option<(File, i32)> {
    let path = "/proc/self/oom_score_adj";
    let own = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some((File::options().write(true).open(path).ok()?, own))
}

/// Returns the OOM score adjustment that the runner (this program) had at its start. The runner has another
/// adjustment only while it starts a child. If the file with the adjustment could not be opened, returns
/// [`JOB_SCORE`].
fn own_score() -> i32 {
    SCORE.get().and_then(Option::as_ref).map_or(JOB_SCORE, |(_, own)| *own)
}

/// Sets the OOM score adjustment of the runner (this program), which a child inherits.
fn score(score: i32) {
    if let Some(Some((file, own))) = SCORE.get()
        && *own < JOB_SCORE
    {
        let _not_allowed = file.write_at(score.to_string().as_bytes(), 0);
    }
}

/// Creates an unnamed file in memory.
pub(crate) fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string; an `OwnedFd` or `File` owns the new descriptor at once.
    unsafe { Ok(File::from_raw_fd(answer(memfd_create(c"stdin".as_ptr(), MFD_CLOEXEC))?)) }
}

/// Creates a pipe that no job inherits. Returns the read end and the write end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the array has space for two descriptors; an `OwnedFd` owns each of them at once.
    unsafe {
        answer(pipe2(fds.as_mut_ptr(), O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// Makes reading and writing non-blocking.
pub(crate) fn never_wait(fd: RawFd) -> io::Result<()> {
    // SAFETY: only flags are read and set.
    unsafe {
        let flags = answer(fcntl(fd, F_GETFL))?;
        answer(fcntl(fd, F_SETFL, flags | O_NONBLOCK)).map(drop)
    }
}

/// Reads the available bytes, at most as many as the buffer holds.
pub(crate) fn read_some(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the buffer has the passed length.
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

/// Writes as many bytes as the descriptor accepts.
pub(crate) fn write_some(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the buffer has the passed length.
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

/// Waits until a descriptor is ready, at most this many milliseconds. A negative number means no time limit.
pub(crate) fn wait(fds: &mut [PollFd], milliseconds: i32) {
    // SAFETY: the table has the passed length. The caller checks all descriptors again after an interruption.
    unsafe {
        poll(fds.as_mut_ptr(), fds.len() as c_ulong, milliseconds);
    }
}

/// Reaps one child that has ended, and returns its process id and status. Returns `None` when no child has
/// ended, and an error when there is no child.
pub(crate) fn reap() -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: there is space for the status.
    match answer(unsafe { waitpid(-1, &mut status, WNOHANG) })? {
        0 => Ok(None),
        pid => Ok(Some((pid, status))),
    }
}

fn wait_for(pid: i32) -> io::Result<i32> {
    // SAFETY: the call writes nothing.
    answer(unsafe { waitpid(pid, ptr::null_mut(), 0) })
}

/// Sends a signal to one process, and ignores errors: the process may have ended. Ignores ids below 2, because they
/// stand for the first process of a namespace or for several processes.
pub(crate) fn send(pid: i32, signal: i32) {
    if pid > 1 {
        // SAFETY: a plain call; a process that is already gone is no error.
        unsafe {
            kill(pid, signal);
        }
    }
}

/// Kills all other processes of this namespace. Does nothing if this process is not the first process of its
/// namespace.
pub(crate) fn kill_all_others() {
    if std::process::id() == 1 {
        // SAFETY: a plain call, which in a namespace of its own reaches no process outside.
        unsafe {
            kill(-1, SIGKILL);
        }
    }
}

/// Blocks the signals `which`, and unblocks all other signals. Returns a file descriptor (a `signalfd`) from which the
/// blocked signals can be read.
pub(crate) fn signals(which: &[i32]) -> io::Result<OwnedFd> {
    let mut set = SignalSet([0; 16]);
    for signal in which {
        set.0[0] |= 1 << (signal - 1);
    }
    // SAFETY: the set lives as long as the calls; an `OwnedFd` owns the new descriptor at once.
    unsafe {
        answer(sigprocmask(SIG_SETMASK, &set, ptr::null_mut()))?;
        Ok(OwnedFd::from_raw_fd(answer(signalfd(-1, &set, O_NONBLOCK | O_CLOEXEC))?))
    }
}

/// Reads the numbers of the received signals from a file descriptor that [`signals`] has returned.
pub(crate) fn signals_seen(fd: RawFd) -> Vec<i32> {
    // A `signalfd_siginfo` has 128 bytes; the first four are the signal number.
    let mut buffer = [0; 128 * 16];
    let length = read_some(fd, &mut buffer).unwrap_or(0);
    let infos = buffer[..length].chunks_exact(128);
    infos.filter_map(|info| Some(i32::from_le_bytes(*info.first_chunk::<4>()?))).collect()
}

/// Makes the runner (this program) the parent of orphaned descendants, and denies other processes access to
/// its memory.
pub(crate) fn settle() {
    // The file with the OOM score adjustment is opened first. After the calls below, this process can't open
    // its files in `/proc`.
    SCORE.get_or_init(open_score);
    // SAFETY: plain calls. If the first call fails, the parent of the runner inherits orphans.
    unsafe {
        prctl(PR_SET_CHILD_SUBREAPER, 1 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
        prctl(PR_SET_DUMPABLE, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
    }
}
