#![doc = include_str!("../README.md")]
//!
//! # The way of a part
//!
//! Each resource goes from its state down to the lowest that its change asks for, and from there up to the goal:
//! Absent → Created → Installed → Inactive → Active, one step a state. What has changed by a volatile property alone
//! is reconfigured where it is; what has changed otherwise goes down to nothing and comes up again.
//!
//! # The waits
//!
//! Between the steps of different elements there are these waits, and no others:
//!
//! | wait | rule |
//! |---|---|
//! | order | an element is in a state before it is in the next |
//! | relationship | made once its source is in its state, and before (`pre`) or after (`post`) its target is; ended before either leaves its state |
//! | property | who reads what a driver publishes, comes after that part is Installed; it is gone, or has other values, before that part goes |
//! | phase | all parts reach a state before any goes on, except those that somebody in an earlier phase demands |
//!
//! Order, relationship and property are *needs*: when what is waited for fails, the step is skipped. A phase only
//! asks that the others are done: a failed part leaves the barrier, and what doesn't depend on it goes on.

mod as_of;
mod ask;
mod current;
mod diff;
mod fate;
mod graph;
mod heal;
mod merged;
mod part;
mod picture;
mod plan;
mod planner;
mod rank;
mod reads;
mod relationships;
mod scale;
mod scope;
mod steps;
#[cfg(feature = "testing")]
pub mod testing;
mod wishes;

use thiserror::Error;
use windlass_model::resolve::{Lookup, NothingYet, ResolveError};
use windlass_model::{ElementName, Topology};

pub use ask::{Options, Planned, Situation, Version};
pub use current::{Current, ElementNow, HalfMade};
pub use diff::{
    Diff, Effect, ElementChange, ElementChangeKind, Ends, PropertyChange, RelationshipChange,
    RelationshipChangeKind, Shown, ValueChange,
};
pub use heal::{HealError, healable};
pub use merged::{describes, merged};
pub use picture::{draw_properties, draw_topology};
pub use plan::{OrderError, Plan, draw_plan};
pub use planner::plan;
pub use scale::{Scale, ScaleError, resized, scaled};

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The rules ask for an order that does not exist.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A value can't come to be.
    #[error(transparent)]
    Value(#[from] ResolveError),
    /// An element that is asked for isn't there.
    #[error("there is no element `{name}`; there are {}", listed(known))]
    Unknown {
        /// The element.
        name: ElementName,
        /// Those that could be meant, sorted.
        known: Vec<ElementName>,
    },
}

fn listed(names: &[ElementName]) -> String {
    const MOST: usize = 10;
    let mut text: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", name.local())).collect();
    if names.len() > MOST {
        text.push(format!("{} more", names.len() - MOST));
    }
    text.join(", ")
}

/// Plans the way from `current` to all of `desired` being Active, where nothing of what is there has changed. `lookup`
/// says what has been published so far.
///
/// # Errors
///
/// A circle of waits, printed edge by edge, or a value that can't come to be.
pub fn up(current: &Current, desired: &Topology, lookup: &dyn Lookup) -> Result<Plan, LifecycleError> {
    let desired = Some(Version { topology: desired, lookup });
    Ok(plan(&Situation { current, installed: None, desired }, &Options::default())?.plan)
}

/// Plans the way from `current` to nothing of `topology` being there.
///
/// # Errors
///
/// A circle of waits, printed edge by edge, or a value that can't come to be.
pub fn down(current: &Current, topology: &Topology) -> Result<Plan, LifecycleError> {
    let installed = Some(Version { topology, lookup: &NothingYet });
    Ok(plan(&Situation { current, installed, desired: None }, &Options::default())?.plan)
}
