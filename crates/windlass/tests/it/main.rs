//! Tests of the crate against projects on disk.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[cfg(feature = "daemon")]
mod daemon;
mod dropping;
mod echo;
mod embedding;
mod futures;
mod lifecycle;
#[cfg(feature = "docker")]
mod locations;
mod pages;
mod panicking;
mod project;
mod shop;
mod traits;
