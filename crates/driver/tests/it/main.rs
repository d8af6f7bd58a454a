//! Tests through the public interface.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod noop;
mod panicking;
mod place;
mod suite;
mod two_step;
