//! The conditions of elements that do not match their records.

use serde::{Deserialize, Serialize};

/// The condition of an element that does not match its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Its instance no longer exists.
    Gone,
    /// Its instance exists, but does not work.
    Broken,
}
