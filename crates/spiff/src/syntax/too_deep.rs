//! Deep expressions and documents need a deep stack, which is made where it is needed.

/// Runs a step of a recursion with enough stack for it and its own calls.
pub(crate) fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, step)
}
