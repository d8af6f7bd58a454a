//! The process runtime, put to the conformance suite and to what is its own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod conformance;
mod docker;
mod images;
mod place;
mod pool;
mod processes;
mod runner;
mod survival;
