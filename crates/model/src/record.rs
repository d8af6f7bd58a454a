//! What the store keeps, and what the engine reads back after a crash.
//!
//! One word for each level: a user's [`Intent`] is executed by a *process*; each node of its plan that does something is
//! a *step*; a step makes driver *calls*; a call runs *jobs*. A step may have many calls and jobs, and a job may serve
//! many calls.

mod call;
mod event;
mod process;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_secret::SecretRef;

pub use self::call::{
    Advance, Assumption, CallRecord, CallState, Effect, Failure, FailureKind, JobEnd, JobRecord,
};
pub use self::event::{Event, EventDraft, EventRecord, Severity};
pub use self::process::{Intent, PlanText, ProcessRecord, ProcessStatus, StepEnd, StepRecord, StepState};
use crate::assembly::{OperationCall, PackageDigest, Topology};
use crate::clock::Timestamp;
use crate::id::{InstanceId, ProcessId};
use crate::name::{AssemblyName, DescriptorName, ElementName, PropertyName, RelationshipName};
use crate::state::{State, Transition};

/// An assembly in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssemblyRecord {
    /// Its name.
    pub name: AssemblyName,
    /// The descriptor it was made from.
    pub descriptor: DescriptorName,
    /// What it should be.
    pub topology: Topology,
    /// The state it should be in; `Absent` once it is being taken down.
    pub goal: State,
    /// The parameters it was asked with; sensitive ones are markers of secrets.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The packages pinned for it, by descriptor.
    pub packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The process that asked for it to be so; none where that was not recorded.
    #[serde(default)]
    pub version: Option<ProcessId>,
    /// The newest version that a process has seen through: whatever is there is of it or of a later one, also what had
    /// nothing to do for it. None where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<ProcessId>,
    /// The clusters that have another size than the descriptor gives them.
    #[serde(default)]
    pub scaled: BTreeMap<ElementName, Scaled>,
    /// The other assemblies that it references, and those that an unfinished change parts from.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub references: BTreeSet<AssemblyName>,
    /// When it was first asked for.
    pub created: Timestamp,
    /// When it was last asked for.
    pub updated: Timestamp,
}

/// A cluster that was scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaled {
    /// How many nodes the descriptor gave it then.
    pub described: u32,
    /// How many it was scaled to. It keeps them as long as the descriptor gives it the same number.
    pub nodes: u32,
}

/// An assembly as one process was asked to make it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The process that was asked.
    pub process: ProcessId,
    /// The assembly as it was to be.
    pub assembly: AssemblyRecord,
}

/// An element's record: how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElementRecord {
    /// Its full name.
    pub name: ElementName,
    /// The engine's id of its instance.
    pub id: InstanceId,
    /// How far it has come. Only resources have a state of their own; others take their parts'.
    pub state: State,
    /// Since when.
    pub since: Timestamp,
    /// The calls of its next transition that have ended well already: Start before Integrity.
    pub progress: u32,
    /// The drivers' own notes, by family; sensitive parts are markers of secrets.
    pub private: BTreeMap<String, Value>,
    /// Why its last step failed, until one succeeds.
    pub failure: Option<Failure>,
    /// The transition that failed or was cut after it may have begun to act: what it did may still be there, and is
    /// undone before the next attempt and by `down`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted: Option<Transition>,
    /// What it was made from; none for what is not there.
    #[serde(default)]
    pub made: Option<Made>,
    /// The properties whose values have become others since they were given to it, because of what another part publishes,
    /// with the value that it has; none of a secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stale: BTreeMap<PropertyName, Option<Value>>,
    /// How often policies have healed it since it last said that it is well, or a person changed its assembly.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub heals: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What an element was made from, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Its package.
    pub package: PackageDigest,
    /// The process that began to make it.
    pub installed_by: ProcessId,
    /// The process that gave it its values last.
    pub configured_by: ProcessId,
}

