//! Random assemblies and their invariants, for model checks in this crate and in crates that execute plans.
//!
//! [`versions`] generates assemblies. [`Ground`] holds the real state of an assembly, and checks whether each
//! operation is permitted in that state.

mod ground;
mod luck;
mod names;
mod random;

pub use ground::{Ground, Thing, all_pairs};
pub use luck::{Luck, few};
pub use random::{Component, Spec, Tie, has_order, versions};
