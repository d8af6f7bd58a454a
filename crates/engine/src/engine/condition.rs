//! The conditions of elements that do not match their records.

use serde::{Deserialize, Serialize};

/// The condition of an element that does not match its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The element's instance no longer exists.
    Gone,
    /// The element's instance exists, but does not work.
    Broken,
}
