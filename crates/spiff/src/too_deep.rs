//! Grows the stack for deep expressions and documents.

/// Runs a step of a recursion with enough stack for the step and its own calls.
pub(crate) fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, step)
}
