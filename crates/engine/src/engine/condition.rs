//! The ways in which an element can differ from its record.

use serde::{Deserialize, Serialize};

/// The difference between an element and its record. A health check has found the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The element's instance no longer exists.
    Gone,
    /// The element's instance exists, but does not work.
    Broken,
}
