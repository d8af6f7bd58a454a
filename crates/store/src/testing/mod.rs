//! For tests: a store in memory, a clock and an entropy that do as they are told, and the suite that every store
//! passes (feature `testing`).

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
