#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! | module | it has |
//! |---|---|
//! | [`builder`] | [`PlanBuilder`]: steps and waits in any order become a [`Plan`] |
//! | [`plan`] | a [`Plan`], its steps and their waits |
//! | [`circle`] | the circle that prevents a plan |
//! | [`shape`] | the critical path and the widest place |
//! | [`why`] | the waits of a step with their reasons, as far back as asked |
//! | [`draw`] | pictures of plans and other graphs: dot, mermaid, json, svg, html |

pub mod builder;
pub mod circle;
pub mod draw;
mod order;
pub mod plan;
mod saved;
pub mod shape;
pub mod why;

pub use builder::{Draft, PlanBuilder, Why};
pub use circle::{Cycle, CycleEdge};
pub use plan::{Plan, Step, StepNumber, Task, Wait, WaitKind};
pub use why::Because;
