//! Executes intents durably.
//!
//! An intent takes the lease of its assembly, settles the open calls of earlier processes, has a plan made, and
//! executes it. Every change is a durable batch in the store before it is reported. So a crash loses nothing:
//! the same intent looks up each open call and resumes.
//!
//! ```text
//! intent ─▶ Engine::prepare_… ─▶ Prepared { plan } ─▶ run ─▶ Ended
//!              │ lease, settle, plan                    │
//!              ▼                                        ▼
//!            store ◀── commit ── Host ◀─ commands ─ Machine   (pure: on(now, event) → commands)
//!                                 │                     ▲
//!                                 └─ perform, observe ──┘ events
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`engine`] | intents: prepare, run |
//! | `machine` | the pure machine that executes a plan |
//! | `runner` | the steps that may start |
//! | `world` | the assembly in memory: its records and values |
//! | `sealing` | secrets in values: found, masked, taken out |
//! | `report` | reports of drivers: applied, with secrets sealed |
//! | `outdated`, `given` | outdated inputs of elements; applied inputs of relationships |
//! | [`host`] | all waiting: commits, drivers, timers |
//! | `keeper`, `stop` | renewal of leases; stop requests |
//! | `journal` | records of jobs, before and after they run |
//! | [`monitor`] | policies: samples and time in, demands out |
//! | [`places`] | the trait for the locations and runtimes of a project |
//! | [`error`], [`codes`] | errors of intents, and their codes |
//!
//! The engine knows the traits `Driver` and `Store`, but no driver and no SQL. It executes plans, but knows no
//! rule of TNC-O.

mod applied_inputs;
pub mod codes;
pub mod engine;
pub mod error;
pub mod host;
mod journal;
mod keeper;
mod machine;
pub mod monitor;
mod outdated_inputs;
mod panic;
pub mod places;
mod report;
mod runner;
mod sealing;
mod stop;
mod world;

pub use engine::{
    Answer, Argument, Arguments, Bundle, Desired, DiscoveryQuery, Ended, Engine, EngineEnv, HandOver, Offer,
    Options, PlanFingerprint, Prepared, Preview, Pruned, PublishedOutputs, Request, Seen, UpOptions,
    fingerprint, monitor_of, offer, outputs,
};
pub use error::{EngineError, Lack, Unplaced};
pub use machine::Tally;
pub use outdated_inputs::OutdatedInputs;
pub use places::Places;
pub use stop::Stop;
