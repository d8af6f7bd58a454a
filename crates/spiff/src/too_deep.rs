//! Grows the stack for deep expressions and documents.

use std::cell::Cell;

/// The bytes of stack that a step and its own calls need.
const STEP: usize = 128 * 1024;

/// The bytes of a stack that grows.
const GROWN: usize = 2 * 1024 * 1024;

/// The bytes below a thread's first step in which the end of its stack isn't near. The end of the main
/// thread's stack is in /proc/self/maps, and reading it takes longer than a small template.
const NEAR: usize = 64 * 1024;

thread_local! {
    /// The address of the stack in the first step of this thread.
    static FIRST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs a step of a recursion with enough stack for the step and its own calls. In the first step of a
/// thread, at least `STEP` and `NEAR` bytes of the stack must be free.
pub(crate) fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    if is_near_first() { step() } else { stacker::maybe_grow(STEP, GROWN, step) }
}

fn is_near_first() -> bool {
    let here = 0_u8;
    let here = std::ptr::from_ref(&here).addr();
    FIRST.with(|first| {
        let begin = first.get().unwrap_or_else(|| {
            first.set(Some(here));
            here
        });
        begin.abs_diff(here) < NEAR
    })
}
