//! The engine: carries intents out, so that nothing is lost.
//!
//! An intent takes the lease of its assembly, settles what an earlier process has left open, has a plan made, and
//! runs it. Everything that happens is a batch in the store before anybody hears of it, so a machine that dies in the
//! middle loses nothing: the same intent again looks each open call up and goes on.
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
//! | module | it has |
//! |---|---|
//! | [`engine`] | intents: prepare, run |
//! | `machine` | the pure machine that executes a plan |
//! | `runner` | which step may start |
//! | `world` | the assembly in memory: who is there, and what values there are |
//! | `report` | what drivers say of it: applying, sealing secrets |
//! | `stale`, `given` | who was given values that are others by now: parts, and relationships |
//! | [`host`] | the only place that waits: commits, drivers, timers |
//! | `keeper`, `stop` | leases that are renewed meanwhile, and how a process is asked to stop |
//! | `journal` | jobs that are written down before and after |
//! | [`monitor`] | policies: samples and the time in, demands out |
//! | [`places`] | what the engine asks of the project |
//!
//! The engine knows the trait `Driver` and no driver, plans and no TNC-O rule, a store and no SQL.

pub mod engine;
pub mod error;
mod given;
pub mod host;
mod journal;
mod keeper;
mod machine;
pub mod monitor;
mod panic;
pub mod places;
mod report;
mod runner;
mod stale;
mod stop;
mod world;

pub use engine::{
    Answer, Ask, Bundle, Desired, Ended, Engine, HandOver, Manner, Means, Offer, Options, Prepared, Preview,
    Pruned, Quest, Seen, Stale, Told, essence, monitor_of, offer, outputs,
};
pub use error::{EngineError, Lack, Unplaced};
pub use machine::Tally;
pub use places::Places;
pub use stop::Stop;
