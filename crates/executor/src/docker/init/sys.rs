//! The system calls that the standard library doesn't wrap.
//!
//! The build script compiles this program without other crates. So this file declares the calls itself, and
//! does not use the crate `libc`. The constants have the values of Linux on x86-64 and 64-bit Arm. Both
//! architectures have the same values.

use std::{
    ffi::{CString, c_char, c_int, c_uint, c_ulong, c_void},
    io,
    path::Path,
    ptr,
};

unsafe extern "C" {
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn setsid() -> c_int;
    fn umask(mask: c_uint) -> c_uint;
    fn access(path: *const c_char, mode: c_int) -> c_int;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
    fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
    fn sigemptyset(set: *mut SigSet) -> c_int;
    fn sigaddset(set: *mut SigSet, signal: c_int) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const SigSet, old: *mut SigSet) -> c_int;
    fn sigwait(set: *const SigSet, signal: *mut c_int) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn write(fd: c_int, bytes: *const c_void, length: usize) -> isize;
    fn close(fd: c_int) -> c_int;
}

pub(crate) const SIGHUP: i32 = 1;
pub(crate) const SIGINT: i32 = 2;
pub(crate) const SIGKILL: i32 = 9;
pub(crate) const SIGTERM: i32 = 15;
const SIGPIPE: i32 = 13;

const SIG_DFL: usize = 0;
const SIG_SETMASK: c_int = 2;
const RLIMIT_CORE: c_int = 4;
const RLIMIT_NOFILE: c_int = 7;
const PR_SET_DUMPABLE: c_int = 4;
const X_OK: c_int = 1;
const O_WRONLY: c_int = 1;

/// Protects this process from other processes of the same user in the container: they can't trace this process or
/// open its file descriptors. Also disables core files for this process and its children. The limit for core files
/// is set here, and not in the request that creates the container. If such a request sets a limit, Podman drops its
/// own default limits.
pub(crate) fn shut_off() {
    // SAFETY: plain system calls, which read two numbers.
    unsafe {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        setrlimit(RLIMIT_CORE, &[0, 0]);
    }
}

/// Limits the number of open files of this process and its children.
pub(crate) fn limit_open_files(files: u64) -> io::Result<()> {
    // SAFETY: a plain system call, which reads two numbers.
    if unsafe { setrlimit(RLIMIT_NOFILE, &[files, files]) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Sets the umask: all users can read a new file, and only its owner can write to it.
pub(crate) fn set_umask() {
    // SAFETY: a plain system call.
    unsafe { umask(0o022) };
}

/// Sends a signal to a process. If `pid` is -1, sends the signal to all other processes. If the
/// signal can't be sent, for example because the process has ended, the function does nothing.
pub(crate) fn send(pid: i32, signal: i32) {
    // SAFETY: a plain system call.
    unsafe { kill(pid, signal) };
}

/// Waits until a child ends, and returns its process id and status.
pub(crate) fn wait_for_any() -> io::Result<(i32, i32)> {
    let mut status = 0;
    // SAFETY: `status` lives as long as the call.
    match unsafe { waitpid(-1, &raw mut status, 0) } {
        pid @ 1.. => Ok((pid, status)),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn may_execute(path: &Path) -> bool {
    CString::new(path.as_os_str().as_encoded_bytes())
        // SAFETY: the path lives as long as the call.
        .is_ok_and(|path| unsafe { access(path.as_ptr(), X_OK) } == 0)
}

/// A signal set, at least as large as the signal set of any C library.
#[repr(C, align(16))]
pub(crate) struct SigSet([u64; 16]);

impl SigSet {
    const EMPTY: Self = Self([0; 16]);

    pub(crate) fn of(signals: impl IntoIterator<Item = i32>) -> Self {
        let mut set = Self::EMPTY;
        // SAFETY: the set is larger than the set of the C library.
        unsafe {
            sigemptyset(&raw mut set);
            for signal in signals {
                sigaddset(&raw mut set, signal);
            }
        }
        set
    }

    /// Blocks exactly these signals in this thread and in the threads that it starts.
    pub(crate) fn block(&self) {
        // SAFETY: the set lives as long as the call.
        unsafe { pthread_sigmask(SIG_SETMASK, self, ptr::null_mut()) };
    }

    /// Waits until a signal of this set arrives, and returns the number of the signal. All signals of the set must be
    /// [blocked](Self::block).
    pub(crate) fn wait(&self) -> i32 {
        let mut signal = 0;
        // SAFETY: both values live as long as the call.
        unsafe { sigwait(self, &raw mut signal) };
        signal
    }
}

/// The arguments of `execve`, allocated before the fork.
pub(crate) struct Image {
    path: CString,
    /// Ends with a null pointer, as `envp` does.
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    /// Texts that the pointers refer to.
    _texts: [Vec<CString>; 2],
}

// SAFETY: the pointers refer to the texts in the same value, which never change.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    pub(crate) fn new(path: CString, argv: Vec<CString>, envp: Vec<CString>) -> Self {
        let table = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect();
        Self { path, argv: table(&argv), envp: table(&envp), _texts: [argv, envp] }
    }

    /// Executes the job's program. Returns only after an error. The function makes only system calls, so a
    /// new child may call it.
    pub(crate) fn execute(&self) -> io::Error {
        // SAFETY: system calls on values that live longer than the calls; `argv` and `envp` end with a null
        // pointer.
        unsafe {
            setsid();
            umask(0o022);
            signal(SIGPIPE, SIG_DFL);
            SigSet::EMPTY.block();
            prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
            // If memory runs out, the kernel should kill the job, and not the process that reports on the
            // job.
            let score = open(c"/proc/self/oom_score_adj".as_ptr(), O_WRONLY);
            if score >= 0 {
                write(score, c"200".as_ptr().cast(), 3);
                close(score);
            }
            execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
        }
        io::Error::last_os_error()
    }
}
