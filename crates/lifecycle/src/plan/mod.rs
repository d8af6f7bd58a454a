//! The plan: its steps in order, its phases, and its changes for display.

mod batch_steps;
mod drawing;
mod error;
mod phases;
mod planned;
mod planner;
mod summary;

pub use batch_steps::BatchSteps;
pub use drawing::draw_plan;
pub use error::{LifecycleError, OrderError};
pub use planned::{Plan, Planned};
pub use planner::{down, plan, up};
