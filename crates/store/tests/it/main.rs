//! The store from outside: the suite that every store passes, and what only files can go through.

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
