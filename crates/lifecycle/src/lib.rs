#![doc = include_str!("../README.md")]
//!
//! # The rules
//!
//! Each element climbs Absent → Created → Installed → Inactive → Active, one step a state ([`up`]), or goes back down
//! ([`down`]). Between the steps of different elements there are these waits, and no others:
//!
//! | wait | rule |
//! |---|---|
//! | order | an element is in a state before it is in the next |
//! | relationship | made once its source is in its state, and before (`pre`) or after (`post`) its target is; ended before either leaves its state |
//! | property | who reads what a driver publishes, comes after that part is Installed |
//! | phase | all parts reach a state before any goes on, except those that somebody in an earlier phase demands |
//!
//! Order, relationship and property are *needs*: when what is waited for fails, the step is skipped. A phase only
//! asks that the others are done: a failed part leaves the barrier, and what doesn't depend on it goes on.

mod current;
mod down;
mod graph;
mod reads;
mod up;

use thiserror::Error;
use windlass_model::resolve::ResolveError;
use windlass_plan::PlanError;

pub use current::{Current, ElementNow};
pub use down::down;
pub use up::up;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The rules ask for an order that does not exist.
    #[error(transparent)]
    Order(#[from] PlanError),
    /// A value can't come to be.
    #[error(transparent)]
    Value(#[from] ResolveError),
}
