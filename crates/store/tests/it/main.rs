//! Tests of the public API of the store: the conformance suite, and properties that only a store in a file or on a
//! server has.

#![expect(clippy::unwrap_used, reason = "what helpers of tests can't do fails the test")]

mod conformance;
mod damage;
mod full;
mod handles;
mod kill;
mod model;
mod own;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod versions;
