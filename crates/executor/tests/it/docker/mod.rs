//! Jobs in containers, against the engines that answer here.
//!
//! Where none answers these tests say `SKIPPED` and pass, unless `WINDLASS_REQUIRE_DOCKER=1` demands one.

mod conformance;
mod connection;
mod engines;
mod place;
mod podman;
mod rootless;
mod ssh;
mod survival;
mod warm;
