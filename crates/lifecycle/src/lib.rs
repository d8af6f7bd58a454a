#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! The modules are layers, in the order of the data flow. A module uses only the modules above it.
//!
//! | module | content |
//! |---|---|
//! | `situation` | the input: the recorded state, the versions, the options |
//! | `differences` | the differences of values between two versions, and the data of a [`Diff`] |
//! | `changes` | the change of each resource, its path, the batches, and the parts of a limited plan |
//! | `constraints` | the draft of a plan: waits, phases, and soft constraints that may be dropped |
//! | `steps` | the steps of resources and of relationships |
//! | `plan` | the planner, the barriers between phases, and the [`Plan`] |
//!
//! # The path of a part
//!
//! Each resource is lowered to the lowest state that its change requires, and raised from there to the goal.
//! The states are Absent → Created → Installed → Inactive → Active. On the way up, one step leads into each
//! state. If only volatile properties of a part have changed, the part is reconfigured while it is Active.
//! After any other change of properties, the part is uninstalled and installed again.
//!
//! # The waits
//!
//! The steps of a plan wait for each other by these rules only:
//!
//! | wait | rule |
//! |---|---|
//! | order | an element reaches one state before the next |
//! | relationship | created after each source or target with the modifier `post` has reached its state |
//! | relationship | created before a source or target with the modifier `pre` reaches its state |
//! | relationship | removed (*ceased*) before its source or target leaves its state |
//! | property | a part that publishes an output (a *producer*) is Installed before a reader of the output changes |
//! | property | a reader is removed, or gets other values, before its producer is removed |
//! | phase | a step begins after all steps of the earlier phases, unless one of them waits for this step |
//!
//! A phase is a group of steps, usually of the steps that bring parts to the same state.
//!
//! Most order, relationship and property waits are *needs*: if the awaited step fails, the waiting step is
//! skipped. A phase wait only requires that the awaited steps have ended, even if they have failed. So after
//! a failure, independent parts continue.

mod rank;

mod situation;

mod differences;

mod changes;

mod constraints;

mod steps;

mod plan;

mod picture;
#[cfg(feature = "testing")]
pub mod testing;

pub use differences::{
    Affected, Batches, Counts, DeclaredChange, Diff, Effect, ElementChange, ElementChangeKind, Ends,
    FileChange, FileChangeKind, PackageDiff, PropertyChange, RelationshipChange, RelationshipChangeKind,
    Together, declared_changes,
};
pub use picture::{draw_properties, draw_topology};
pub use plan::{BatchSteps, LifecycleError, OrderError, Plan, Planned, down, draw_plan, plan, up};
pub use situation::{
    Current, ElementNow, HalfMade, HealError, Options, Scale, ScaleError, Shown, Situation, ValueChange,
    Version, describes, healable, merged, resized, scaled, surge_nodes, surged, unsurged,
};