/// The instance document of an element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    /// The element it belongs to.
    pub element: ElementName,
    /// The driver's id of it, once the driver has chosen one.
    pub natural: Option<String>,
    /// The driver's id where a secret is in it; then [`natural`](Self::natural) is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_natural: Option<SecretRef>,
    /// The document; see [`crate::instance`]. Sensitive values are markers of secrets.
    pub document: Value,
    /// How often it has changed.
    pub revision: u64,
}

impl InstanceRecord {
    /// Tells whether its driver has chosen an id.
    pub fn has_natural(&self) -> bool {
        self.natural.is_some() || self.sealed_natural.is_some()
    }
}

/// Which two elements a relationship joins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PairKey {
    /// The assembly element that declares the relationship.
    pub assembly: ElementName,
    /// The relationship.
    pub relationship: RelationshipName,
    /// The source node.
    pub source: ElementName,
    /// The target node.
    pub target: ElementName,
}

impl PairKey {
    /// Names it for people: the relationship, its source and its target.
    pub fn named(&self) -> String {
        format!("{}, {} → {}", self.relationship, self.source.local(), self.target.local())
    }
}

/// One relationship between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairRecord {
    /// Which.
    pub key: PairKey,
    /// Whether it has been made.
    pub created: bool,
    /// How many operations of the next create or cease have ended well already.
    pub progress: u32,
    /// The operations that were called to make it while it is not made, in the order of the calls: what has been done is
    /// undone from the last to the first, or gone on with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<Begun>,
    /// Whether the last operation that was called failed or was cut after it may have begun to act: of what is not made, the
    /// last of `begun`; of what is made, the next that ends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
    /// The operations that end it, as the version has them for which it was made; none where that was not recorded, and of what
    /// is not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cease: Option<Vec<OperationCall>>,
    /// Since when.
    pub since: Timestamp,
    /// The values of the relationship that the operations were called with that make it; it is ended with the same. None
    /// where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<BTreeMap<PropertyName, Given>>,
}

impl PairRecord {
    /// Makes the record of a relationship of which nothing has been done.
    pub fn new(key: PairKey, since: Timestamp) -> Self {
        let (begun, in_doubt) = (Vec::new(), false);
        Self { key, created: false, progress: 0, begun, in_doubt, cease: None, since, given: None }
    }

    /// Tells whether some of what makes it has been done, or may have been, and it is not made.
    pub fn is_half_made(&self) -> bool {
        !self.created && (self.progress > 0 || !self.begun.is_empty())
    }

    /// Tells whether some of what ends it has been done, or may have been, and it is not ended.
    pub fn is_half_ended(&self) -> bool {
        self.created && (self.progress > 0 || self.in_doubt)
    }

    /// Tells whether anything of it may be there.
    pub fn is_there(&self) -> bool {
        self.created || self.is_half_made()
    }
}

/// An operation that was called to make a relationship.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The operation.
    pub operation: OperationCall,
    /// What is still to be called, in order, to undo it: the operations of the version that it was called for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<OperationCall>,
}

/// A value that somebody was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Given {
    /// This one.
    Plain(Value),
    /// A sensitive one: it is kept under this name, as JSON.
    Secret(SecretRef),
}

/// A package as the store keeps it: everything that is needed to run it without its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// The digest of its content.
    pub digest: PackageDigest,
    /// The descriptor's name.
    pub name: DescriptorName,
    /// What the driver contract says of it, as data of the crate that made it.
    pub manifest: Value,
    /// Its files, sorted by path.
    pub files: Vec<PackageFile>,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageFile {
    /// The path within the package, with `/` between its parts.
    pub path: String,
    /// Whether it may be executed.
    pub executable: bool,
    /// Its bytes.
    pub content: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_element_of_an_older_windlass_is_read_and_has_attempted_nothing() {
        let old = json!({
            "name": "t__a", "id": "abcdefghijkmnpqrstuvwxyz", "state": "Failed", "since": 0, "progress": 0,
            "private": {}, "failure": null, "made": null,
        });
        let element: ElementRecord = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(element.attempted, None);
        assert_eq!(serde_json::to_value(&element).unwrap(), old);
    }

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
