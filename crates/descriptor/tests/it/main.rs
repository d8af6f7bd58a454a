//! Tests of the public API.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[path = "../../../source/tests/it/campaign.rs"]
mod campaign;
mod clusters;
mod corpus;
mod cycles;
mod each;
mod fixtures;
mod fuzz;
mod messages;
mod nesting;
mod pages;
mod parameters;
mod policies;
mod recall;
mod recovery;
mod references;
mod resolving;
mod robust;
mod roundtrip;
mod secrets;
mod support;
mod values;
