//! A child that shares our memory until it executes its program, as `vfork` has it.
//!
//! `fork` copies the page tables of the supervisor for a child that throws them away at once; that is a fifth of the
//! time of a short job. `posix_spawn` doesn't, but can't set a death signal, enter namespaces or load a filter. So this
//! is `posix_spawn` by hand: `clone` with `CLONE_VM | CLONE_VFORK` on a stack of its own, with all signals blocked, and
//! with the rule of signal handlers for what the child may do.

use std::{
    io,
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use rustix::io::Errno;

/// More than the few calls in a child need; no guard page is needed for calls whose depth is known.
const STACK: usize = 64 * 1024;

/// What a child does.
///
/// # Safety
/// `run` is called in a child that shares our memory while we stand still: it may make system calls and read what was made
/// before, and must not allocate, lock, panic, or change what we rely on.
#[expect(unsafe_code, reason = "what an implementation does can't be checked")]
pub(crate) unsafe trait Child {
    /// Becomes something else, or does what it was made for and returns.
    ///
    /// # Errors
    /// The reason why it couldn't.
    fn run(&self) -> Result<(), Errno>;
}

/// Where the child runs until it executes its program. Reused: we stand still as long as it is needed.
#[derive(Debug)]
pub(crate) struct Stack(Box<[MaybeUninit<u128>]>);

impl Default for Stack {
    fn default() -> Self {
        Self(Box::new_uninit_slice(STACK / size_of::<u128>()))
    }
}

struct Start<'a, C> {
    child: &'a C,
    /// Why it failed; 0 if it has not.
    failed: AtomicI32,
}

/// Starts a child and returns when it has executed its program. `flags` are added to those that make it a child like
/// `vfork`'s.
///
/// # Errors
/// Why it could not be made, or what [`Child::run`] returned.
pub(crate) fn start<C: Child>(child: &C, flags: libc::c_int, stack: &mut Stack) -> io::Result<i32> {
    let start = Start { child, failed: AtomicI32::new(0) };
    let flags = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let pid = with_signals_blocked(|| clone(&start, flags, stack))?;
    match start.failed.load(Ordering::Acquire) {
        0 => Ok(pid),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// The same for a child that needs a child itself. Signals are blocked already.
pub(crate) fn start_in_child<C: Child>(
    child: &C,
    flags: libc::c_int,
    stack: &mut Stack,
) -> Result<i32, Errno> {
    let start = Start { child, failed: AtomicI32::new(0) };
    let flags = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let pid =
        clone(&start, flags, stack).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))?;
    match start.failed.load(Ordering::Acquire) {
        0 => Ok(pid),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

fn clone<C: Child>(start: &Start<'_, C>, flags: libc::c_int, stack: &mut Stack) -> io::Result<i32> {
    let argument: *const Start<'_, C> = start;
    #[expect(unsafe_code, reason = "there is no safe way to make a child that shares memory")]
    // SAFETY: the stack is ours alone until the call returns, since CLONE_VFORK holds us until the child has executed
    // its program or exited; its end is aligned as u128 is; `start` lives as long. What the child does is
    // `Child::run`, whose implementations promise what is needed.
    let pid = unsafe {
        let top = stack.0.as_mut_ptr().add(stack.0.len());
        libc::clone(entry::<C>, top.cast(), flags, argument.cast_mut().cast())
    };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

extern "C" fn entry<C: Child>(argument: *mut libc::c_void) -> libc::c_int {
    #[expect(unsafe_code, reason = "the argument of a child is a bare pointer")]
    // SAFETY: it is the reference that `clone` was given, and its owner stands still.
    let start = unsafe { &*argument.cast::<Start<'_, C>>() };
    let failed = start.child.run().err().map_or(0, Errno::raw_os_error);
    start.failed.store(failed, Ordering::Release);
    #[expect(unsafe_code, reason = "`std` ends a process only with all that is registered for its end")]
    // SAFETY: it ends this child and runs nothing.
    unsafe {
        libc::_exit(127)
    }
}

/// Keeps our handlers from running in the child, where they would believe to be us.
fn with_signals_blocked<T>(action: impl FnOnce() -> T) -> T {
    #[expect(unsafe_code, reason = "neither `std` nor rustix has signal masks")]
    // SAFETY: both sets are written before they are read: one by sigfillset, one by pthread_sigmask.
    let before = unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        let mut before = MaybeUninit::uninit();
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before
    };
    let result = action();
    #[expect(unsafe_code, reason = "as above")]
    // SAFETY: the set was written above.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
    }
    result
}

/// Gives the child the dispositions and the mask of a fresh process: handlers of ours must not run in it, and what Rust's
/// runtime ignores is not for jobs to ignore. To be called in the child only.
pub(crate) fn reset_signals() {
    #[expect(unsafe_code, reason = "neither `std` nor rustix has signal dispositions")]
    // SAFETY: an all-zero action is the default one without flags; both calls are safe in a signal handler. The
    // child's table of handlers is its own, as CLONE_SIGHAND was not asked for.
    unsafe {
        let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        for signal in 1..=64 {
            // Those that can't be changed answer with an error, which is fine.
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        }
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}
