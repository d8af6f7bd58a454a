//! Tests of the crate against projects on disk.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod embedding;
mod locations;
mod pages;
mod project;
