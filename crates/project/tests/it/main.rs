//! Tests of the crate against folders on disk.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod catalog;
mod file;
mod find;
mod fixtures;
mod folder;
mod inventory;
mod kinds;
mod lmproject;
mod package;
mod project;
