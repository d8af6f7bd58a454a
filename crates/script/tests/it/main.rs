//! The driver on real processes: what scripts read, what their answers become, and what goes wrong.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod answers;
mod check;
mod corpus;
mod documents;
mod ends;
mod fixtures;
mod observe;
mod place;
mod world;
