//! Executes intents under the lease of their assembly.

mod call;
mod consent;
mod core;
mod discover;
mod draft;
mod env;
mod fingerprint;
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

pub use consent::{Consent, DestructivePlan};
pub use core::{Engine, Options};
pub(crate) use discover::ByQueries;
pub use discover::DiscoveryQuery;
pub use env::EngineEnv;
pub use fingerprint::{PlanFingerprint, fingerprint};
pub use look::Seen;
pub(crate) use look::{Look, ReadyLook};
pub use prepared::{Ended, Prepared};
pub use preview::Preview;
pub use prune::Pruned;
pub use recorded::{monitor_of, outputs};
pub use references::{Offer, offer};
pub use request::{Answer, Argument, Arguments, Desired, PublishedOutputs, Request, UpOptions};
pub use transfer::{Bundle, HandOver};
