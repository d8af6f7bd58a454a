#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! | module | it has |
//! |---|---|
//! | [`step`] | a step, what it does, what it waits for, and why |
//! | [`builder`] | steps and waits in any order → a [`Plan`], or the circle that prevents one |
//! | [`shape`] | the critical path and the widest place |
//! | [`why`] | what a step waits for, and why, as far back as one likes |
//! | [`draw`] | pictures of plans and other graphs: dot, mermaid, json, svg, html |

pub mod builder;
pub mod draw;
pub mod shape;
pub mod step;
pub mod why;

pub use builder::{CycleEdge, Draft, PlanBuilder, PlanError};
pub use step::{Direction, Plan, Reason, Step, Wait, WaitKind, Work};
pub use why::Because;
pub use windlass_model::Side;
