#![doc = include_str!("../README.md")]
//!
//! # Modules, in the order of the data flow
//!
//! - `field` defines the fields with their ranges and names.
//! - `part` defines the elements of a field.
//! - `error` defines the errors.
//! - `parse` reads single fields.
//! - `expression` reads a whole expression.
//! - `search` finds fire times on a calendar without time zones.
//! - `zone` finds fire times in a time zone.
//! - `explain` describes an expression in English.

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
