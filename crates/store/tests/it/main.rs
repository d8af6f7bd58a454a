//! Tests of the store from outside: the conformance suite, and properties that only files have.

#![expect(clippy::unwrap_used, reason = "what helpers of tests can't do fails the test")]

mod conformance;
mod damage;
mod full;
mod handles;
mod kill;
mod model;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod versions;
