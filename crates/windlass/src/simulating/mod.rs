//! Simulation: a day of applications on a virtual clock, without a store.
//!
//! It shows authors of manifests and scripts within seconds how launches, health checks, discoveries and
//! commands follow each other. The scripts run for real, or a file contains their answers. Simulation and
//! daemon share code: the schedule, the driver's documents and checks, and the functions that apply a report
//! to an instance.
//!
//! ```text
//! manifests ──▶ Cast ──▶ Machine ──tasks──▶ Host ──▶ scripts, or answers
//!                          ▲                  │
//!                          └── time, reports ─┘       Machine ──▶ events, SimulationView
//! ```
//!
//! | module | content |
//! |---|---|
//! | `codes` | the codes of its errors |
//! | `entropy` | the ids of instances |
//! | `cast` | the manifests, compiled and paired |
//! | `answers`, `rules` | the file of answers, and the answer that applies to a script |
//! | `events` | the timeline and the summary |
//! | `application` | an application in memory, and the report that changes it |
//! | `machine` | the pure machine: time and reports in, tasks and events out |
//! | `host`, `checking` | the loop that moves the clock, and runs the tasks |
//! | `answered`, `context` | the outputs that the answers give, and the context of the driver |
//! | `simulator` | the input of a simulation, and its run: [`Simulator`] |

mod answered;
mod answers;
mod application;
mod cast;
mod checking;
pub mod codes;
mod context;
mod entropy;
mod events;
mod host;
mod machine;
mod rules;
mod simulator;
#[cfg(test)]
mod tests;

pub use cast::ManifestFile;
pub use events::{Runs, SimulationEvent, SimulationView};
pub use simulator::{SimulationInput, Simulator};
