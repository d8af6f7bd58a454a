//! The plan: its steps in order, its phases, and its changes for display.

mod drawing;
mod error;
mod phases;
mod planned;
mod planner;
mod summary;

pub use drawing::draw_plan;
pub use error::{LifecycleError, OrderError};
pub use planned::{Plan, Planned};
pub use planner::{down, plan, up};
