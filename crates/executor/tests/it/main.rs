//! The process runtime, put to the conformance suite and to what is its own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod attempts;
mod conformance;
mod docker;
mod images;
mod place;
mod pool;
mod processes;
mod sandbox;
mod survival;

/// Says loudly that a test has shown nothing.
#[expect(clippy::print_stdout, reason = "a test that is skipped in silence is a defect")]
fn skipped(why: &dyn std::fmt::Display) {
    println!("SKIPPED: {why}");
}
