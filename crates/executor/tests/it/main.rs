//! Runs the process runtime through the conformance suite, and tests the properties that only it has.

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

/// Prints that a test was skipped.
#[expect(clippy::print_stdout, reason = "a test that is skipped in silence is a defect")]
fn skipped(why: &dyn std::fmt::Display) {
    println!("SKIPPED: {why}");
}
