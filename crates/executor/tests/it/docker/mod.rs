//! Tests jobs in containers, with the engines that are available on this machine.
//!
//! Without an engine the tests print `SKIPPED` and pass, unless `WINDLASS_REQUIRE_DOCKER=1` demands one.

mod conformance;
mod connection;
mod engines;
mod place;
mod podman;
mod rootless;
mod slow;
mod ssh;
mod survival;
mod warm;
