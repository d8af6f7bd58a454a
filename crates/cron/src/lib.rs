#![doc = include_str!("../README.md")]
//!
//! # Modules, in the order of the data flow
//!
//! `field` has the fields with their ranges and names, `part` the parts that are written in them, and `error`
//! the mistakes. `parse` reads fields, and `expression` all of them. `search` finds fire times on a calendar
//! without zones, `zone` in a time zone. `explain` writes English.

mod error;
mod explain;
mod expression;
mod field;
mod parse;
mod part;
mod search;
mod zone;

pub use error::{CronError, CronProblem};
pub use expression::CronExpression;
pub use field::Field;
pub use zone::{TimeError, UnknownZone, Zone};
