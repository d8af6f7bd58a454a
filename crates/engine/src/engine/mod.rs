//! Executes intents under the lease of their assembly.

mod call;
mod core;
mod discover;
mod draft;
mod env;
mod look;
mod prepare;
mod prepared;
mod preview;
mod previous;
mod prune;
mod queue;
mod recorded;
mod references;
mod request;
mod settle;
mod transfer;

pub use core::{Engine, Options};
pub(crate) use discover::ByQueries;
pub use discover::DiscoveryQuery;
pub use env::EngineEnv;
pub use look::Seen;
pub(crate) use look::{Look, ReadyLook};
pub use prepared::{Ended, Prepared};
pub use preview::Preview;
pub use prune::Pruned;
pub use recorded::{monitor_of, outputs};
pub use references::{Offer, offer};
pub use request::{
    Answer, Argument, Arguments, Desired, PlanFingerprint, PublishedOutputs, Request, UpOptions, fingerprint,
};
pub use transfer::{Bundle, HandOver};
