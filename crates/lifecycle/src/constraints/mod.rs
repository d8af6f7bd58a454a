//! The constraints between the steps of a plan: phases, waits, and soft constraints that may be dropped.

mod elements;
mod graph;
mod outputs;
pub(crate) mod phase;
mod soft;

pub(crate) use elements::{Arrival, Constraints};
pub(crate) use graph::{Graph, PhaseRole};
pub(crate) use outputs::{readers_down, readers_up};
pub(crate) use soft::Priority;
