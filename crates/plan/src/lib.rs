#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`builder`] | [`PlanBuilder`]: creates a [`Plan`] from steps and waits in any order |
//! | `steps` | the steps before the plan is built, as a graph |
//! | `order` | the topological sort of this graph, which gives each step its number |
//! | [`plan`] | a [`Plan`], its steps and their waits |
//! | [`circle`] | the error for steps that wait for each other in a cycle |
//! | [`shape`] | the critical path and the maximum parallelism |
//! | [`why`] | the waits of a step with their reasons, to any depth |
//! | [`draw`] | drawings of plans and other graphs: dot, mermaid, json, svg, html |

pub mod builder;
pub mod circle;
pub mod draw;
mod order;
pub mod plan;
mod saved;
pub mod shape;
mod steps;
pub mod why;

pub use builder::{Draft, PlanBuilder, Why};
pub use circle::{Cycle, CycleEdge};
pub use plan::{Plan, Step, StepNumber, Task, Wait, WaitKind};
pub use why::Because;
