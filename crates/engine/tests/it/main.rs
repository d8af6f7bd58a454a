//! The engine on virtual time: a driver, a runtime and a store in memory, and every way in which they can fail.

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
