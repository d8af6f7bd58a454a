#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! | module | it has |
//! |---|---|
//! | [`step`] | what steps do, and why they wait |
//! | [`plan`] | a [`Plan`], its steps and their waits |
//! | [`builder`] | steps and waits in any order → a [`Plan`] |
//! | [`circle`] | or the circle that prevents one |
//! | [`shape`] | the critical path and the widest place |
//! | [`why`] | what a step waits for, and why, as far back as one likes |
//! | [`draw`] | pictures of plans and other graphs: dot, mermaid, json, svg, html |

pub mod builder;
pub mod circle;
pub mod draw;
mod earliest;
mod order;
pub mod plan;
pub mod shape;
pub mod step;
pub mod why;

pub use builder::{Draft, Gate, PlanBuilder};
pub use circle::{CycleEdge, PlanError};
pub use plan::{Plan, Step, Wait, Why};
pub use step::{Direction, Read, Reason, Relate, WaitKind, Work};
pub use why::Because;
pub use windlass_model::Side;
