//! The spiff++ ("dynaml") template language: YAML documents whose values are expressions.
//!
//! # Where to look
//!
//! | you want | look at |
//! |---|---|
//! | the data that expressions work on | [`value`]: [`Node`](value::Node), [`Value`](value::Value) |
//! | expressions as text and as trees | [`syntax`] |
//! | to read and write documents | [`yaml`] |
//! | what functions there are, and how to add one | [`functions`] |

mod check;
mod compare;
mod cycle;
mod engine;
mod eval;
mod flow;
pub mod functions;
mod limits;
mod outside;
mod report;
pub mod syntax;
mod trace;
pub mod value;
pub mod yaml;

pub use check::check;
pub use compare::{Difference, diff};
pub use engine::{Engine, Preserve, Processed, Session, SpiffError};
pub use flow::discard_temporary;
pub use limits::{Features, Limits};
pub use outside::{Fetch, Now, Outside, Random};
pub use report::{Reason, Unresolved, UnresolvedNode};
pub use trace::TraceStep;
