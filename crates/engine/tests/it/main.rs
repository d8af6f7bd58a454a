//! The engine on virtual time, with a driver, a runtime and a store in memory, and their possible failures.

mod applied_inputs;
mod artifacts;
mod changing;
mod converging;
mod crash;
mod deciding;
mod found;
mod heals;
mod intents;
mod leases;
mod limits;
mod looking;
mod lost;
mod model;
mod packages;
mod pauses;
mod policies;
mod private;
mod renaming;
mod resuming;
mod rolling;
mod schedule;
mod steps;
mod stopping;
mod support;
