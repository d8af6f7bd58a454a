//! Pairs: relationships between two nodes, with the progress of their operations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_secret::SecretRef;

use crate::assembly::OperationCall;
use crate::clock::Timestamp;
use crate::name::{ElementName, PropertyName, RelationshipName};

/// The key of a pair, which is a relationship between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PairKey {
    /// The assembly element that declares the relationship.
    pub assembly: ElementName,
    /// The name of the relationship.
    pub relationship: RelationshipName,
    /// The node at the source end.
    pub source: ElementName,
    /// The node at the target end.
    pub target: ElementName,
}

impl PairKey {
    /// Returns a name for display: the relationship, its source and its target.
    pub fn named(&self) -> String {
        format!("{}, {} → {}", self.relationship, self.source.local(), self.target.local())
    }
}

/// The record of a pair, which is a relationship between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairRecord {
    /// The relationship and the two nodes.
    pub key: PairKey,
    /// Whether the pair exists. A pair exists if all operations that create the pair have succeeded, and the pair was
    /// not removed since.
    pub created: bool,
    /// The number of completed operations of the current creation or removal.
    pub progress: u32,
    /// The called operations of an incomplete creation, in call order. Either the creation is resumed, or
    /// these operations are undone in reverse order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<Begun>,
    /// Whether the last called operation of the pair failed or was interrupted, and may have had effects.
    ///
    /// While windlass creates the pair, this operation is the last entry of `begun`. While windlass removes the pair,
    /// this operation belongs to the removal. In both cases, `progress` is the number of operations that were completed
    /// before this operation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
    /// The operations that remove the pair, in call order. windlass records them when it creates the pair, so a later
    /// version of the assembly does not change them. None if the pair is not created, or if the operations were not
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cease: Option<Vec<OperationCall>>,
    /// The time of the last change of this record.
    pub since: Timestamp,
    /// The values with which the operations that create the pair were called. The operations that remove the pair
    /// use the same values. None if the values were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<BTreeMap<PropertyName, Given>>,
}

impl PairRecord {
    /// Creates the record of a pair that does not exist yet. No operation has been called to create the pair.
    pub fn new(key: PairKey, since: Timestamp) -> Self {
        let (begun, in_doubt) = (Vec::new(), false);
        Self { key, created: false, progress: 0, begun, in_doubt, cease: None, since, given: None }
    }

    /// Tells whether the creation of the relationship between the two nodes has begun, but is not complete. The
    /// result is true if the pair is not created, and at least one operation of the creation has run or may have
    /// run.
    pub fn is_half_made(&self) -> bool {
        !self.created && (self.progress > 0 || !self.begun.is_empty())
    }

    /// Tells whether the removal of the pair has begun, but is not complete. The result is true if the pair is
    /// still recorded as created, and at least one operation of the removal has run or may have run.
    pub fn is_half_ended(&self) -> bool {
        self.created && (self.progress > 0 || self.in_doubt)
    }

    /// Tells whether the pair is created, completely or in part.
    pub fn is_there(&self) -> bool {
        self.created || self.is_half_made()
    }
}

/// An operation that was called to create a pair. The creation of the pair is not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The operation that was called.
    pub operation: OperationCall,
    /// The operations that are still to be called to undo `operation`, in call order. They belong to the same
    /// version of the assembly as `operation`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<OperationCall>,
}

/// A value with which an operation was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Given {
    /// A value that is not sensitive.
    Plain(Value),
    /// The reference to a sensitive value. The store keeps the value encrypted, as JSON text.
    Secret(SecretRef),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pair_of_an_older_windlass_is_read_and_says_nothing_of_its_values() {
        let old = json!({
            "key": {"assembly": "t", "relationship": "r", "source": "t__a", "target": "t__b"},
            "created": true, "progress": 0, "since": 0,
        });
        let pair: PairRecord = serde_json::from_value(old.clone()).unwrap();
        assert_eq!((&pair.given, pair.in_doubt, pair.begun.len()), (&None, false, 0));
        assert_eq!(serde_json::to_value(&pair).unwrap(), old);
    }
}
