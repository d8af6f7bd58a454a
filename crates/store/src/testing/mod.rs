//! Test support: an in-memory store, a controllable clock and entropy source, and the conformance suite for
//! every store (feature `testing`).

pub mod conformance;
pub mod samples;
#[cfg(feature = "postgres")]
pub mod server;

mod memory;
mod puppets;
mod records;
mod table;

pub use memory::{Cut, MemoryStore};
pub use puppets::{CountingEntropy, Graveyard, ManualClock, SkewedClock};
