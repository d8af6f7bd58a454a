//! The engine on virtual time, with a driver, a runtime and a store in memory, and their possible failures.

mod changing;
mod crash;
mod given;
mod heals;
mod intents;
mod lost;
mod model;
mod remains;
mod steps;
mod stopping;
mod support;
