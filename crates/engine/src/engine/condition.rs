//! The ways in which an element can differ from its record.

use serde::{Deserialize, Serialize};

/// The way in which an element differs from its record, as a health check has found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The element's instance no longer exists.
    Gone,
    /// The element's instance exists, but does not work.
    Broken,
}
