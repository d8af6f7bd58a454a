#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! | module | it has |
//! |---|---|
//! | [`step`] | a step, what it does, what it waits for, and why |
//! | [`builder`] | steps and waits in any order → a [`Plan`], or the circle that prevents one |
//! | [`shape`] | the critical path and the widest place |

pub mod builder;
pub mod shape;
pub mod step;

pub use builder::{CycleEdge, Draft, PlanBuilder, PlanError};
pub use step::{Direction, Plan, Reason, Step, Wait, WaitKind, Work};
pub use windlass_model::Side;
