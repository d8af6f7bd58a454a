#![doc = include_str!("../README.md")]
//!
//! # The path of a part
//!
//! Each resource is lowered to the lowest state that its change requires, and raised from there to the goal.
//! The states are Absent → Created → Installed → Inactive → Active, with one step for each. A part is
//! reconfigured in place if only volatile properties have changed. After any other change it is uninstalled
//! and installed again.
//!
//! # The waits
//!
//! The steps of a plan wait for each other by these rules only:
//!
//! | wait | rule |
//! |---|---|
//! | order | an element reaches one state before the next |
//! | relationship | created after its source reaches its state, before (`pre`) or after (`post`) its target does |
//! | relationship | ceased before either end leaves its state |
//! | property | a reader of an output comes after its producer is Installed |
//! | property | a reader is removed, or gets other values, before its producer is removed |
//! | phase | all parts reach a state before any continues, except those that an earlier phase demands |
//!
//! Order, relationship and property waits are *needs*: if the step waited for fails, the waiting step is
//! skipped. A phase only requires that the other steps have ended. A failed part leaves the barrier, and
//! independent parts continue.

mod changes;
mod differences;
mod graph;
mod picture;
mod plan;
mod planner;
mod rank;
mod relationships;
mod situation;
mod steps;
mod summary;
#[cfg(feature = "testing")]
pub mod testing;
mod wishes;

use thiserror::Error;
use windlass_model::resolve::{Lookup, NothingYet, ResolveError};
use windlass_model::{ElementName, Topology};

pub use differences::{
    Diff, Effect, ElementChange, ElementChangeKind, Ends, PropertyChange, RelationshipChange,
    RelationshipChangeKind,
};
pub use picture::{draw_properties, draw_topology};
pub use plan::{OrderError, Plan, Planned, draw_plan};
pub use planner::plan;
use situation::listed;
pub use situation::{
    Current, ElementNow, HalfMade, HealError, Options, Scale, ScaleError, Shown, Situation, ValueChange,
    Version, describes, healable, merged, resized, scaled,
};

/// The reason why planning failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The rules require an order that does not exist.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A value cannot be resolved.
    #[error(transparent)]
    Value(#[from] ResolveError),
    /// The topologies don't contain a named element.
    #[error("there is no element `{name}`; there are {}", listed(known))]
    Unknown {
        /// The element.
        name: ElementName,
        /// The elements that exist, sorted.
        known: Vec<ElementName>,
    },
}

/// Plans the creation or repair of `desired`, so that all its parts become Active.
///
/// Assumes that existing parts were installed from `desired`, and compares no values. `lookup` returns the
/// outputs that drivers have published so far.
///
/// # Errors
///
/// Returns [`LifecycleError::Order`] with a cycle of waits, or [`LifecycleError::Value`].
pub fn up(current: &Current, desired: &Topology, lookup: &dyn Lookup) -> Result<Plan, LifecycleError> {
    let desired = Some(Version { topology: desired, lookup });
    Ok(plan(&Situation { current, installed: None, desired }, &Options::default())?.plan)
}

/// Plans the removal of all parts of `topology`.
///
/// # Errors
///
/// Returns [`LifecycleError::Order`] with a cycle of waits, or [`LifecycleError::Value`].
pub fn down(current: &Current, topology: &Topology) -> Result<Plan, LifecycleError> {
    let installed = Some(Version { topology, lookup: &NothingYet });
    Ok(plan(&Situation { current, installed, desired: None }, &Options::default())?.plan)
}
