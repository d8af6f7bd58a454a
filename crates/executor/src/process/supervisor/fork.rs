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

use crate::cgroup::Entrance;

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
    /// The groups that it enters first.
    entrance: &'a Entrance,
    /// Why it failed; 0 if it has not.
    failed: AtomicI32,
}

/// Why a child could not be started.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The kernel makes no child in this group.
    Group(io::Error),
    /// Anything else.
    Other(io::Error),
}

impl From<Failed> for io::Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Group(error) | Failed::Other(error) => error,
        }
    }
}

/// Starts a child in its groups and returns when it has executed its program.
///
/// # Errors
/// Why it could not be made, or what [`Child::run`] returned.
pub(crate) fn start<C: Child>(child: &C, entrance: &Entrance, stack: &mut Stack) -> Result<i32, Failed> {
    let start = Start { child, entrance, failed: AtomicI32::new(0) };
    let plain = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let pid = with_signals_blocked(|| {
        if let Some(group) = entrance.number() {
            clone_into(&start, group, stack).map_err(Failed::Group)
        } else {
            clone(&start, plain, stack).map_err(Failed::Other)
        }
    })?;
    match start.failed.load(Ordering::Acquire) {
        0 => Ok(pid),
        errno => Err(Failed::Other(io::Error::from_raw_os_error(errno))),
    }
}

/// The same for a child that needs a child itself. Signals are blocked already.
pub(crate) fn start_in_child<C: Child>(
    child: &C,
    flags: libc::c_int,
    stack: &mut Stack,
) -> Result<i32, Errno> {
    // It is where its parent is.
    let start = Start { child, entrance: &Entrance::default(), failed: AtomicI32::new(0) };
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

/// The same in a group of version 2, which only the newer call can do (linux/sched.h, `struct clone_args`). The C library
/// has no function for it.
fn clone_into<C: Child>(start: &Start<'_, C>, group: u64, stack: &mut Stack) -> io::Result<i32> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    /// What a child is, in eleven numbers.
    #[repr(C)]
    struct Args {
        flags: u64,
        descriptors: [u64; 3],
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        others: [u64; 3],
        group: u64,
    }
    let plain = [libc::CLONE_VM, libc::CLONE_VFORK]
        .iter()
        .fold(0, |flags, flag| flags | u64::from(flag.unsigned_abs()));
    let args = Args {
        flags: plain | CLONE_INTO_CGROUP,
        descriptors: [0; 3],
        exit_signal: u64::from(libc::SIGCHLD.unsigned_abs()),
        stack: stack.0.as_mut_ptr().expose_provenance() as u64,
        stack_size: size_of_val(&*stack.0) as u64,
        others: [0; 3],
        group,
    };
    let entry: extern "C" fn(*mut libc::c_void) -> libc::c_int = entry::<C>;
    let argument: *const Start<'_, C> = start;
    #[expect(unsafe_code, reason = "there is no safe way to make a child that shares memory")]
    // SAFETY: as for `clone`: the stack is ours alone, and we stand still until the child is another program. The
    // child begins behind the call, with our registers and at the end of that stack, which is aligned for a call; it
    // calls `entry`, which does not return. We go on behind it.
    let result = unsafe { clone3(&raw const args, size_of::<Args>(), entry, argument.cast_mut().cast()) };
    i32::try_from(result)
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or_else(|| io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EINVAL)))
}

/// Makes the call `clone3`, and in the child calls `entry`. Returns the child's number, or the negative number of an error.
#[expect(unsafe_code, reason = "registers and stacks are the business of assembly")]
#[cfg(target_arch = "x86_64")]
unsafe fn clone3<A>(
    args: *const A,
    size: usize,
    entry: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
) -> i64 {
    let result;
    // SAFETY: the caller's promise. In us nothing changes but what is named.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, {argument}",
            "call {entry}",
            "ud2",
            "2:",
            argument = in(reg) argument,
            entry = in(reg) entry,
            inlateout("rax") libc::SYS_clone3 => result,
            in("rdi") args,
            in("rsi") size,
            out("rcx") _,
            out("r11") _,
        );
    }
    result
}

/// The same for the other processor. It was written and never run.
#[expect(unsafe_code, reason = "registers and stacks are the business of assembly")]
#[cfg(target_arch = "aarch64")]
unsafe fn clone3<A>(
    args: *const A,
    size: usize,
    entry: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
) -> i64 {
    let result;
    // SAFETY: the caller's promise. In us nothing changes but what is named.
    unsafe {
        std::arch::asm!(
            "svc #0",
            "cbnz x0, 2f",
            "mov x29, #0",
            "mov x0, {argument}",
            "blr {entry}",
            "brk #1",
            "2:",
            argument = in(reg) argument,
            entry = in(reg) entry,
            in("x8") libc::SYS_clone3,
            inlateout("x0") args => result,
            in("x1") size,
            out("x30") _,
        );
    }
    result
}

extern "C" fn entry<C: Child>(argument: *mut libc::c_void) -> libc::c_int {
    #[expect(unsafe_code, reason = "the argument of a child is a bare pointer")]
    // SAFETY: it is the reference that `clone` was given, and its owner stands still.
    let start = unsafe { &*argument.cast::<Start<'_, C>>() };
    let failed = start.entrance.enter().and_then(|()| start.child.run()).err().map_or(0, Errno::raw_os_error);
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
