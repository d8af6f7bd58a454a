//! The driver on real processes: inputs of scripts, results of their answers, and failures.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod answers;
mod applications;
mod check;
mod conformance;
mod corpus;
mod documents;
mod ends;
mod fixtures;
mod observe;
mod place;
mod plain;
mod plain_conformance;
mod schemas;
mod world;
