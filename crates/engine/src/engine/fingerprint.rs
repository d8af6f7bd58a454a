//! Fingerprints of plans. The fingerprint of a plan is a copy of the plan's data without the origins of
//! declarations. An origin is a file, a line and a column.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_lifecycle::{Diff, Plan};

/// The data by which two plans are compared. It contains the plan and its changes, but not the files and lines of
/// declarations. So the same descriptor in another folder leads to the same fingerprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFingerprint {
    plan: Value,
    /// The changes that the plan makes. Two plans with equal steps may make different changes, for example if a secret
    /// has changed. `None` means that the changes are not compared.
    changes: Option<Value>,
}

impl PlanFingerprint {
    /// Returns the fingerprint of a plan and its changes. The plan and the changes may come from a file.
    pub fn of(plan: &impl Serialize, changes: Option<&impl Serialize>) -> Self {
        Self { plan: fingerprint(plan), changes: changes.map(fingerprint) }
    }

    /// Tells whether a plan and its changes have this fingerprint.
    pub(super) fn is(&self, plan: &Plan, changes: &Diff) -> bool {
        self.plan == fingerprint(plan)
            && self.changes.as_ref().is_none_or(|known| *known == fingerprint(changes))
    }
}

/// Serializes a plan, or a part of a topology, without the origins (files and lines) of declarations. Two plans with
/// the same work and reasons have the same fingerprint, even if their descriptors were read from different folders.
pub fn fingerprint(of: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(of).unwrap_or_default();
    strip(&mut value);
    value
}

/// Removes the origins of declarations.
fn strip(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.remove("origin");
            entries.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
