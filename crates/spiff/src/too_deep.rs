//! Grows the stack for deep expressions and documents.

use std::cell::Cell;

/// Number of bytes of stack that one step of a recursion needs. The number includes the stack of the functions
/// that the step calls, up to the next step.
const STEP: usize = 128 * 1024;

/// Bytes of the new stack that is allocated when the current stack is nearly full.
const GROWN: usize = 2 * 1024 * 1024;

/// Number of stack bytes for which [`with_stack`] skips its check. The bytes are counted from the thread's first
/// call of `with_stack`. If the thread has used more bytes since this call, `with_stack` checks whether enough
/// stack is free.
///
/// A check at each call would take too long, because a check needs the address of the end of the stack. For the
/// main thread, the address is read from `/proc/self/maps`. Reading this file takes longer than processing a small
/// template.
const NEAR: usize = 64 * 1024;

thread_local! {
    /// A stack address in this thread's first call of [`with_stack`]; `None` before this call.
    static FIRST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs a step of a recursion. If too little stack is free for the step, the step runs on a new stack. The caller
/// must ensure that at least `STEP + NEAR` bytes of stack are free at the first call in a thread.
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

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// Recurses with 16 KiB of stack for each level.
    fn descend(levels: usize) -> usize {
        with_stack(|| {
            let frame = black_box([1_u8; 16 * 1024]);
            if levels == 0 { 0 } else { usize::from(frame[levels]) + descend(levels - 1) }
        })
    }

    /// Calls itself `levels` times, with a stack frame of 16 KiB for each call. The last call then calls
    /// `descend`, which calls [`with_stack`].
    fn begin_below(levels: usize) -> usize {
        let frame = black_box([1_u8; 16 * 1024]);
        if levels == 0 { descend(usize::from(frame[0])) } else { begin_below(levels - 1) }
    }

    fn on_a_small_stack(work: fn() -> usize) -> usize {
        std::thread::Builder::new().stack_size(512 * 1024).spawn(work).unwrap().join().unwrap()
    }

    #[test]
    fn a_small_stack_grows() {
        assert_eq!(on_a_small_stack(|| descend(1_000)), 1_000);
    }

    #[test]
    fn a_first_step_that_was_lower_does_not_matter() {
        assert_eq!(on_a_small_stack(|| begin_below(8) + descend(1_000)), 1_001);
    }
}
