//! Tests of the public API.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[path = "../../../source/tests/it/campaign.rs"]
mod campaign;
mod compiling;
mod corpus;
mod fixtures;
mod fuzz;
#[expect(dead_code, reason = "random cases and single measurements are for the tests of descriptors")]
#[path = "../../../descriptor/tests/hostile/harness.rs"]
mod harness;
mod hostile;
mod messages;
mod pages;
mod pairs;
mod scripts;
mod services;
mod support;
