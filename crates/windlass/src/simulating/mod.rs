//! Simulation of launches, health checks and commands of applications, on a virtual clock and without a
//! store.
//!
//! A simulation shows the order of launches, health checks, discoveries and commands. It takes only seconds, and
//! helps authors of manifests and scripts. The scripts run for real, or a file of answers replaces their output.
//! Simulation and daemon share code: the schedule, the driver's documents and checks, and the functions that
//! apply a report to an instance.
//!
//! ```text
//! manifests ──▶ Cast ──▶ Machine ──tasks──▶ Host ──▶ scripts, or answers
//!                          ▲                  │
//!                          └── time, reports ─┘       Machine ──▶ events, SimulationView
//! ```
//!
//! | module | content |
//! |---|---|
//! | `codes` | the codes of the errors of simulations |
//! | `entropy` | the ids of simulated instances |
//! | `cast` | the compiled manifests, each application with its factory |
//! | `answers`, `rules` | the file of answers, and the choice of the answer that replaces a run of a script |
//! | `events` | the timeline and the summary |
//! | `application` | an application in memory, and the functions that apply reports to it |
//! | `machine` | the pure state machine: it turns times and results of tasks into new tasks and events |
//! | `host`, `checking` | the loop that advances the virtual clock and runs the tasks |
//! | `answered`, `context` | the output that an answer gives in place of a script, and the context of driver calls |
//! | `simulator` | the input of a simulation, and its execution: [`Simulator`] |

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
