//! Starts a child process in the same way as `vfork`: the child shares the memory of its parent until the child
//! executes its program.
//!
//! `fork` would copy the supervisor's page tables, and the child would discard the copy at once. The copy takes a
//! fifth of the time of a short job. `posix_spawn` avoids the copy, but can't set a death signal, enter namespaces
//! or load a filter. So this module calls `clone` with `CLONE_VM | CLONE_VFORK`, on a separate stack and with all
//! signals blocked. The child may only do what a signal handler may do.

use std::{
    io,
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use rustix::io::Errno;

use crate::cgroup::Entrance;

/// Size of a child's stack in bytes. The few functions that a child calls need less. The depth of their calls is
/// known, so the stack has no guard page.
const STACK: usize = 64 * 1024;

/// The code that a child runs.
///
/// # Safety
/// `run` is called in a child that shares the parent's memory while the parent is suspended. It may make
/// system calls and read values that were prepared before. It must not allocate, lock, panic, or change any
/// state that the parent relies on.
#[expect(unsafe_code, reason = "what an implementation does can't be checked")]
pub(crate) unsafe trait Child {
    /// Runs in the child: replaces the child by a program, or performs a task and returns.
    ///
    /// # Errors
    /// The error of the failed call.
    fn run(&self) -> Result<(), Errno>;
}

/// The memory that a child uses as its stack until the child executes its program. Until then, the parent is
/// suspended. So the parent may reuse or free the stack as soon as [`start`] returns.
#[derive(Debug)]
pub(crate) struct Stack(Box<[MaybeUninit<u128>]>);

impl Default for Stack {
    fn default() -> Self {
        Self(Box::new_uninit_slice(STACK / size_of::<u128>()))
    }
}

struct Start<'a, C> {
    child: &'a C,
    /// Control groups that the child enters before it runs its code.
    entrance: &'a Entrance,
    /// Error number of the failed call; 0 if no call failed.
    failed: AtomicI32,
}

/// The reason why a child could not be started.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The control group can't be opened, or the kernel can't create the child in the control group.
    Group(io::Error),
    /// Another error at the start of the child.
    Other(io::Error),
}

impl From<Failed> for io::Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Group(error) | Failed::Other(error) => error,
        }
    }
}

/// Starts a child in the control groups of `entrance`, and returns the child's process id. The function waits until
/// the child has called `execve` or has ended.
///
/// # Errors
/// The error of the call that creates the child, or the error of [`Child::run`].
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

/// Starts a second child from within a first child. [`start`] has created the first child with all signals blocked. So
/// this function does not block signals.
pub(crate) fn start_in_child<C: Child>(
    child: &C,
    flags: libc::c_int,
    stack: &mut Stack,
) -> Result<i32, Errno> {
    // The kernel creates the second child in the control groups of the first child. So `entrance` is empty.
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
    // SAFETY: the stack belongs to the child alone until the call returns, since CLONE_VFORK suspends this
    // thread until the child has executed its program or exited. The end of the stack is aligned as u128 is,
    // and `start` lives until the call returns. The child runs `Child::run`, whose implementations promise
    // the required safety.
    let pid = unsafe {
        let top = stack.0.as_mut_ptr().add(stack.0.len());
        libc::clone(entry::<C>, top.cast(), flags, argument.cast_mut().cast())
    };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Starts a child in a control group of version 2. Only the system call `clone3` supports this, and the C
/// library has no function for the call. The layout of its arguments is `struct clone_args` in linux/sched.h.
fn clone_into<C: Child>(start: &Start<'_, C>, group: u64, stack: &mut Stack) -> io::Result<i32> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    /// The arguments of `clone3`, eleven numbers.
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
    // SAFETY: only the child uses `stack`, and this thread is suspended until the child has executed another
    // program, as for `clone`. The child starts at the instruction after the system call. Its registers are
    // copies of the parent's registers, except for the result of the call and the stack pointer. The stack
    // pointer is the end of `stack`, which is aligned for a call. The child calls `entry`, which does not
    // return. The parent also continues at the instruction after the system call.
    let result = unsafe { clone3(&raw const args, size_of::<Args>(), entry, argument.cast_mut().cast()) };
    i32::try_from(result)
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or_else(|| io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EINVAL)))
}

/// Makes the system call `clone3`, and calls `entry` in the child. Returns the child's process id, or a
/// negative error number.
#[expect(unsafe_code, reason = "registers and stacks are the business of assembly")]
#[cfg(target_arch = "x86_64")]
unsafe fn clone3<A>(
    args: *const A,
    size: usize,
    entry: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
) -> i64 {
    let result;
    // SAFETY: the caller passes valid arguments. In the parent, only the named registers change.
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

/// Makes the system call `clone3` on aarch64, and calls `entry` in the child. Returns the child's process id, or a
/// negative error number. This function is untested: it has never run on an aarch64 machine.
#[expect(unsafe_code, reason = "registers and stacks are the business of assembly")]
#[cfg(target_arch = "aarch64")]
unsafe fn clone3<A>(
    args: *const A,
    size: usize,
    entry: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
) -> i64 {
    let result;
    // SAFETY: the caller passes valid arguments. In the parent, only the named registers change.
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
    // SAFETY: the pointer is the reference that `clone` was given, and the thread that owns it is suspended.
    let start = unsafe { &*argument.cast::<Start<'_, C>>() };
    let failed = start.entrance.enter().and_then(|()| start.child.run()).err().map_or(0, Errno::raw_os_error);
    start.failed.store(failed, Ordering::Release);
    #[expect(unsafe_code, reason = "`std` ends a process only with all that is registered for its end")]
    // SAFETY: the call ends this child, and runs no other code.
    unsafe {
        libc::_exit(127)
    }
}

/// Blocks all signals during `action`, which creates a child. Otherwise a signal handler of this process could run in
/// the child. The child shares the parent's memory, so the handler would change the parent's state.
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

/// Resets the child's signal dispositions and mask to those of a new process. The parent's handlers must not
/// run in the child, and signals that the Rust runtime ignores must not be ignored in jobs. Only a child may
/// call this function.
pub(crate) fn reset_signals() {
    #[expect(unsafe_code, reason = "neither `std` nor rustix has signal dispositions")]
    // SAFETY: an all-zero action is the default action without flags; both calls are safe in a signal
    // handler. The child has a table of handlers of its own, as CLONE_SIGHAND is not set.
    unsafe {
        let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        for signal in 1..=64 {
            // Signals that can't be changed return an error, which is ignored.
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        }
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}
