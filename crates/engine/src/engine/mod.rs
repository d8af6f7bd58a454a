//! Executes intents under the lease of their assembly.

mod adopt;
mod by_queries;
mod call;
mod check;
mod condition;
mod consent;
mod core;
mod discover;
mod draft;
mod env;
mod fingerprint;
mod forget;
mod found;
mod imported;
mod look;
mod moved;
mod prepare;
mod prepared;
mod preview;
mod previous;
mod prune;
mod queue;
mod recorded;
mod references;
mod rename;
mod replay;
mod request;
mod settle;
mod transfer;
mod turn;
mod upkeep;

pub use adopt::{FoundRecorder, inventory};
pub(crate) use by_queries::ByQueries;
pub use check::{Absence, CheckEnd, Checked, check, check_under, is_destroyed};
pub use condition::Condition;
pub use consent::{Consent, DestructivePlan};
pub use core::{Engine, Options};
pub use discover::DiscoveryQuery;
pub use env::EngineEnv;
pub use fingerprint::{PlanFingerprint, fingerprint};
pub use forget::{ForgottenPart, ForgottenRecords};
pub use found::conditions;
pub use look::Seen;
pub use prepared::{Ended, Prepared};
pub use preview::Preview;
pub use prune::Pruned;
pub use recorded::{RecordedSecrets, monitor_of, outputs};
pub use references::{Offer, offer};
pub use replay::calls_of;
pub use request::{
    Answer, Argument, Arguments, BaseVersion, Desired, PublishedOutputs, Request, Selection, UpOptions,
};
pub use transfer::{Bundle, HandOver};
pub use turn::{DutyTurn, FactoryDuty, Turn, TurnTime, take_turn};
pub use upkeep::Upkeep;
